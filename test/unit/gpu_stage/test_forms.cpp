// The verifiers of the forms: programs written by hand for four ways of multiplying hold to the last one, and what lacks a
// place, a wait or a barrier does not. Two of them run.
#include <cmath>
#include <fstream>
#include <random>

#include <gtest/gtest.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

#include <teeny/half.hpp>

#include "compiler/gpu/simulator/simulator.hpp"
#include "compiler/target/gpu_target.hpp"
#include "compiler/transforms/passes.hpp"

namespace teeny::compiler::gpu {
namespace {

using namespace mlir;

class Forms : public testing::Test {
 protected:
  Forms() : context_(registry()), diagnostics_(&context_, [this](Diagnostic& diagnostic) { errors_ += diagnostic.str(); }) {
    MatrixUnit memory{.name = "wgmma.m64n64k16.f16", .form = MatrixUnit::Form::memory, .m = 64, .n = 64, .k = 16};
    memory.operand = "f16", memory.accumulator = "f32", memory.a_from_memory = true;
    MatrixUnit opaque{.name = "cooperative.m16n16k16.f16", .form = MatrixUnit::Form::opaque, .m = 16, .n = 16, .k = 16};
    opaque.operand = "f16", opaque.accumulator = "f32";
    if (!capability_.unit(memory.name)) capability_.units.push_back(memory);
    capability_.units.push_back(opaque);
  }

  static DialectRegistry registry() {
    DialectRegistry registry;
    register_dialects(registry);
    return registry;
  }

  static std::string text_of(const std::string& name) {
    std::ifstream file(std::string(TEENY_LIT_FOLDER) + "/tile/" + name + ".mlir");
    EXPECT_TRUE(file) << name;
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  tt::FuncOp parse(const std::string& text) {
    module_ = parseSourceString<ModuleOp>(text, &context_);
    EXPECT_TRUE(module_) << errors_;
    return *module_->getOps<tt::FuncOp>().begin();
  }

  // Empty: the function is of the form; else what the verifier says.
  std::string refusal(const std::string& text, Form form = Form::synchronised) {
    tt::FuncOp function = parse(text);
    errors_.clear();
    if (succeeded(verify_form(function, form, capability_))) return {};
    EXPECT_NE(errors_, "");
    return errors_;
  }

  static std::string without(std::string text, const std::string& part) {
    const std::size_t at = text.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    return at == std::string::npos ? text : text.erase(at, part.size());
  }

  void run(const std::string& name, std::vector<std::uint64_t> arguments, std::vector<teeny_memory_range> ranges) {
    tt::FuncOp function = parse(text_of(name));
    func::FuncOp kernel = to_thread(function, capability_, {});
    ASSERT_TRUE(kernel) << errors_;
    ASSERT_TRUE(succeeded(mlir::verify(*module_))) << errors_;
    std::sort(ranges.begin(), ranges.end(), [](auto& a, auto& b) { return a.address < b.address; });
    simulator::Launch launch{.arguments = std::move(arguments), .ranges = std::move(ranges)};
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      simulator::Result result = simulator::run(kernel, capability_, launch, {.seed = seed});
      EXPECT_TRUE(result.ok);
      for (const auto& finding : result.findings) ADD_FAILURE() << finding.kind << ": " << finding.message;
    }
  }

