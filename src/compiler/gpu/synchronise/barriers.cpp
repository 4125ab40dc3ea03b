// Barriers where accesses of different lanes to the same memory would otherwise be unordered.
//
// A forward walk over structured control flow keeps what has been read and written since the last barrier; before an
// operation that meets it, a barrier is inserted. Shared memory is told apart by byte ranges. For global memory the
// language orders only accesses by the same element position: those are of one lane where both accesses have one
// layout without copies, and need a barrier where the layouts differ, or where one lane writes what several read: copies
// and scalars.
//
// A copy that runs beside the lane (tile.copy_in) writes from its start to the wait for it: its start must come after
// others' reads of the memory, and after a wait it is a write like any other. What is read meanwhile is, by the
// operation's contract, another buffer of the memory. So it is for a store that runs ahead (tile.local_store ahead).
//
// A matrix unit that runs beside the lanes (tile.mma async, and any whose row reads memory itself) reads from its start to
// the tile.mma_wait for it, and sees what lanes wrote only where each of them has passed a fence and then a barrier.
#include <vector>

#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Builders.h>

#include "compiler/gpu/dot_plan.hpp"
#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

struct SharedAccess {
  int64_t begin = 0, end = 0;
  bool writes = false;
  bool operator==(const SharedAccess&) const = default;
};
struct GlobalAccess {
  Attribute layout;  // null: a scalar
  bool writes = false;
  bool copies = false;  // several lanes read an element, one of them writes it
  bool operator==(const GlobalAccess&) const = default;
};

// Sets of accesses; small, so that a list without repeats will do.
template <class Access>
bool add(std::vector<Access>& list, const Access& access) {
  if (llvm::is_contained(list, access)) return false;
  list.push_back(access);
  return true;
}

struct Pending {
  std::vector<SharedAccess> shared;
  std::vector<GlobalAccess> global;
  std::vector<SharedAccess> on_the_way;  // copies that no wait has ended
  std::vector<SharedAccess> being_read;  // by products that no wait has ended
  std::vector<SharedAccess> unfenced, fenced;  // writes by lanes: before their fence; behind it, before a barrier
  bool join(const Pending& other) {
    bool changed = false;
    for (const SharedAccess& access : other.shared) changed |= add(shared, access);
    for (const GlobalAccess& access : other.global) changed |= add(global, access);
    for (auto list : {&Pending::on_the_way, &Pending::being_read, &Pending::unfenced, &Pending::fenced})
      for (const SharedAccess& access : other.*list) changed |= add(this->*list, access);
    return changed;
  }
};

bool conflicts(const SharedAccess& a, const SharedAccess& b) {
  return (a.writes || b.writes) && a.begin < b.end && b.begin < a.end;
}
bool conflicts(const GlobalAccess& a, const GlobalAccess& b) {
  if (!a.writes && !b.writes) return false;
  if (a.layout != b.layout) return true;
  return (!a.layout || a.copies || b.copies) && !(a.writes && b.writes);  // one lane writes an element, or a scalar
}

class BarrierInserter {
 public:
  explicit BarrierInserter(const Capability& capability) : capability_(capability) {}

  void visit(Block& block, Pending& pending) {
    for (Operation& operation : llvm::make_early_inc_range(block)) visit(operation, pending);
  }

 private:
  void visit(Operation& operation, Pending& pending) {
    if (auto loop = dyn_cast<scf::ForOp>(operation)) return visit_for(loop, pending);
    if (auto loop = dyn_cast<scf::WhileOp>(operation)) return visit_while(loop, pending);
    if (auto branch = dyn_cast<scf::IfOp>(operation)) {
      Pending otherwise = pending;
      visit(branch.getThenRegion().front(), pending);
      if (!branch.getElseRegion().empty()) visit(branch.getElseRegion().front(), otherwise);
      pending.join(otherwise);
      return;
    }
    if (isa<tt::BarrierOp>(operation)) {
      OpBuilder builder(&operation);
      tile::BarrierOp::create(builder, operation.getLoc(), thread::BarrierMemory::BOTH);
      operation.erase();
      pass_shared(pending);
      pending.global.clear();
      return;
    }
    if (auto barrier = dyn_cast<tile::BarrierOp>(operation)) {
      if (barrier.getMemory() != thread::BarrierMemory::GLOBAL) pass_shared(pending);
      if (barrier.getMemory() != thread::BarrierMemory::SHARED) pending.global.clear();
      return;
    }
    if (auto wait = dyn_cast<tile::WaitOp>(operation)) {
      for (const SharedAccess& copy : pending.on_the_way) add(pending.shared, copy), add(pending.unfenced, copy);
      if (wait.getPending() == 0) pending.on_the_way.clear();
      return;
    }
    if (auto wait = dyn_cast<tile::MmaWaitOp>(operation)) {
      for (const SharedAccess& read : pending.being_read) add(pending.shared, read);
      if (wait.getPending() == 0) pending.being_read.clear();
      return;
    }
    if (isa<tile::FenceOp>(operation)) {
      for (const SharedAccess& write : pending.unfenced) add(pending.fenced, write);
      pending.unfenced.clear();
      return;
    }
    access(operation, pending);
  }

  static void pass_shared(Pending& pending) {
    pending.shared.clear();
    pending.fenced.clear();
  }


  // What the end of an iteration leaves pending is there at the start of the next.
  void visit_for(scf::ForOp loop, Pending& pending) {
    while (true) {
      Pending after = pending;
      visit(*loop.getBody(), after);
      if (!pending.join(after)) break;
    }
  }

