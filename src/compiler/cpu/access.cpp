// Loads and stores of chunks: whole vectors where addresses are neighbours, one element where they are one, otherwise
// gathers and scatters.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Metadata.h>

#include "compiler/cpu/emitter.hpp"

namespace teeny::compiler::cpu {

namespace {

bool is_constant(llvm::Value* value, std::int64_t number) {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  return constant && constant->getSExtValue() == number;
}

bool is_all_ones(llvm::Value* mask) {
  auto* constant = llvm::dyn_cast<llvm::Constant>(mask);
  return constant && constant->isAllOnesValue();
}

}  // namespace

Affine Emitter::buffer_address(const Buffer& buffer, const Coordinates& place) {
  Coordinates at = canonical(place, buffer.shape);
  unsigned level = 0;
  for (const Coordinate& coordinate : at.dimensions)
    if (coordinate.kind != Coordinate::lane) level = std::max(level, coordinate.level);
  AtLevel guard(*this, level);
  std::int64_t bytes = memory_bytes(buffer.element), lane_stride = 0;
  llvm::Value* offset = index(buffer.offset);
  for (int d = static_cast<int>(at.dimensions.size()) - 1; d >= 0; bytes *= buffer.shape[d--]) {
    if (at.dimensions[d].kind == Coordinate::lane)
      lane_stride = bytes;
    else
      offset = builder_.CreateAdd(offset, builder_.CreateMul(at.dimensions[d].value, index(bytes)));
  }
  return {builder_.CreateGEP(builder_.getInt8Ty(), arena_, offset), index(lane_stride)};
}

llvm::Value* Emitter::lane_address(const Affine& address, const Coordinates& at) {
  int lane = at.lane();
  if (lane < 0 || is_constant(address.stride, 0)) return address.origin;
  llvm::Value* position = at.dimensions[lane].value;
  auto* stride = llvm::dyn_cast<llvm::ConstantInt>(address.stride);
  llvm::Type* unit = builder_.getInt8Ty();
  if (stride && (stride->getSExtValue() == 2 || stride->getSExtValue() == 4 || stride->getSExtValue() == 8))
    return builder_.CreateGEP(builder_.getIntNTy(static_cast<unsigned>(stride->getSExtValue() * 8)), address.origin,
                              position);
  return builder_.CreateGEP(unit, address.origin, builder_.CreateMul(position, address.stride));
}

llvm::Value* Emitter::to_memory(llvm::Value* value, mlir::Type element) {
  if (!element.isInteger(1)) return value;
  return builder_.CreateZExt(value, lanes_type(builder_.getInt8Ty(), lanes_of(value)));
}

llvm::Value* Emitter::from_memory(llvm::Value* value, mlir::Type element) {
  if (!element.isInteger(1)) return value;
  return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
}

// A masked load without a branch reads a zero of the program's own instead.
llvm::Value* Emitter::load_scalar(mlir::Type element, llvm::Value* pointer, llvm::Value* mask, llvm::Value* other) {
  llvm::Type* type = memory_type(element, context_);
  if (mask && !is_all_ones(mask)) {
    llvm::GlobalVariable* zero = module_.getGlobalVariable("zero", true);
    if (!zero)
      zero = new llvm::GlobalVariable(module_, builder_.getInt64Ty(), true, llvm::GlobalValue::PrivateLinkage, index(0),
                                      "zero");
    pointer = builder_.CreateSelect(mask, pointer, zero);
  }
  llvm::Value* loaded =
      from_memory(builder_.CreateAlignedLoad(type, pointer, llvm::Align(memory_bytes(element))), element);
  return mask && other && !is_all_ones(mask) ? builder_.CreateSelect(mask, loaded, other) : loaded;
}

// Elements of memory type at a vector of pointers. Where the machine has no gather, lane by lane without branches.
llvm::Value* Emitter::gather(llvm::Type* element, llvm::Value* pointers, llvm::Value* mask, llvm::Value* other) {
  unsigned lanes = lanes_of(pointers), bytes = static_cast<unsigned>(module_.getDataLayout().getTypeStoreSize(element));
  llvm::Type* type = lanes_type(element, lanes);
  if (target_.x86 && target_.vector_bytes >= 32 && bytes >= 4) {
    llvm::Value* rest = other ? other : llvm::Constant::getNullValue(type);
    return builder_.CreateMaskedGather(type, pointers, llvm::Align(bytes), mask, mask ? rest : nullptr);
  }
  llvm::GlobalVariable* zero = module_.getGlobalVariable("zero", true);
  if (!zero)
    zero = new llvm::GlobalVariable(module_, builder_.getInt64Ty(), true, llvm::GlobalValue::PrivateLinkage, index(0),
                                    "zero");
  if (mask) pointers = builder_.CreateSelect(mask, pointers, builder_.CreateVectorSplat(lanes, zero));
  llvm::Value* result = llvm::PoisonValue::get(type);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    llvm::Value* one =
        builder_.CreateAlignedLoad(element, builder_.CreateExtractElement(pointers, lane), llvm::Align(bytes));
    result = builder_.CreateInsertElement(result, one, lane);
  }
  return mask && other ? builder_.CreateSelect(mask, result, other) : result;
}