  MLIRContext context_;
  ScopedDiagnosticHandler diagnostics_;
  std::string errors_;
  Capability capability_ = capability_of(std::string_view("cuda:sm_90a"));
  OwningOpRef<ModuleOp> module_;
};

template <class T>
teeny_memory_range range_of(std::vector<T>& buffer) {
  return {reinterpret_cast<std::uint64_t>(buffer.data()), buffer.size() * sizeof(T), nullptr};
}
template <class T>
std::uint64_t address_of(std::vector<T>& buffer) { return reinterpret_cast<std::uint64_t>(buffer.data()); }

std::vector<half> normal(std::size_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> distribution;
  std::vector<half> values(count);
  for (half& value : values) value = half(distribution(engine));
  return values;
}

TEST_F(Forms, FourProgramsHoldToAll) {
  for (const char* name : {"matmul_mma_sync", "matmul_opaque", "matmul_wgmma", "attention"})
    for (Form form : {Form::laid_out, Form::staged, Form::synchronised}) EXPECT_EQ(refusal(text_of(name), form), "") << name;
}

TEST_F(Forms, AnEarlierFormNeedsNoPlacesAndBarriers) {
  std::string text = without(text_of("matmul_mma_sync"), "{offset = 0 : i64} ");
  EXPECT_EQ(refusal(text, Form::staged), "");
  EXPECT_NE(refusal(text).find("got no offset"), std::string::npos);
}

TEST_F(Forms, PlacesAreWithinTheMemory) {
  std::string text = text_of("matmul_mma_sync");
  const std::string place = "offset = 4096";
  EXPECT_NE(refusal(text.replace(text.find(place), place.size(), "offset = 4104")).find("multiple of 16"), std::string::npos);
  text = text_of("matmul_mma_sync");
  EXPECT_NE(refusal(text.replace(text.find(place), place.size(), "offset = 8192")).find("up to 8192"), std::string::npos);
}

TEST_F(Forms, BarriersStandWhereLanesMeet) {
  EXPECT_NE(refusal(without(text_of("matmul_mma_sync"), "    tile.barrier shared\n")).find("lacks 1"), std::string::npos);
  EXPECT_NE(refusal(without(text_of("matmul_opaque"), "    tile.barrier shared\n")).find("lacks"), std::string::npos);
  EXPECT_NE(refusal(without(text_of("attention"), "    tile.barrier shared\n")).find("lacks"), std::string::npos);
}

TEST_F(Forms, CopiesAreCommittedAndWaitedFor) {
  EXPECT_NE(refusal(without(text_of("matmul_mma_sync"), "    %g = tile.commit %ta, %tb\n"), Form::staged).find("a commit follows"),
            std::string::npos);
  std::string text = without(text_of("matmul_mma_sync"), "    %done = tile.wait {pending = 0 : i32}\n");
  EXPECT_NE(refusal(without(text, "  %end = tile.wait {pending = 0 : i32}\n"), Form::staged).find("no tile.wait"), std::string::npos);
}

TEST_F(Forms, AsynchronousSumsAreReadBehindAWait) {
  std::string text = text_of("matmul_wgmma");
  const std::string wait = "tile.mma_wait %d {pending = 0 : i32} : tensor<64x64xf32, #acc> -> tensor<64x64xf32, #acc>";
  text.replace(text.find(wait), wait.size(), "arith.negf %d : tensor<64x64xf32, #acc>");
  EXPECT_NE(refusal(text, Form::staged).find("behind a wait; got a use by"), std::string::npos);
}

TEST_F(Forms, OperandsStandWhereTheUnitTakesThem) {
  std::string text = text_of("matmul_mma_sync");
  const std::string unit = "\"mma.sync.m16n8k16.f16\", %xa";
  EXPECT_NE(refusal(std::string(text).replace(text.find(unit), unit.size(), "\"cooperative.m16n16k16.f16\", %xa"), Form::staged)
                .find("operands stand where"),
            std::string::npos);
  EXPECT_NE(refusal(text.replace(text.find(unit), unit.size(), "\"none\", %xa"), Form::staged).find("matrix table has the unit"),
            std::string::npos);
}

TEST_F(Forms, PartitionsShareTheWarps) {
  std::string text = text_of("matmul_wgmma");
  const std::string warps = "thread.warps = 5";
  EXPECT_NE(refusal(text.replace(text.find(warps), warps.size(), "thread.warps = 6")).find("got 5, expected 6"), std::string::npos);
}

// The sums of 3 tiles have at most 96 products; f16 operands' products are exact in f32.
TEST_F(Forms, TheStagedProductComputesIt) {
  constexpr int tiles = 3, size = 32;
  std::vector<half> a = normal(tiles * size * size, 1), b = normal(tiles * size * size, 2);
  std::vector<float> c(size * size, NAN);
  run("matmul_mma_sync", {address_of(a), address_of(b), address_of(c), tiles}, {range_of(a), range_of(b), range_of(c)});
  for (int row = 0; row < size; ++row)
    for (int column = 0; column < size; ++column) {
      double sum = 0, magnitudes = 0;
      for (int tile = 0; tile < tiles; ++tile)
        for (int k = 0; k < size; ++k) {
          const double product = double(float(a[(tile * size + row) * size + k])) * float(b[(tile * size + k) * size + column]);
          sum += product, magnitudes += std::abs(product);
        }
      EXPECT_NEAR(c[row * size + column], sum, magnitudes * tiles * size * 0x1p-23) << row << ", " << column;
    }
}

// Probabilities are rounded to f16 (2^-11 of each) before the second product; their sum is of at most `keys` terms.
TEST_F(Forms, AttentionWithProbabilitiesInRegistersComputesIt) {
  constexpr int queries = 64, depth = 16, blocks = 4, keys = 16 * blocks;
  std::vector<half> q = normal(queries * depth, 3), k = normal(keys * depth, 4), v = normal(keys * depth, 5);
  std::vector<float> o(queries * depth, NAN);
  run("attention", {address_of(q), address_of(k), address_of(v), address_of(o), blocks},
      {range_of(q), range_of(k), range_of(v), range_of(o)});
  for (int row = 0; row < queries; ++row) {
    std::vector<double> weights(keys);
    double total = 0;
    for (int key = 0; key < keys; ++key) {
      double score = 0;
      for (int d = 0; d < depth; ++d) score += double(float(q[row * depth + d])) * float(k[key * depth + d]);
      total += weights[key] = std::exp2(score);
    }
    for (int d = 0; d < depth; ++d) {
      double expected = 0, magnitudes = 0;
      for (int key = 0; key < keys; ++key) {
        const double part = weights[key] / total * float(v[key * depth + d]);
        expected += part, magnitudes += std::abs(part);
      }
      EXPECT_NEAR(o[row * depth + d], expected, magnitudes * 0x1p-10 + 1e-6) << row << ", " << d;
    }
  }
}

}  // namespace
}  // namespace teeny::compiler::gpu
