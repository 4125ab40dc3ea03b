// Reductions and conversions of laid-out text, run on the simulator: results, copies, order, and how many exchanges they
// take.
#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

#include "compiler/gpu/simulator/simulator.hpp"
#include "compiler/gpu/to_thread/emitter.hpp"
#include "compiler/layout/layouts.hpp"

namespace teeny::compiler::gpu {
namespace {

using namespace mlir;

struct Made {
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  func::FuncOp function;
  int64_t shared_bytes = 0;

  // Barriers for the sake of shared memory.
  int barriers() {
    int number = 0;
    function.walk([&](thread::BarrierOp barrier) { number += barrier.getMemory() != thread::BarrierMemory::GLOBAL; });
    return number;
  }
  template <typename Op>
  int count() {
    int number = 0;
    function.walk([&](Op) { ++number; });
    return number;
  }
};

void load_dialects(MLIRContext& context) {
  context.loadDialect<tt::TTDialect, tile::TileDialect, thread::ThreadDialect, arith::ArithDialect, math::MathDialect,
                      scf::SCFDialect, func::FuncDialect>();
}

// A function of two pointers with `body`, whose layouts are named by `layouts`.
void make(Made& made, const std::string& layouts, const std::string& body, bool reproducible = false,
          const std::string& arguments = "%x: !tt.ptr<i32>, %y: !tt.ptr<i32>") {
  load_dialects(made.context);
  made.module = parseSourceString<ModuleOp>(layouts + "\nmodule { tt.func public @f(" + arguments +
                                                ") attributes {thread.warps = 4 : i32, thread.lanes = 32 : i32} {\n" +
                                                body + "\ntt.return } }",
                                            &made.context);
  ASSERT_TRUE(made.module);
  tt::FuncOp source = *made.module->getOps<tt::FuncOp>().begin();
  if (reproducible) source->setAttr(reproducible_attribute, UnitAttr::get(&made.context));
  Capability capability;
  ASSERT_TRUE(succeeded(allocate_shared(source, capability)));
  ASSERT_TRUE(succeeded(insert_barriers(source, capability)));
  made.shared_bytes = source->getAttrOfType<IntegerAttr>(thread::shared_bytes_attribute).getInt();
  made.function = to_thread(source, capability, {});
  ASSERT_TRUE(made.function);
  ASSERT_TRUE(succeeded(verify(*made.module)));
}

std::string named(const std::string& name, const LinearLayout& layout) {
  MLIRContext context;
  load_dialects(context);
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "#" << name << " = " << Attribute(tile::DistAttr::get(&context, layout)) << "\n";
  return text;
}

std::string type_of(const std::vector<int64_t>& shape, const std::string& element, const std::string& layout) {
  std::string text = "tensor<";
  for (int64_t extent : shape) text += std::to_string(extent) + "x";
  return text + element + ", #" + layout + ">";
}

// %element: row-major numbers 0 … of the elements of `shape` in layout `name`; other values begin with `name`.
std::string numbers(const std::vector<int64_t>& shape, const std::string& name) {
  std::string full = type_of(shape, "i32", name);
  if (shape.size() == 1)
    return "%" + name + "_element = tt.make_range {start = 0 : i32, end = " + std::to_string(shape[0]) +
           " : i32} : " + full + "\n";
  std::string n = "%" + name, rows = type_of({shape[0]}, "i32", name + "_rows"),
              columns = type_of({shape[1]}, "i32", name + "_columns");
  std::string row = type_of({shape[0], 1}, "i32", name + "_row"),
              column = type_of({1, shape[1]}, "i32", name + "_column");
  return n + "_r = tt.make_range {start = 0 : i32, end = " + std::to_string(shape[0]) + " : i32} : " + rows + "\n" + n +
         "_c = tt.make_range {start = 0 : i32, end = " + std::to_string(shape[1]) + " : i32} : " + columns + "\n" + n +
         "_re = tt.expand_dims " + n + "_r {axis = 1 : i32} : " + rows + " -> " + row + "\n" + n +
         "_ce = tt.expand_dims " + n + "_c {axis = 0 : i32} : " + columns + " -> " + column + "\n" + n +
         "_rb = tt.broadcast " + n + "_re : " + row + " -> " + full + "\n" + n + "_cb = tt.broadcast " + n +
         "_ce : " + column + " -> " + full + "\n" + n + "_size = arith.constant dense<" + std::to_string(shape[1]) +
         "> : " + full + "\n" + n + "_scaled = arith.muli " + n + "_rb, " + n + "_size : " + full + "\n" + n +
         "_element = arith.addi " + n + "_scaled, " + n + "_cb : " + full + "\n";
}

// The layout `name` and those of its dimensions.
std::string layouts_of(const std::string& name, const LinearLayout& layout) {
  if (layout.outputs().size() == 1) return named(name, layout);
  LinearLayout rows = slice_layout(layout, 1), columns = slice_layout(layout, 0);
  return named(name, layout) + named(name + "_rows", rows) + named(name + "_columns", columns) +
         named(name + "_row", expand_layout(rows, 1)) + named(name + "_column", expand_layout(columns, 0));
}

// `pointer` + %NAME_element in layout NAME as %NAME_at_POINTER.
std::string places(const std::vector<int64_t>& shape, const std::string& name, const std::string& pointer,
                   const std::string& element = "i32") {
  std::string pointers = type_of(shape, "!tt.ptr<" + element + ">", name), n = "%" + name + "_at_" + pointer;
  return n + "s = tt.splat %" + pointer + " : !tt.ptr<" + element + "> -> " + pointers + "\n" + n + " = tt.addptr " +
         n + "s, %" + name + "_element : " + pointers + ", " + type_of(shape, "i32", name) + "\n";
}

LinearLayout over(std::vector<LinearLayout::Basis> registers, std::vector<LinearLayout::Basis> lane_bases,
                  std::vector<LinearLayout::Basis> warp_bases, std::vector<int32_t> shape) {
  std::vector<LinearLayout::Output> outputs;
  for (size_t d = 0; d < shape.size(); ++d) outputs.push_back({index_axis(unsigned(d)), shape[d]});
  return LinearLayout({{Axis::reg, registers}, {Axis::lane, lane_bases}, {Axis::warp, warp_bases}}, outputs);
}

// Any surjective layout: images that mix dimensions, and copies.
LinearLayout random_layout(std::mt19937& random, std::vector<int32_t> shape, int register_bits) {
  while (true) {
    auto bases = [&](int count) {
      std::vector<LinearLayout::Basis> result;
      for (int k = 0; k < count; ++k) {
        result.emplace_back();
        for (int32_t extent : shape) result.back().push_back(int32_t(random() % unsigned(extent)));
      }
      return result;
    };
    auto registers = bases(register_bits), lane_bases = bases(5), warp_bases = bases(2);
    LinearLayout layout = over(registers, lane_bases, warp_bases, shape);
    if (layout.is_surjective() && layout.free_bits(Axis::reg) == 0) return layout;
  }
}

// One program on the simulator, in several orders of its warps; what it finds fails the test.
void run(Made& made, std::vector<int32_t>& x, std::vector<int32_t>& y) {
  const std::vector<int32_t> first_x = x, first_y = y;
  for (uint64_t seed : {1, 2, 0}) {
    x = first_x, y = first_y;
    simulator::Launch launch;
    for (std::vector<int32_t>* buffer : {&x, &y}) {
      launch.arguments.push_back(reinterpret_cast<uint64_t>(buffer->data()));
      launch.ranges.push_back({launch.arguments.back(), buffer->size() * sizeof(int32_t), nullptr});
    }
    llvm::sort(launch.ranges, [](auto& a, auto& b) { return a.address < b.address; });
    const simulator::Result result = simulator::run(made.function, Capability(), launch, {.seed = seed});
    for (const simulator::Finding& finding : result.findings) ADD_FAILURE() << finding.message;
  }
}

std::vector<double> run(Made& made, int64_t inputs, int64_t outputs, const std::function<double(int64_t)>& input) {
  std::vector<int32_t> x(inputs), y(outputs, -1);
  for (int64_t k = 0; k < inputs; ++k) x[k] = int32_t(input(k));
  run(made, x, y);
  return std::vector<double>(y.begin(), y.end());
}

// (a, b) -> a * 3 + b (ordered), or a + b.
std::string combine(bool ordered) {
  return std::string("({ ^bb0(%a: i32, %b: i32):\n") +
         (ordered
              ? "%three = arith.constant 3 : i32\n%a3 = arith.muli %a, %three : i32\n%s = arith.addi %a3, %b : i32\n"
              : "%s = arith.addi %a, %b : i32\n") +
         "tt.reduce.return %s : i32 })";
}
int32_t fold(std::vector<int32_t> x, bool ordered) {
  for (size_t half = x.size() / 2; half != 0; half /= 2)
    for (size_t k = 0; k < half; ++k) x[k] = int32_t(uint32_t(x[k]) * (ordered ? 3u : 1u) + uint32_t(x[k + half]));
  return x.front();
}
int32_t input_number(int64_t k) { return int32_t((k * 7919 + 13) % 1009); }

// y[..] = fold of x over `axis`, of a tensor of `shape` in `layout`.
void expect_folded(const LinearLayout& layout, std::vector<int64_t> shape, unsigned axis, bool ordered,
                   bool reproducible) {
  std::vector<int64_t> rest = shape;
  rest.erase(rest.begin() + axis);
  std::string text = layouts_of("l", layout) + (rest.empty() ? "" : layouts_of("s", slice_layout(layout, axis)));
  std::string tensor = type_of(shape, "i32", "l"), result = rest.empty() ? "i32" : type_of(rest, "i32", "s");
  std::string body = numbers(shape, "l") + places(shape, "l", "x") +
                     "%v = tt.load %l_at_x : " + type_of(shape, "!tt.ptr<i32>", "l") +
                     "\n%f = \"tt.reduce\"(%v) <{axis = " + std::to_string(axis) + " : i32}> " + combine(ordered) +
                     " : (" + tensor + ") -> " + result + "\n";
  if (rest.empty())
    body += "tt.store %y, %f : !tt.ptr<i32>\n";
  else
    body += numbers(rest, "s") + places(rest, "s", "y") +
            "tt.store %s_at_y, %f : " + type_of(rest, "!tt.ptr<i32>", "s") + "\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, text, body, reproducible));
  int64_t extent = shape[axis], inner = axis + 1 < shape.size() ? shape[1] : 1, outputs = rest.empty() ? 1 : rest[0];
  std::vector<double> results = run(made, outputs * extent, outputs, input_number);
  for (int64_t k = 0; k < outputs; ++k) {
    std::vector<int32_t> x;
    for (int64_t i = 0; i < extent; ++i)
      x.push_back(input_number(axis == 0 ? i * inner + (shape.size() == 1 ? 0 : k) : k * extent + i));
    ASSERT_EQ(results[k], fold(x, ordered)) << layout.to_string();
  }
  if (testing::Test::HasFailure()) made.module->dump();
}

const LinearLayout line = over({{1}, {2}, {512}}, {{4}, {8}, {16}, {32}, {64}}, {{128}, {256}}, {1024});

TEST(Reduction, FoldsALineToAScalar) {
  std::string tensor = type_of({1024}, "i32", "l");
  std::string body = numbers({1024}, "l") + places({1024}, "l", "x") +
                     "%v = tt.load %l_at_x : " + type_of({1024}, "!tt.ptr<i32>", "l") +
                     "\n%f = \"tt.reduce\"(%v) <{axis = 0 : i32}> " + combine(false) + " : (" + tensor +
                     ") -> i32\ntt.store %y, %f : !tt.ptr<i32>\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", line), body));
  double sum = 0;
  for (int64_t k = 0; k < 1024; ++k) sum += input_number(k);
  EXPECT_EQ(run(made, 1024, 1, input_number).front(), sum);
  EXPECT_EQ(made.count<thread::ShuffleOp>(), 5);
  EXPECT_EQ(made.barriers(), 1);
  EXPECT_EQ(made.count<thread::SharedStoreOp>(), 1);
  EXPECT_EQ(made.count<thread::SharedLoadOp>(), 1);
  EXPECT_EQ(made.shared_bytes, 16);
}

