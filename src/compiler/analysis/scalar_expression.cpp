#include "compiler/analysis/scalar_expression.hpp"

#include <algorithm>
#include <llvm/ADT/StringExtras.h>

#include <mlir/Dialect/Arith/IR/Arith.h>

#include "compiler/dialect/tt/tt.hpp"

namespace teeny::compiler {

using namespace mlir;

namespace {

unsigned loop_depth(Operation *loop) {
  unsigned depth = 0;
  for (Operation *parent = loop->getParentOp(); parent; parent = parent->getParentOp())
    depth += isa<scf::ForOp, scf::WhileOp>(parent);
  return depth;
}

}  // namespace

std::string value_name(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    Operation *owner = argument.getOwner()->getParentOp();
    if (auto loop = dyn_cast<scf::ForOp>(owner)) {
      auto depth = std::to_string(loop_depth(loop));
      if (value == loop.getInductionVar()) return "iv" + depth;
      return "carried" + depth + "_" + std::to_string(argument.getArgNumber() - 1);
    }
    return (isa<tt::FuncOp>(owner) ? "arg" : "block_arg") + std::to_string(argument.getArgNumber());
  }
  const char *axes = "xyz";
  if (auto id = value.getDefiningOp<tt::GetProgramIdOp>()) return std::string("pid_") + axes[int(id.getAxis())];
  if (auto count = value.getDefiningOp<tt::GetNumProgramsOp>()) return std::string("num_") + axes[int(count.getAxis())];
  return value.getDefiningOp()->getName().stripDialect().str();
}

namespace {

// 64-bit arithmetic that wraps, as the generated code's does.
int64_t wrapping_add(int64_t a, int64_t b) { return int64_t(uint64_t(a) + uint64_t(b)); }
int64_t wrapping_multiply(int64_t a, int64_t b) { return int64_t(uint64_t(a) * uint64_t(b)); }

bool before(const Monomial &a, const Monomial &b) {
  return std::lexicographical_compare(a.atoms.begin(), a.atoms.end(), b.atoms.begin(), b.atoms.end(),
                                      [](const Atom *x, const Atom *y) { return x->id < y->id; });
}

// Sorts, and merges monomials of the same atoms.
void normalise(SmallVectorImpl<Monomial> &monomials) {
  llvm::sort(monomials, before);
  size_t out = 0;
  for (size_t in = 0; in < monomials.size(); ++in) {
    if (out > 0 && monomials[out - 1].atoms == monomials[in].atoms) {
      monomials[out - 1].coefficient = wrapping_add(monomials[out - 1].coefficient, monomials[in].coefficient);
      continue;
    }
    if (out > 0 && monomials[out - 1].coefficient == 0) --out;
    if (out != in) monomials[out] = std::move(monomials[in]);
    ++out;
  }
  if (out > 0 && monomials[out - 1].coefficient == 0) --out;
  monomials.truncate(out);
}

bool value_varies_in(Value value, Operation *loop) {
  Operation *parent = value.getParentRegion() ? value.getParentRegion()->getParentOp() : nullptr;
  return parent && loop->isAncestor(parent);
}

bool atom_varies_in(const Atom &atom, Operation *loop) {
  switch (atom.kind) {
    case Atom::Kind::value: return value_varies_in(atom.value, loop);
    case Atom::Kind::iteration: return loop->isAncestor(atom.loop);
    case Atom::Kind::trip_count: return loop != atom.loop && loop->isAncestor(atom.loop);
    case Atom::Kind::operation: return atom.left.varies_in(loop) || atom.right.varies_in(loop);
  }
  return true;
}

const char *spelling(ScalarOperation operation) {
  switch (operation) {
    case ScalarOperation::add: return "add";
    case ScalarOperation::multiply: return "mul";
    case ScalarOperation::divide_signed: return "div";
    case ScalarOperation::remainder_signed: return "rem";
    case ScalarOperation::minimum_signed: return "min";
    case ScalarOperation::maximum_signed: return "max";
    case ScalarOperation::bitwise_and: return "and";
  }
  return "?";
}

std::string atom_name(const Atom &atom) {
  switch (atom.kind) {
    case Atom::Kind::value: return value_name(atom.value);
    case Atom::Kind::iteration: return "iteration" + std::to_string(loop_depth(atom.loop));
    case Atom::Kind::trip_count: return "trips" + std::to_string(loop_depth(atom.loop));
    case Atom::Kind::operation: break;
  }
  return std::string(spelling(atom.operation)) + "(" + atom.left.to_string() + ", " + atom.right.to_string() + ")";
}

void visit_atom(const Atom &atom, function_ref<void(Value)> visit) {
  switch (atom.kind) {
    case Atom::Kind::value: return visit(atom.value);
    case Atom::Kind::operation:
      atom.left.for_each_value(visit);
      return atom.right.for_each_value(visit);
    case Atom::Kind::iteration: visit(const_cast<Atom &>(atom).loop.getInductionVar()); break;
    case Atom::Kind::trip_count: visit(const_cast<Atom &>(atom).loop.getUpperBound()); break;
  }
  visit(const_cast<Atom &>(atom).loop.getLowerBound());
  visit(const_cast<Atom &>(atom).loop.getStep());
}

}  // namespace

