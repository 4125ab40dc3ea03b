// Every operation of the trace has its image in tt, for every element type that the trace's verifier lets through.
#include <gtest/gtest.h>
#include <mlir/IR/Verifier.h>

#include "compiler/import/import_trace.hpp"
#include "compiler/import/operation_number.hpp"
#include "trace_builder.hpp"

namespace teeny::trace::test {
namespace {

struct Imported {
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string text;
};

// Imports a body that must verify; the module must verify too.
std::unique_ptr<Imported> import(const Builder& b) {
  EXPECT_EQ(verify(b.body), "");
  auto imported = std::make_unique<Imported>();
  imported->module = compiler::import_trace(b.body, "kernel", imported->context);
  EXPECT_TRUE(mlir::succeeded(mlir::verify(*imported->module)));
  llvm::raw_string_ostream(imported->text) << *imported->module;
  return imported;
}

void expect_text(const Builder& b, std::initializer_list<const char*> parts) {
  const auto imported = import(b);
  for (const char* part : parts)
    EXPECT_NE(imported->text.find(part), std::string::npos) << part << "\nin\n" << imported->text;
}

TEST(Import, EveryElementWiseOperationAndType) {
  int imported = 0;
  for (int number = 0; number < opcode_count(); ++number) {
    const auto opcode = static_cast<Opcode>(number);
    const OperationInfo& what = info(opcode);
    if (what.kind != Kind::unary && what.kind != Kind::binary && what.kind != Kind::comparison &&
        what.kind != Kind::ternary)
      continue;
    for (int from = 0; from < dtype_count; ++from)
      for (int to = 0; to < dtype_count; ++to)
        for (const std::vector<std::int64_t>& shape : {std::vector<std::int64_t>{}, {4, 8}}) {
          Builder b;
          const auto value = [&](DType dtype) {
            const ValueId scalar = b.parameter(element(dtype));
            return shape.empty() ? scalar : b.one(Opcode::splat, {scalar}, element(dtype, shape));
          };
          const bool flag = opcode == Opcode::minimum || opcode == Opcode::maximum || opcode == Opcode::clamp;
          std::vector<ValueId> operands;
          for (int i = 0; i < what.operands; ++i)
            operands.push_back(value(opcode == Opcode::where && i == 0 ? DType::boolean : static_cast<DType>(from)));
          b.one(opcode, operands, element(static_cast<DType>(to), shape),
                flag ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{});
          if (!verify(b.body).empty()) continue;
          import(b);
          ++imported;
        }
  }
  EXPECT_GT(imported, 2 * (13 * 13 + 15 * 4));
}

TEST(Import, SignsGoIntoOperations) {
  Builder b;
  const ValueId s = b.parameter(element(DType::i16)), u = b.parameter(element(DType::u16)),
                f = b.parameter(element(DType::f16));
  b.one(Opcode::div, {s, s}, element(DType::i16));
  b.one(Opcode::div, {u, u}, element(DType::u16));
  b.one(Opcode::lt, {s, s}, element(DType::boolean));
  b.one(Opcode::lt, {u, u}, element(DType::boolean));
  b.one(Opcode::ne, {f, f}, element(DType::boolean));
  b.one(Opcode::cast, {u}, element(DType::i64));
  b.one(Opcode::cast, {s}, element(DType::u64));
  b.one(Opcode::cast, {f}, element(DType::bf16));
  b.one(Opcode::cast, {f}, element(DType::boolean));
  b.one(Opcode::minimum, {f, f}, element(DType::f16), {0});
  b.one(Opcode::minimum, {f, f}, element(DType::f16), {1});
  expect_text(b,
              {"arith.divsi %arg0, %arg0 : i16", "arith.divui %arg1, %arg1 : i16", "arith.cmpi slt", "arith.cmpi ult",
               "arith.cmpf une, %arg2, %arg2", "arith.extui %arg1 : i16 to i64", "arith.extsi %arg0 : i16 to i64",
               "arith.extf %arg2 : f16 to f32", "f32 to bf16", "arith.minnumf", "arith.minimumf"});
}

TEST(Import, ConstantsKeepTheirBits) {
  Builder b;
  b.constant(DType::bf16, 0x3fc0);
  b.constant(DType::i8, 0x80);
  b.constant(DType::f64, 0x3ff8000000000000);
  b.constant(DType::boolean, 1);
  expect_text(b, {"1.500000e+00 : bf16", "-128 : i8", "1.500000e+00 : f64", "arith.constant true"});
}

TEST(Import, Memory) {
  Builder b;
  const ValueId p = b.parameter(pointer(DType::f32)), m = b.parameter(element(DType::boolean)),
                u = b.parameter(element(DType::u32));
  const ValueId h = b.parameter(pointer(DType::u32)), extent = b.parameter(element(DType::i64)),
                zero = b.parameter(element(DType::i32));
  const ValueId at = b.one(Opcode::addptr, {p, u}, pointer(DType::f32));
  const ValueId v = b.one(Opcode::load, {at, m}, element(DType::f32), {1, 0, 2, 2, 1});
  b.operation(Opcode::store, {at, v, m}, {}, {1, 3, 1});
  b.one(Opcode::atomic_rmw, {p, v}, element(DType::f32), {1, 3, 1, 0});
  b.one(Opcode::atomic_rmw, {h, u, m}, element(DType::u32), {2, 0, 0, 1});
  b.one(Opcode::atomic_cas, {h, u, u}, element(DType::u32), {1, 2});
  b.operation(Opcode::barrier, {}, {});
  const ValueId d = b.one(Opcode::make_descriptor, {p, extent, extent}, descriptor(DType::f32, {16}), {1, 16});
  const ValueId block = b.one(Opcode::descriptor_load, {d, zero}, element(DType::f32, {16}));
  b.operation(Opcode::descriptor_store, {d, block, zero}, {});
  b.one(Opcode::multiple_of, {u}, element(DType::u32), {16});
  b.operation(Opcode::assume, {m}, {});
  b.operation(Opcode::device_assert, {m, m}, {}, {}, "must hold");
  b.operation(Opcode::device_print, {u, zero}, {}, {}, "u, zero");
  expect_text(
      b, {"arith.extui %arg2 : i32 to i64", "tt.addptr %arg0, %0 : !tt.ptr<f32>, i64",
          "tt.load %1, %arg1 cacheModifier = cg evictionPolicy = evict_last {isVolatile = true} : !tt.ptr<f32>",
          "tt.store %1, %2, %arg1 cacheModifier = cs evictionPolicy = evict_first : !tt.ptr<f32>",
          "tt.atomic_rmw fmax, acq_rel, gpu, %arg0, %2", "tt.atomic_rmw umin, relaxed, cta, %arg3, %arg2, %arg1",
          "tt.atomic_cas acquire, sys, %arg3, %arg2, %arg2", "tt.barrier", "tt.descriptor_load", "tt.descriptor_store",
          "tt.hint %arg2 {divisibility = array<i64: 16>} : i32", "tt.assume %arg1", "arith.ori", "\"must hold\"",
          "isSigned = array<i32: 0, 1>"});
}

TEST(Import, RegionsAndNumbers) {
  Builder b;
  const ValueId n = b.parameter(element(DType::i32)), x = b.parameter(element(DType::f32));
  const ValueId zero = b.constant(DType::i32, 0), one = b.constant(DType::i32, 1);
  const ValueId tensor = b.one(Opcode::splat, {x}, element(DType::f32, {8}));
  Region loop = b.region([&] {
    b.argument(element(DType::i32));
    const ValueId carried = b.argument(element(DType::f32, {8}));
    Operation& scan = b.operation(Opcode::scan, {carried}, {element(DType::f32, {8})}, {0, 1});
    const ValueId scanned = scan.results[0];
    Region combine = b.region([&] {
      const ValueId left = b.argument(element(DType::f32)), right = b.argument(element(DType::f32));
      b.operation(Opcode::yield, {b.one(Opcode::add, {left, right}, element(DType::f32))}, {});
    });
    b.open.back()->operations.back().regions.push_back(std::move(combine));
    b.operation(Opcode::yield, {scanned}, {});
  });
  Operation& for_loop = b.operation(Opcode::for_loop, {zero, n, one, tensor}, {element(DType::f32, {8})}, {3, 4});
  const ValueId result = for_loop.results[0];
  for_loop.regions.push_back(std::move(loop));
  Region before = b.region([&] {
    const ValueId state = b.argument(element(DType::i32));
    b.operation(Opcode::condition, {b.one(Opcode::lt, {state, n}, element(DType::boolean)), state}, {});
  });
  Region after = b.region([&] { b.operation(Opcode::yield, {b.argument(element(DType::i32))}, {}); });
  Operation& spin = b.operation(Opcode::while_loop, {zero}, {element(DType::i32)});
  spin.regions.push_back(std::move(before));
  spin.regions.push_back(std::move(after));
  b.one(Opcode::neg, {result}, element(DType::f32, {8}));
  expect_text(
      b, {"tt.loop_unroll_factor = 4 : i32", "tt.num_stages = 3 : i32", "scf.while", "\"tt.scan\"", "tt.scan.return"});

  const auto imported = import(b);
  std::vector<std::pair<std::string, std::uint32_t>> expected;
  std::uint32_t number = 0;
  walk(b.body.region,
       [&](const Operation& operation, int) { expected.emplace_back(info(operation.opcode).name, number++); });
  std::vector<std::uint32_t> seen;
  imported->module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* operation) {
    if (auto at = compiler::operation_number(operation->getLoc())) seen.push_back(*at);
  });
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], expected[i].second) << expected[i].first;
}

}  // namespace
}  // namespace teeny::trace::test