llvm::Value* Emitter::load_memory(mlir::Type element, std::optional<Affine> address,
                                  std::function<llvm::Value*()> pointers, llvm::Value* mask, llvm::Value* other,
                                  const Coordinates& at) {
  if (mask && is_all_ones(mask)) mask = nullptr;
  unsigned bytes = memory_bytes(element), lanes = at.has_lanes() ? at.width : 1;
  if (!mask) other = nullptr;
  if (lanes == 1) return load_scalar(element, address ? address->origin : pointers(), mask, other);
  if (address && is_constant(address->stride, 0) && (!mask || !mask->getType()->isVectorTy()))
    return load_scalar(element, address->origin, mask, other);
  llvm::Type* type = lanes_type(memory_type(element, context_), lanes);
  llvm::Value* vector_mask = mask ? splat(builder_, mask, lanes) : nullptr;
  llvm::Value* rest = other ? splat(builder_, to_memory(other, element), lanes) : nullptr;
  llvm::Value* loaded = nullptr;
  if (address && is_constant(address->stride, bytes)) {
    llvm::Value* pointer = lane_address(*address, at);
    if (!mask)
      loaded = builder_.CreateAlignedLoad(type, pointer, llvm::Align(bytes));
    else
      loaded = builder_.CreateMaskedLoad(type, pointer, llvm::Align(bytes), vector_mask,
                                         rest ? rest : llvm::Constant::getNullValue(type));
  } else if (address) {
    llvm::SmallVector<llvm::Constant*> steps;
    for (unsigned lane = 0; lane < lanes; ++lane) steps.push_back(index(lane));
    llvm::Value* offsets =
        builder_.CreateMul(llvm::ConstantVector::get(steps), splat(builder_, address->stride, lanes));
    llvm::Value* all = builder_.CreateGEP(builder_.getInt8Ty(), lane_address(*address, at), offsets);
    loaded = gather(memory_type(element, context_), all, vector_mask, rest);
  } else {
    loaded = gather(memory_type(element, context_), splat(builder_, pointers(), lanes), vector_mask, rest);
  }
  return from_memory(loaded, element);
}

