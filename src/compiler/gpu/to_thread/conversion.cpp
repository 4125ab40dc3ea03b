#include "compiler/gpu/to_thread/conversion.hpp"

#include <map>

#include "compiler/gpu/to_thread/exchange.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

std::optional<std::vector<int>> same_thread_registers(const LinearLayout& from, const LinearLayout& to) {
  for (Axis input : {Axis::lane, Axis::warp, Axis::block}) {
    if (from.input_bits(input) != to.input_bits(input)) return std::nullopt;
    for (int bit = 0; bit < from.input_bits(input); ++bit)
      if (from.basis(input, bit) != to.basis(input, bit)) return std::nullopt;
  }
  std::map<Point, int> held;
  for (int number = 0; number < from.input_size(Axis::reg); ++number)
    held.emplace(from.apply({{Axis::reg, number}}), number);
  std::vector<int> registers;
  for (int number = 0; number < to.input_size(Axis::reg); ++number) {
    auto found = held.find(to.apply({{Axis::reg, number}}));
    if (found == held.end()) return std::nullopt;
    registers.push_back(found->second);
  }
  return registers;
}

// Bits of shared memory's element numbers: below `vector` they stay in one access, below `line` they choose the bank.
struct Banks {
  int vector, line;
};

// The lanes of a warp in one access: whether as many banks serve them as can.
static bool spreads(const LinearLayout& places, const Banks& banks) {
  auto rank = [&](int32_t mask) {
    std::vector<int32_t> basis;
    for (int bit = 0; bit < places.input_bits(Axis::lane); ++bit) {
      int32_t image = places.basis(Axis::lane, bit, Axis::index0) & mask;
      for (int32_t other : basis) image = std::min(image, image ^ other);
      if (image != 0) basis.push_back(image);
    }
    return int(basis.size());
  };
  int32_t in_line = ((int32_t(1) << banks.line) - 1) & ~((int32_t(1) << banks.vector) - 1);
  return rank(in_line) == std::min(banks.line - banks.vector, rank(-1));
}

// Element numbers with their upper bits folded onto those that choose the bank: steps by any power of two spread.
static LinearLayout swizzled(const LinearLayout& places, const Banks& banks) {
  std::vector<LinearLayout::Input> inputs = places.inputs();
  for (LinearLayout::Input& input : inputs)
    for (LinearLayout::Basis& basis : input.bases) {
      int32_t number = basis.front();
      for (int bit = banks.line; bit < 31; ++bit)
        if (number >> bit & 1)
          basis.front() ^= int32_t(1) << (banks.vector + (bit - banks.vector) % (banks.line - banks.vector));
    }
  return LinearLayout(std::move(inputs), places.outputs());
}

static LogicalResult emit_exchange(Emitter& emitter, tile::ConvertLayoutOp conversion) {
  LinearLayout from = row_major(tile::layout_of(conversion.getSource().getType()));
  LinearLayout to = row_major(tile::layout_of(conversion.getType()));
  Type stored = stored_type(conversion.getType());
  Value array = scratch_array(emitter, conversion, 0);
  if (!array) return failure();
  int64_t width = std::max(from.consecutive_registers(Axis::index0), to.consecutive_registers(Axis::index0));
  width = std::min(width, widest(emitter, stored));
  int64_t line = int64_t(emitter.capability.banks) * emitter.capability.bank_bytes / element_bytes(stored);
  Banks banks{int(llvm::Log2_64(width)), int(llvm::Log2_64(std::max<int64_t>(1, line)))};
  if (banks.line > banks.vector && !(spreads(from, banks) && spreads(to, banks)))
    from = swizzled(from, banks), to = swizzled(to, banks);
  Scalars values(emitter.scalars(conversion.getSource()));
  emitter.bind(conversion.getResult(), exchange(emitter, conversion, array, from, values, to));
  return success();
}

LogicalResult emit_conversion(Emitter& emitter, tile::ConvertLayoutOp conversion) {
  auto registers =
      same_thread_registers(tile::layout_of(conversion.getSource().getType()), tile::layout_of(conversion.getType()));
  if (!registers) return emit_exchange(emitter, conversion);
  ArrayRef<Value> source = emitter.scalars(conversion.getSource());
  Scalars scalars;
  for (int number : *registers) scalars.push_back(source[number]);
  emitter.bind(conversion.getResult(), std::move(scalars));
  return success();
}

}  // namespace teeny::compiler::gpu
