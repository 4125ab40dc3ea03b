#include "compiler/explain/lane_values.hpp"

#include <algorithm>

#include <llvm/ADT/TypeSwitch.h>
#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/dialect/thread/thread.hpp"

namespace teeny::compiler::explain {

using namespace mlir;

namespace {

constexpr std::size_t most_terms = 24;
constexpr int deepest = 4096;  // of expressions within each other

int width_of(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  return integer ? int(integer.getWidth()) : 0;
}

// As the type's bits say, signed.
std::int64_t wrapped(std::int64_t number, int width) {
  if (width >= 64) return number;
  const std::uint64_t bits = std::uint64_t(number) << (64 - width);
  return std::int64_t(bits) >> (64 - width);
}

std::uint64_t bits_of(std::int64_t number, int width) {
  return width >= 64 ? std::uint64_t(number) : std::uint64_t(number) & ((std::uint64_t(1) << width) - 1);
}

std::int64_t compare(arith::CmpIPredicate predicate, std::int64_t a, std::int64_t b, int width) {
  const std::uint64_t x = bits_of(a, width), y = bits_of(b, width);
  switch (predicate) {
    case arith::CmpIPredicate::eq: return a == b;
    case arith::CmpIPredicate::ne: return a != b;
    case arith::CmpIPredicate::slt: return a < b;
    case arith::CmpIPredicate::sle: return a <= b;
    case arith::CmpIPredicate::sgt: return a > b;
    case arith::CmpIPredicate::sge: return a >= b;
    case arith::CmpIPredicate::ult: return x < y;
    case arith::CmpIPredicate::ule: return x <= y;
    case arith::CmpIPredicate::ugt: return x > y;
    case arith::CmpIPredicate::uge: return x >= y;
  }
  return 0;
}

// Of two constants; nothing for what has no value (a division by 0) or is no integer operation of two operands.
std::optional<LaneNumbers> computed(Operation& operation, const LaneNumbers& a, const LaneNumbers& b) {
  const int width = width_of(operation.getOperand(0).getType());
  const auto each = [&](auto f) {
    return LaneNumbers::map(a, b, [&](std::int64_t x, std::int64_t y) { return wrapped(f(x, y), width); });
  };
  const auto divided = [&](auto f) -> std::optional<LaneNumbers> {
    bool zero = false;
    LaneNumbers::map(b, b, [&](std::int64_t y, std::int64_t) { return zero |= y == 0, y; });
    if (zero) return std::nullopt;
    return each(f);
  };
  using U = std::uint64_t;
  const auto bits = [&](std::int64_t x) { return bits_of(x, width); };
  const auto shifts = [&](std::int64_t y) { return U(y) < U(width); };
  return llvm::TypeSwitch<Operation*, std::optional<LaneNumbers>>(&operation)
      .Case([&](arith::AndIOp) { return each([](auto x, auto y) { return x & y; }); })
      .Case([&](arith::OrIOp) { return each([](auto x, auto y) { return x | y; }); })
      .Case([&](arith::XOrIOp) { return each([](auto x, auto y) { return x ^ y; }); })
      .Case([&](arith::ShLIOp) { return each([&](auto x, auto y) { return shifts(y) ? std::int64_t(U(x) << y) : 0; }); })
      .Case([&](arith::ShRUIOp) { return each([&](auto x, auto y) { return shifts(y) ? std::int64_t(bits(x) >> y) : 0; }); })
      .Case([&](arith::ShRSIOp) { return each([&](auto x, auto y) { return shifts(y) ? x >> y : 0; }); })
      .Case([&](arith::DivUIOp) { return divided([&](auto x, auto y) { return std::int64_t(bits(x) / bits(y)); }); })
      .Case([&](arith::RemUIOp) { return divided([&](auto x, auto y) { return std::int64_t(bits(x) % bits(y)); }); })
      .Case([&](arith::DivSIOp) { return divided([](auto x, auto y) { return y == -1 ? -x : x / y; }); })
      .Case([&](arith::RemSIOp) { return divided([](auto x, auto y) { return y == -1 ? 0 : x % y; }); })
      .Case([&](arith::MinSIOp) { return each([](auto x, auto y) { return std::min(x, y); }); })
      .Case([&](arith::MaxSIOp) { return each([](auto x, auto y) { return std::max(x, y); }); })
      .Case([&](arith::MinUIOp) { return each([&](auto x, auto y) { return bits(x) < bits(y) ? x : y; }); })
      .Case([&](arith::MaxUIOp) { return each([&](auto x, auto y) { return bits(x) < bits(y) ? y : x; }); })
      .Case([&](arith::CmpIOp test) {
        return LaneNumbers::map(a, b, [&](auto x, auto y) { return compare(test.getPredicate(), x, y, width); });
      })
      .Default(std::nullopt);
}

}  // namespace

LaneNumbers::LaneNumbers(std::vector<std::int64_t> numbers) : numbers_(std::move(numbers)) {
  if (std::all_of(numbers_.begin(), numbers_.end(), [&](std::int64_t number) { return number == numbers_[0]; }))
    numbers_.resize(1);
}

bool LaneValue::shared() const {
  return constant.shared() && std::all_of(terms.begin(), terms.end(), [](const auto& term) { return term.second.shared(); });
}

LaneValue sum(const LaneValue& a, const LaneValue& b, std::int64_t factor) {
  const auto add = [&](std::int64_t x, std::int64_t y) { return x + factor * y; };
  LaneValue result = a;
  result.constant = LaneNumbers::map(a.constant, b.constant, add);
  for (const auto& [symbol, coefficient] : b.terms) {
    auto [place, fresh] = result.terms.try_emplace(symbol, 0);
    place->second = LaneNumbers::map(place->second, coefficient, add);
    if (place->second.is_zero()) result.terms.erase(place);
  }
  return result;
}

LaneValue LaneValues::symbol(unsigned axes) {
  LaneValue value;
  value.terms.emplace(int(axes_.size()), 1);
  axes_.push_back(axes);
  return value;
}

unsigned LaneValues::axes(const LaneValue& value) const {
  unsigned axes = 0;
  for (const auto& [symbol, coefficient] : value.terms) axes |= axes_[std::size_t(symbol)];
  return axes;
}

int LaneValues::symbol_of(int a, int b) {
  const auto [place, fresh] = products_.try_emplace(std::minmax(a, b), int(axes_.size()));
  if (fresh) axes_.push_back(axes_[std::size_t(a)] | axes_[std::size_t(b)]);
  return place->second;
}

std::optional<LaneValue> LaneValues::product(const LaneValue& a, const LaneValue& b) {
  if ((a.terms.size() + 1) * (b.terms.size() + 1) > most_terms) return std::nullopt;
  const auto times = [](const LaneNumbers& x, const LaneNumbers& y) {
    return LaneNumbers::map(x, y, [](std::int64_t p, std::int64_t q) { return p * q; });
  };
  LaneValue result;
  const auto add = [&](int symbol, const LaneNumbers& coefficient) {
    LaneValue term;
    if (!coefficient.is_zero()) term.terms.emplace(symbol, coefficient);
    result = sum(result, term);
  };
  result.constant = times(a.constant, b.constant);
  for (const auto& [symbol, coefficient] : a.terms) add(symbol, times(coefficient, b.constant));
  for (const auto& [symbol, coefficient] : b.terms) add(symbol, times(coefficient, a.constant));
  for (const auto& [x, first] : a.terms)
    for (const auto& [y, second] : b.terms) add(symbol_of(x, y), times(first, second));
  return result;
}

std::optional<LaneValue> LaneValues::of(Value value) {
  if (const auto found = known_.find(value); found != known_.end()) return found->second;
  if (depth_ >= deepest) return std::nullopt;
  ++depth_;
  std::optional<LaneValue> result = find(value);
  --depth_;
  if (result && result->terms.size() > most_terms) result.reset();
  known_[value] = result;
  order_.push_back(value);
  return result;
}

std::optional<LaneValue> LaneValues::find(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) return this->argument(argument);
  return result(cast<OpResult>(value));
}

