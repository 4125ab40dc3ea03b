// wgmma: products of four warps that read shared memory through descriptors and run beside the warps.
#include <llvm/IR/InlineAsm.h>
#include <mlir/IR/Matchers.h>

#include "compiler/target/cuda/cuda_emitter.hpp"

namespace teeny::compiler::cuda {

namespace {

// The constant part of a matrix descriptor (PTX ISA, "Matrix Descriptor Format"): all but the address. Groups of 8 rows
// follow each other; along the fast dimension a panel follows the other where an operand is turned (its depth is never
// wider than a panel).
std::uint64_t descriptor_of(unsigned swizzle, std::int64_t panel_bytes, bool transposed) {
  const std::uint64_t leading = transposed ? static_cast<std::uint64_t>(panel_bytes) / 16 : 1;
  const std::uint64_t code = swizzle == 128 ? 1 : swizzle == 64 ? 2 : 3;
  return (leading & 0x3fff) << 16 | std::uint64_t{swizzle * 8 / 16} << 32 | code << 62;
}

// Whether accumulators are constant zeros, which the instruction need not be given.
bool starts_from_zero(thread::MmaAsyncOp product) {
  return llvm::all_of(product.getAccumulators(), [](mlir::Value sum) {
    return mlir::matchPattern(sum, mlir::m_PosZeroFloat()) || mlir::matchPattern(sum, mlir::m_Zero());
  });
}

}  // namespace

bool CudaEmitter::emit_matrix_async(mlir::Operation& operation) {
  if (auto product = mlir::dyn_cast<thread::MmaAsyncOp>(operation)) return emit_mma_async(product), true;
  if (auto wait = mlir::dyn_cast<thread::MmaWaitOp>(operation)) return emit_mma_wait(wait), true;
  if (auto begin = mlir::dyn_cast<thread::MmaBeginOp>(operation)) return emit_mma_begin(begin), true;
  if (mlir::isa<thread::MmaCommitOp>(operation)) return emit_order("wgmma.commit_group.sync.aligned;"), true;
  if (mlir::isa<thread::FenceAsyncOp>(operation)) return emit_order("fence.proxy.async.shared::cta;"), true;
  return false;
}

void CudaEmitter::emit_order(const char* text) {
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), false);
  builder_.CreateCall(llvm::InlineAsm::get(type, text, "~{memory}", true))->setConvergent();
}

// Assembly that gives `values` in registers of their own: what it does to them follows from `text`, whose operands they are
// from $0 on. `inputs` follow, from twice their number on.
llvm::SmallVector<llvm::Value*> CudaEmitter::emit_in_registers(llvm::ArrayRef<llvm::Value*> values, const std::string& text,
                                                               llvm::ArrayRef<llvm::Value*> inputs) {
  llvm::SmallVector<llvm::Value*> operands(values), results;
  llvm::SmallVector<llvm::Type*> types, kept;
  std::string outputs, tied, further;
  for (auto [i, value] : llvm::enumerate(values)) {
    kept.push_back(value->getType());
    outputs += kept.back()->isFloatTy() ? "=f," : "=r,";
    tied += std::to_string(i) + ",";
  }
  for (llvm::Value* input : inputs) {
    operands.push_back(input);
    further += input->getType()->isIntegerTy(64) ? "l," : "r,";
  }
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* type = llvm::FunctionType::get(llvm::StructType::get(context_, kept), types, false);
  llvm::CallInst* made =
      builder_.CreateCall(llvm::InlineAsm::get(type, text, outputs + tied + further + "~{memory}", true), operands);
  made->setConvergent();
  made->setDoesNotThrow();
  for (unsigned i = 0; i < values.size(); ++i) results.push_back(builder_.CreateExtractValue(made, i));
  return results;
}

// The products of a group take their registers from this fence, so that nothing is computed into them behind it:
// ptxas would wait for the products before.
void CudaEmitter::emit_mma_begin(thread::MmaBeginOp begin) {
  MatrixGroup group;
  llvm::SmallVector<llvm::Value*> ready;
  llvm::SmallVector<mlir::Value> computed;
  llvm::DenseMap<mlir::Value, std::pair<std::size_t, std::size_t>> places;  // of words in `ready`, by their first scalar
  for (mlir::Operation* next = begin->getNextNode(); !mlir::isa<thread::MmaCommitOp>(next); next = next->getNextNode()) {
    auto product = mlir::dyn_cast<thread::MmaAsyncOp>(next);
    if (!product || product.getA().empty()) continue;
    auto [place, is_new] = places.try_emplace(product.getA()[0], ready.size(), 0);
    if (!is_new) continue;
    llvm::append_range(ready, pack(product.getA(), words_of(bits_of(product.getA()[0].getType()), product.getA().size())));
    place->second.second = ready.size() - place->second.first;
  }
  for (mlir::Operation* next = begin->getNextNode(); !mlir::isa<thread::MmaCommitOp>(next); next = next->getNextNode()) {
    auto product = mlir::dyn_cast<thread::MmaAsyncOp>(next);
    if (!product || starts_from_zero(product)) continue;
    for (mlir::Value sum : product.getAccumulators()) {
      mlir::Operation* definition = sum.getDefiningOp();
      if (definition && !mlir::isa<thread::MmaAsyncOp, thread::MmaWaitOp>(definition)) computed.push_back(sum);
    }
  }
  const std::size_t words = ready.size();
  for (mlir::Value sum : computed) ready.push_back(value(sum));
  constexpr const char* fence = "wgmma.fence.sync.aligned;";
  if (ready.empty()) {
    emit_order(fence);
  } else {
    ready = emit_in_registers(ready, fence, {});
  }
  for (auto [first, place] : places)
    group.words[first].assign(ready.begin() + place.first, ready.begin() + place.first + place.second);
  for (auto [i, sum] : llvm::enumerate(computed)) group.sums[sum] = ready[words + i];
  group_ = std::move(group);
}