TEST(Reduction, FollowsTheDefinedTree) {
  expect_folded(line, {1024}, 0, true, false);
  expect_folded(line, {1024}, 0, false, true);
}

TEST(Reduction, FoldsRowsAndColumns) {
  LinearLayout matrix =
      over({{0, 1}, {1, 0}, {0, 128}}, {{0, 2}, {0, 4}, {0, 8}, {0, 16}, {2, 0}}, {{0, 32}, {0, 64}}, {4, 256});
  LinearLayout copies = over({{0, 1}, {1, 0}}, {{0, 2}, {0, 4}, {0, 0}, {2, 0}, {4, 0}}, {{0, 8}, {0, 0}}, {8, 16});
  for (bool ordered : {false, true})
    for (unsigned axis : {0u, 1u}) {
      expect_folded(matrix, {4, 256}, axis, ordered, false);
      expect_folded(copies, {8, 16}, axis, ordered, false);
    }
}

TEST(Reduction, FoldsAnyLayout) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 12; ++trial) {
    bool ordered = trial % 2;
    expect_folded(random_layout(random, {256}, int(random() % 3) + 2), {256}, 0, ordered, trial % 3 == 0);
  }
}

TEST(Reduction, FindsTheFirstLargestElement) {
  const char* body = R"(
    %v = tt.load %l_at_x : tensor<1024x!tt.ptr<i32>, #l>
    %max, %at = "tt.reduce"(%v, %l_element) <{axis = 0 : i32}> ({
    ^bb0(%a: i32, %ia: i32, %b: i32, %ib: i32):
      %left = arith.cmpi sge, %a, %b : i32
      %value = arith.select %left, %a, %b : i32
      %place = arith.select %left, %ia, %ib : i32
      tt.reduce.return %value, %place : i32, i32
    }) : (tensor<1024xi32, #l>, tensor<1024xi32, #l>) -> (i32, i32)
    tt.store %y, %at : !tt.ptr<i32>)";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", line), numbers({1024}, "l") + places({1024}, "l", "x") + body));
  // The tree compares elements far apart first and keeps the left one: equal elements 256 and 768 meet as left and
  // right.
  auto input = [](int64_t k) { return k == 256 || k == 768 ? 9.0 : double(k % 9); };
  EXPECT_EQ(run(made, 1024, 1, input).front(), 256);
  EXPECT_GE(made.barriers(), 1);
}

