// Architectures, the LLVM back end, and the target as the pipeline sees it.
#include <mutex>

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>

#include <teeny/error.hpp>

#include "compiler/codegen/codegen.hpp"
#include "compiler/target/cuda/cuda.hpp"
#include "support/cuda_architectures.hpp"

namespace teeny::compiler::cuda {

namespace {

constexpr std::int64_t kibibyte = 1024;

// Shared memory of one program: CUDA programming guide, "Technical specifications per compute capability" (the maximum
// for one block).
std::int64_t shared_bytes_of(int number) {
  switch (number) {
    case 75:
      return 64 * kibibyte;
    case 80:
    case 87:
      return 163 * kibibyte;
    case 86:
    case 89:
    case 120:
    case 121:
      return 99 * kibibyte;
    default:
      return 227 * kibibyte;
  }
}

const std::vector<Architecture>& architectures() {
  static const std::vector<Architecture> list = [] {
    std::vector<Architecture> made;
    for (const support::CudaArchitecture& known : support::cuda_architectures()) {
      made.push_back({std::string(known.name), known.number, known.ptx, shared_bytes_of(known.number)});
      made.back().wgmma = known.name == "sm_90a";
    }
    return made;
  }();
  return list;
}

void configure_llvm_once() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

// The lowest that knows the architecture and what the kernel uses. PTX ISA, "PTX ISA Notes" of ldmatrix, mma, ld and st.
int ptx_version(mlir::func::FuncOp kernel, const Architecture& architecture) {
  constexpr int of_matrices = 65, of_evictions = 74;
  int version = architecture.ptx;
  kernel.walk([&](mlir::Operation* operation) {
    const auto needs = [&](int least) { version = std::max(version, least); };
    if (mlir::isa<thread::MatrixLoadOp, thread::MmaOp>(operation)) needs(of_matrices);
    if (auto load = mlir::dyn_cast<thread::LoadOp>(operation); load && load.getEvict() != tt::EvictionPolicy::NORMAL)
      needs(of_evictions);
    if (auto store = mlir::dyn_cast<thread::StoreOp>(operation); store && store.getEvict() != tt::EvictionPolicy::NORMAL)
      needs(of_evictions);
  });
  return version;
}

class CudaTarget final : public GpuTarget {
 public:
  explicit CudaTarget(const Architecture& architecture)
      : architecture_(architecture), capability_(capability_of(architecture)) {}

  const gpu::Capability& capability() const override { return capability_; }

  GpuProgram finish(mlir::ModuleOp, mlir::func::FuncOp kernel, const gpu::GpuOptions& options, bool want_llvm,
                    bool want_assembly) const override {
    GpuProgram program;
    llvm::LLVMContext context;
    const int ptx = ptx_version(kernel, architecture_);
    auto machine = make_target_machine(architecture_, ptx, options);
    auto module = program.timed("emit", [&] { return emit_llvm(kernel, architecture_, capability_, options, context); });
    module->setTargetTriple(machine->getTargetTriple());
    module->setDataLayout(machine->createDataLayout());
    program.timed("optimise", [&] { return optimise(*module, *machine), 0; });
    if (want_llvm) program.llvm_text = text_of(*module);
    // Straight-line strength reduction looks at all pairs of a block's additions and products: nine tenths of the time for
    // a large block. Addresses come with their common parts kept apart already.
    const auto text = program.timed("codegen", [&] {
      return generate(*module, *machine, llvm::CodeGenFileType::AssemblyFile, {"slsr"});
    });
    if (want_assembly) program.assembly = text.str().str();
    program.bytes.assign(text.begin(), text.end());
    program.target = "cuda:" + architecture_.name;
    program.format_version = std::to_string(ptx / 10) + "." + std::to_string(ptx % 10);
    return program;
  }

 private:
  const Architecture& architecture_;
  const gpu::Capability capability_;
};

}  // namespace

const Architecture& architecture_of(std::string_view name) {
  std::string known;
  for (const Architecture& architecture : architectures()) {
    if (architecture.name == name) return architecture;
    known += (known.empty() ? "cuda:" : ", cuda:") + architecture.name;
  }
  throw Error(ErrorCode::invalid_argument, "target: names an architecture; got 'cuda:" + std::string(name) +
                                               "', expected one of " + known +
                                               "\nhelp: `teeny devices` prints this machine's");
}

gpu::Capability capability_of(const Architecture& architecture) {
  gpu::Capability capability;
  capability.target = "cuda:" + architecture.name;
  capability.shared_bytes = architecture.shared_bytes;
  capability.exact.truncates_to_bf16 = true;  // by the emitter: an instruction, or on the bits
  capability.math.approximate = true;
  capability.matrix_load = true;
  if (architecture.number >= 80) capability.copy_async_bytes = {4, 8, 16};
  capability.units = matrix_units(architecture);
  for (gpu::MatrixUnit& unit : gpu::lanes_units()) capability.units.push_back(std::move(unit));
  return capability;
}

std::unique_ptr<llvm::TargetMachine> make_target_machine(const Architecture& architecture, int ptx,
                                                         const gpu::GpuOptions& options) {
  configure_llvm_once();
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  std::string message;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    throw Error(ErrorCode::unsupported, "target: must be built into LLVM; got nvptx64: " + message +
                                            "\nhelp: use an LLVM with this target");
  llvm::TargetOptions target_options;
  // Strict: products and sums are written so that the driver's assembler does not fuse them either.
  target_options.AllowFPOpFusion = options.contract ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, architecture.name, "+ptx" + std::to_string(ptx), target_options,
                                  std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
}

std::unique_ptr<GpuTarget> make_target(const Architecture& architecture) {
  return std::make_unique<CudaTarget>(architecture);
}

}  // namespace teeny::compiler::cuda