llvm::Value* CudaEmitter::descriptor(mlir::Value array, mlir::Value index, std::int64_t offset, std::uint64_t constant) {
  const std::int64_t bytes = bits_of(mlir::cast<thread::SharedType>(array.getType()).getElement()) / 8;
  llvm::Value* address = builder_.CreatePtrToInt(shared_pointer(array, index, 0), builder_.getInt32Ty());
  llvm::Value* field = builder_.CreateAnd(builder_.CreateLShr(address, 4), builder_.getInt32(0x3fff));
  llvm::Value* whole = builder_.CreateOr(builder_.CreateZExt(field, builder_.getInt64Ty()), builder_.getInt64(constant));
  return offset == 0 ? whole : builder_.CreateAdd(whole, builder_.getInt64(std::uint64_t(offset * bytes) / 16));
}

void CudaEmitter::emit_mma_async(thread::MmaAsyncOp product) {
  const gpu::MatrixUnit& unit = unit_of(product, product.getUnit());
  const std::int64_t bytes = bits_of(product.getBArray().getType().getElement()) / 8;
  const bool from_zero = starts_from_zero(product);
  llvm::SmallVector<llvm::Value*> sums, inputs;
  for (mlir::Value sum : product.getAccumulators()) {
    if (from_zero) {
      sums.push_back(llvm::PoisonValue::get(type_of(sum.getType())));
    } else {
      auto held = group_.sums.find(sum);
      sums.push_back(held == group_.sums.end() ? value(sum) : held->second);
    }
  }
  std::size_t next = 2 * sums.size();  // tied inputs have numbers of their own
  std::string text = std::string("{ .reg .pred p; setp.ne.b32 p, ") + (from_zero ? "0" : "1") +
                     ", 0; wgmma.mma_async.sync.aligned.m" + std::to_string(unit.m) + "n" + std::to_string(unit.n) + "k" +
                     std::to_string(unit.k) + ".";
  for (std::string_view type : {unit.accumulator, unit.operand, unit.operand}) (text += ptx_type(type)) += '.';
  text.back() = ' ';
  text += "{";
  for (std::size_t i = 0; i < sums.size(); ++i) text += (i ? ", $" : "$") + std::to_string(i);
  text += "}, ";
  if (product.getAArray()) {
    inputs.push_back(descriptor(product.getAArray(), product.getAIndex(), product.getAOffset(),
                                descriptor_of(product.getASwizzle(), product.getAPanel() * bytes, product.getATransposed())));
    text += "$" + std::to_string(next++);
  } else {
    inputs = group_.words.lookup(product.getA()[0]);
    text += "{";
    for (std::size_t i = 0; i < inputs.size(); ++i) text += (i ? ", $" : "$") + std::to_string(next++);
    text += "}";
  }
  inputs.push_back(descriptor(product.getBArray(), product.getBIndex(), product.getBOffset(),
                              descriptor_of(product.getBSwizzle(), product.getBPanel() * bytes, product.getBTransposed())));
  text += ", $" + std::to_string(next) + ", p";
  if (unit.accumulator != "i32") text += ", 1, 1";
  if (unit.transposed_b) {
    if (product.getAArray()) text += product.getATransposed() ? ", 1" : ", 0";
    text += product.getBTransposed() ? ", 1" : ", 0";
  }
  text += "; }";
  for (auto [result, made] : llvm::zip_equal(product.getResults(), emit_in_registers(sums, text, inputs))) bind(result, made);
}

void CudaEmitter::emit_mma_wait(thread::MmaWaitOp wait) {
  const std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(wait.getPending()) + ";";
  if (wait.getAccumulators().empty()) return emit_order(text.c_str());
  llvm::SmallVector<llvm::Value*> sums;
  for (mlir::Value sum : wait.getAccumulators()) sums.push_back(value(sum));
  for (auto [result, made] : llvm::zip_equal(wait.getResults(), emit_in_registers(sums, text, {}))) bind(result, made);
}

}  // namespace teeny::compiler::cuda