TEST(Reduction, NeedsNoBarrierBetweenTwo) {
  std::string tensor = type_of({1024}, "i32", "l"), pointers = type_of({1024}, "!tt.ptr<i32>", "l");
  std::string body = numbers({1024}, "l") + places({1024}, "l", "x") + "%v = tt.load %l_at_x : " + pointers + "\n";
  for (int k = 0; k < 4; ++k) {  // v + its sum, four times
    std::string n = std::to_string(k), before = k ? "%w" + std::to_string(k - 1) : "%v";
    body += "%f" + n + " = \"tt.reduce\"(" + before + ") <{axis = 0 : i32}> " + combine(false) + " : (" + tensor +
            ") -> i32\n%s" + n + " = tt.splat %f" + n + " : i32 -> " + tensor + "\n%w" + n + " = arith.addi " + before +
            ", %s" + n + " : " + tensor + "\n";
  }
  body += places({1024}, "l", "y") + "tt.store %l_at_y, %w3 : " + pointers + "\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", line), body));
  std::vector<int32_t> expected;
  for (int64_t k = 0; k < 1024; ++k) expected.push_back(input_number(k));
  for (int k = 0; k < 4; ++k) {
    int32_t sum = fold(expected, false);
    for (int32_t& number : expected) number = int32_t(uint32_t(number) + uint32_t(sum));
  }
  std::vector<double> results = run(made, 1024, 1024, input_number);
  for (int64_t k = 0; k < 1024; ++k) ASSERT_EQ(results[k], expected[k]);
  EXPECT_EQ(made.barriers(), 4);
}

