// The simulator on functions of the thread dialect written by hand: what lanes compute, and everything that it finds.
#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Parser/Parser.h>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/gpu/simulator/simulator.hpp"

namespace teeny::compiler::simulator {
namespace {

struct Ran {
  std::vector<std::int32_t> x = std::vector<std::int32_t>(256), y = std::vector<std::int32_t>(256);
  Result result;
  std::vector<Result> others;  // of further seeds

  bool found(const std::string& kind) const {
    const auto holds = [&](const Result& one) {
      return std::any_of(one.findings.begin(), one.findings.end(), [&](const Finding& f) { return f.kind == kind; });
    };
    return holds(result) && std::all_of(others.begin(), others.end(), holds);
  }
  std::string text() const {
    std::string all;
    for (const Finding& finding : result.findings)
      all += finding.kind + ": " + finding.message + "\n  help: " + finding.help + " at " + finding.location + "\n";
    return all;
  }
};

struct Shape {
  int lanes = 32, warps = 2, shared_bytes = 1024;
  std::uint32_t programs = 1;
};

// Runs a function of two pointers %x and %y; %lane, %warp, %thread and some constants are there. x holds 0, 1, 2, …
Ran run(const std::string& body, const Shape& shape = {}, const Options& options = {}) {
  Ran run;
  std::iota(run.x.begin(), run.x.end(), 0);
  mlir::MLIRContext context;
  context.loadDialect<thread::ThreadDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                      mlir::func::FuncDialect, mlir::ub::UBDialect>();
  const std::string text =
      "func.func @kernel(%x: i64, %y: i64) attributes {thread.warps = " + std::to_string(shape.warps) +
      " : i32, thread.lanes = " + std::to_string(shape.lanes) +
      " : i32, thread.shared_bytes = " + std::to_string(shape.shared_bytes) + " : i32} {\n" +
      "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%c2 = arith.constant 2 : i32\n"
      "%c4 = arith.constant 4 : i32\n%c3 = arith.constant 3 : i32\n%c16 = arith.constant 16 : i32\n"
      "%lane = thread.lane_id : i32\n%warp = thread.warp_id : i32\n"
      "%width = arith.constant " + std::to_string(shape.lanes) + " : i32\n"
      "%first = arith.muli %warp, %width : i32\n%thread = arith.addi %first, %lane : i32\n"
      "%bytes = arith.muli %thread, %c4 : i32\n%offset = arith.extui %bytes : i32 to i64\n"
      "%from = arith.addi %x, %offset : i64\n%to = arith.addi %y, %offset : i64\n"
      "%array = thread.shared_ref {offset = 0 : i64, elements = 128 : i64} : !thread.shared<i32>\n" +
      body + "\nreturn }";
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  EXPECT_TRUE(module) << text;
  if (!module) return run;
  const gpu::Capability capability = gpu::capability_of("cuda:sm_90a");
  Launch launch;
  launch.arguments = {reinterpret_cast<std::uint64_t>(run.x.data()), reinterpret_cast<std::uint64_t>(run.y.data())};
  launch.grid = {shape.programs, 1, 1};
  for (std::vector<std::int32_t>* buffer : {&run.x, &run.y})
    launch.ranges.push_back({reinterpret_cast<std::uint64_t>(buffer->data()), buffer->size() * 4, nullptr});
  std::sort(launch.ranges.begin(), launch.ranges.end(), [](auto& a, auto& b) { return a.address < b.address; });
  auto kernel = *module->getOps<mlir::func::FuncOp>().begin();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Options other = options;
    other.seed = seed;
    run.others.push_back(simulator::run(kernel, capability, launch, other));
    std::fill(run.y.begin(), run.y.end(), 0);
    std::iota(run.x.begin(), run.x.end(), 0);
  }
  run.result = simulator::run(kernel, capability, launch, options);
  return run;
}

constexpr char exchange[] = R"(
  %value = thread.load %from {alignment = 4 : i32} : i32
  thread.shared_store %array[%thread], %value : !thread.shared<i32>, i32
  thread.barrier shared
  %last = arith.constant 63 : i32
  %turned = arith.subi %last, %thread : i32
  %other = thread.shared_load %array[%turned] : !thread.shared<i32> -> i32
  thread.store %to, %other {alignment = 4 : i32} : i32
)";

std::string without(std::string text, const std::string& part) {
  const std::size_t at = text.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return text.erase(at, part.size());
}

