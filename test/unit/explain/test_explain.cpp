// What an explanation counts and predicts, on functions of the thread dialect written by hand.
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/UB/IR/UBOps.h>
#include <mlir/Parser/Parser.h>
#include <sys/stat.h>

#include <teeny/error.hpp>

#include "compiler/dialect/thread/thread.hpp"
#include "compiler/explain/explain.hpp"
#include "compiler/gpu/simulator/simulator.hpp"

namespace teeny::compiler::explain {
namespace {

constexpr int warps = 2;

struct Kernel {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  gpu::Capability capability = gpu::capability_of("cuda:sm_90a");

  // A function of a pointer %x and a number %n; %lane, %warp, %thread and some constants are there.
  explicit Kernel(const std::string& body) {
    context.loadDialect<thread::ThreadDialect, mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                        mlir::func::FuncDialect, mlir::ub::UBDialect>();
    const std::string text = "func.func @kernel(%x: i64, %n: i32) attributes {thread.warps = " + std::to_string(warps) +
                             " : i32, thread.lanes = 32 : i32, thread.shared_bytes = 16384 : i32} {\n"
                             "%c0 = arith.constant 0 : i32\n%c1 = arith.constant 1 : i32\n%c2 = arith.constant 2 : i32\n"
                             "%c3 = arith.constant 3 : i32\n%c4 = arith.constant 4 : i32\n%c10 = arith.constant 10 : i32\n"
                             "%c32 = arith.constant 32 : i32\n%c64 = arith.constant 64 : i32\n"
                             "%lane = thread.lane_id : i32\n%warp = thread.warp_id : i32\n"
                             "%first = arith.muli %warp, %c32 : i32\n%thread = arith.addi %first, %lane : i32\n"
                             "%array = thread.shared_ref {offset = 0 : i64, elements = 4096 : i64} : !thread.shared<i32>\n" +
                             body + "\nreturn }";
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << text;
  }
  mlir::func::FuncOp function() { return *module->getOps<mlir::func::FuncOp>().begin(); }
  Function counted(const CountOptions& options = {}) { return count(function(), capability, options); }
};

Accesses stores_at(const std::string& index) {
  const Function function = Kernel(index + "\nthread.shared_store %array[%i], %lane : !thread.shared<i32>, i32").counted();
  return function.outside.shared.at({"store", 4});
}

TEST(Explain, RowsOfSharedMemoryHaveNoConflicts) {
  const Accesses accesses = stores_at("%i = arith.addi %thread, %c0 : i32");
  EXPECT_EQ(accesses.turns, warps);
  EXPECT_EQ(accesses.least, warps);
}

TEST(Explain, ColumnsOfSharedMemoryConflict) {
  const Accesses all = stores_at("%i = arith.muli %lane, %c32 : i32");
  EXPECT_EQ(all.turns, 32 * warps);
  EXPECT_EQ(all.least, warps);
  EXPECT_EQ(stores_at("%i = arith.muli %lane, %c2 : i32").turns, 2 * warps);
}

TEST(Explain, ASwizzleTakesConflictsAway) {
  const Accesses accesses = stores_at("%row = arith.muli %lane, %c32 : i32\n%i = arith.xori %row, %lane : i32");
  EXPECT_EQ(accesses.turns, warps);
}

TEST(Explain, NumbersThatAllLanesShareMoveAllOfThem) {
  EXPECT_EQ(stores_at("%i = arith.addi %thread, %n : i32").unknown, 0);
  EXPECT_EQ(stores_at("%i = arith.addi %thread, %n : i32").turns, warps);
}

TEST(Explain, PlacesThatDependOnDataAreUnknown) {
  const Accesses accesses = stores_at("%i = thread.shared_load %array[%thread] : !thread.shared<i32> -> i32");
  EXPECT_EQ(accesses.unknown, 1);
  EXPECT_EQ(accesses.turns, 0);
}

// A place in a ring is the same number for all lanes, carried from turn to turn.
TEST(Explain, WhatALoopCarriesIsFollowed) {
  const Function function = Kernel(R"(
    %end:2 = scf.for %k = %c0 to %c10 step %c3 iter_args(%at = %thread, %bad = %lane) -> (i32, i32) : i32 {
      thread.shared_store %array[%at], %lane : !thread.shared<i32>, i32
      thread.shared_store %array[%bad], %lane, %lane : !thread.shared<i32>, i32, i32
      %next = arith.addi %at, %c64 : i32
      %worse = arith.addi %bad, %lane : i32
      scf.yield %next, %worse : i32, i32
    }
    thread.shared_store %array[%end#0], %lane : !thread.shared<i32>, i32)").counted();
  ASSERT_EQ(function.loops.size(), 1u);
  EXPECT_EQ(function.loops[0].turns, 4);
  const auto& inside = function.loops[0].turn.shared;
  EXPECT_EQ(inside.at({"store", 4}).unknown, 0);
  EXPECT_EQ(inside.at({"store", 4}).turns, warps);
  EXPECT_EQ(inside.at({"store", 8}).unknown, 1);
  EXPECT_EQ(function.outside.shared.at({"store", 4}).unknown, 0);
}

Accesses loads_at(const std::string& address) {
  const Function function = Kernel(address + "\n%v = thread.load %p {alignment = 4 : i32} : f32").counted();
  return function.outside.global.at({"load", 4});
}

TEST(Explain, SectorsOfGlobalMemory) {
  const Accesses row = loads_at("%b = arith.muli %thread, %c4 : i32\n%o = arith.extsi %b : i32 to i64\n%p = arith.addi %x, %o : i64");
  EXPECT_EQ(row.bytes, 256);
  EXPECT_EQ(row.moved, 256);
  // A column, whose stride is an argument: a sector for each lane.
  const Accesses column = loads_at("%b = arith.muli %lane, %n : i32\n%o = arith.extsi %b : i32 to i64\n%p = arith.addi %x, %o : i64");
  EXPECT_EQ(column.bytes, 128);  // the warps load the same
  EXPECT_EQ(column.known_bytes, 256);
  EXPECT_EQ(column.moved, 64 * 32);
}

TEST(Explain, AxesOfTheGridThatAPlaceDependsOn) {
  const Accesses accesses = loads_at(R"(
    %id = thread.program_id y : i32
    %row = arith.muli %id, %n : i32
    %b = arith.addi %row, %lane : i32
    %o = arith.extsi %b : i32 to i64
    %p = arith.addi %x, %o : i64)");
  EXPECT_EQ(accesses.by_axes[2], accesses.bytes);
}

TEST(Explain, SpecialFunctionsAndArithmetic) {
  const std::string body = R"(
    %f = arith.sitofp %lane : i32 to f32
    %e = math.exp2 %f : f32
    %d = arith.divf %e, %f : f32
    %m = arith.mulf %d, %f : f32
    %s = arith.addf %m, %e : f32
    %r = thread.shuffle xor %s, %c1 : f32)";
  const Counts exact = Kernel(body).counted().outside;
  EXPECT_EQ(exact.special.at("exp2"), 1);
  EXPECT_EQ(exact.special.at("divf (rounded exactly)"), 1);
  EXPECT_EQ(exact.arithmetic.at("f32"), 2);
  EXPECT_EQ(exact.lanes.at("shuffle"), 1);
  const Counts fast = Kernel(body).counted({.contract = true, .approximate = true}).outside;
  EXPECT_EQ(fast.special.at("divf"), 1);
  EXPECT_EQ(fast.arithmetic.at("f32"), 1);
}

// The simulator counts what happens; the prediction must be that.
TEST(Explain, PredictsWhatTheSimulatorCounts) {
  Kernel kernel(R"(
    scf.for %k = %c0 to %c10 step %c1 : i32 {
      %row = arith.muli %lane, %c3 : i32
      %column = arith.shli %lane, %c2 : i32
      %moved = arith.addi %column, %k : i32
      thread.shared_store %array[%row], %lane : !thread.shared<i32>, i32
      thread.barrier shared
      %v = thread.shared_load %array[%row] : !thread.shared<i32> -> i32
      %w:4 = thread.shared_load %array[%column] : !thread.shared<i32> -> i32, i32, i32, i32
      thread.barrier shared
      thread.shared_store %array[%moved], %lane : !thread.shared<i32>, i32
      thread.barrier shared
    })");
  const Function function = kernel.counted();
  Report report;
  report.function = function;
  const auto all = report.all();
  ASSERT_TRUE(all);
  std::int64_t predicted = 0, least = 0;
  for (const auto& [name, accesses] : all->shared) predicted += accesses.turns, least += accesses.least;
  simulator::Launch launch;
  launch.arguments = {0, 0};
  const simulator::Result result = simulator::run(kernel.function(), kernel.capability, launch, {.count_banks = true});
  std::int64_t counted = 0, at_best = 0;
  for (const simulator::SharedAccesses& one : result.shared) counted += std::int64_t(one.turns), at_best += std::int64_t(one.least);
  EXPECT_EQ(predicted, counted);
  EXPECT_EQ(least, at_best);
  EXPECT_GT(predicted, least);
}

TEST(Explain, Occupancy) {
  const auto machine = machine_of("cuda:sm_90a");
  ASSERT_TRUE(machine);
  const Multiprocessor& hopper = machine->multiprocessor;
  EXPECT_EQ(occupancy(hopper, 4, 32, 32, 0).programs, 16);
  EXPECT_EQ(occupancy(hopper, 4, 32, 32, 0).limit, "threads");
  EXPECT_EQ(occupancy(hopper, 4, 32, 168, 0).programs, 3);  // CUDA's occupancy calculator
  EXPECT_EQ(occupancy(hopper, 4, 32, 168, 0).limit, "registers");
  EXPECT_EQ(occupancy(hopper, 8, 32, 128, 100 * 1024).programs, 2);
  EXPECT_EQ(occupancy(hopper, 8, 32, 128, 114 * 1024).programs, 1);
  EXPECT_EQ(occupancy(hopper, 8, 32, 128, 114 * 1024).limit, "shared memory");
  EXPECT_EQ(occupancy(hopper, 1, 32, 0, 0).programs, 32);
  EXPECT_FALSE(machine_of("vulkan:1.3"));
  EXPECT_EQ(machine_of("simulator:cuda:sm_80")->multiprocessor.number, 80);
}

TEST(Explain, FloorsOfAMatrixUnit) {
  Report report;
  report.machine = machine_of("cuda:sm_90a");
  report.function.warps = 8;
  report.products["unit"] = {.multiply_adds = 64 * 256 * 16, .bits = 16, .warps = 4};
  Counts counts;
  counts.matrix["unit"] = 4;
  EXPECT_DOUBLE_EQ(report.floor_of(counts).matrix, 1024);  // two groups of 4 instructions of 128 cycles
  EXPECT_DOUBLE_EQ(report.multiply_adds(counts), 8.0 * 64 * 256 * 16);
}

TEST(Explain, Requests) {
  EXPECT_FALSE(request_of("tt,llvm"));
  const auto request = request_of("tt,explain;json;grid=4:2;trips=7:8;names=x:y");
  ASSERT_TRUE(request);
  EXPECT_TRUE(request->json);
  EXPECT_EQ(request->grid, (std::array<std::int64_t, 3>{4, 2, 1}));
  EXPECT_EQ(request->turns, (std::vector<std::int64_t>{7, 8}));
  EXPECT_EQ(request->names, (std::vector<std::string>{"x", "y"}));
  EXPECT_THROW(request_of("explain;colour"), Error);
  EXPECT_THROW(request_of("explain;grid=4:x"), Error);
}

// Stands for ptxas: prints what it is told to.
std::string assembler(const std::string& name, const std::string& script) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  chmod(path.c_str(), 0755);
  return path;
}

TEST(Explain, ReadsTheAssemblersWords) {
  setenv("TEENY_PTXAS", assembler("teeny_ptxas", R"(
if [ "$1" = --version ]; then echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; fi
echo "ptxas info    : Function properties for kernel" >&2
echo "    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads" >&2
echo "ptxas info    : Used 168 registers, used 1 barriers" >&2)").c_str(), 1);
  const Assembled known = assemble("// PTX", "sm_90a");
  EXPECT_TRUE(known.known);
  EXPECT_EQ(known.registers, 168);
  EXPECT_EQ(known.spilled_stores, 12);
  EXPECT_EQ(known.spilled_loads, 16);
  EXPECT_NE(known.how.find("13.0.88"), std::string::npos) << known.how;
  EXPECT_NE(known.how.find("TEENY_PTXAS"), std::string::npos) << known.how;
  setenv("TEENY_PTXAS", assembler("teeny_refusing_ptxas", "echo 'ptxas fatal: unsupported version' >&2; exit 1").c_str(), 1);
  const Assembled refused = assemble("// PTX", "sm_90a");
  EXPECT_FALSE(refused.known);
  EXPECT_NE(refused.how.find("unsupported version"), std::string::npos) << refused.how;
  unsetenv("TEENY_PTXAS");
}

}  // namespace
}  // namespace teeny::compiler::explain