// ---- scans

// Ordered: (a, b) -> a * 3 + b, for which only the defined order gives the right results.
void expect_scanned(const LinearLayout& layout, std::vector<int64_t> shape, unsigned axis, bool reverse, bool ordered) {
  std::string tensor = type_of(shape, "i32", "l"), pointers = type_of(shape, "!tt.ptr<i32>", "l");
  std::string body =
      numbers(shape, "l") + places(shape, "l", "x") + places(shape, "l", "y") + "%v = tt.load %l_at_x : " + pointers +
      "\n%f = \"tt.scan\"(%v) <{axis = " + std::to_string(axis) + " : i32, reverse = " + (reverse ? "true" : "false") +
      "}> ({ ^bb0(%a: i32, %b: i32):\n%three = arith.constant " + (ordered ? "3" : "1") +
      " : i32\n%a3 = arith.muli %a, %three : i32\n%s = arith.addi %a3, %b : i32\n" + "tt.scan.return %s : i32 }) : (" +
      tensor + ") -> " + tensor + "\ntt.store %l_at_y, %f : " + pointers + "\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, layouts_of("l", layout), body, ordered));
  int64_t elements = 1, stride = 1, extent = shape[axis];
  for (int64_t n : shape) elements *= n;
  for (size_t d = axis + 1; d < shape.size(); ++d) stride *= shape[d];
  std::vector<double> results = run(made, elements, elements, input_number);
  for (int64_t k = 0; k < elements; ++k) {
    int32_t sum = 0;
    for (int64_t at = k / stride % extent, i = reverse ? extent - 1 : 0; true; i += reverse ? -1 : 1) {
      sum = int32_t(uint32_t(sum) * (ordered ? 3u : 1u) + uint32_t(input_number(k + (i - at) * stride)));
      if (i == at) break;
    }
    ASSERT_EQ(results[k], sum) << "element " << k << " of " << layout.to_string();
  }
}

