#include "compiler/analysis/fact_relevance.hpp"

#include <map>
#include <numeric>
#include <set>

#include "compiler/analysis/axis_info.hpp"
#include "compiler/analysis/block_recovery.hpp"
#include "compiler/analysis/mask_bounds.hpp"

namespace teeny::compiler {

using namespace mlir;

namespace {

constexpr double iterations_of_a_loop = 8;  // a guess, where only the order matters
constexpr double base_preference = 4;  // of the base's alignment over that of one addend
constexpr int64_t wanted_divisibility = 16;

class Relevance {
 public:
  explicit Relevance(tt::FuncOp function) : function_(function), blocks_(function), masks_(blocks_) {}

  SmallVector<teeny_fact> run() {
    has_dot_ = function_.walk([](tt::DotOp) { return WalkResult::interrupt(); }).wasInterrupted();
    function_.walk([&](Operation *operation) { visit(operation); });
    for (auto [argument, score] : stored_)
      if (!loaded_.contains(argument)) add(Use::streaming, argument, score);
    SmallVector<std::pair<std::pair<Use, unsigned>, double>> order(scores_.begin(), scores_.end());
    llvm::sort(order, [](const auto &a, const auto &b) {
      if (a.first.first != b.first.first) return a.first.first < b.first.first;
      return a.second != b.second ? a.second > b.second : a.first.second < b.first.second;
    });
    SmallVector<teeny_fact> facts;
    std::set<std::pair<uint16_t, unsigned>> listed;
    for (const auto &[fact, score] : order) {
      uint16_t kind = kind_of(fact.first);
      if (listed.insert({kind, fact.second}).second) facts.push_back({kind, uint16_t(fact.second)});
    }
    return facts;
  }

 private:
  // What a fact is good for, most useful first.
  enum class Use : uint16_t { last_stride, other_stride, multiple, streaming, offset };
  static uint16_t kind_of(Use use) {
    constexpr uint16_t kinds[] = {TEENY_FACT_EQUALS_ONE, TEENY_FACT_EQUALS_ONE, TEENY_FACT_DIVISIBLE_BY_16,
                                  TEENY_FACT_EXCEEDS_CACHE, TEENY_FACT_FITS_32};
    return kinds[unsigned(use)];
  }

  std::optional<unsigned> argument_number(Value value) {
    auto argument = dyn_cast_or_null<BlockArgument>(value);
    if (!argument || argument.getOwner() != &function_.getBody().front()) return std::nullopt;
    return argument.getArgNumber();
  }

  int64_t divisibility(unsigned argument) {
    auto attribute = function_.getArgAttrOfType<IntegerAttr>(argument, "tt.divisibility");
    return attribute ? attribute.getInt() : 1;
  }

  void add(Use use, unsigned argument, double score) {
    auto known = [&](StringRef name) { return function_.getArgAttr(argument, name) != nullptr; };
    if (use == Use::offset && (known("teeny.fits_32") || known("tt.pointer_range"))) return;
    if (use == Use::streaming && known("teeny.exceeds_cache")) return;
    scores_[{use, argument}] += score;
  }

  void visit(Operation *operation) {
    auto block = blocks_.recover(operation);
    if (!block || block->rank() == 0) return;
    double score = std::accumulate(block->shape.begin(), block->shape.end(), 1.0, std::multiplies<>());
    for (Operation *parent = operation->getParentOp(); parent != function_; parent = parent->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(parent)) score *= iterations_of_a_loop;
    bool vectors = visit_strides(*block, score);
    auto base = argument_number(block->base);
    if (vectors) visit_divisibility(*block, base, score);
    if (vectors) visit_bounds(operation, *block, score);
    if (!base) return;
    if (!isa<tt::StoreOp, tt::DescriptorStoreOp>(operation)) loaded_.insert(*base);
    else if (vectors && !has_dot_) stored_[*base] += score;
    auto irregular = [&](unsigned d) { return block->shape[d] > 1 && !step_along(*block, d); };
    if (llvm::any_of(llvm::seq(block->rank()), irregular)) add(Use::offset, *base, score);
  }

  // By how much neighbours along d differ, if by the same everywhere, wraps excepted.
  static const ScalarExpression *step_along(const BlockAccess &block, unsigned d) {
    if (block.shape[d] == 1) return nullptr;
    if (block.is_affine(d)) return &block.strides[d];
    const LaneTerm *wrapped = block.wrapped(d);
    return wrapped ? &wrapped->scale : nullptr;
  }

  // Whether some dimension is contiguous, or could be.
  bool visit_strides(const BlockAccess &block, double score) {
    for (unsigned d = 0; d < block.rank(); ++d)
      if (const ScalarExpression *step = step_along(block, d); step && step->constant() == 1) return true;
    bool could_be = false;
    for (unsigned d = 0; d < block.rank(); ++d) {
      const ScalarExpression *step = step_along(block, d);
      auto argument = step ? argument_number(step->single_value()) : std::nullopt;
      if (!argument) continue;
      could_be = true;
      add(d + 1 == block.rank() ? Use::last_stride : Use::other_stride, *argument, score);
    }
    return could_be;
  }