ScalarExpression::ScalarExpression(int64_t constant) {
  if (constant != 0) monomials_.push_back({{}, constant});
}

ScalarExpression::ScalarExpression(const Atom *atom) { monomials_.push_back({{atom}, 1}); }

std::optional<int64_t> ScalarExpression::constant() const {
  if (monomials_.empty()) return 0;
  if (monomials_.size() == 1 && monomials_[0].atoms.empty()) return monomials_[0].coefficient;
  return std::nullopt;
}

Value ScalarExpression::single_value() const {
  if (monomials_.size() != 1 || monomials_[0].coefficient != 1 || monomials_[0].atoms.size() != 1) return {};
  const Atom &atom = *monomials_[0].atoms[0];
  return atom.kind == Atom::Kind::value ? atom.value : Value();
}

int64_t ScalarExpression::coefficient_divisor() const {
  uint64_t bits = 0;
  for (const Monomial &monomial : monomials_) bits |= uint64_t(monomial.coefficient);
  return int64_t(bits & (~bits + 1) & ~(uint64_t(1) << 63));
}

std::optional<ScalarExpression> ScalarExpression::divided_by(const ScalarExpression &divisor) const {
  if (divisor.monomials_.size() != 1) return std::nullopt;
  const Monomial &by = divisor.monomials_[0];
  ScalarExpression result;
  for (const Monomial &monomial : monomials_) {
    // INT64_MIN / -1 does not fit.
    if (by.coefficient == -1 && monomial.coefficient == INT64_MIN) return std::nullopt;
    if (monomial.coefficient % by.coefficient != 0) return std::nullopt;
    Monomial quotient{monomial.atoms, monomial.coefficient / by.coefficient};
    for (const Atom *atom : by.atoms) {
      auto *found = llvm::find(quotient.atoms, atom);
      if (found == quotient.atoms.end()) return std::nullopt;
      quotient.atoms.erase(found);
    }
    result.monomials_.push_back(std::move(quotient));
  }
  normalise(result.monomials_);
  return result;
}

bool ScalarExpression::is_non_negative() const {
  return llvm::all_of(monomials_, [](const Monomial &monomial) {
    return monomial.coefficient >= 0 &&
           llvm::all_of(monomial.atoms, [](const Atom *atom) { return atom->non_negative; });
  });
}

bool ScalarExpression::varies_in(Operation *loop) const {
  return llvm::any_of(monomials_, [&](const Monomial &monomial) {
    return llvm::any_of(monomial.atoms, [&](const Atom *atom) { return atom_varies_in(*atom, loop); });
  });
}

std::optional<std::pair<ScalarExpression, ScalarExpression>> ScalarExpression::linear_in(Value value) const {
  std::pair<ScalarExpression, ScalarExpression> result;
  for (const Monomial &monomial : monomials_) {
    unsigned occurrences = 0;
    Monomial factor{{}, monomial.coefficient};
    for (const Atom *atom : monomial.atoms) {
      bool is_value = atom->kind == Atom::Kind::value && atom->value == value;
      bool inside = false;
      if (!is_value) visit_atom(*atom, [&](Value used) { inside |= used == value; });
      if (inside) return std::nullopt;
      if (is_value) ++occurrences;
      else factor.atoms.push_back(atom);
    }
    if (occurrences > 1) return std::nullopt;
    (occurrences ? result.first : result.second).monomials_.push_back(std::move(factor));
  }
  normalise(result.first.monomials_);
  return result;
}