TEST(Simulator, LanesExchangeThroughSharedMemory) {
  for (int lanes : {1, 8, 32, 64}) {
    const Ran r = run(exchange, {.lanes = lanes, .warps = 64 / lanes});
    EXPECT_TRUE(r.result.ok) << r.text();
    for (int i = 0; i < 64; ++i) EXPECT_EQ(r.y[i], 63 - i);
  }
}

TEST(Simulator, FindsAMissingBarrier) {
  const Ran r = run(without(exchange, "thread.barrier shared"));
  EXPECT_TRUE(r.found("race")) << r.text();
  // Warps in order: the first reads what nobody wrote, the second writes what the first read and reads what it wrote.
  std::vector<std::string> kinds;
  for (const Finding& finding : r.result.findings) {
    kinds.push_back(finding.kind);
    EXPECT_TRUE(finding.location.starts_with("-:")) << finding.location;  // the line of the text
    EXPECT_FALSE(finding.help.empty());
  }
  EXPECT_EQ(kinds, (std::vector<std::string>{"uninitialised", "race", "race"})) << r.text();
}

TEST(Simulator, ABarrierForOtherMemoryDoesNotOrder) {
  std::string text = exchange;
  text.replace(text.find("barrier shared"), 14, "barrier global");
  EXPECT_TRUE(run(text).found("race"));
}

TEST(Simulator, FindsRacesInGlobalMemory) {
  const std::string text = R"(
    thread.store %to, %thread {alignment = 4 : i32} : i32
    %c63 = arith.constant 63 : i32
    %other = arith.xori %thread, %c63 : i32
    %other_bytes = arith.muli %other, %c4 : i32
    %other_offset = arith.extui %other_bytes : i32 to i64
    %there = arith.addi %y, %other_offset : i64
    thread.barrier global
    %value = thread.load %there {alignment = 4 : i32} : i32
    thread.store %from, %value {alignment = 4 : i32} : i32
  )";
  const Ran good = run(text);
  EXPECT_TRUE(good.result.ok) << good.text();
  EXPECT_EQ(good.x[5], 58);
  EXPECT_TRUE(run(without(text, "thread.barrier global")).found("race"));
  // All lanes to one place: the same bits are no race, different ones are.
  EXPECT_TRUE(run("thread.store %y, %c4 {alignment = 4 : i32} : i32").result.ok);
  EXPECT_TRUE(run("thread.store %y, %lane {alignment = 4 : i32} : i32").found("race"));
}

TEST(Simulator, AtomicsAreNoRace) {
  const Ran r = run(R"(
    %old = thread.atomic_rmw add, relaxed, gpu, %y, %c2 : i32
    %array_old = thread.shared_ref {offset = 512 : i64, elements = 4 : i64} : !thread.shared<i32>
    %none = arith.cmpi slt, %lane, %c0 : i32
    %zero = thread.atomic_rmw add, relaxed, gpu, %y, %c2, mask %none : i32
    %offset_4 = arith.constant 4 : i64
    %next = arith.addi %y, %offset_4 : i64
    %found = thread.atomic_cas relaxed, gpu, %next, %c0, %c3 : i32
    %seen = thread.atomic_rmw max, relaxed, gpu, %next, %zero {offset = 4 : i64} : i32
  )");
  EXPECT_TRUE(r.result.ok) << r.text();
  EXPECT_EQ(r.y[0], 128);
  EXPECT_EQ(r.y[1], 3);
  EXPECT_EQ(r.y[2], 0);
}

TEST(Simulator, BranchesAndLoopsFollowEachLane) {
  const Ran r = run(R"(
    %odd = arith.andi %lane, %c1 : i32
    %is_odd = arith.cmpi eq, %odd, %c1 : i32
    %start = scf.if %is_odd -> i32 {
      scf.yield %c16 : i32
    } else {
      scf.yield %c0 : i32
    }
    %sum, %swapped = scf.for %i = %c0 to %lane step %c1 iter_args(%a = %start, %b = %c2) -> (i32, i32) : i32 {
      %next = arith.addi %a, %i : i32
      scf.yield %b, %next : i32, i32
    }
    %n, %steps = scf.while (%value = %lane, %count = %c0) : (i32, i32) -> (i32, i32) {
      %more = arith.cmpi sgt, %value, %c0 : i32
      scf.condition(%more) %value, %count : i32, i32
    } do {
    ^bb0(%value: i32, %count: i32):
      %half = arith.shrui %value, %c1 : i32
      %counted = arith.addi %count, %c1 : i32
      scf.yield %half, %counted : i32, i32
    }
    %both = arith.addi %sum, %steps : i32
    thread.store %to, %both {alignment = 4 : i32} : i32
  )");
  EXPECT_TRUE(r.result.ok) << r.text();
  for (int lane = 0; lane < 32; ++lane) {
    int a = lane % 2 ? 16 : 0, b = 2, steps = 0;
    for (int i = 0; i < lane; ++i) {
      const int next = a + i;
      a = b, b = next;
    }
    for (int value = lane; value > 0; value /= 2) ++steps;
    EXPECT_EQ(r.y[lane], a + steps) << lane;
    EXPECT_EQ(r.y[32 + lane], a + steps) << lane;
  }
}

