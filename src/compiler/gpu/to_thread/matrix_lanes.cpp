// Matrix products on the lanes' own arithmetic: each sums its block of the result in registers, operands come from
// shared memory as vectors, one column of a and one row of b at a time.
#include <map>

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>

#include "compiler/gpu/to_thread/exchange.hpp"
#include "compiler/gpu/to_thread/matrix.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

constexpr int64_t unrolled = 16;  // steps along K of one turn of the loop; a divisor of what arrangements repeat after

class LanesProduct {
 public:
  LanesProduct(Emitter &emitter, tile::MmaOp product)
      : emitter_(emitter), product_(product), builder_(emitter.builder),
        layout_(tile::layout_of(product.getType())), a_(emitter.memory(product.getA())),
        b_(emitter.memory(product.getB())), outer_(unsigned(cast<RankedTensorType>(product.getType()).getRank()) - 2),
        depth_(cast<tile::MemType>(product.getA().getType()).getShape().back()) {}

  void emit() {
    Scalars initial(emitter_.scalars(product_.getAccumulators()));
    const int64_t step = std::min(depth_, unrolled);
    Scalars sums = initial;
    if (step == depth_) {
      for (int64_t k = 0; k < step; ++k) add_step(sums, {}, k);
      return emitter_.bind(product_.getResult(), std::move(sums));
    }
    auto constant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(builder_, emitter_.location, builder_.getI32IntegerAttr(int32_t(number)));
    };
    auto loop = scf::ForOp::create(builder_, emitter_.location, constant(0), constant(depth_), constant(step), initial);
    emitter_.in_region([&] {
      OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPointToStart(loop.getBody());
      sums.assign(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
      for (int64_t k = 0; k < step; ++k) add_step(sums, loop.getInductionVar(), k);
      scf::YieldOp::create(builder_, emitter_.location, sums);
    });
    emitter_.bind(product_.getResult(), Scalars(loop.getResults()));
  }

 private:
  // A product of the batch (0 without one) and an index along one of its dimensions.
  using Key = std::pair<int32_t, int32_t>;
  Key key_of(int number, unsigned dimension) const {
    return {outer_ ? layout_.apply({{Axis::reg, number}}, Axis::index0) : 0,
            layout_.apply({{Axis::reg, number}}, index_axis(outer_ + dimension))};
  }

  // The elements of an operand at depth first + k for the indices that registers have along `dimension` of the result:
  // `own` is the operand's dimension that is the result's.
  std::map<Key, Value> line(const SharedArray &array, unsigned own, Value first, int64_t k) {
    std::map<Key, Value> elements;
    const LinearLayout inverse = array.layout.invert();  // dims -> offset
    const Axis axis = index_axis(outer_ + own), depth = index_axis(outer_ + 1 - own);
    const int32_t vector = vector_along(array, own);
    for (int number = 0; number < layout_.input_size(Axis::reg); ++number) {
      const auto [product, index] = key_of(number, own);
      if (index % vector != 0 || elements.contains({product, index})) continue;
      Value place = emitter_.add(array.first, offset_of(inverse, axis, depth, index, first, k));
      if (outer_ && array.layout.output_size(Axis::index0) > 1) {
        const int32_t size = inverse.apply({{Axis::index0, 1}}, Axis::offset);
        place = emitter_.add(place, emitter_.multiply(emitter_.index_of(layout_, number, Axis::index0), size));
      }
      Scalars loaded;
      load_shared(emitter_, array.array, place, vector, vector, array.element, loaded);
      for (int32_t i = 0; i < vector; ++i) elements[{product, index + i}] = widened(loaded[i]);
    }
    return elements;
  }

