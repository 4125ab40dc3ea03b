// Element-wise integer operations, select and pointer arithmetic. Words are zero-extended; results wrap to the width.
#include "compiler/interpreter/map.hpp"

namespace teeny::compiler::interpreter {
namespace {

using Word = std::uint64_t;

// x / 0 and x % 0 are 0; lowest / -1 wraps to lowest with remainder 0.
std::int64_t divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  return b == -1 ? static_cast<std::int64_t>(0 - static_cast<Word>(a)) : a / b;
}
std::int64_t remainder(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

void run_signed(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  const Word mask = low_mask(width);
  auto map = [&](auto f) {
    map2(elements, [f, width, mask](Word a, Word b) {
      return static_cast<Word>(f(sign_extend(a, width), sign_extend(b, width))) & mask;
    });
  };
  using I = std::int64_t;
  switch (instruction.op) {
    case Op::divsi: return map([](I a, I b) { return divide(a, b); });
    case Op::remsi: return map([](I a, I b) { return remainder(a, b); });
    case Op::floordivsi:
      return map([](I a, I b) { return divide(a, b) - (remainder(a, b) != 0 && (a < 0) != (b < 0)); });
    case Op::ceildivsi:
      return map([](I a, I b) { return divide(a, b) + (remainder(a, b) != 0 && (a < 0) == (b < 0)); });
    case Op::maxsi: return map([](I a, I b) { return a > b ? a : b; });
    case Op::minsi: return map([](I a, I b) { return a < b ? a : b; });
    case Op::mulhisi: return map([width](I a, I b) { return static_cast<I>((static_cast<__int128>(a) * b) >> width); });
    default:  // shrsi: a distance of the width or more gives the sign
      return map([width, mask](I a, I b) { return a >> std::min<Word>(static_cast<Word>(b) & mask, width - 1); });
  }
}

void run_unsigned(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  const Word mask = low_mask(width);
  auto map = [&](auto f) { map2(elements, [f, mask](Word a, Word b) { return f(a, b) & mask; }); };
  switch (instruction.op) {
    case Op::addi: return map([](Word a, Word b) { return a + b; });
    case Op::subi: return map([](Word a, Word b) { return a - b; });
    case Op::muli: return map([](Word a, Word b) { return a * b; });
    case Op::divui: return map([](Word a, Word b) { return b == 0 ? 0 : a / b; });
    case Op::remui: return map([](Word a, Word b) { return b == 0 ? 0 : a % b; });
    case Op::ceildivui: return map([](Word a, Word b) { return b == 0 ? 0 : a / b + (a % b != 0); });
    case Op::andi: return map([](Word a, Word b) { return a & b; });
    case Op::ori: return map([](Word a, Word b) { return a | b; });
    case Op::xori: return map([](Word a, Word b) { return a ^ b; });
    case Op::shli: return map([width](Word a, Word b) { return b >= static_cast<Word>(width) ? 0 : a << b; });
    case Op::shrui: return map([width](Word a, Word b) { return b >= static_cast<Word>(width) ? 0 : a >> b; });
    case Op::maxui: return map([](Word a, Word b) { return std::max(a, b); });
    case Op::minui: return map([](Word a, Word b) { return std::min(a, b); });
    default:  // mulhiui
      return map(
          [width](Word a, Word b) { return static_cast<Word>((static_cast<unsigned __int128>(a) * b) >> width); });
  }
}

void run_counts(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  switch (instruction.op) {
    case Op::absi:
      return map1(elements,
                  [width](Word a) { return sign_extend(a, width) < 0 ? (0 - a) & low_mask(width) : a; });
    case Op::ctlz:
      return map1(elements,
                  [width](Word a) { return static_cast<Word>(std::countl_zero(a) - (64 - width)); });
    case Op::cttz:
      return map1(elements,
                  [width](Word a) { return static_cast<Word>(std::min(std::countr_zero(a), width)); });
    default: return map1(elements, [](Word a) { return static_cast<Word>(std::popcount(a)); });
  }
}

// attributes: [predicate], numbered as arith::CmpIPredicate: eq ne slt sle sgt sge ult ule ugt uge.
void run_compare(const Elementwise& instruction, const Elements& elements) {
  const int width = width_of(instruction.from);
  auto as_signed = [&](auto f) {
    map2(elements,
         [f, width](Word a, Word b) -> Word { return f(sign_extend(a, width), sign_extend(b, width)); });
  };
  auto as_unsigned = [&](auto f) { map2(elements, [f](Word a, Word b) -> Word { return f(a, b); }); };
  switch (instruction.attributes[0]) {
    case 0: return as_unsigned([](auto a, auto b) { return a == b; });
    case 1: return as_unsigned([](auto a, auto b) { return a != b; });
    case 2: return as_signed([](auto a, auto b) { return a < b; });
    case 3: return as_signed([](auto a, auto b) { return a <= b; });
    case 4: return as_signed([](auto a, auto b) { return a > b; });
    case 5: return as_signed([](auto a, auto b) { return a >= b; });
    case 6: return as_unsigned([](auto a, auto b) { return a < b; });
    case 7: return as_unsigned([](auto a, auto b) { return a <= b; });
    case 8: return as_unsigned([](auto a, auto b) { return a > b; });
    default: return as_unsigned([](auto a, auto b) { return a >= b; });
  }
}

void run_select(const Elementwise&, const Elements& elements) {
  map3(elements, [](Word condition, Word a, Word b) { return condition & 1 ? a : b; });
}

// attributes: [bytes an element, width of the offset]
void run_addptr(const Elementwise& instruction, const Elements& elements) {
  const auto bytes = static_cast<Word>(instruction.attributes[0]);
  const int width = static_cast<int>(instruction.attributes[1]);
  map2(elements,
       [=](Word pointer, Word offset) { return pointer + static_cast<Word>(sign_extend(offset, width)) * bytes; });
}

}  // namespace

ElementFunction integer_function(Op op) {
  switch (op) {
    case Op::divsi:
    case Op::remsi:
    case Op::floordivsi:
    case Op::ceildivsi:
    case Op::maxsi:
    case Op::minsi:
    case Op::mulhisi:
    case Op::shrsi: return run_signed;
    case Op::addi:
    case Op::subi:
    case Op::muli:
    case Op::divui:
    case Op::remui:
    case Op::ceildivui:
    case Op::andi:
    case Op::ori:
    case Op::xori:
    case Op::shli:
    case Op::shrui:
    case Op::maxui:
    case Op::minui:
    case Op::mulhiui: return run_unsigned;
    case Op::absi:
    case Op::ctlz:
    case Op::cttz:
    case Op::ctpop: return run_counts;
    case Op::cmpi: return run_compare;
    case Op::select: return run_select;
    case Op::addptr: return run_addptr;
    default: return nullptr;
  }
}

}  // namespace teeny::compiler::interpreter