TEST(Simulator, FindsDivergence) {
  const std::string half = "%half = arith.cmpi slt, %lane, %c16 : i32\n";
  const std::string warp = "%is_first = arith.cmpi eq, %warp, %c0 : i32\n";
  EXPECT_TRUE(run(half + "scf.if %half { thread.barrier shared }").found("divergence"));
  EXPECT_TRUE(run(warp + "scf.if %is_first { thread.barrier shared }").found("divergence"));
  EXPECT_TRUE(run(warp + "scf.if %is_first { thread.barrier shared } else { thread.barrier shared }").found("divergence"));
  EXPECT_TRUE(run(half + "scf.if %half { %v = thread.shuffle xor %lane, %c1 : i32 }").found("divergence"));
  EXPECT_TRUE(run(warp + "scf.if %is_first { %v = thread.shuffle xor %lane, %c1 : i32 }").result.ok);
}

TEST(Simulator, ShufflesAndBallots) {
  const Ran r = run(R"(
    %up = thread.shuffle up %lane, %c2 : i32
    %down = thread.shuffle down %lane, %c2 : i32
    %third = thread.shuffle index %lane, %c3 : i32
    %crossed = thread.shuffle xor %lane, %c1 : i32
    %few = arith.cmpi slt, %lane, %c2 : i32
    %bits = thread.ballot %few : i64
    %word = arith.trunci %bits : i64 to i32
    %a = arith.muli %up, %c16 : i32
    %s = arith.addi %a, %down : i32
    %t = arith.muli %s, %c16 : i32
    %u = arith.addi %t, %third : i32
    %v = arith.muli %u, %c16 : i32
    %w = arith.addi %v, %crossed : i32
    %sum = arith.addi %w, %word : i32
    thread.store %to, %sum {alignment = 4 : i32} : i32
  )", {.warps = 1});
  EXPECT_TRUE(r.result.ok) << r.text();
  for (int lane = 0; lane < 32; ++lane) {
    const int up = lane < 2 ? lane : lane - 2, down = lane > 29 ? lane : lane + 2;
    EXPECT_EQ(r.y[lane], ((up * 16 + down) * 16 + 3) * 16 + (lane ^ 1) + 3);
  }
}

TEST(Simulator, ComputesWhatDevicesApproximate) {
  const Ran r = run(R"(
    %real = arith.uitofp %lane : i32 to f32
    %power = math.exp2 %real : f32
    %inverse = math.rsqrt %power : f32
    %a = arith.bitcast %power : f32 to i32
    %b = arith.bitcast %inverse : f32 to i32
    thread.store %to, %a {alignment = 4 : i32} : i32
    thread.store %to, %b {alignment = 4 : i32, offset = 128 : i64} : i32
  )", {.warps = 1});
  EXPECT_TRUE(r.result.ok) << r.text();
  for (int lane = 0; lane < 31; lane += 2) {
    EXPECT_EQ(std::bit_cast<float>(r.y[lane]), std::ldexp(1.0f, lane));
    EXPECT_EQ(std::bit_cast<float>(r.y[32 + lane]), std::ldexp(1.0f, -lane / 2));
  }
}

