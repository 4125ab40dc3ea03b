// What devices compile means what the interpreter runs: each operation gives the same bits before and after it is
// written out for a device, on random patterns and on the awkward ones.
#include <random>

#include "compiler/interpreter/values.hpp"
#include "compiler/transforms/expand_exact.hpp"
#include "compiler/transforms/expand_math.hpp"
#include "fixture.hpp"

namespace teeny::compiler::interpreter {
namespace {

constexpr int count = 256;

template <class T>
std::vector<T> patterns(unsigned seed, bool as_float) {
  std::mt19937_64 generator(seed);
  std::vector<T> values(count);
  constexpr int width = 8 * sizeof(T);
  for (T& value : values) value = static_cast<T>(generator());
  const T top = static_cast<T>(T{1} << (width - 1));
  const T special[] = {
      0,  1, static_cast<T>(~T{0}),   top, static_cast<T>(top - 1), static_cast<T>(top + 1), 2, 31, 32, 33, 63,
      64, 7, static_cast<T>(T{0} - 7)};
  for (std::size_t i = 0; i < std::size(special); ++i) values[i * 7] = special[(i * 5 + seed) % std::size(special)];
  if (as_float)
    for (int i = 1; i < count; i += 2) {  // numbers of ordinary size, integers and halves among them
      const double number =
          static_cast<double>(static_cast<std::int64_t>(generator() % 4001) - 2000) / (i % 3 == 0   ? 2
                                                                                       : i % 3 == 1 ? 1
                                                                                                    : 97);
      values[i] = static_cast<T>(from_double(width == 64   ? Kind::f64
                                             : width == 32 ? Kind::f32
                                             : seed % 2    ? Kind::f16
                                                           : Kind::bf16,
                                             number));
    }
  return values;
}

template <class In, class Out>
void compare(const std::string& in, const std::string& out, int operands, const std::string& body) {
  std::vector<In> x[3];
  const bool as_float = in[0] != 'i';
  for (int i = 0; i < 3; ++i) x[i] = patterns<In>(in == "f16" ? 2 * i + 1 : 2 * i + 2, as_float);
  const std::vector<std::string> inputs(operands, in);
  const std::string kernel = map_kernel(count, inputs, out, body);
  std::vector<Out> direct(count), expanded(count);
  for (auto* result : {&direct, &expanded}) {
    Launch launch(kernel);
    for (int i = 0; i < operands; ++i) launch.buffer(x[i]);
    launch.buffer(*result, false).without_check().without_radius();
    if (result == &expanded)
      launch.before([&](mlir::ModuleOp module) {
        ASSERT_TRUE(mlir::succeeded(expand_math(module, MathFacts{})));
        ASSERT_TRUE(mlir::succeeded(expand_exact(module, ExactFacts{.fma_fused = in == "f64",
                                                                    .truncates_to_f16 = false,
                                                                    .truncates_to_bf16 = false,
                                                                    .orders_min_max = false})));
      });
    launch.clean();
  }
  for (int i = 0; i < count; ++i) {
    if (out[0] != 'i') {
      const Kind kind = out == "f16" ? Kind::f16 : out == "bf16" ? Kind::bf16 : out == "f32" ? Kind::f32 : Kind::f64;
      if (std::isnan(to_double(kind, direct[i])) && std::isnan(to_double(kind, expanded[i]))) continue;
    }
    EXPECT_EQ(direct[i], expanded[i]) << body << " of " << +x[0][i] << ", " << +x[1][i];
  }
}

template <class T>
void compare_integers(const std::string& type) {
  const std::string tensor = "tensor<256x" + type + ">";
  for (const char* op : {"divsi", "divui", "remsi", "remui", "shli", "shrsi", "shrui"})
    compare<T, T>(type, type, 2, std::string("  %r = arith.") + op + " %x0, %x1 : " + tensor + "\n");
}

TEST(interpreter_expansions, integers) {
  compare_integers<std::uint8_t>("i8");
  compare_integers<std::uint16_t>("i16");
  compare_integers<std::uint32_t>("i32");
  compare_integers<std::uint64_t>("i64");
  compare<std::uint32_t, std::uint32_t>("i32", "i32", 2, "  %r = tt.mulhiui %x0, %x1 : tensor<256xi32>\n");
  compare<std::uint64_t, std::uint64_t>("i64", "i64", 2, "  %r = tt.mulhiui %x0, %x1 : tensor<256xi64>\n");
}

template <class T>
void compare_floats(const std::string& type) {
  const std::string tensor = "tensor<256x" + type + ">";
  for (const char* op : {"maxnumf", "minnumf", "maximumf", "minimumf", "remf"})
    compare<T, T>(type, type, 2, std::string("  %r = arith.") + op + " %x0, %x1 : " + tensor + "\n");
  compare<T, T>(type, type, 3, "  %r = math.fma %x0, %x1, %x2 : " + tensor + "\n");
  for (const char* nan : {"none", "all"})
    compare<T, T>(type, type, 3,
                  std::string("  %r = tt.clampf %x0, %x1, %x2, propagateNan = ") + nan + " : " + tensor + "\n");
  compare<T, std::uint8_t>(type, "i8", 1, "  %r = arith.fptosi %x0 : " + tensor + " to tensor<256xi8>\n");
  compare<T, std::uint32_t>(type, "i32", 1, "  %r = arith.fptosi %x0 : " + tensor + " to tensor<256xi32>\n");
  compare<T, std::uint32_t>(type, "i32", 1, "  %r = arith.fptoui %x0 : " + tensor + " to tensor<256xi32>\n");
  compare<T, std::uint64_t>(type, "i64", 1, "  %r = arith.fptosi %x0 : " + tensor + " to tensor<256xi64>\n");
  compare<std::uint32_t, T>("i32", type, 1, "  %r = arith.sitofp %x0 : tensor<256xi32> to " + tensor + "\n");
  compare<std::uint64_t, T>("i64", type, 1, "  %r = arith.uitofp %x0 : tensor<256xi64> to " + tensor + "\n");
}

TEST(interpreter_expansions, floats) {
  compare_floats<std::uint16_t>("f16");
  compare_floats<std::uint16_t>("bf16");
  compare_floats<std::uint32_t>("f32");
  compare_floats<std::uint64_t>("f64");
  compare<std::uint32_t, std::uint16_t>("f32", "f16", 1,
                                        "  %r = arith.truncf %x0 : tensor<256xf32> to tensor<256xf16>\n");
  compare<std::uint32_t, std::uint16_t>("f32", "bf16", 1,
                                        "  %r = arith.truncf %x0 : tensor<256xf32> to tensor<256xbf16>\n");
  compare<std::uint64_t, std::uint16_t>("f64", "f16", 1,
                                        "  %r = arith.truncf %x0 : tensor<256xf64> to tensor<256xf16>\n");
  compare<std::uint64_t, std::uint16_t>("f64", "bf16", 1,
                                        "  %r = arith.truncf %x0 : tensor<256xf64> to tensor<256xbf16>\n");
}

TEST(interpreter_expansions, mathematical_functions) {
  for (const char* op : {"exp", "exp2", "log", "log2", "sin", "cos", "erf", "tanh", "rsqrt"}) {
    compare<std::uint32_t, std::uint32_t>("f32", "f32", 1,
                                          std::string("  %r = math.") + op + " %x0 : tensor<256xf32>\n");
    compare<std::uint64_t, std::uint64_t>("f64", "f64", 1,
                                          std::string("  %r = math.") + op + " %x0 : tensor<256xf64>\n");
    compare<std::uint16_t, std::uint16_t>("f16", "f16", 1,
                                          std::string("  %r = math.") + op + " %x0 : tensor<256xf16>\n");
    compare<std::uint16_t, std::uint16_t>("bf16", "bf16", 1,
                                          std::string("  %r = math.") + op + " %x0 : tensor<256xbf16>\n");
  }
}

}  // namespace
}  // namespace teeny::compiler::interpreter
