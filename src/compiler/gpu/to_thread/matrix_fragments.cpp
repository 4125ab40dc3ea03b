// Matrix products on units whose fragments lie in the lanes' registers: for each step along the depth, fragments of both
// operands, then one thread.mma for each fragment of the result.
#include "compiler/gpu/fragments.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/matrix.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Basis = LinearLayout::Basis;

// How thread.matrix_load reads an operand: `rows` maps the number of a load (register), lane and warp to the place of
// the row that the lane names.
struct RowLoads {
  LinearLayout rows;
  bool transposed = false;
  int bits = 0;    // of the register's number that one load covers
  int count = 0;   // matrices of one load
};

// Register bits below `packed_bits` choose an element within 32 bits, those above a matrix of 8 rows x 16 bytes.
bool rows_stand(const LinearLayout &places, int packed_bits, bool transposed) {
  const int32_t packed = 1 << packed_bits;
  const auto aligned = [&](int32_t image) { return image % (4 * packed) == 0; };
  for (int bit = 0; bit < places.input_bits(Axis::reg); ++bit) {
    const int32_t image = places.basis(Axis::reg, bit, Axis::offset);
    if (bit < packed_bits && !transposed ? image != 1 << bit : !aligned(image)) return false;
  }
  for (int bit = 0; bit < places.input_bits(Axis::lane); ++bit) {
    const int32_t image = places.basis(Axis::lane, bit, Axis::offset);
    const bool in_row = transposed ? bit >= 2 : bit < 2;
    const int32_t wanted = transposed ? 1 << (bit - 2) : packed << bit;
    if (in_row ? image != wanted : !aligned(image)) return false;
  }
  for (int bit = 0; bit < places.input_bits(Axis::warp); ++bit)
    if (!aligned(places.basis(Axis::warp, bit, Axis::offset))) return false;
  return true;
}

// `step_bits`: of the registers' numbers within one step along the depth.
std::optional<RowLoads> row_loads(const LinearLayout &places, int64_t bytes, int step_bits) {
  if (bytes > 4 || places.input_bits(Axis::lane) != 5) return std::nullopt;
  const int packed_bits = int(llvm::Log2_64(uint64_t(4 / bytes)));
  RowLoads loads;
  if (!rows_stand(places, packed_bits, false)) {
    if (bytes != 2 || !rows_stand(places, packed_bits, true)) return std::nullopt;
    loads.transposed = true;
  }
  const int matrix_bits = std::min(2, step_bits - packed_bits);
  std::vector<Basis> lanes, registers, warps;
  if (loads.transposed)
    lanes = {places.basis(Axis::reg, 0), places.basis(Axis::lane, 0), places.basis(Axis::lane, 1)};
  else
    lanes = {places.basis(Axis::lane, 2), places.basis(Axis::lane, 3), places.basis(Axis::lane, 4)};
  for (int bit = 0; bit < 2; ++bit)
    lanes.push_back(bit < matrix_bits ? places.basis(Axis::reg, packed_bits + bit) : Basis{0});
  for (int bit = packed_bits + matrix_bits; bit < places.input_bits(Axis::reg); ++bit)
    registers.push_back(places.basis(Axis::reg, bit));
  for (int bit = 0; bit < places.input_bits(Axis::warp); ++bit) warps.push_back(places.basis(Axis::warp, bit));
  loads.rows = LinearLayout({{Axis::reg, registers}, {Axis::lane, lanes}, {Axis::warp, warps}}, places.outputs());
  loads.bits = packed_bits + matrix_bits;
  loads.count = 1 << matrix_bits;
  return loads;
}

// One operand: a tensor in its layout, or memory that is read step by step.
class Operand {
 public:
  Operand(Emitter &emitter, Value value, const LinearLayout &layout, int steps) : emitter_(emitter), value_(value) {
    per_step_ = layout.input_size(Axis::reg) / steps;
    if (!isa<tile::MemType>(value.getType())) return;
    array_ = emitter.memory(value);
    places_ = layout.invert_and_compose(array_->layout);
    if (emitter.capability.matrix_load)
      loads_ = row_loads(places_, element_bytes(array_->element), int(llvm::Log2_32(uint32_t(per_step_))));
  }