TEST(Scan, SumsUpToEachElement) {
  LinearLayout copies = over({{0, 1}, {1, 0}}, {{0, 2}, {0, 4}, {0, 0}, {2, 0}, {4, 0}}, {{0, 8}, {0, 0}}, {8, 16});
  std::mt19937 random(5);
  for (bool reverse : {false, true})
    for (bool ordered : {false, true}) {
      for (unsigned axis : {0u, 1u}) expect_scanned(copies, {8, 16}, axis, reverse, ordered);
      expect_scanned(line, {1024}, 0, reverse, ordered);
      expect_scanned(random_layout(random, {256}, 3), {256}, 0, reverse, ordered);
    }
}

// x = a * x + b of all elements up to one, as a composition of maps (a, b): it does not commute.
void expect_composed(const LinearLayout& layout, bool reverse, int barriers) {
  std::string body =
      numbers({256}, "l") + places({256}, "l", "x") + places({256}, "l", "y") +
      "%v = tt.load %l_at_x : tensor<256x!tt.ptr<i32>, #l>\n"
      "%f, %g = \"tt.scan\"(%v, %l_element) <{axis = 0 : i32, reverse = " +
      (reverse ? "true" : "false") +
      "}> ({ ^bb0(%a: i32, %b: i32, %c: i32, %d: i32):\n%ac = arith.muli %a, %c : i32\n"
      "%bc = arith.muli %b, %c : i32\n%s = arith.addi %bc, %d : i32\ntt.scan.return %ac, %s : i32, i32 })"
      " : (tensor<256xi32, #l>, tensor<256xi32, #l>) -> (tensor<256xi32, #l>, tensor<256xi32, #l>)\n"
      "tt.store %l_at_y, %g : tensor<256x!tt.ptr<i32>, #l>\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", layout), body));
  std::vector<double> results = run(made, 256, 256, input_number);
  uint32_t b = 0;
  for (int64_t i = 0; i < 256; ++i) {
    int64_t at = reverse ? 255 - i : i;
    b = b * uint32_t(input_number(at)) + uint32_t(at);
    ASSERT_EQ(results[at], int32_t(b)) << "element " << at << " of " << layout.to_string();
  }
  if (barriers >= 0) {
    EXPECT_EQ(made.barriers(), barriers);
  }
}

TEST(Scan, KeepsTheOrderOfMapsThatDoNotCommute) {
  LinearLayout blocked = over({{1}}, {{2}, {4}, {8}, {16}, {32}}, {{64}, {128}}, {256});
  std::mt19937 random(3);
  for (bool reverse : {false, true}) {
    expect_composed(blocked, reverse, 3);
    for (int trial = 0; trial < 3; ++trial) expect_composed(random_layout(random, {256}, trial + 2), reverse, -1);
  }
}

