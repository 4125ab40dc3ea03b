// Integer expressions over scalar SSA values: polynomials with integer coefficients, which block recovery computes and
// a code generator turns into instructions.
//
// Arithmetic is that of 64-bit two's complement integers. Values narrower than 64 bits enter sign-extended. A sum or a
// product that the program computes in 32 bits is represented by its exact value: signed index arithmetic is assumed
// not to overflow, as Triton assumes; the checker reports a program that breaks the assumption. Arithmetic narrower
// than 32 bits is never looked through.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>
#include <mlir/IR/Value.h>

namespace teeny::compiler {

struct Atom;

// A product of atoms, sorted, with a coefficient that is not 0. The empty product is the constant term.
struct Monomial {
  llvm::SmallVector<const Atom *, 2> atoms;
  int64_t coefficient = 0;
  bool operator==(const Monomial &) const = default;
};

// A polynomial in normal form: equal polynomials compare equal. Refers to atoms of the BlockRecovery that made it, and
// must not outlive that.
class ScalarExpression {
 public:
  ScalarExpression() = default;  // 0
  ScalarExpression(int64_t constant);
  explicit ScalarExpression(const Atom *atom);

  llvm::ArrayRef<Monomial> monomials() const { return monomials_; }
  bool is_zero() const { return monomials_.empty(); }
  // The value, where it is known when compiling.
  std::optional<int64_t> constant() const;
  // The SSA value, where the expression is one and nothing else; null otherwise.
  mlir::Value single_value() const;

  // The largest power of two that divides every coefficient (the expression is a multiple of it); 0 for 0.
  int64_t coefficient_divisor() const;
  // The expression divided by `divisor`, where the division is exact term by term.
  std::optional<ScalarExpression> divided_by(const ScalarExpression &divisor) const;
  // Provably >= 0 for every value of its atoms.
  bool is_non_negative() const;
  // Some atom takes different values in different iterations of the loop, or does not exist outside it. When false,
  // the expression can be computed before the loop (a division by 0 that the loop would not have reached included).
  bool varies_in(mlir::Operation *loop) const;
  // Writes the expression as result.first * value + result.second with no `value` in either; empty where `value`
  // occurs squared or inside a division.
  std::optional<std::pair<ScalarExpression, ScalarExpression>> linear_in(mlir::Value value) const;
  // Calls `visit` with every SSA value needed to compute the expression.
  void for_each_value(llvm::function_ref<void(mlir::Value)> visit) const;

  ScalarExpression &operator+=(const ScalarExpression &other);
  ScalarExpression &operator-=(const ScalarExpression &other);
  friend ScalarExpression operator+(ScalarExpression a, const ScalarExpression &b) { return a += b; }
  friend ScalarExpression operator-(ScalarExpression a, const ScalarExpression &b) { return a -= b; }
  friend ScalarExpression operator*(const ScalarExpression &a, const ScalarExpression &b);
  friend ScalarExpression operator-(const ScalarExpression &a) { return a * ScalarExpression(int64_t(-1)); }
  bool operator==(const ScalarExpression &) const = default;

  // For tests and people: "8*pid_x*arg3 + arg1 - 4"; SSA values are named arg<number>, pid_x, num_x, iv<depth> or
  // by the operation that made them.
  std::string to_string() const;

 private:
  llvm::SmallVector<Monomial, 2> monomials_;
};

enum class ScalarOperation {
  add, multiply, divide_signed, remainder_signed, minimum_signed, maximum_signed,
  bitwise_and  // zero-extension of a narrower value
};

// What polynomials are made of.
struct Atom {
  enum class Kind {
    value,       // `value`, sign-extended to 64 bits
    iteration,   // how many iterations of `loop` came before this one: (iv - lower) / step
    trip_count,  // how many iterations `loop` runs: max(0, ceil((upper - lower) / step))
    operation    // `operation` of `left` and `right`
  };
  Kind kind = Kind::value;
  unsigned id = 0;  // order of creation; orders atoms within a monomial
  bool non_negative = false;  // provably >= 0
  mlir::Value value;
  mlir::scf::ForOp loop;
  ScalarOperation operation = ScalarOperation::add;
  ScalarExpression left, right;
};

// The name that to_string gives to an SSA value.
std::string value_name(mlir::Value value);

// What a code generator supplies to compute an expression: `Handle` is its own kind of value (mlir::Value,
// llvm::Value *, …), always a 64-bit integer.
template <class Handle>
struct ScalarExpressionBuilder {
  virtual ~ScalarExpressionBuilder() = default;
  virtual Handle constant(int64_t value) = 0;
  // The generated counterpart of a scalar integer SSA value of the tt function, sign-extended to 64 bits.
  virtual Handle value(mlir::Value scalar) = 0;
  virtual Handle binary(ScalarOperation operation, Handle left, Handle right) = 0;

