// Places in shared memory.
#include <mlir/IR/Builders.h>

#include "compiler/gpu/gpu.hpp"

namespace teeny::compiler::gpu {

using namespace mlir;

namespace {

constexpr int64_t alignment = 16;      // of the widest access
constexpr int64_t small_scratch = 1024;  // bytes: at most so much takes turns between two places
constexpr int64_t swizzle_unit = 1024;  // a hardware swizzle repeats after so many bytes

int64_t align(int64_t offset, int64_t to) { return (offset + to - 1) / to * to; }
int64_t bytes_of(int64_t elements, Type element) { return elements * ((element.getIntOrFloatBitWidth() + 7) / 8); }

}  // namespace

// Allocations stand one after the other for the whole kernel; the scratch of all operations shares the range behind
// them, since an operation's own is dead when it is done; small ones take turns between two places, so that one need not
// wait until all have read the one before. With typed arrays that may not overlap, each element type has
// a range of its own.
LogicalResult allocate_shared(tt::FuncOp function, const Capability& capability) {
  Builder builder(function.getContext());
  int64_t end = 0;
  function.walk([&](tile::AllocOp allocation) {
    tile::MemType type = allocation.getType();
    end = align(end, type.getEncoding().getSwizzle() ? swizzle_unit : alignment);
    allocation.setOffset(end);
    end += bytes_of(type.elements() * std::max<int64_t>(type.getBuffers(), 1), type.getElement());
  });
  const int64_t scratch_begin = align(end, alignment);
  llvm::DenseMap<Type, int64_t> sizes;  // of each type's range; of all in the null type's where they may overlap
  llvm::SmallVector<std::pair<Operation*, llvm::SmallVector<Scratch, 1>>> users;
  function.walk([&](Operation* operation) {
    auto scratch = scratch_of(operation, capability);
    if (scratch.empty()) return;
    llvm::DenseMap<Type, int64_t> needs;
    for (const Scratch& part : scratch) {
      int64_t& need = needs[capability.can_alias_types ? Type() : part.element];
      need = align(need, alignment) + bytes_of(part.elements, part.element);
    }
    for (auto [type, need] : needs) sizes[type] = std::max(sizes[type], need);
    users.emplace_back(operation, std::move(scratch));
  });
  llvm::DenseMap<Type, int64_t> begins;
  for (const auto& [operation, scratch] : users)  // in the kernel's order, so that equal kernels get equal places
    for (const Scratch& part : scratch) {
      const Type type = capability.can_alias_types ? Type() : part.element;
      if (!begins.try_emplace(type, align(end, alignment)).second) continue;
      end = align(end, alignment) + sizes[type];
    }
  bool second = false;
  for (const auto& [operation, scratch] : users) {
    llvm::SmallVector<int64_t> offsets;
    llvm::DenseMap<Type, int64_t> next = begins;
    int64_t need = 0;
    for (const Scratch& part : scratch) need = align(need, alignment) + bytes_of(part.elements, part.element);
    if (capability.can_alias_types && need <= small_scratch) {
      if (second) next[Type()] += small_scratch;
      end = std::max(end, next[Type()] + need);
      second = !second;
    }
    for (const Scratch& part : scratch) {
      int64_t& place = next[capability.can_alias_types ? Type() : part.element];
      place = align(place, alignment);
      offsets.push_back(place);
      place += bytes_of(part.elements, part.element);
    }
    operation->setAttr(scratch_offsets_attribute, builder.getDenseI64ArrayAttr(offsets));
  }
  if (end > capability.shared_bytes)
    return function.emitError("func: rule: a program fits into shared memory; got ")
               << end << " bytes (" << scratch_begin << " for operands of dot), expected at most "
               << capability.shared_bytes << "\nhelp: use smaller blocks or fewer stages",
           failure();
  function->setAttr(thread::shared_bytes_attribute, builder.getI32IntegerAttr(static_cast<int32_t>(end)));
  return success();
}

}  // namespace teeny::compiler::gpu