void ScalarExpression::for_each_value(function_ref<void(Value)> visit) const {
  for (const Monomial &monomial : monomials_)
    for (const Atom *atom : monomial.atoms) visit_atom(*atom, visit);
}

ScalarExpression &ScalarExpression::operator+=(const ScalarExpression &other) {
  monomials_.append(other.monomials_.begin(), other.monomials_.end());
  normalise(monomials_);
  return *this;
}

ScalarExpression &ScalarExpression::operator-=(const ScalarExpression &other) {
  return *this += other * ScalarExpression(-1);
}

ScalarExpression operator*(const ScalarExpression &a, const ScalarExpression &b) {
  ScalarExpression result;
  for (const Monomial &x : a.monomials_) {
    for (const Monomial &y : b.monomials_) {
      Monomial product{x.atoms, wrapping_multiply(x.coefficient, y.coefficient)};
      product.atoms.append(y.atoms.begin(), y.atoms.end());
      llvm::sort(product.atoms, [](const Atom *p, const Atom *q) { return p->id < q->id; });
      result.monomials_.push_back(std::move(product));
    }
  }
  normalise(result.monomials_);
  return result;
}

std::string ScalarExpression::to_string() const {
  // Names, not ids, order the text, so that it does not depend on the order of discovery.
  SmallVector<std::pair<std::string, int64_t>> parts;
  int64_t constant_term = 0;
  for (const Monomial &monomial : monomials_) {
    if (monomial.atoms.empty()) {
      constant_term = monomial.coefficient;
      continue;
    }
    SmallVector<std::string> names;
    for (const Atom *atom : monomial.atoms) names.push_back(atom_name(*atom));
    llvm::sort(names);
    parts.push_back({llvm::join(names, "*"), monomial.coefficient});
  }
  llvm::sort(parts, [](const auto &a, const auto &b) { return a.first < b.first; });
  if (constant_term || parts.empty()) parts.push_back({"", constant_term});
  std::string text;
  for (auto &[name, coefficient] : parts) {
    bool negative = coefficient < 0;
    if (!text.empty()) text += negative ? " - " : " + ";
    else if (negative) text += "-";
    uint64_t magnitude = negative ? -uint64_t(coefficient) : uint64_t(coefficient);
    if (name.empty()) text += std::to_string(magnitude);
    else text += (magnitude == 1 ? "" : std::to_string(magnitude) + "*") + name;
  }
  return text;
}

Value ArithExpressionBuilder::constant(int64_t value) {
  return arith::ConstantOp::create(builder_, location_, builder_.getI64IntegerAttr(value));
}

Value ArithExpressionBuilder::value(Value scalar) {
  Value mapped = lookup_(scalar);
  Type wide = builder_.getI64Type();
  if (mapped.getType() == wide) return mapped;
  if (isa<IndexType>(mapped.getType())) return arith::IndexCastOp::create(builder_, location_, wide, mapped);
  return arith::ExtSIOp::create(builder_, location_, wide, mapped);
}

Value ArithExpressionBuilder::binary(ScalarOperation operation, Value left, Value right) {
  switch (operation) {
    case ScalarOperation::add: return arith::AddIOp::create(builder_, location_, left, right);
    case ScalarOperation::multiply: return arith::MulIOp::create(builder_, location_, left, right);
    case ScalarOperation::divide_signed: return arith::DivSIOp::create(builder_, location_, left, right);
    case ScalarOperation::remainder_signed: return arith::RemSIOp::create(builder_, location_, left, right);
    case ScalarOperation::minimum_signed: return arith::MinSIOp::create(builder_, location_, left, right);
    case ScalarOperation::maximum_signed: return arith::MaxSIOp::create(builder_, location_, left, right);
    case ScalarOperation::bitwise_and: return arith::AndIOp::create(builder_, location_, left, right);
  }
  return {};
}

}  // namespace teeny::compiler