std::optional<LaneValue> LaneValues::argument(BlockArgument argument) {
  Operation* parent = argument.getOwner()->getParentOp();
  if (isa<func::FuncOp>(parent)) return symbol(0);
  auto loop = dyn_cast<scf::ForOp>(parent);
  if (!loop) return std::nullopt;
  if (argument.getArgNumber() > 0) return carried(loop, argument.getArgNumber() - 1, argument);
  const auto first = of(loop.getLowerBound()), step = of(loop.getStep());
  if (!first || !step || !step->shared()) return std::nullopt;
  return sum(*first, symbol(axes(*step)));
}

// What a loop carries is its first value and the same number in all lanes, if that of the next turn is so too.
std::optional<LaneValue> LaneValues::carried(scf::ForOp loop, unsigned index, Value as) {
  const auto first = of(loop.getInitArgs()[index]);
  if (!first) return std::nullopt;
  const Value inside = loop.getRegionIterArg(index);
  if (as != inside) {
    const auto value = of(inside);
    return value ? std::optional(sum(*first, symbol(axes(*value)))) : std::nullopt;
  }
  const int added = int(axes_.size());
  const LaneValue assumed = sum(*first, symbol(0));
  const std::size_t before = order_.size();
  known_[inside] = assumed;
  const auto next = of(loop.getYieldedValues()[index]);
  const LaneValue difference = next ? sum(*next, assumed, -1) : LaneValue();
  if (next && difference.shared() && axes(difference) == 0) return assumed;
  // What was found meanwhile rests on the assumption.
  for (; order_.size() > before; order_.pop_back()) known_.erase(order_.back());
  if (!next || !difference.shared()) return std::nullopt;
  axes_[std::size_t(added)] = axes(difference);
  return assumed;
}

