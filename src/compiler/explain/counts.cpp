#include "compiler/explain/counts.hpp"

#include <llvm/ADT/TypeSwitch.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/explain/count_accesses.hpp"
#include "compiler/import/operation_number.hpp"

namespace teeny::compiler::explain {

using namespace mlir;

namespace {

std::int64_t bytes_of(Type type) { return (type.getIntOrFloatBitWidth() + 7) / 8; }

std::optional<std::int64_t> constant_of(Value value) {
  auto constant = value.getDefiningOp<arith::ConstantOp>();
  auto number = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  return number ? std::optional(number.getInt()) : std::nullopt;
}

std::optional<std::int64_t> turns_of(scf::ForOp loop) {
  const auto lower = constant_of(loop.getLowerBound()), upper = constant_of(loop.getUpperBound()), step = constant_of(loop.getStep());
  if (!lower || !upper || !step || *step <= 0) return std::nullopt;
  return std::max<std::int64_t>(0, (*upper - *lower + *step - 1) / *step);
}

class Counter {
 public:
  Counter(const gpu::Capability& capability, const CountOptions& options, Function& function)
      : accesses_(capability, function.lanes, function.warps), options_(options), function_(function) {}

  void block(Block& block, Counts& counts, std::vector<Loop>& loops) {
    for (Operation& operation : block) one(operation, counts, loops);
  }

 private:
  void one(Operation& operation, Counts& counts, std::vector<Loop>& loops) {
    if (auto loop = dyn_cast<scf::ForOp>(operation)) return this->loop(operation, loop.getRegion(), turns_of(loop), loops);
    if (auto loop = dyn_cast<scf::WhileOp>(operation)) {
      this->loop(operation, loop.getBefore(), std::nullopt, loops);
      return block(loop.getAfter().front(), loops.back().turn, loops.back().inner);
    }
    if (operation.getNumRegions() != 0) {
      function_.branches |= isa<scf::IfOp>(operation);
      for (Region& region : operation.getRegions())
        for (Block& inner : region) block(inner, counts, loops);
      return;
    }
    if (global(operation, counts) || shared(operation, counts) || together(operation, counts)) return;
    if (operation.getDialect()->getNamespace() == "thread") return note(counts.others, operation);
    if (!isa<arith::ConstantOp, ub::PoisonOp>(operation) && operation.getNumResults() > 0) computation(operation, counts);
  }

  void loop(Operation& operation, Region& body, std::optional<std::int64_t> turns, std::vector<Loop>& loops) {
    loops.push_back({place_text(operation.getLoc()), operation.getLoc(), turns, {}, {}});
    const std::size_t index = loops.size() - 1;
    Loop made = loops[index];
    block(body.front(), made.turn, made.inner);
    loops[index] = std::move(made);
  }

  bool global(Operation& operation, Counts& counts) {
    return llvm::TypeSwitch<Operation*, bool>(&operation)
        .Case([&](thread::LoadOp load) {
          return global(counts, "load", load.getAddress(), bytes_of(load.getResult(0).getType()) * load.getNumResults());
        })
        .Case([&](thread::StoreOp store) {
          return global(counts, "store", store.getAddress(), bytes_of(store.getValues()[0].getType()) * std::int64_t(store.getValues().size()));
        })
        .Case<thread::AtomicRMWOp, thread::AtomicCASOp>([&](auto atomic) {
          return global(counts, "atomic", atomic.getAddress(), bytes_of(atomic.getValue().getType()));
        })
        .Case([&](thread::CopyAsyncOp copy) {
          const int bytes = int(copy.getBytes());
          accesses_.global(counts.copies[{"copy", bytes}], copy.getAddress(), bytes);
          return shared(counts, "copy", copy.getArray(), copy.getIndex(), copy.getOffset(), bytes);
        })
        .Default(false);
  }
  bool global(Counts& counts, const char* kind, Value address, std::int64_t bytes) {
    accesses_.global(counts.global[{kind, int(bytes)}], address, bytes);
    return true;
  }

  bool shared(Operation& operation, Counts& counts) {
    return llvm::TypeSwitch<Operation*, bool>(&operation)
        .Case([&](thread::SharedRefOp) { return true; })
        .Case([&](thread::SharedLoadOp load) {
          return shared(counts, "load", load.getArray(), load.getIndex(), load.getOffset(),
                        bytes_of(load.getResult(0).getType()) * load.getNumResults());
        })
        .Case([&](thread::SharedStoreOp store) {
          return shared(counts, "store", store.getArray(), store.getIndex(), store.getOffset(),
                        bytes_of(store.getValues()[0].getType()) * std::int64_t(store.getValues().size()));
        })
        .Case([&](thread::SharedAtomicRMWOp atomic) {
          return shared(counts, "atomic", atomic.getArray(), atomic.getIndex(), atomic.getOffset(), bytes_of(atomic.getValue().getType()));
        })
        .Case([&](thread::MatrixLoadOp load) {
          return shared(counts, "matrix load ×" + std::to_string(load.getCount()), load.getArray(), load.getIndex(), load.getOffset(),
                        16, 8 * int(load.getCount()));
        })
        .Case([&](thread::MatrixStoreOp store) {
          return shared(counts, "matrix store ×" + std::to_string(store.getCount()), store.getArray(), store.getIndex(),
                        store.getOffset(), 16, 8 * int(store.getCount()));
        })
        .Default(false);
  }
  bool shared(Counts& counts, const std::string& kind, Value array, Value index, std::int64_t offset, std::int64_t bytes, int last = 0) {
    const std::int64_t element = bytes_of(cast<thread::SharedType>(array.getType()).getElement());
    accesses_.shared(counts.shared[{kind, int(bytes)}], index, offset, element, bytes, last);
    return true;
  }

