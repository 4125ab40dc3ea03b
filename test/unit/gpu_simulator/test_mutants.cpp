// Kernels without one of their barriers or waits: the simulator has to notice.
//
// Every kernel of the suite that a GPU can run is lowered for sm_90a, and products and attention in small blocks whose
// loads run ahead for sm_90a and sm_75. Each of their barriers and waits is removed alone. A mutant counts where the log
// of the whole kernel's run shows that two threads depend on what was removed (access_log.hpp); a barrier that has nothing
// to order for these inputs, because its loop runs once for instance, does not.
#include <algorithm>
#include <cstring>
#include <random>

#include <gtest/gtest.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>

#include <teeny/tl.hpp>

#include "access_log.hpp"
#include "compiled_kernels.hpp"
#include "compiler/dialect/thread/thread.hpp"
#include "compiler/pipeline/stages.hpp"
#include "lang/trace.hpp"

namespace teeny::compiler::simulator {
namespace {

constexpr char hopper[] = "simulator:cuda:sm_90a", turing[] = "simulator:cuda:sm_75";  // with asynchronous copies and without
constexpr std::size_t buffer_bytes = 256 * 1024;
constexpr std::uint64_t number_argument = 64;
constexpr int seeds = 3;

// A kernel with one program's launch: buffers of small numbers, all integers alike.
class Subject {
 public:
  Subject(const char* target, const teeny::detail::RecordedKernel& kernel, const CompileOutput& output,
          const std::vector<teeny_fact>& facts)
      : kernel_(kernel), capability_(gpu::capability_of(target)) {
    load_dialects(context_);
    const llvm::StringRef bytes(reinterpret_cast<const char*>(output.program.data()), output.program.size());
    module_ = mlir::parseSourceString<mlir::ModuleOp>(bytes, mlir::ParserConfig(&context_));
    for (std::size_t i = 0; i < kernel.parameters().size(); ++i) {
      const Parameter& parameter = kernel.parameters()[i];
      const bool one = std::any_of(facts.begin(), facts.end(), [&](const teeny_fact& fact) {
        return fact.argument == i && fact.kind == TEENY_FACT_EQUALS_ONE;
      });
      if (parameter.pointer)
        buffers_.push_back(std::vector<std::uint64_t>(buffer_bytes / 8 + 2));
      arguments_.push_back(one ? 1 : parameter.dtype == DType::f32 ? 0x3f000000u : number_argument);
    }
  }

  mlir::func::FuncOp kernel() { return *module_->getOps<mlir::func::FuncOp>().begin(); }

  Result run(std::uint64_t seed, std::vector<Event>* log = nullptr) {
    Launch launch;
    launch.arguments = arguments_;
    std::mt19937 random(1);
    std::size_t next = 0;
    for (std::size_t i = 0; i < arguments_.size(); ++i) {
      if (!kernel_.parameters()[i].pointer) continue;
      std::vector<std::uint64_t>& buffer = buffers_[next++];
      const std::uint64_t address = (reinterpret_cast<std::uint64_t>(buffer.data()) + 15) / 16 * 16;
      fill(reinterpret_cast<std::uint8_t*>(address), kernel_.parameters()[i].dtype, random);
      launch.arguments[i] = address;
      launch.ranges.push_back({address, buffer_bytes, nullptr});
    }
    std::sort(launch.ranges.begin(), launch.ranges.end(), [](auto& a, auto& b) { return a.address < b.address; });
    return simulator::run(kernel(), capability_, launch, {.seed = seed, .max_findings = 1, .max_rounds = 1 << 16, .log = log});
  }

 private:
  // Integers are counters, locks and indices: zeros, but for bytes. Floats of all sizes look like small numbers.
  static void fill(std::uint8_t* data, DType dtype, std::mt19937& random) {
    const auto bits = [&](std::uint32_t exponent, int mantissa) { return (exponent << mantissa) + random() % (1u << mantissa); };
    for (std::size_t at = 0; at < buffer_bytes; at += size_of(dtype)) {
      std::uint64_t value = 0;
      switch (dtype) {
        case DType::f16: value = bits(14, 10); break;
        case DType::bf16: value = bits(126, 7); break;
        case DType::f32: value = bits(126, 23); break;
        case DType::f64: value = std::uint64_t{1022} << 52 | random(); break;
        case DType::i8: case DType::u8: value = random() % 16; break;
        default: break;
      }
      std::memcpy(data + at, &value, size_of(dtype));
    }
  }

