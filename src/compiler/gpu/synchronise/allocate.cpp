// Places in shared memory, by how long each is needed.
//
// Operations are numbered in the order of the text. An allocation is needed from its own number to its last user's (to the
// end of the loop around that user, where the allocation stands before the loop; to the wait for all copies, where
// copies fill it), an operation's scratch while the operation runs. Each takes the lowest place that is free then; that
// accesses by other lanes are done is the barriers' concern, which know only bytes.
#include <mlir/IR/Builders.h>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

constexpr int64_t alignment = 16;        // of the widest access
constexpr int64_t small_scratch = 1024;  // bytes
constexpr int64_t swizzle_unit = 1024;   // a hardware swizzle repeats after so many bytes

struct Need {
  Operation* operation = nullptr;
  int part = 0;  // of its scratch
  Type element;
  int64_t bytes = 0, aligned = alignment;
  int begin = 0, end = 0;  // numbers of operations, both included
  int64_t place = 0;
};

int64_t align(int64_t offset, int64_t to) { return (offset + to - 1) / to * to; }
int64_t bytes_of(int64_t elements, Type element) { return elements * ((element.getIntOrFloatBitWidth() + 7) / 8); }

class Needs {
 public:
  Needs(tt::FuncOp function, const Capability& capability) : capability_(capability) {
    number(function);
    function.walk<WalkOrder::PreOrder>([&](Operation* operation) {
      if (auto allocation = dyn_cast<tile::AllocOp>(operation)) add(allocation);
      add_scratch(operation);
    });
  }

  std::vector<Need> take() { return std::move(needs_); }

 private:
  void number(Operation* operation) {
    first_[operation] = count_++;
    for (Region& region : operation->getRegions())
      for (Operation& inner : region.getOps()) number(&inner);
    last_[operation] = count_ - 1;
  }

  void add(tile::AllocOp allocation) {
    const tile::MemType type = allocation.getType();
    Need need{.operation = allocation, .element = type.getElement(), .bytes = bytes_of(type.all_elements(), type.getElement())};
    if (type.getEncoding().getSwizzle()) need.aligned = swizzle_unit;
    need.begin = need.end = first_[allocation];
    Beside beside;
    add_users(allocation, allocation->getBlock(), need.end, beside);
    const int end = need.end;
    if (beside.copies) need.end = std::max(need.end, last_[end_of<tile::WaitOp>(allocation, end)]);
    if (beside.products) need.end = std::max(need.end, last_[end_of<tile::MmaWaitOp>(allocation, end)]);
    needs_.push_back(need);
  }

  // What may still touch an allocation behind its last user.
  struct Beside {
    bool copies = false, products = false;
  };

  void add_users(Operation* definition, Block* block, int& end, Beside& beside) {
    for (Operation* user : definition->getUsers()) {
      beside.copies |= isa<tile::CopyInOp>(user);
      if (auto product = dyn_cast<tile::MmaOp>(user)) beside.products |= product.getAsync();
      end = std::max(end, last_[block->findAncestorOpInBlock(*user)]);
      if (isa<tile::ViewBufferOp, tile::ViewTransOp>(user)) add_users(user, block, end, beside);
    }
  }

  // The first wait for all of them behind the last user; the end of the block where there is none.
  template <typename Wait>
  Operation* end_of(tile::AllocOp allocation, int end) {
    for (auto wait : allocation->getBlock()->getOps<Wait>())
      if (first_[wait] > end && wait.getPending() == 0) return wait;
    return allocation->getBlock()->getTerminator();
  }

  // Small scratch is kept until the next operation with scratch, which then takes another place and need not wait until
  // all lanes have read this one.
  void add_scratch(Operation* operation) {
    auto scratch = scratch_of(operation, capability_);
    if (scratch.empty()) return;
    for (; small_ < needs_.size(); ++small_)
      if (needs_[small_].bytes <= small_scratch && !isa<tile::AllocOp>(needs_[small_].operation))
        needs_[small_].end = std::max(needs_[small_].end, last_[operation]);
    for (auto [index, part] : llvm::enumerate(scratch))
      needs_.push_back({.operation = operation, .part = int(index), .element = part.element,
                        .bytes = bytes_of(part.elements, part.element), .begin = first_[operation], .end = last_[operation]});
    operation->setAttr(scratch_offsets_attribute,
                       Builder(operation->getContext()).getDenseI64ArrayAttr(SmallVector<int64_t>(scratch.size(), 0)));
  }

  const Capability& capability_;
  llvm::DenseMap<Operation*, int> first_, last_;
  int count_ = 0;
  std::vector<Need> needs_;
  size_t small_ = 0;  // needs before it last long enough
};

// Typed arrays that may not overlap keep their places for the whole kernel, as far as the types differ.
bool conflicts(const Need& a, const Need& b, const Capability& capability) {
  if (!capability.can_alias_types && a.element != b.element) return true;
  return a.begin <= b.end && b.begin <= a.end;
}

void place(Need& need, llvm::ArrayRef<Need> placed, const Capability& capability) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const Need& other : placed) {
      if (!conflicts(need, other, capability)) continue;
      if (need.place >= other.place + other.bytes || other.place >= need.place + need.bytes) continue;
      need.place = align(other.place + other.bytes, need.aligned);
      moved = true;
    }
  }
}

void record(const Need& need) {
  if (auto allocation = dyn_cast<tile::AllocOp>(need.operation)) return allocation.setOffset(need.place);
  auto offsets = llvm::to_vector(
      need.operation->getAttrOfType<DenseI64ArrayAttr>(scratch_offsets_attribute).asArrayRef());
  offsets[need.part] = need.place;
  need.operation->setAttr(scratch_offsets_attribute, Builder(need.operation->getContext()).getDenseI64ArrayAttr(offsets));
}

}  // namespace

LogicalResult allocate_shared(tt::FuncOp function, const Capability& capability) {
  std::vector<Need> needs = Needs(function, capability).take();
  int64_t end = 0;
  const Need* largest = nullptr;
  for (size_t i = 0; i < needs.size(); ++i) {
    place(needs[i], llvm::ArrayRef(needs).take_front(i), capability);
    record(needs[i]);
    end = std::max(end, needs[i].place + needs[i].bytes);
    if (!largest || needs[i].bytes > largest->bytes) largest = &needs[i];
  }
  if (end > capability.shared_bytes) {
    InFlightDiagnostic error = function.emitError("func: rule: a program fits into shared memory; got ")
                               << end << " bytes, expected at most " << capability.shared_bytes;
    error.attachNote(largest->operation->getLoc()) << "help: use smaller blocks or fewer stages; the largest part, "
                                                   << largest->bytes << " bytes, is needed here";
    return error;
  }
  function->setAttr(thread::shared_bytes_attribute, Builder(function.getContext()).getI32IntegerAttr(int32_t(end)));
  return success();
}

}  // namespace teeny::compiler::gpu