// A fragment of each operand as mma.m16n8k16 wants it: a from rows of 16-bit elements, b from columns, by matrix_load.
TEST(Simulator, MultipliesFragments) {
  const Ran r = run(R"(
    %rows = thread.shared_ref {offset = 0 : i64, elements = 512 : i64} : !thread.shared<f16>
    %c8 = arith.constant 8 : i32
    %c15 = arith.constant 15 : i32
    scf.for %i = %c0 to %c16 step %c1 : i32 {
      %start = arith.muli %lane, %c16 : i32
      %at = arith.addi %start, %i : i32
      %digit = arith.remui %at, %c3 : i32
      %value = arith.uitofp %digit : i32 to f16
      thread.shared_store %rows[%at], %value : !thread.shared<f16>, f16
    }
    thread.barrier shared
    %row = arith.andi %lane, %c15 : i32
    %row_start = arith.muli %row, %c16 : i32
    %half = arith.divui %lane, %c16 : i32
    %shift = arith.muli %half, %c8 : i32
    %index = arith.addi %row_start, %shift : i32
    %a:8 = thread.matrix_load %rows[%index] {count = 4 : i32} : !thread.shared<f16> -> f16, f16, f16, f16, f16, f16, f16, f16
    %b:4 = thread.matrix_load %rows[%row_start] transpose {count = 2 : i32, offset = 256 : i32} : !thread.shared<f16> -> f16, f16, f16, f16
    %zero = arith.constant 0.0 : f32
    %d:4 = thread.mma "mma.sync.m16n8k16.f16", %a#0, %a#1, %a#2, %a#3, %a#4, %a#5, %a#6, %a#7 * %b#0, %b#1, %b#2, %b#3 + %zero, %zero, %zero, %zero
      : f16, f16, f16, f16, f16, f16, f16, f16 * f16, f16, f16, f16 + f32, f32, f32, f32 -> f32, f32, f32, f32
    %pair = arith.muli %bytes, %c4 : i32
    %pair_offset = arith.extui %pair : i32 to i64
    %place = arith.addi %y, %pair_offset : i64
    %w0 = arith.fptosi %d#0 : f32 to i32
    %w1 = arith.fptosi %d#1 : f32 to i32
    %w2 = arith.fptosi %d#2 : f32 to i32
    %w3 = arith.fptosi %d#3 : f32 to i32
    thread.store %place, %w0, %w1, %w2, %w3 {alignment = 4 : i32} : i32, i32, i32, i32
  )", {.warps = 1});
  EXPECT_TRUE(r.result.ok) << r.text();
  const auto element = [](int row, int column) { return (row * 16 + column) % 3; };
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 8; ++n) {
      int sum = 0;
      for (int k = 0; k < 16; ++k) sum += element(m, k) * element(16 + k, n);
      const int lane = m % 8 * 4 + n / 2, number = m / 8 * 2 + n % 2;  // PTX ISA: fragment of the accumulators
      EXPECT_EQ(r.y[lane * 4 + number], sum) << m << " " << n;
    }
}

TEST(Simulator, FindsBoundsAndAlignment) {
  EXPECT_TRUE(run("%v = thread.load %from {alignment = 4 : i32, offset = 2048 : i64} : i32").found("out_of_bounds"));
  EXPECT_TRUE(run("%v = thread.load %from {alignment = 4 : i32, offset = 2 : i64} : i32").found("misaligned"));
  EXPECT_TRUE(run("%v:4 = thread.load %from {alignment = 4 : i32} : i32, i32, i32, i32").found("misaligned"));
  EXPECT_TRUE(run("thread.shared_store %array[%thread], %lane {offset = 65 : i32} : !thread.shared<i32>, i32").found("out_of_bounds"));
  EXPECT_TRUE(run("thread.shared_store %array[%thread], %lane, %lane : !thread.shared<i32>, i32, i32").found("misaligned"));
  EXPECT_TRUE(run("%v = thread.shared_load %array[%thread] : !thread.shared<i32> -> i32").found("uninitialised"));
}

TEST(Simulator, MaskedLanesTouchNothing) {
  const Ran r = run(R"(
    %few = arith.cmpi slt, %thread, %c16 : i32
    %far = arith.constant 1000 : i32
    %v = thread.load %from, mask %few, other %far : i32 {alignment = 4 : i32} : i32
    %z = thread.load %from, mask %few {alignment = 4 : i32, offset = 960 : i64} : i32
    %sum = arith.addi %v, %z : i32
    thread.store %to, %sum {alignment = 4 : i32} : i32
    %none = arith.cmpi slt, %thread, %c0 : i32
    thread.store %to, %sum mask %none {alignment = 4 : i32, offset = 4096 : i64} : i32
  )");
  EXPECT_TRUE(r.result.ok) << r.text();
  EXPECT_EQ(r.y[3], 3 + 243);
  EXPECT_EQ(r.y[20], 1000);
}

