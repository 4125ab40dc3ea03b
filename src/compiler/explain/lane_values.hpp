// What an integer of the thread dialect is in every lane of a program, as far as it is a function of lane, warp and
// constants.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include <mlir/IR/Value.h>

#include <mlir/Dialect/SCF/IR/SCF.h>

namespace teeny::compiler::explain {

// One number for each lane of all warps in order, or a single one that they share.
class LaneNumbers {
 public:
  LaneNumbers(std::int64_t shared = 0) : numbers_{shared} {}
  explicit LaneNumbers(std::vector<std::int64_t> numbers);

  bool shared() const { return numbers_.size() == 1; }
  std::int64_t operator[](std::size_t lane) const { return numbers_[shared() ? 0 : lane]; }
  bool is_zero() const { return shared() && numbers_[0] == 0; }
  bool operator==(const LaneNumbers&) const = default;

  template <class F>
  static LaneNumbers map(const LaneNumbers& a, const LaneNumbers& b, F f) {
    std::vector<std::int64_t> result(std::max(a.numbers_.size(), b.numbers_.size()));
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = f(a[i], b[i]);
    return LaneNumbers(std::move(result));
  }

 private:
  std::vector<std::int64_t> numbers_;
};

// constant + the sum of coefficient * symbol. A symbol is a number that all lanes share and that nobody knows here: an
// argument, a program id, a loop's turn; 64-bit and without overflow, as what addresses are made of is.
struct LaneValue {
  std::map<int, LaneNumbers> terms;  // by symbol; no coefficient is 0
  LaneNumbers constant;

  bool is_constant() const { return terms.empty(); }
  bool shared() const;  // all lanes have the same
};

// Values of one function, found on demand and kept.
class LaneValues {
 public:
  LaneValues(int lanes, int warps) : lanes_(lanes), warps_(warps) {}

  int lanes() const { return lanes_; }
  int threads() const { return lanes_ * warps_; }
  // Nothing where it depends on data, or on more than a polynomial of symbols.
  std::optional<LaneValue> of(mlir::Value value);
  // Bit a: programs that differ along axis a of the grid may have different values.
  unsigned axes(const LaneValue& value) const;

 private:
  std::optional<LaneValue> find(mlir::Value value);
  std::optional<LaneValue> argument(mlir::BlockArgument argument);
  std::optional<LaneValue> carried(mlir::scf::ForOp loop, unsigned index, mlir::Value as);
  std::optional<LaneValue> result(mlir::OpResult result);
  std::optional<LaneValue> arithmetic(mlir::Operation& operation);
  std::optional<LaneValue> branch(mlir::scf::IfOp branch, unsigned index);
  std::optional<LaneValue> product(const LaneValue& a, const LaneValue& b);
  LaneValue symbol(unsigned axes);
  int symbol_of(int a, int b);  // of their product

  const int lanes_, warps_;
  int depth_ = 0;
  std::vector<unsigned> axes_;  // by symbol
  std::map<std::pair<int, int>, int> products_;
  llvm::DenseMap<mlir::Value, std::optional<LaneValue>> known_;
  std::vector<mlir::Value> order_;  // in which they became known
};

LaneValue sum(const LaneValue& a, const LaneValue& b, std::int64_t factor = 1);  // a + factor * b

}  // namespace teeny::compiler::explain