// x = x + x in place: a lane that holds a copy reads before the owner writes.
TEST(Barriers, OrderReadsOfCopiesBeforeTheWrite) {
  LinearLayout copies = over({{1}, {2}}, {{4}, {8}, {0}, {16}, {0}}, {{32}, {0}}, {64});
  for (const LinearLayout& layout : {line, copies}) {
    std::vector<int64_t> shape{layout.output_size(Axis::index0)};
    std::string pointers = type_of(shape, "!tt.ptr<i32>", "l");
    std::string body = numbers(shape, "l") + places(shape, "l", "x") + "%v = tt.load %l_at_x : " + pointers +
                       "\n%w = arith.addi %v, %v : " + type_of(shape, "i32", "l") +
                       "\ntt.store %l_at_x, %w : " + pointers + "\n";
    Made made;
    ASSERT_NO_FATAL_FAILURE(make(made, named("l", layout), body));
    EXPECT_EQ(made.count<thread::BarrierOp>(), layout == line ? 0 : 1);
  }
}

// i64(x + c) of numbers that wrap; read by its upper half.
TEST(Extension, ExtendsWhatHasWrapped) {
  std::vector<int64_t> shape{1024};
  std::string tensor = type_of(shape, "i32", "l"), wide = type_of(shape, "i64", "l"),
              pointers = type_of(shape, "!tt.ptr<i32>", "l");
  std::string body =
      numbers(shape, "l") + places(shape, "l", "y") + "%c = arith.constant dense<2147483647> : " + tensor +
      "\n%sum = arith.addi %l_element, %c : " + tensor + "\n%wide = arith.extsi %sum : " + tensor + " to " + wide +
      "\n%half = arith.constant dense<32> : " + wide + "\n%high = arith.shrui %wide, %half : " + wide +
      "\n%low = arith.trunci %high : " + wide + " to " + tensor + "\ntt.store %l_at_y, %low : " + pointers + "\n";
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", line), body));
  std::vector<double> results = run(made, 0, 1024, input_number);
  for (int64_t k = 0; k < 1024; ++k) ASSERT_EQ(results[k], k == 0 ? 0 : -1) << k;
}

// ---- what is done once

TEST(Atomic, AddsEachElementOnceAndTellsAllCopies) {
  LinearLayout copies = over({{1}, {2}}, {{4}, {8}, {0}, {16}, {0}}, {{32}, {0}}, {64});
  std::string tensor = type_of({64}, "i32", "l"), pointers = type_of({64}, "!tt.ptr<i32>", "l");
  std::string body = numbers({64}, "l") + places({64}, "l", "x") + places({64}, "l", "y") +
                     "%old = tt.atomic_rmw add, relaxed, gpu, %l_at_x, %l_element : (" + pointers + ", " + tensor +
                     ") -> " + tensor + "\n%sum = \"tt.reduce\"(%old) <{axis = 0 : i32}> " + combine(false) + " : (" +
                     tensor +
                     ") -> i32\n%n = arith.constant 5 : i32\n%before = tt.atomic_rmw add, relaxed, gpu, %x, %n : "
                     "(!tt.ptr<i32>, i32) -> i32\n" +
                     "%all = arith.addi %sum, %before : i32\n%alls = tt.splat %all : i32 -> " + tensor +
                     "\ntt.store %l_at_y, %alls : " + pointers;
  Made made;
  ASSERT_NO_FATAL_FAILURE(make(made, named("l", copies), body));
  std::vector<int32_t> x(64), y(64);
  double sum = 0;
  for (int64_t k = 0; k < 64; ++k) sum += x[k] = int32_t(input_number(k));
  run(made, x, y);
  for (int64_t k = 0; k < 64; ++k) {
    EXPECT_EQ(x[k], input_number(k) + k + (k == 0 ? 5 : 0));
    EXPECT_EQ(y[k], sum + input_number(0));
  }
}

// ---- conversions

struct Counts {
  int stores, barriers, loads;
};