  const teeny::detail::RecordedKernel& kernel_;
  gpu::Capability capability_;
  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  std::vector<std::uint64_t> arguments_;
  std::vector<std::vector<std::uint64_t>> buffers_;
};

struct Count {
  int barriers = 0, waits = 0, caught = 0, equivalent = 0, kernels = 0;
  std::string missed, wrongly_equivalent;
};

// Takes the operation out for the time of some runs.
bool caught_without(Subject& subject, mlir::Operation* operation) {
  mlir::Block* block = operation->getBlock();
  mlir::Operation* after = operation->getNextNode();
  operation->remove();
  bool caught = false;
  for (std::uint64_t seed = 0; seed < seeds && !caught; ++seed) caught = !subject.run(seed).ok;
  block->getOperations().insert(mlir::Block::iterator(after), operation);
  return caught;
}

void try_mutants(const char* target, const char* name, const teeny::detail::RecordedKernel& kernel, bool with_facts, Count& count) {
  CompileOutput output = compile_for(kernel, target);
  if (!output.ok) return;  // for what a GPU refuses there are other tests
  std::vector<teeny_fact> facts;
  if (with_facts) {
    facts = output.relevant_facts;
    output = compile_for(kernel, target, facts);
    ASSERT_TRUE(output.ok) << name;
  }
  Subject subject(target, kernel, output, facts);
  std::vector<Event> log;
  const Result whole = subject.run(0, &log);
  ASSERT_TRUE(whole.ok) << name << ": " << whole.findings[0].message;
  for (std::uint64_t seed = 1; seed < seeds; ++seed) {
    const Result other = subject.run(seed);
    ASSERT_TRUE(other.ok) << name << ", seed " << seed << ": " << other.findings[0].message;
  }
  ++count.kernels;
  const AccessLog accesses(log);
  const std::set<mlir::Operation*> met = accesses.met();
  std::vector<mlir::Operation*> candidates;
  subject.kernel().walk([&](mlir::Operation* operation) {
    if (mlir::isa<thread::BarrierOp, thread::CopyWaitOp>(operation)) candidates.push_back(operation);
  });
  for (std::size_t number = 0; number < candidates.size(); ++number) {
    mlir::Operation* operation = candidates[number];
    const bool barrier = mlir::isa<thread::BarrierOp>(operation);
    const auto text = [&](std::size_t i) {
      return std::string("  ") + name + (barrier ? ": barrier " : ": wait ") + std::to_string(i) + "\n";
    };
    if (!met.contains(operation) ||
        !(barrier ? accesses.barrier_matters(operation) : accesses.wait_matters(operation))) {
      ++count.equivalent;
      if (caught_without(subject, operation)) count.wrongly_equivalent += text(number);
      continue;
    }
    ++(barrier ? count.barriers : count.waits);
    if (caught_without(subject, operation))
      ++count.caught;
    else
      count.missed += text(number);
  }
}

TEST(Mutants, MissingBarriersAndWaitsAreNoticed) {
  Count count;
  kernels::for_each_recording([&](const char* name, const auto& recording) {
    if (!HasFatalFailure()) try_mutants(hopper, name, *recording, false, count);
  });
  const auto pipelined = [&](const char* target, const char* name, const auto& recording) {
    if (!HasFatalFailure()) try_mutants(target, name, *recording, true, count);
  };
  using teeny::record;
  for (const char* target : {hopper, turing}) {
    pipelined(target, "pipelined f16", record<half, float>(kernels::MatMul{.BM = 32, .BN = 32, .BK = 16, .STAGES = 3}));
    pipelined(target, "pipelined bf16", record<bfloat16, bfloat16>(kernels::MatMul{.BM = 64, .BN = 32, .BK = 16, .STAGES = 2}));
    pipelined(target, "pipelined tf32", record<float, float>(kernels::MatMul{
                                            .BM = 32, .BN = 64, .BK = 8, .STAGES = 4, .PRECISION = tl::Precision::fast}));
    pipelined(target, "attention", record<half>(kernels::Attention{.BM = 32, .BN = 16, .HEAD = 32}));
  }
  const int mutants = count.barriers + count.waits;
  std::printf("%d kernels, %d mutants (%d barriers, %d waits), %d caught; %d with nothing to order\n", count.kernels, mutants,
              count.barriers, count.waits, count.caught, count.equivalent);
  EXPECT_GE(count.barriers, 50);
  EXPECT_GE(count.waits, 3);
  EXPECT_GE(count.caught * 100, mutants * 95) << "missed:\n" << count.missed;
  EXPECT_EQ(count.wrongly_equivalent, "");  // the log and the watch agree on what matters
}

}  // namespace
}  // namespace teeny::compiler::simulator