void Emitter::store_memory(mlir::Type element, std::optional<Affine> address, std::function<llvm::Value*()> pointers,
                           llvm::Value* value, llvm::Value* mask, const Coordinates& at, bool streaming) {
  if (mask && is_all_ones(mask)) mask = nullptr;
  unsigned bytes = memory_bytes(element), lanes = at.has_lanes() ? at.width : 1;
  if (lanes == 1) {
    llvm::Value* pointer = address ? address->origin : pointers();
    llvm::BasicBlock* after = nullptr;
    if (mask) {
      llvm::BasicBlock* then = block("store");
      after = block("stored");
      builder_.CreateCondBr(mask, then, after);
      builder_.SetInsertPoint(then);
    }
    builder_.CreateAlignedStore(to_memory(value, element), pointer, llvm::Align(bytes));
    if (mask) builder_.CreateBr(after), builder_.SetInsertPoint(after);
    return;
  }
  llvm::Value* stored = splat(builder_, to_memory(value, element), lanes);
  llvm::Value* vector_mask = mask ? splat(builder_, mask, lanes) : nullptr;
  if (address && is_constant(address->stride, bytes)) {
    llvm::Value* pointer = lane_address(*address, at);
    if (mask) {
      builder_.CreateMaskedStore(stored, pointer, llvm::Align(bytes), vector_mask);
      return;
    }
    unsigned vector_bytes = lanes * bytes;
    auto* store = builder_.CreateAlignedStore(stored, pointer, llvm::Align(streaming ? vector_bytes : bytes));
    streams_ |= streaming;
    if (streaming)
      store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                         llvm::MDNode::get(context_, llvm::ConstantAsMetadata::get(builder_.getInt32(1))));
    return;
  }
  llvm::Value* all = nullptr;
  if (address) {
    llvm::SmallVector<llvm::Constant*> steps;
    for (unsigned lane = 0; lane < lanes; ++lane) steps.push_back(index(lane));
    llvm::Value* offsets =
        builder_.CreateMul(llvm::ConstantVector::get(steps), splat(builder_, address->stride, lanes));
    all = builder_.CreateGEP(builder_.getInt8Ty(), lane_address(*address, at), offsets);
  } else {
    all = splat(builder_, pointers(), lanes);
  }
  builder_.CreateMaskedScatter(stored, all, llvm::Align(bytes), vector_mask);
}

llvm::Value* Emitter::emit_load(tt::LoadOp load, const Coordinates& at) {
  set_location(load);
  mlir::Type element = tt::element_type(load.getType());
  llvm::Value* mask = load.getMask() ? evaluate(load.getMask(), at) : nullptr;
  bool constant_mask = mask && llvm::isa<llvm::Constant>(mask);
  if (constant_mask && llvm::cast<llvm::Constant>(mask)->isNullValue())
    return load.getOther() ? evaluate(load.getOther(), at)
                           : llvm::Constant::getNullValue(value_type(element, context_));
  llvm::Value* other =
      load.getOther() && !(constant_mask && is_all_ones(mask)) ? evaluate(load.getOther(), at) : nullptr;
  return load_memory(
      element, affine(load.getPtr(), at), [&] { return evaluate(load.getPtr(), at); }, mask, other, at);
}

// Whether what the store writes is larger than the cache, so that it had better not pass through it.
bool Emitter::streams(tt::StoreOp store) {
  auto argument = mlir::dyn_cast_or_null<mlir::BlockArgument>(base_pointer(store.getPtr()));
  return argument && argument.getOwner() == &function_.getBody().front() &&
         function_.getArgAttr(argument.getArgNumber(), "teeny.exceeds_cache") != nullptr;
}

// An i1: all streaming stores of the row write whole aligned vectors from index 0 on. Null: some never can.
llvm::Value* Emitter::streaming_condition(const Nest& nest, const Coordinates& row) {
  llvm::Value* all = nullptr;
  for (tt::StoreOp store : nest.streams) {
    unsigned bytes = memory_bytes(tt::element_type(store.getValue().getType()));
    auto address = affine(store.getPtr(), row);
    if (!address || !is_constant(address->stride, bytes) || (nest.width * bytes) % 16 != 0) return nullptr;
    llvm::Value* low = builder_.CreateAnd(builder_.CreatePtrToInt(address->origin, builder_.getInt64Ty()),
                                          index(nest.width * bytes - 1));
    llvm::Value* aligned = builder_.CreateICmpEQ(low, index(0));
    all = all ? builder_.CreateAnd(all, aligned) : aligned;
  }
  return all;
}

void Emitter::emit_store(tt::StoreOp store, const Coordinates& at, bool streaming) {
  set_location(store);
  llvm::Value* value = evaluate(store.getValue(), at);
  llvm::Value* mask = store.getMask() ? evaluate(store.getMask(), at) : nullptr;
  auto address = affine(store.getPtr(), at);
  store_memory(
      tt::element_type(store.getValue().getType()), address, [&] { return evaluate(store.getPtr(), at); }, value, mask,
      at, streaming);
}

}  // namespace teeny::compiler::cpu