  // It is left behind its condition, which runs once more than its body.
  void visit_while(scf::WhileOp loop, Pending& pending) {
    while (true) {
      Pending left = pending;
      visit(*loop.getBeforeBody(), left);
      Pending after = left;
      visit(*loop.getAfterBody(), after);
      if (pending.join(after)) continue;
      pending = left;
      break;
    }
  }

  void access(Operation& operation, Pending& pending) {
    Pending before = accesses_of(operation);
    bool shared = false, global = false;
    auto store = dyn_cast<tile::LocalStoreOp>(operation);
    const bool ahead = store && store.getAhead();
    for (const SharedAccess& now : before.shared)
      for (const SharedAccess& earlier : pending.shared) shared |= conflicts(earlier, now) && !(ahead && !earlier.writes);
    for (const GlobalAccess& now : before.global)
      for (const GlobalAccess& earlier : pending.global) global |= conflicts(earlier, now);
    OpBuilder builder(&operation);
    auto product = dyn_cast<tile::MmaOp>(operation);
    const bool beside = product && is_beside_lanes(product, capability_);
    if (beside) {
      bool unfenced = false;
      for (const SharedAccess& now : before.shared) {
        for (const SharedAccess& earlier : pending.unfenced) unfenced |= conflicts(earlier, now);
        for (const SharedAccess& earlier : pending.fenced) shared |= conflicts(earlier, now);
      }
      if (unfenced) {
        tile::FenceOp::create(builder, operation.getLoc());
        pending.unfenced.clear();
        shared = true;
      }
    }
    if (shared || global) {
      const auto memory = shared && global ? thread::BarrierMemory::BOTH
                          : shared         ? thread::BarrierMemory::SHARED
                                           : thread::BarrierMemory::GLOBAL;
      tile::BarrierOp::create(builder, operation.getLoc(), memory);
      if (shared) pass_shared(pending);
      if (global) pending.global.clear();
    }
    // An operation with scratch has a barrier between storing and loading, which orders all that came before it.
    auto offsets = operation.getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute);
    if (offsets && !offsets.empty()) pass_shared(pending);
    if (isa<tile::CopyInOp>(operation)) std::swap(before.shared, before.on_the_way);
    if (beside && product.getAsync()) std::swap(before.shared, before.being_read);
    for (const SharedAccess& now : before.shared)
      if (now.writes) before.unfenced.push_back(now);
    pending.join(before);
  }

  Pending accesses_of(Operation& operation) {
    Pending result;
    if (auto offsets = operation.getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute)) {
      // Written, a barrier of its own, then read: to what comes before it is a write, to what comes after a read, and
      // a write is the stronger of the two.
      auto scratch = scratch_of(&operation, capability_);
      for (auto [offset, part] : llvm::zip(offsets.asArrayRef(), scratch))
        result.shared.push_back(
            {offset, offset + part.elements * int64_t((part.element.getIntOrFloatBitWidth() + 7) / 8), true});
    }
    if (auto allocation = dyn_cast<tile::AllocOp>(operation)) {
      if (allocation.getInitial()) result.shared.push_back(range_of(allocation, true));
    } else if (auto load = dyn_cast<tile::LocalLoadOp>(operation)) {
      result.shared.push_back(range_of(load.getMemory(), false));
    } else if (auto store = dyn_cast<tile::LocalStoreOp>(operation)) {
      result.shared.push_back(range_of(store.getMemory(), true));
    } else if (auto copy = dyn_cast<tile::CopyInOp>(operation)) {
      result.shared.push_back(range_of(copy.getMemory(), true));
      if (copy.getPointers()) result.global.push_back(global_access(copy.getPointers().getType(), false));
    } else if (auto product = dyn_cast<tile::MmaOp>(operation)) {
      for (Value operand : {product.getA(), product.getB()})
        if (isa<tile::MemType>(operand.getType())) result.shared.push_back(range_of(operand, false));
    } else if (auto load = dyn_cast<tt::LoadOp>(operation)) {
      result.global.push_back(global_access(load.getType(), load.getIsVolatile()));
    } else if (auto store = dyn_cast<tt::StoreOp>(operation)) {
      result.global.push_back(global_access(store.getValue().getType(), true));
    } else if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(operation)) {
      result.global.push_back(global_access(operation.getResult(0).getType(), true));
    }
    return result;
  }

  static GlobalAccess global_access(Type type, bool writes) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor) return {{}, writes, false};
    const LinearLayout layout = tile::layout_of(type);
    return {tensor.getEncoding(), writes, (layout.free_bits(Axis::lane) | layout.free_bits(Axis::warp)) != 0};
  }

  // All buffers of what a view shows a part of.
  static SharedAccess range_of(Value memory, bool writes) {
    while (Operation* view = memory.getDefiningOp()) {
      if (auto buffer = dyn_cast<tile::ViewBufferOp>(view))
        memory = buffer.getMemory();
      else if (auto transposed = dyn_cast<tile::ViewTransOp>(view))
        memory = transposed.getMemory();
      else
        break;
    }
    auto allocation = memory.getDefiningOp<tile::AllocOp>();
    if (!allocation) return {0, std::numeric_limits<int64_t>::max(), writes};
    tile::MemType type = allocation.getType();
    const int64_t bytes = type.elements() * std::max<int64_t>(type.getBuffers(), 1) *
                          int64_t((type.getElement().getIntOrFloatBitWidth() + 7) / 8);
    const int64_t begin = static_cast<int64_t>(allocation.getOffset().value_or(0));
    return {begin, begin + bytes, writes};
  }

  const Capability& capability_;
};

}  // namespace

LogicalResult insert_barriers(tt::FuncOp function, const Capability& capability) {
  Pending pending;
  BarrierInserter(capability).visit(function.getBody().front(), pending);
  return success();
}

}  // namespace teeny::compiler::gpu