  Scalars step(int number) {
    const int first = number * per_step_;
    if (!array_) return Scalars(emitter_.scalars(value_).slice(first, per_step_));
    return loads_ ? by_rows(first) : by_elements(first);
  }

 private:
  Value place(const LinearLayout &layout, int number) {
    return emitter_.add(array_->first, emitter_.index_of(layout, number, Axis::offset));
  }

  Scalars by_rows(int first) {
    Scalars results;
    for (int last = first + per_step_; first < last; first += 1 << loads_->bits) {
      auto [base, offset] = place_of(emitter_, place(loads_->rows, first >> loads_->bits));
      auto load = thread::MatrixLoadOp::create(emitter_.builder, emitter_.location,
                                               SmallVector<Type>(size_t(1) << loads_->bits, array_->element),
                                               array_->array, base, offset, loads_->count, loads_->transposed);
      llvm::append_range(results, load.getValues());
    }
    return results;
  }

  Scalars by_elements(int first) {
    const int64_t width = std::min<int64_t>({widest(emitter_, array_->element), per_step_,
                                             places_.consecutive_registers(Axis::offset)});
    Scalars results;
    for (int last = first + per_step_; first < last; first += int(width))
      load_shared(emitter_, array_->array, place(places_, first), width, width, array_->element, results);
    return results;
  }

  Emitter &emitter_;
  Value value_;
  std::optional<SharedArray> array_;
  LinearLayout places_;  // register, lane, warp -> offset
  std::optional<RowLoads> loads_;
  int per_step_ = 0;
};

void round_operands(Emitter &emitter, Scalars &scalars) {
  for (Value &scalar : scalars) scalar = thread::RoundTf32Op::create(emitter.builder, emitter.location, scalar);
}

}  // namespace

void emit_fragments_product(Emitter &emitter, tile::MmaOp product, const MatrixUnit &unit) {
  const LinearLayout layout = tile::layout_of(product.getType());
  Value a_value = product.getA(), b_value = product.getB();
  const auto shape_of = [](Value value) {
    auto memory = dyn_cast<tile::MemType>(value.getType());
    return memory ? memory.getShape() : cast<RankedTensorType>(value.getType()).getShape();
  };
  const int64_t depth = shape_of(a_value)[1];
  const int steps = int(depth / unit.k), first_bit = unit.accumulators.input_bits(Axis::reg);
  Operand a(emitter, a_value, tiled_operand(unit, 0, layout, depth), steps);
  Operand b(emitter, b_value, tiled_operand(unit, 1, layout, depth), steps);
  const int of_a = unit.a.input_size(Axis::reg), of_b = unit.b.input_size(Axis::reg), of_sum = 1 << first_bit;
  Scalars sums(emitter.scalars(product.getAccumulators()));
  for (int step = 0; step < steps; ++step) {
    Scalars left = a.step(step), right = b.step(step);
    if (unit.operand == "tf32") round_operands(emitter, left), round_operands(emitter, right);
    for (int number = 0; number < int(sums.size()) / of_sum; ++number) {
      ArrayRef<Value> rows = ArrayRef(left).slice(operand_fragment(unit, layout, 0, number) * of_a, of_a);
      ArrayRef<Value> columns = ArrayRef(right).slice(operand_fragment(unit, layout, 1, number) * of_b, of_b);
      ArrayRef<Value> before = ArrayRef(sums).slice(number * of_sum, of_sum);
      auto made = thread::MmaOp::create(emitter.builder, emitter.location, TypeRange(ValueRange(before)), unit.name, rows,
                                        columns, before);
      llvm::copy(made.getResults(), sums.begin() + number * of_sum);
    }
  }
  emitter.bind(product.getResult(), std::move(sums));
}

}  // namespace teeny::compiler::gpu
