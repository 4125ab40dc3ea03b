// wgmma: products of four warps that read shared memory through descriptors and run beside the warps.
#include <llvm/IR/InlineAsm.h>

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

}  // namespace

bool CudaEmitter::emit_matrix_async(mlir::Operation& operation) {
  if (auto product = mlir::dyn_cast<thread::MmaAsyncOp>(operation)) return emit_mma_async(product), true;
  if (auto wait = mlir::dyn_cast<thread::MmaWaitOp>(operation)) return emit_mma_wait(wait), true;
  if (mlir::isa<thread::MmaBeginOp>(operation)) return emit_order("wgmma.fence.sync.aligned;"), true;
  if (mlir::isa<thread::MmaCommitOp>(operation)) return emit_order("wgmma.commit_group.sync.aligned;"), true;
  if (mlir::isa<thread::FenceAsyncOp>(operation)) return emit_order("fence.proxy.async.shared::cta;"), true;
  return false;
}

void CudaEmitter::emit_order(const char* text) {
  auto* type = llvm::FunctionType::get(builder_.getVoidTy(), false);
  builder_.CreateCall(llvm::InlineAsm::get(type, text, "~{memory}", true))->setConvergent();
}

// Assembly that gives accumulators for accumulators, in their registers; `inputs` follow them as operands.
void CudaEmitter::emit_on_accumulators(mlir::ValueRange accumulators, mlir::ValueRange results, const std::string& text,
                                       llvm::ArrayRef<llvm::Value*> inputs) {
  llvm::SmallVector<llvm::Value*> operands;
  llvm::SmallVector<llvm::Type*> types, sums;
  std::string outputs, tied, further;
  for (auto [i, sum] : llvm::enumerate(accumulators)) {
    operands.push_back(value(sum));
    sums.push_back(operands.back()->getType());
    outputs += sums.back()->isFloatTy() ? "=f," : "=r,";
    tied += std::to_string(i) + ",";
  }
  for (llvm::Value* input : inputs) {
    operands.push_back(input);
    further += input->getType()->isIntegerTy(64) ? "l," : "r,";
  }
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  auto* result = llvm::StructType::get(context_, sums);
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text,
                                        outputs + tied + further + "~{memory}", true);
  llvm::CallInst* made = builder_.CreateCall(assembly, operands);
  made->setConvergent();
  made->setDoesNotThrow();
  for (auto [i, value] : llvm::enumerate(results)) bind(value, builder_.CreateExtractValue(made, unsigned(i)));
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
  const std::size_t sums = product.getAccumulators().size();
  std::size_t next = 2 * sums;  // tied inputs have numbers of their own
  std::string text = "{ .reg .pred p; setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m" + std::to_string(unit.m) +
                     "n" + std::to_string(unit.n) + "k" + std::to_string(unit.k) + ".";
  for (std::string_view type : {unit.accumulator, unit.operand, unit.operand}) (text += ptx_type(type)) += '.';
  text.back() = ' ';
  text += "{";
  for (std::size_t i = 0; i < sums; ++i) text += (i ? ", $" : "$") + std::to_string(i);
  text += "}, ";
  llvm::SmallVector<llvm::Value*> inputs;
  if (product.getAArray()) {
    inputs.push_back(descriptor(product.getAArray(), product.getAIndex(), product.getAOffset(),
                                descriptor_of(product.getASwizzle(), product.getAPanel() * bytes, product.getATransposed())));
    text += "$" + std::to_string(next++);
  } else {
    inputs = pack(product.getA(), words_of(bits_of(product.getA()[0].getType()), product.getA().size()));
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
  emit_on_accumulators(product.getAccumulators(), product.getResults(), text, inputs);
}

void CudaEmitter::emit_mma_wait(thread::MmaWaitOp wait) {
  const std::string text = "wgmma.wait_group.sync.aligned " + std::to_string(wait.getPending()) + ";";
  if (wait.getAccumulators().empty()) return emit_order(text.c_str());
  emit_on_accumulators(wait.getAccumulators(), wait.getResults(), text, {});
}

}  // namespace teeny::compiler::cuda