  // Number of iterations of `loop` already done. Override where the generator counts them.
  virtual Handle iteration(mlir::scf::ForOp loop) {
    auto done = subtract(value(loop.getInductionVar()), value(loop.getLowerBound()));
    return binary(ScalarOperation::divide_signed, done, value(loop.getStep()));
  }
  virtual Handle trip_count(mlir::scf::ForOp loop) {
    auto step = value(loop.getStep());
    auto length = subtract(value(loop.getUpperBound()), value(loop.getLowerBound()));
    auto rounded = binary(ScalarOperation::add, length, binary(ScalarOperation::add, step, constant(-1)));
    auto count = binary(ScalarOperation::divide_signed, rounded, step);
    return binary(ScalarOperation::maximum_signed, count, constant(0));
  }
  Handle subtract(Handle left, Handle right) {
    return binary(ScalarOperation::add, left, binary(ScalarOperation::multiply, right, constant(-1)));
  }
};

// Computes `expression`. The caller's insertion point must be dominated by the expression's values; that holds at the
// access for which the expression was recovered, and before any loop in which it does not vary (varies_in).
template <class Handle>
Handle materialise(const ScalarExpression &expression, ScalarExpressionBuilder<Handle> &builder) {
  auto atom_handle = [&](const Atom &atom) -> Handle {
    switch (atom.kind) {
      case Atom::Kind::value: return builder.value(atom.value);
      case Atom::Kind::iteration: return builder.iteration(atom.loop);
      case Atom::Kind::trip_count: return builder.trip_count(atom.loop);
      case Atom::Kind::operation: break;
    }
    return builder.binary(atom.operation, materialise(atom.left, builder), materialise(atom.right, builder));
  };
  std::optional<Handle> sum;
  for (const Monomial &monomial : expression.monomials()) {
    std::optional<Handle> product;
    for (const Atom *atom : monomial.atoms) {
      Handle factor = atom_handle(*atom);
      product = product ? builder.binary(ScalarOperation::multiply, *product, factor) : factor;
    }
    if (!product) {
      product = builder.constant(monomial.coefficient);
    } else if (monomial.coefficient != 1) {
      product = builder.binary(ScalarOperation::multiply, *product, builder.constant(monomial.coefficient));
    }
    sum = sum ? builder.binary(ScalarOperation::add, *sum, *product) : *product;
  }
  return sum ? *sum : builder.constant(0);
}

// Emits arith operations on i64. `lookup` maps a scalar of the tt function to the value that stands for it in the code
// being built (of any integer or index type; the same value when building into the function itself).
class ArithExpressionBuilder final : public ScalarExpressionBuilder<mlir::Value> {
 public:
  ArithExpressionBuilder(mlir::OpBuilder &builder, mlir::Location location,
                         llvm::function_ref<mlir::Value(mlir::Value)> lookup)
      : builder_(builder), location_(location), lookup_(lookup) {}
  mlir::Value constant(int64_t value) override;
  mlir::Value value(mlir::Value scalar) override;
  mlir::Value binary(ScalarOperation operation, mlir::Value left, mlir::Value right) override;

 private:
  mlir::OpBuilder &builder_;
  mlir::Location location_;
  llvm::function_ref<mlir::Value(mlir::Value)> lookup_;
};

}  // namespace teeny::compiler