Counts expect_converted(const LinearLayout& from, const LinearLayout& to, std::vector<int64_t> shape) {
  std::string text = layouts_of("l", from) + layouts_of("t", to);
  std::string body = numbers(shape, "l") + places(shape, "l", "x") +
                     "%v = tt.load %l_at_x : " + type_of(shape, "!tt.ptr<i32>", "l") +
                     "\n%c = tile.convert_layout %v : " + type_of(shape, "i32", "l") + " -> " +
                     type_of(shape, "i32", "t") + "\n" + numbers(shape, "t") + places(shape, "t", "y") +
                     "tt.store %t_at_y, %c : " + type_of(shape, "!tt.ptr<i32>", "t") + "\n";
  Made made;
  make(made, text, body);
  if (testing::Test::HasFatalFailure()) return {};
  int64_t elements = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
  std::vector<double> results = run(made, elements, elements, input_number);
  for (int64_t k = 0; k < elements; ++k)
    if (results[k] != input_number(k)) {
      ADD_FAILURE() << "element " << k << " from " << from.to_string() << " to " << to.to_string();
      break;
    }
  return {made.count<thread::SharedStoreOp>(), made.barriers(), made.count<thread::SharedLoadOp>()};
}

TEST(Conversion, ExchangesVectors) {
  LinearLayout narrow = over({{128}, {256}, {512}}, {{1}, {2}, {4}, {8}, {16}}, {{32}, {64}}, {1024});
  Counts counts = expect_converted(line, narrow, {1024});
  EXPECT_EQ(counts.stores, 2);
  EXPECT_EQ(counts.barriers, 1);
  EXPECT_EQ(counts.loads, 8);
}

TEST(Conversion, RenamesRegistersOfOneThread) {
  LinearLayout other = over({{512}, {2}, {1}}, {{4}, {8}, {16}, {32}, {64}}, {{128}, {256}}, {1024});
  Counts counts = expect_converted(line, other, {1024});
  EXPECT_EQ(counts.stores + counts.barriers + counts.loads, 0);
}

TEST(Conversion, TransposesAndKeepsCopies) {
  LinearLayout rows =
      over({{0, 1}, {0, 2}, {16, 0}}, {{0, 4}, {0, 8}, {0, 16}, {1, 0}, {2, 0}}, {{4, 0}, {8, 0}}, {32, 32});
  LinearLayout columns =
      over({{1, 0}, {2, 0}, {0, 16}}, {{4, 0}, {8, 0}, {16, 0}, {0, 1}, {0, 2}}, {{0, 4}, {0, 8}}, {32, 32});
  expect_converted(rows, columns, {32, 32});
  LinearLayout copies = over({{1}, {2}}, {{4}, {8}, {0}, {16}, {0}}, {{32}, {0}}, {64});
  LinearLayout other = over({{16}, {32}}, {{1}, {2}, {4}, {8}, {0}}, {{0}, {0}}, {64});
  expect_converted(copies, other, {64});
  expect_converted(other, copies, {64});
}

TEST(Conversion, ConvertsAnyLayout) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 12; ++trial)
    expect_converted(random_layout(random, {512}, 3), random_layout(random, {512}, 4), {512});
}

TEST(Conversion, RefusesABlockThatIsTooLarge) {
  Made made;
  load_dialects(made.context);
  std::string errors;
  ScopedDiagnosticHandler handler(&made.context, [&](Diagnostic& diagnostic) { errors += diagnostic.str(); });
  LinearLayout from =
      over({{128}, {256}, {512}, {1024}, {2048}, {4096}}, {{1}, {2}, {4}, {8}, {16}}, {{32}, {64}}, {8192});
  LinearLayout to =
      over({{1}, {2}, {4}, {8}, {16}, {32}}, {{64}, {128}, {256}, {512}, {1024}}, {{2048}, {4096}}, {8192});
  made.module = parseSourceString<ModuleOp>(
      named("l", from) + named("t", to) +
          "module { tt.func public @f() attributes {thread.warps = 4 : i32, thread.lanes = 32 : i32} {\n" +
          numbers({8192}, "l") +
          "%c = tile.convert_layout %l_element : tensor<8192xi32, #l> -> tensor<8192xi32, #t>\ntt.return } }",
      &made.context);
  ASSERT_TRUE(made.module);
  Capability small;
  small.shared_bytes = 24576;
  EXPECT_TRUE(failed(allocate_shared(*made.module->getOps<tt::FuncOp>().begin(), small)));
  EXPECT_NE(errors.find("32768 bytes, expected at most 24576"), std::string::npos) << errors;
}

}  // namespace
}  // namespace teeny::compiler::gpu
