// Matrix units, their operands, and copies that run beside a lane.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include "compiler/target/cuda/cuda_emitter.hpp"

namespace teeny::compiler::cuda {

namespace {

std::string registers(unsigned& next, unsigned count) {
  std::string text = "{";
  for (unsigned i = 0; i < count; ++i) text += (i ? ", $" : "$") + std::to_string(next++);
  return text + "}";
}

llvm::Intrinsic::ID matrix_load(unsigned count, bool transposed) {
  switch (count) {
    case 1: return transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_trans_b16
                              : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x1_b16;
    case 2: return transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_trans_b16
                              : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x2_b16;
    default: return transposed ? llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_trans_b16
                               : llvm::Intrinsic::nvvm_ldmatrix_sync_aligned_m8n8_x4_b16;
  }
}

}  // namespace

bool CudaEmitter::emit_matrix(mlir::Operation& operation) {
  if (auto load = mlir::dyn_cast<thread::MatrixLoadOp>(operation)) return emit_matrix_load(load), true;
  if (auto product = mlir::dyn_cast<thread::MmaOp>(operation)) return emit_mma(product), true;
  if (auto copy = mlir::dyn_cast<thread::CopyAsyncOp>(operation)) return emit_copy_async(copy), true;
  if (mlir::isa<thread::CopyCommitOp>(operation)) {
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_commit_group, llvm::ArrayRef<llvm::Type*>(), {});
    return true;
  }
  if (auto wait = mlir::dyn_cast<thread::CopyWaitOp>(operation)) {
    builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_cp_async_wait_group, llvm::ArrayRef<llvm::Type*>(),
                             {builder_.getInt32(wait.getPending())});
    return true;
  }
  return false;
}

void CudaEmitter::emit_matrix_load(thread::MatrixLoadOp load) {
  llvm::Value* pointer = shared_pointer(load.getArray(), load.getIndex(), load.getOffset());
  llvm::Value* loaded = builder_.CreateIntrinsic(matrix_load(load.getCount(), load.getTranspose()),
                                                 {pointer->getType()}, {pointer});
  llvm::SmallVector<llvm::Value*> words;
  for (unsigned i = 0; i < load.getCount(); ++i)
    words.push_back(load.getCount() == 1 ? loaded : builder_.CreateExtractValue(loaded, i));
  unpack(load.getValues(), words);
}

const gpu::MatrixUnit& CudaEmitter::unit_of(mlir::Operation* product, llvm::StringRef name) const {
  const gpu::MatrixUnit* unit = capability_.unit(name);
  if (!unit) cpu::refuse(product, "this architecture has no matrix unit " + name.str(), "compile for another one");
  return *unit;
}

void CudaEmitter::emit_mma(thread::MmaOp product) {
  const gpu::MatrixUnit& unit = unit_of(product, product.getUnit());
  const char letter = unit.accumulator == "f32" ? 'f' : 'r';
  const auto words = [&](mlir::ValueRange values) { return pack(values, words_of(bits_of(values[0].getType()), values.size())); };
  llvm::SmallVector<llvm::Value*> operands = words(product.getA());
  const unsigned of_a = operands.size(), sums = product.getAccumulators().size();
  llvm::append_range(operands, words(product.getB()));
  const unsigned of_b = operands.size() - of_a;
  for (mlir::Value sum : product.getAccumulators()) operands.push_back(value(sum));
  unsigned next = 0;
  std::string text = "mma.sync.aligned.m" + std::to_string(unit.m) + "n" + std::to_string(unit.n) + "k" +
                     std::to_string(unit.k) + ".row.col.";
  for (std::string_view type : {unit.accumulator, unit.operand, unit.operand, unit.accumulator})
    (text += ptx_type(type)) += '.';
  text.back() = ' ';
  for (unsigned count : {sums, of_a, of_b, sums}) text += registers(next, count) + ", ";
  text.resize(text.size() - 2);
  text += ";";
  std::string constraints;
  for (unsigned i = 0; i < sums; ++i) constraints += std::string("=") + letter + ",";
  for (unsigned i = 0; i < of_a + of_b; ++i) constraints += "r,";
  for (unsigned i = 0; i < sums; ++i) constraints += std::string(1, letter) + (i + 1 < sums ? "," : "");
  llvm::SmallVector<llvm::Type*> types;
  for (llvm::Value* operand : operands) types.push_back(operand->getType());
  llvm::Type* sum = operands.back()->getType();
  auto* result = llvm::StructType::get(context_, llvm::SmallVector<llvm::Type*>(sums, sum));
  auto* assembly = llvm::InlineAsm::get(llvm::FunctionType::get(result, types, false), text, constraints, false);
  llvm::CallInst* made = builder_.CreateCall(assembly, operands);
  made->setConvergent();
  made->setDoesNotAccessMemory();
  made->setDoesNotThrow();
  for (auto [i, value] : llvm::enumerate(product.getResults())) bind(value, builder_.CreateExtractValue(made, i));
}

// What the mask leaves off is written as zeros: the instruction reads 0 bytes and fills the rest.
void CudaEmitter::emit_copy_async(thread::CopyAsyncOp copy) {
  llvm::Value* to = shared_pointer(copy.getArray(), copy.getIndex(), copy.getOffset());
  llvm::Value* from = global_pointer(copy.getAddress(), copy.getAddressOffset());
  const unsigned bytes = copy.getBytes();
  using namespace llvm::Intrinsic;
  if (!copy.getMask()) {
    const ID id = bytes == 16 ? nvvm_cp_async_cg_shared_global_16
                  : bytes == 8 ? nvvm_cp_async_ca_shared_global_8
                               : nvvm_cp_async_ca_shared_global_4;
    builder_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), {to, from});
    return;
  }
  const ID id = bytes == 16 ? nvvm_cp_async_cg_shared_global_16_s
                : bytes == 8 ? nvvm_cp_async_ca_shared_global_8_s
                             : nvvm_cp_async_ca_shared_global_4_s;
  llvm::Value* read = builder_.CreateSelect(value(copy.getMask()), builder_.getInt32(bytes), builder_.getInt32(0));
  builder_.CreateIntrinsic(id, llvm::ArrayRef<llvm::Type*>(), {to, from, read});
}

}  // namespace teeny::compiler::cuda