  // What lanes do with each other, and for each other.
  bool together(Operation& operation, Counts& counts) {
    return llvm::TypeSwitch<Operation*, bool>(&operation)
        .Case<thread::MmaOp, thread::MmaAsyncOp>([&](auto product) { return ++counts.matrix[product.getUnit().str()], true; })
        .Case<thread::ShuffleOp, thread::BallotOp>([&](auto) { return note(counts.lanes, operation), true; })
        .Case<thread::BarrierOp, thread::CopyWaitOp, thread::CopyCommitOp, thread::MmaBeginOp, thread::MmaCommitOp,
              thread::MmaWaitOp, thread::FenceAsyncOp>([&](auto) { return note(counts.order, operation), true; })
        .Case<thread::LaneIdOp, thread::WarpIdOp, thread::ProgramIdOp, thread::NumProgramsOp>([](auto) { return true; })
        .Default(false);
  }

  void note(std::map<std::string, std::int64_t>& list, Operation& operation) {
    ++list[operation.getName().stripDialect().str()];
  }

  void computation(Operation& operation, Counts& counts) {
    const Type type = operation.getNumOperands() > 0 ? operation.getOperand(operation.getNumOperands() - 1).getType()
                                                     : operation.getResult(0).getType();
    if (isa<math::Exp2Op, math::RsqrtOp>(operation) || (isa<math::SqrtOp, arith::DivFOp>(operation) && type.isF32())) {
      const bool exact = isa<math::SqrtOp, arith::DivFOp>(operation) && !options_.approximate;
      ++counts.special[operation.getName().stripDialect().str() + (exact ? " (rounded exactly)" : "")];
      return;
    }
    if (isa<arith::TruncFOp, arith::ExtFOp, arith::SIToFPOp, arith::UIToFPOp, arith::FPToSIOp, arith::FPToUIOp>(operation)) {
      ++counts.arithmetic["conversions"];
      return;
    }
    if (isa<arith::BitcastOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(operation)) return;  // registers by another name
    if (options_.contract && fuses(operation)) return;
    std::string kind;
    llvm::raw_string_ostream(kind) << type;
    ++counts.arithmetic[isa<IntegerType>(type) ? "integers" : kind];
  }

  // Whether a product is computed by the sum that takes it.
  bool fuses(Operation& operation) {
    if (!isa<arith::MulFOp>(operation) || !operation.getResult(0).hasOneUse()) return false;
    return isa<arith::AddFOp, arith::SubFOp>(*operation.getResult(0).getUsers().begin());
  }

  AccessCounter accesses_;
  const CountOptions options_;
  Function& function_;
};

void add(std::map<std::string, std::int64_t>& to, const std::map<std::string, std::int64_t>& from, std::int64_t times) {
  for (const auto& [name, count] : from) to[name] += count * times;
}

void add(std::map<std::pair<std::string, int>, Accesses>& to, const std::map<std::pair<std::string, int>, Accesses>& from,
         std::int64_t times) {
  for (const auto& [name, accesses] : from) {
    Accesses& sum = to[name];
    sum.count += accesses.count * times;
    sum.bytes += accesses.bytes * times;
    sum.unknown += accesses.unknown * times;
    for (std::size_t axes = 0; axes < sum.by_axes.size(); ++axes) sum.by_axes[axes] += accesses.by_axes[axes] * times;
    sum.moved += accesses.moved * times;
    sum.known_bytes += accesses.known_bytes * times;
    sum.turns += accesses.turns * times;
    sum.least += accesses.least * times;
  }
}

}  // namespace

std::string place_text(Location location) {
  if (const auto number = operation_number(location)) return "operation " + std::to_string(*number);
  std::string text;
  location->walk([&](Location inner) {
    auto line = dyn_cast<FileLineColLoc>(inner);
    if (!line) return WalkResult::advance();
    text = line.getFilename().str() + ":" + std::to_string(line.getLine());
    return WalkResult::interrupt();
  });
  return text;
}

int count_loops(const std::vector<Loop>& loops) {
  int count = 0;
  for (const Loop& loop : loops) count += 1 + count_loops(loop.inner);
  return count;
}

Counts& Counts::add(const Counts& other, std::int64_t times) {
  explain::add(global, other.global, times);
  explain::add(copies, other.copies, times);
  explain::add(shared, other.shared, times);
  explain::add(matrix, other.matrix, times);
  explain::add(order, other.order, times);
  explain::add(lanes, other.lanes, times);
  explain::add(special, other.special, times);
  explain::add(arithmetic, other.arithmetic, times);
  explain::add(others, other.others, times);
  return *this;
}

Function count(func::FuncOp kernel, const gpu::Capability& capability, const CountOptions& options) {
  const auto number = [&](llvm::StringRef name, std::int64_t otherwise) {
    auto attribute = kernel->getAttrOfType<IntegerAttr>(name);
    return attribute ? attribute.getInt() : otherwise;
  };
  Function function;
  function.warps = int(number(thread::warps_attribute, 1));
  function.lanes = int(number(thread::lanes_attribute, 1));
  function.shared_bytes = number(thread::shared_bytes_attribute, 0);
  Counter(capability, options, function).block(kernel.getBody().front(), function.outside, function.loops);
  return function;
}

}  // namespace teeny::compiler::explain