constexpr char copies[] = R"(
  %own = arith.muli %thread, %c1 : i32
  thread.copy_async %array[%own], %from {bytes = 4 : i32} : !thread.shared<i32>
  thread.copy_commit
  thread.copy_async %array[%own], %from {bytes = 4 : i32, offset = 64 : i32} : !thread.shared<i32>
  thread.copy_commit
  thread.copy_wait 1
  thread.barrier shared
  %c63 = arith.constant 63 : i32
  %turned = arith.subi %c63, %thread : i32
  %other = thread.shared_load %array[%turned] : !thread.shared<i32> -> i32
  thread.store %to, %other {alignment = 4 : i32} : i32
  thread.copy_wait 0
  thread.barrier shared
  %second = thread.shared_load %array[%turned] {offset = 64 : i32} : !thread.shared<i32> -> i32
  thread.store %to, %second {alignment = 4 : i32, offset = 256 : i64} : i32
)";

TEST(Simulator, CopiesLandWhereTheyAreWaitedFor) {
  const Ran r = run(copies);
  EXPECT_TRUE(r.result.ok) << r.text();
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(r.y[i], 63 - i);
    EXPECT_EQ(r.y[64 + i], 63 - i);
  }
}

TEST(Simulator, FindsCopiesThatAreNotWaitedFor) {
  EXPECT_TRUE(run(without(copies, "thread.copy_wait 1")).found("unwaited_copy"));
  EXPECT_TRUE(run(without(copies, "thread.copy_wait 0")).found("unwaited_copy"));
  EXPECT_TRUE(run(without(copies, "thread.copy_commit")).found("unwaited_copy"));
  EXPECT_TRUE(run(without(copies, "thread.barrier shared")).found("race"));
  const std::string changed = R"(
    thread.copy_async %array[%thread], %from {bytes = 4 : i32} : !thread.shared<i32>
    thread.copy_commit
    thread.store %from, %c3 {alignment = 4 : i32} : i32
    thread.copy_wait 0
  )";
  EXPECT_TRUE(run(changed).found("race"));
}

TEST(Simulator, RefusesWhatItCannotRun) {
  const Ran r = run(R"(thread.barrier shared {first_warp = 0 : i32, warps = 1 : i32})");
  EXPECT_TRUE(r.found("unsupported"));
  EXPECT_NE(r.text().find("thread.barrier: a barrier of all warps"), std::string::npos) << r.text();
}

TEST(Simulator, EndsLoopsThatDoNot) {
  EXPECT_TRUE(run(R"(
    %n = scf.while (%value = %c1) : (i32) -> i32 {
      %more = arith.cmpi sgt, %value, %c0 : i32
      scf.condition(%more) %value : i32
    } do {
    ^bb0(%value: i32):
      scf.yield %value : i32
    }
  )", {.lanes = 1, .warps = 1}, {.max_rounds = 1000}).found("endless_loop"));
}

// Rows of 8 words: 4 lanes meet each bank.
TEST(Simulator, CountsTurnsOfBanks) {
  const Ran r = run(R"(
    %row = arith.muli %lane, %c4 : i32
    thread.shared_store %array[%row], %lane : !thread.shared<i32>, i32
    thread.barrier shared
    %v = thread.shared_load %array[%lane] : !thread.shared<i32> -> i32
  )", {.warps = 1}, {.count_banks = true});
  ASSERT_EQ(r.result.shared.size(), 2u);
  EXPECT_EQ(r.result.shared[0].name, "shared_store");
  EXPECT_EQ(r.result.shared[0].turns, 4u);
  EXPECT_EQ(r.result.shared[0].least, 1u);
  EXPECT_EQ(r.result.shared[1].turns, 1u);
}

TEST(Simulator, ProgramsHaveTheirOwnSharedMemory) {
  const Ran r = run(R"(
    %zero = arith.cmpi eq, %c0, %c0 : i32
    %id = thread.program_id x : i32
    %count = thread.num_programs x : i32
    %sum = arith.addi %id, %count : i32
    %scaled = arith.muli %id, %c4 : i32
    %at = arith.extui %scaled : i32 to i64
    %place = arith.addi %y, %at : i64
    thread.store %place, %sum {alignment = 4 : i32} : i32
    %leader = arith.cmpi eq, %id, %c0 : i32
    scf.if %leader {
      thread.shared_store %array[%thread], %id : !thread.shared<i32>, i32
    }
    %follower = arith.cmpi ne, %id, %c0 : i32
    scf.if %follower {
      %v = thread.shared_load %array[%thread] : !thread.shared<i32> -> i32
    }
  )", {.programs = 3});
  EXPECT_TRUE(r.found("uninitialised"));
  EXPECT_EQ(r.y[2], 5);
}

}  // namespace
}  // namespace teeny::compiler::simulator