  // How many neighbours along the dimension are neighbours in memory and in a lane's registers.
  int32_t vector_along(const SharedArray &array, unsigned own) {
    const LinearLayout inverse = array.layout.invert();
    const int32_t bytes = int32_t((array.element.getIntOrFloatBitWidth() + 7) / 8);
    int32_t vector = 1;
    const auto held = [&](int32_t image) {
      LinearLayout::Basis alone(outer_ + 2, 0);
      alone[outer_ + own] = image;
      for (int bit = 0; bit < layout_.input_bits(Axis::reg); ++bit)
        if (layout_.basis(Axis::reg, bit) == alone) return true;
      return false;
    };
    while (vector * bytes < emitter_.capability.max_vector_bytes && vector < 4 && held(vector) &&
           inverse.apply({{index_axis(outer_ + own), vector}}, Axis::offset) == vector)
      vector *= 2;
    return vector;
  }

  // The place of (index, first + k): `first` is a multiple of `unrolled`, beyond which the arrangement does not mix the
  // dimensions.
  Value offset_of(const LinearLayout &inverse, Axis axis, Axis depth, int32_t index, Value first, int64_t k) {
    Value lane = emitter_.lane_part(layout_, axis);
    // offset(index) for a sum of bits is the xor of the bits' offsets; the dimension's own bits are shifted as a whole.
    const int32_t unit = inverse.apply({{axis, 1}}, Axis::offset);
    const int32_t fixed = inverse.apply({{axis, index}, {depth, int32_t(k)}}, Axis::offset);
    Value place;
    if (lane) {  // bits that the lanes' part never has are added, so that steps differ by constants
      const int32_t held = bits_of_lanes(axis) * unit;
      place = emitter_.exclusive_or(emitter_.multiply(lane, unit), emitter_.constant(fixed & held));
      place = emitter_.add(place, emitter_.constant(fixed & ~held));
    } else {
      place = emitter_.constant(fixed);
    }
    if (!first) return place;
    const int32_t row = inverse.apply({{depth, int32_t(unrolled)}}, Axis::offset) / int32_t(unrolled);
    return emitter_.add(place, emitter_.multiply(first, row));
  }

  // Those that lane_part along `axis` may have.
  int32_t bits_of_lanes(Axis axis) {
    int32_t bits = 0;
    for (Axis input : {Axis::lane, Axis::warp})
      for (int bit = 0; bit < layout_.input_bits(input); ++bit) bits |= layout_.basis(input, bit, axis);
    return bits;
  }

  // In the type of the sums, with the precision that the product asks for.
  Value widened(Value element) {
    Type from = element.getType(), to = tt::element_type(product_.getType());
    if (from.isF32() && product_.getPrecision() == tt::InputPrecision::TF32)
      return thread::RoundTf32Op::create(builder_, emitter_.location, element);
    if (from == to) return element;
    if (isa<FloatType>(to)) return arith::ExtFOp::create(builder_, emitter_.location, to, element);
    return arith::ExtSIOp::create(builder_, emitter_.location, to, element);
  }

  void add_step(Scalars &sums, Value first, int64_t k) {
    std::map<Key, Value> column = line(a_, 0, first, k), row = line(b_, 1, first, k);
    for (auto [number, sum] : llvm::enumerate(sums)) {
      Value left = column.at(key_of(int(number), 0));
      Value right = row.at(key_of(int(number), 1));
      if (isa<FloatType>(sum.getType()))
        sum = math::FmaOp::create(builder_, emitter_.location, left, right, sum);
      else
        sum = arith::AddIOp::create(builder_, emitter_.location, sum,
                                    arith::MulIOp::create(builder_, emitter_.location, left, right));
    }
  }

  Emitter &emitter_;
  tile::MmaOp product_;
  OpBuilder &builder_;
  const LinearLayout layout_;
  const SharedArray a_, b_;
  const unsigned outer_;  // 1: a batch of products
  const int64_t depth_;
};

}  // namespace

void emit_lanes_product(Emitter &emitter, tile::MmaOp product) { LanesProduct(emitter, product).emit(); }

}  // namespace teeny::compiler::gpu
