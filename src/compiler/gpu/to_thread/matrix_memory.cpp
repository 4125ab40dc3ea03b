// Matrix products on units that read swizzled shared memory and run beside the warps: for each step along the depth one
// thread.mma_async for each fragment of the result, all of them one group.
#include "compiler/gpu/fragments.hpp"
#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/matrix.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

using Basis = LinearLayout::Basis;

// An operand in memory, as the unit is told of it.
class PlacedOperand {
 public:
  // `own`: the operand's dimension that is the result's. The fragments of the result's registers and the groups of warps
  // stand along it as `accumulators` says.
  PlacedOperand(Emitter &emitter, Value memory, unsigned own, const MatrixUnit &unit, const LinearLayout &accumulators)
      : emitter_(emitter), array_(emitter.memory(memory)) {
    const tile::MemType type = cast<tile::MemType>(memory.getType());
    const int64_t bytes = element_bytes(type.getElement());
    swizzle = type.getEncoding().getSwizzle();
    transposed = array_.layout.basis(Axis::offset, 0)[own] != 0;
    panel = int32_t(swizzle / bytes * type.getShape()[transposed ? 1 - own : own]);
    std::vector<Basis> registers, warps;
    const auto place = [&](const Basis &basis) {
      Basis placed(2, 0);
      placed[own] = basis[own];
      return placed;
    };
    for (int bit = unit.accumulators.input_bits(Axis::reg); bit < accumulators.input_bits(Axis::reg); ++bit)
      registers.push_back(place(accumulators.basis(Axis::reg, bit)));
    fragment_bits_ = int(registers.size());
    const int own_warps = unit.accumulators.input_bits(Axis::warp);
    for (int bit = 0; bit < accumulators.input_bits(Axis::warp); ++bit)
      warps.push_back(bit < own_warps ? Basis(2, 0) : place(accumulators.basis(Axis::warp, bit)));
    for (int32_t image = unit.k; image < type.getShape()[1 - own]; image *= 2) {
      Basis along(2, 0);
      along[1 - own] = image;
      registers.push_back(along);
    }
    const LinearLayout starts({{Axis::reg, registers}, {Axis::warp, warps}}, array_.layout.outputs());
    places_ = starts.invert_and_compose(array_.layout);
  }

  // Of the fragment that goes with fragment `fragment` of the result, at a step along the depth.
  std::pair<Value, int64_t> place(int fragment, int step) {
    return place_of(emitter_, emitter_.add(array_.first, emitter_.index_of(places_, step << fragment_bits_ | fragment, Axis::offset)));
  }

  Value array() const { return array_.array; }
  unsigned swizzle = 0;
  int32_t panel = 0;
  bool transposed = false;

 private:
  Emitter &emitter_;
  SharedArray &array_;
  int fragment_bits_ = 0;
  LinearLayout places_;  // register (fragment, then step), warp -> offset
};

}  // namespace

void emit_memory_product(Emitter &emitter, tile::MmaOp product, const MatrixUnit &unit) {
  OpBuilder &builder = emitter.builder;
  const LinearLayout layout = tile::layout_of(product.getType());
  const int first_bit = unit.accumulators.input_bits(Axis::reg), of_sum = 1 << first_bit;
  const bool a_in_memory = isa<tile::MemType>(product.getA().getType());
  std::optional<PlacedOperand> a;
  if (a_in_memory) a.emplace(emitter, product.getA(), 0, unit, layout);
  const Scalars held = a_in_memory ? Scalars() : Scalars(emitter.scalars(product.getA()));
  PlacedOperand b(emitter, product.getB(), 1, unit, layout);
  const int steps = int(cast<tile::MemType>(product.getB().getType()).getShape()[0] / unit.k);
  const int of_a = unit.a.input_size(Axis::reg);
  Scalars sums(emitter.scalars(product.getAccumulators()));
  thread::MmaBeginOp::create(builder, emitter.location);
  for (int step = 0; step < steps; ++step)
    for (int number = 0; number < int(sums.size()) / of_sum; ++number) {
      ArrayRef<Value> before = ArrayRef(sums).slice(number * of_sum, of_sum), registers;
      std::pair<Value, int64_t> a_place{};
      if (a)
        a_place = a->place(number, step);
      else
        registers = ArrayRef(held).slice((step * int(held.size()) / steps) + operand_fragment(unit, layout, 0, number) * of_a, of_a);
      const auto [b_index, b_offset] = b.place(number, step);
      auto made = thread::MmaAsyncOp::create(
          builder, emitter.location, TypeRange(ValueRange(before)), unit.name, registers, a ? a->array() : Value(),
          a_place.first, b.array(), b_index, before, int32_t(a_place.second), int32_t(b_offset), a ? a->swizzle : 0,
          b.swizzle, a ? a->panel : 0, b.panel, a && a->transposed, b.transposed);
      llvm::copy(made.getResults(), sums.begin() + number * of_sum);
    }
  thread::MmaCommitOp::create(builder, emitter.location);
  if (!product.getAsync())
    sums = Scalars(thread::MmaWaitOp::create(builder, emitter.location, TypeRange(ValueRange(sums)), 0, sums).getResults());
  emitter.bind(product.getResult(), std::move(sums));
}

}  // namespace teeny::compiler::gpu