std::optional<LaneValue> LaneValues::branch(scf::IfOp branch, unsigned index) {
  if (branch.getElseRegion().empty()) return std::nullopt;
  const auto a = of(branch.thenYield().getOperand(index)), b = of(branch.elseYield().getOperand(index));
  if (!a || !b) return std::nullopt;
  const LaneValue difference = sum(*a, *b, -1);
  if (difference.is_constant() && difference.constant.is_zero()) return a;
  const auto condition = of(branch.getCondition());
  if (!condition || !condition->shared() || !difference.shared()) return std::nullopt;
  return sum(*a, symbol(axes(*a) | axes(*b) | axes(*condition)));
}

std::optional<LaneValue> LaneValues::result(OpResult result) {
  Operation& operation = *result.getOwner();
  const auto ids = [&](auto number) {
    std::vector<std::int64_t> numbers(std::size_t(threads()), 0);
    for (int i = 0; i < threads(); ++i) numbers[std::size_t(i)] = number(i);
    LaneValue value;
    value.constant = LaneNumbers(std::move(numbers));
    return value;
  };
  if (isa<thread::LaneIdOp>(operation)) return ids([&](int i) { return i % lanes_; });
  if (isa<thread::WarpIdOp>(operation)) return ids([&](int i) { return i / lanes_; });
  if (auto id = dyn_cast<thread::ProgramIdOp>(operation)) return symbol(1u << unsigned(id.getAxis()));
  if (isa<thread::NumProgramsOp>(operation)) return symbol(0);
  if (auto loop = dyn_cast<scf::ForOp>(operation)) return carried(loop, result.getResultNumber(), result);
  if (auto branch = dyn_cast<scf::IfOp>(operation)) return this->branch(branch, result.getResultNumber());
  if (operation.getNumRegions() != 0 || !result.getType().isSignlessInteger()) return std::nullopt;
  if (auto constant = dyn_cast<arith::ConstantOp>(operation)) {
    LaneValue value;
    value.constant = cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue();
    return value;
  }
  return arithmetic(operation);
}

std::optional<LaneValue> LaneValues::arithmetic(Operation& operation) {
  SmallVector<LaneValue> operands;
  bool constant = true, shared = true;
  unsigned axes = 0;
  for (Value operand : operation.getOperands()) {
    const auto value = operand.getType().isSignlessInteger() ? of(operand) : std::nullopt;
    if (!value) return std::nullopt;
    constant &= value->is_constant(), shared &= value->shared();
    axes |= this->axes(*value);
    operands.push_back(*value);
  }
  if (isa<arith::AddIOp>(operation)) return sum(operands[0], operands[1]);
  if (isa<arith::SubIOp>(operation)) return sum(operands[0], operands[1], -1);
  if (isa<arith::ExtSIOp, arith::TruncIOp>(operation)) return operands[0];
  if (auto wide = dyn_cast<arith::ExtUIOp>(operation)) {
    const int width = width_of(wide.getIn().getType());
    if (constant)
      operands[0].constant = LaneNumbers::map(operands[0].constant, 0, [&](std::int64_t x, std::int64_t) {
        return std::int64_t(bits_of(x, width));
      });
    return operands[0];
  }
  if (isa<arith::MulIOp>(operation)) return product(operands[0], operands[1]);
  if (isa<arith::ShLIOp>(operation) && operands[1].is_constant() && !constant) {
    LaneValue power;
    power.constant = LaneNumbers::map(operands[1].constant, 0, [](std::int64_t x, std::int64_t) {
      return x >= 0 && x < 63 ? std::int64_t(1) << x : std::int64_t(0);
    });
    return product(operands[0], power);
  }
  if (auto select = dyn_cast<arith::SelectOp>(operation); select && operands[0].is_constant()) {
    if (operands[0].constant.shared()) return operands[0].constant[0] != 0 ? operands[1] : operands[2];
    if (!constant) return std::nullopt;
    std::vector<std::int64_t> numbers;
    for (int i = 0; i < threads(); ++i)
      numbers.push_back(operands[operands[0].constant[std::size_t(i)] != 0 ? 1 : 2].constant[std::size_t(i)]);
    LaneValue value;
    value.constant = LaneNumbers(std::move(numbers));
    return value;
  }
  if (constant && operands.size() == 2 && operation.getNumResults() == 1)
    if (auto numbers = computed(operation, operands[0].constant, operands[1].constant)) {
      LaneValue value;
      value.constant = *numbers;
      return value;
    }
  // Whatever it computes of what all lanes share, they share.
  if (auto select = dyn_cast<arith::SelectOp>(operation)) {
    const LaneValue difference = sum(operands[1], operands[2], -1);
    if (operands[0].shared() && difference.shared()) return sum(operands[1], symbol(axes));
  }
  if (shared && isMemoryEffectFree(&operation)) return symbol(axes);
  return std::nullopt;
}

}  // namespace teeny::compiler::explain