  void visit_divisibility(const BlockAccess &block, std::optional<unsigned> base, double score) {
    if (base && divisibility(*base) % wanted_divisibility != 0)
      add(Use::multiple, *base, score * base_preference);
    visit_multiples(block.offset, score);
    // The last dimension's stride that is to be 1 need not be divisible by anything.
    for (unsigned d = 0; d + 1 < block.rank(); ++d) visit_multiples(block.strides[d], score);
    for (const LaneTerm &term : block.terms)
      if (!term.depends_on(block.rank() - 1)) visit_multiples(term.scale, score);
  }

  // A vector stands under one bit of its mask where the bound along it is a multiple.
  void visit_bounds(Operation *operation, const BlockAccess &block, double score) {
    auto bounds = masks_.of_access(operation);
    if (!bounds || bounds->dimensions.size() != block.rank()) return;
    for (unsigned d = 0; d < block.rank(); ++d) {
      const ScalarExpression *step = step_along(block, d);
      if (!step || !(step->constant() == 1 || (!step->constant() && d + 1 == block.rank()))) continue;
      for (const ScalarExpression &high : bounds->dimensions[d].highs) visit_multiples(high, score);
      for (const ScalarExpression &low : bounds->dimensions[d].lows) visit_multiples(low, score);
    }
  }

  // Arguments that are factors of addends not known to be multiples of 16.
  void visit_multiples(const ScalarExpression &expression, double score) {
    for (const Monomial &monomial : expression.monomials()) {
      int64_t known = ScalarExpression(monomial.coefficient).coefficient_divisor();
      SmallVector<unsigned> arguments;
      for (const Atom *atom : monomial.atoms) {
        auto argument = atom->kind == Atom::Kind::value ? argument_number(atom->value) : std::nullopt;
        if (!argument) continue;
        arguments.push_back(*argument);
        known = std::min(known, wanted_divisibility) * std::gcd(divisibility(*argument), wanted_divisibility);
      }
      if (known % wanted_divisibility == 0) continue;
      for (unsigned argument : arguments) add(Use::multiple, argument, score);
    }
  }

  tt::FuncOp function_;
  BlockRecovery blocks_;
  MaskBoundsAnalysis masks_;
  bool has_dot_ = false;
  std::map<std::pair<Use, unsigned>, double> scores_;
  std::map<unsigned, double> stored_;
  std::set<unsigned> loaded_;
};

LogicalResult check_fact(tt::FuncOp function, const teeny_fact &fact) {
  if (fact.argument >= function.getNumArguments())
    return function.emitError("facts: an argument must exist; got argument ")
           << fact.argument << ", expected less than " << function.getNumArguments()
           << "\nhelp: number the kernel's arguments from 0";
  Type type = function.getArgument(fact.argument).getType();
  bool integer = isa<IntegerType>(type), pointer = isa<tt::PointerType>(type);
  bool right = fact.kind == TEENY_FACT_EQUALS_ONE        ? integer
               : fact.kind == TEENY_FACT_DIVISIBLE_BY_16 ? integer || pointer
                                                         : pointer && fact.kind <= TEENY_FACT_EXCEEDS_CACHE;
  if (right) return success();
  return function.emitError("facts: a fact must suit its argument; got argument ")
         << fact.argument << " of type " << type << ", expected one that a fact '" << spelling(fact)
         << "' is about\nhelp: 'equals one' is about integers, 'is divisible by 16' about integers and pointers, the "
            "others about pointers";
}

}  // namespace

StringRef spelling(const teeny_fact &fact) {
  switch (fact.kind) {
    case TEENY_FACT_EQUALS_ONE: return "equals one";
    case TEENY_FACT_DIVISIBLE_BY_16: return "is divisible by 16";
    case TEENY_FACT_FITS_32: return "fits 32 bits";
    case TEENY_FACT_EXCEEDS_CACHE: return "exceeds the cache";
    default: return "unknown";
  }
}

SmallVector<teeny_fact> relevant_facts(tt::FuncOp function) {
  if (function.isExternal()) return {};
  return Relevance(function).run();
}

LogicalResult apply_facts(tt::FuncOp function, ArrayRef<teeny_fact> facts) {
  if (function.isExternal() && !facts.empty())
    return function.emitError("facts: a function must have a body; got a declaration, expected a definition\nhelp: "
                              "apply facts to the kernel itself");
  for (const teeny_fact &fact : facts)
    if (failed(check_fact(function, fact))) return failure();
  OpBuilder builder(function.getContext());
  for (const teeny_fact &fact : facts) {
    BlockArgument argument = function.getArgument(fact.argument);
    if (fact.kind == TEENY_FACT_EQUALS_ONE) {
      builder.setInsertionPointToStart(&function.getBody().front());
      Value one = arith::ConstantOp::create(builder, argument.getLoc(), builder.getIntegerAttr(argument.getType(), 1));
      argument.replaceAllUsesWith(one);
    } else if (fact.kind == TEENY_FACT_DIVISIBLE_BY_16) {
      auto known = function.getArgAttrOfType<IntegerAttr>(fact.argument, "tt.divisibility");
      int64_t divisibility = known ? std::lcm(known.getInt(), wanted_divisibility) : wanted_divisibility;
      function.setArgAttr(fact.argument, "tt.divisibility", builder.getI32IntegerAttr(int32_t(divisibility)));
    } else {
      bool fits = fact.kind == TEENY_FACT_FITS_32;
      function.setArgAttr(fact.argument, fits ? "teeny.fits_32" : "teeny.exceeds_cache", builder.getUnitAttr());
    }
  }
  return success();
}

}  // namespace teeny::compiler
