// Kernels of the library behind a C interface, for bench/gpu_peers.py: they run on the CUDA context, stream and memory
// that PyTorch has made.
//
//   void* teeny_row_make(const char* json)      {"kernel", "dtype", constants, "warps", "max_registers"}; null: see the error
//   int teeny_row_launch(row, CUstream, addresses, sizes)   0: started; 1: see the error
//   int teeny_launch_costs(launches, samples, double[3])    seconds of one launch: bare cuLaunchKernel, a handle, teeny::launch
//   int teeny_graph_costs(launches, samples, double[2])     seconds of one replay: of bare launches captured, of teeny's graph
//   const char* teeny_row_error()               of this thread's last failed call
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>

#include <nlohmann/json.hpp>

#include <teeny/cuda.hpp>
#include <teeny/teeny.hpp>

#include "bench/launch_cost.hpp"
#include "kernels/attention.hpp"
#include "kernels/attention_backward.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/normalise.hpp"

namespace {

using nlohmann::json;
using teeny::Buffer;
using teeny::CompileOptions;
using teeny::Device;
using teeny::Stream;

thread_local std::string last_error;

// The stream of the call, wrapped once.
struct Place {
  Device device;
  void* handle = nullptr;
  Stream stream;
};

struct Row {
  std::function<void(const Place&, const std::uint64_t* addresses, const std::int64_t* sizes)> launch;
  std::optional<Place> place = {};
};

std::int64_t blocks(std::int64_t count, std::int64_t block) { return (count + block - 1) / block; }

template <class T>
Buffer<T> buffer(const Place& place, std::uint64_t address, std::size_t count) {
  return teeny::cuda::wrap_buffer<T>(place.device, address, count);
}

teeny::LaunchOptions options_of(const Place& place, const CompileOptions& compile) {
  return {.stream = place.stream, .compile = compile};
}

template <class T>
Row vector_add(const json& j, CompileOptions compile) {
  teeny::kernels::VectorAdd kernel{.BLOCK = j.at("BLOCK")};
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::size_t n = sizes[0];
    teeny::launch(at.device, {blocks(n, kernel.BLOCK)}, options_of(at, compile), kernel, buffer<T>(at, p[0], n),
                  buffer<T>(at, p[1], n), buffer<T>(at, p[2], n), static_cast<int>(n));
  }};
}

template <class T>
Row softmax(const json& j, CompileOptions compile) {
  teeny::kernels::Softmax kernel{.BLOCK = j.at("BLOCK")};
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::size_t n = sizes[0] * sizes[1];
    teeny::launch(at.device, {sizes[0]}, options_of(at, compile), kernel, buffer<T>(at, p[0], n),
                  buffer<T>(at, p[1], n), static_cast<int>(sizes[1]));
  }};
}

template <class T>
Row layer_norm(const json& j, CompileOptions compile) {
  teeny::kernels::LayerNorm kernel{.BLOCK = j.at("BLOCK")};
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::size_t n = sizes[0] * sizes[1];
    teeny::launch(at.device, {sizes[0]}, options_of(at, compile), kernel, buffer<T>(at, p[0], n),
                  buffer<T>(at, p[1], sizes[1]), buffer<T>(at, p[2], sizes[1]), buffer<T>(at, p[3], n),
                  static_cast<int>(sizes[1]), 1e-5f);
  }};
}

// Sizes m, n, k; row-major operands, with an epilogue the bias, and a result of type Out.
template <class T, class Out, class Epilogue = teeny::kernels::Identity>
Row matmul(const json& j, CompileOptions compile) {
  teeny::kernels::MatMul<Epilogue> kernel{.BM = j.at("BM"), .BN = j.at("BN"), .BK = j.at("BK"), .GROUP_M = j.value("GROUP_M", 1)};
  if (j.value("precision", "ieee") == "tf32") kernel.PRECISION = teeny::tl::Precision::tf32;
  kernel.BIAS = !std::is_same_v<Epilogue, teeny::kernels::Identity>;
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const std::uint64_t result = p[kernel.BIAS ? 3 : 2];
    teeny::launch(at.device, {blocks(n, kernel.BN), blocks(m, kernel.BM)}, options_of(at, compile), kernel,
                  buffer<T>(at, p[0], m * k), buffer<T>(at, p[1], k * n), buffer<Out>(at, p[2], kernel.BIAS ? n : m * n),
                  buffer<Out>(at, result, m * n), static_cast<int>(m), static_cast<int>(n), static_cast<int>(k),
                  static_cast<int>(k), static_cast<int>(n), static_cast<int>(n));
  }};
}

float scale_of(int head) { return static_cast<float>(1 / std::sqrt(double(head))); }

// a, b, the result, partial sums ([SPLIT, m, n] of f32) and counts of blocks (i32, 0); sizes m, n, k.
template <class T>
Row matmul_split(const json& j, CompileOptions compile) {
  teeny::kernels::SplitMatMul<> kernel{.BM = j.at("BM"), .BN = j.at("BN"), .BK = j.at("BK")};
  const std::int64_t split = j.at("SPLIT");
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::int64_t m = sizes[0], n = sizes[1], k = sizes[2], columns = blocks(n, kernel.BN), rows = blocks(m, kernel.BM);
    teeny::launch(at.device, {columns, rows, split}, options_of(at, compile), kernel, buffer<T>(at, p[0], m * k),
                  buffer<T>(at, p[1], k * n), buffer<T>(at, p[2], m * n), buffer<T>(at, p[2], m * n),
                  buffer<float>(at, p[3], split * m * n), buffer<std::int32_t>(at, p[4], columns * rows), static_cast<int>(m),
                  static_cast<int>(n), static_cast<int>(k), static_cast<int>(k), static_cast<int>(n), static_cast<int>(n));
  }};
}

// q, k, v and the result, [heads, seq, HEAD], with LSE also lse; sizes heads, seq, HEAD.
template <class T>
Row attention(const json& j, CompileOptions compile) {
  teeny::kernels::Attention kernel{.BM = j.at("BM"), .BN = j.at("BN"), .HEAD = j.at("HEAD"), .CAUSAL = j.value("CAUSAL", false),
                                   .LSE = j.value("LSE", false)};
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::int64_t heads = sizes[0], seq = sizes[1];
    const std::size_t n = heads * seq * kernel.HEAD;
    teeny::launch(at.device, {blocks(seq, kernel.BM), heads}, options_of(at, compile), kernel, buffer<T>(at, p[0], n),
                  buffer<T>(at, p[1], n), buffer<T>(at, p[2], n), buffer<T>(at, p[3], n),
                  buffer<float>(at, p[kernel.LSE ? 4 : 3], kernel.LSE ? heads * seq : 1), static_cast<int>(seq), scale_of(kernel.HEAD));
  }};
}

// q, k, v, the result and its gradient, lse; room for delta; the gradients of q, k, v: three launches. Sizes as above.
// "keys" and "queries" have the constants and options of their kernels.
template <class T>
Row attention_backward(const json& j, CompileOptions compile) {
  const json& of_keys = j.at("keys");
  const json& of_queries = j.at("queries");
  const int head = j.at("HEAD");
  const bool causal = j.value("CAUSAL", false);
  const auto with = [&](const json& own) {
    CompileOptions options = compile;
    options.warps = own.value("warps", 0), options.stages = own.value("stages", 0);
    return options;
  };
  const teeny::kernels::AttentionDelta delta{.BM = 32, .HEAD = head};
  const teeny::kernels::AttentionBackwardKeys keys{.BM = of_keys.at("BM"), .BN = of_keys.at("BN"), .HEAD = head, .CAUSAL = causal};
  const teeny::kernels::AttentionBackwardQueries queries{.BM = of_queries.at("BM"), .BN = of_queries.at("BN"), .HEAD = head, .CAUSAL = causal};
  const CompileOptions keys_options = with(of_keys), queries_options = with(of_queries);
  return {[=](const Place& at, const std::uint64_t* p, const std::int64_t* sizes) {
    const std::int64_t heads = sizes[0], seq = sizes[1];
    const std::size_t n = heads * seq * head, rows = heads * seq;
    const auto block = [&](int i) { return buffer<T>(at, p[i], n); };
    const auto row = [&](int i) { return buffer<float>(at, p[i], rows); };
    const auto length = static_cast<int>(seq);
    teeny::launch(at.device, {blocks(seq, delta.BM), heads}, options_of(at, compile), delta, block(3), block(4), row(6), length);
    teeny::launch(at.device, {blocks(seq, keys.BN), heads}, options_of(at, keys_options), keys, block(0), block(1), block(2), block(4),
                  row(5), row(6), block(8), block(9), length, scale_of(head));
    teeny::launch(at.device, {blocks(seq, queries.BM), heads}, options_of(at, queries_options), queries, block(0), block(1), block(2),
                  block(4), row(5), row(6), block(7), length, scale_of(head));
  }};
}

template <class T>
Row make(const json& j, const CompileOptions& compile) {
  const std::string kernel = j.at("kernel");
  if (kernel == "vector_add") return vector_add<T>(j, compile);
  if (kernel == "softmax") return softmax<T>(j, compile);
  if (kernel == "layer_norm") return layer_norm<T>(j, compile);
  if (kernel == "attention") return attention<T>(j, compile);
  if (kernel == "attention_backward") return attention_backward<T>(j, compile);
  if (kernel == "matmul") return matmul<T, T>(j, compile);
  if (kernel == "matmul_split") return matmul_split<T>(j, compile);
  if (kernel == "matmul_gelu") return matmul<T, T, teeny::kernels::Gelu>(j, compile);
  throw std::invalid_argument("no kernel is named " + kernel);
}

Row make(const json& j) {
  const CompileOptions compile{.warps = j.value("warps", 0), .stages = j.value("stages", 0),
                               .max_registers = j.value("max_registers", 0), .contract = true,
                               .approximate = true};  // as Triton and PyTorch do
  const std::string dtype = j.at("dtype");
  if (dtype == "f32") return make<float>(j, compile);
  if (dtype == "f16") return make<teeny::half>(j, compile);
  if (dtype == "bf16") return make<teeny::bfloat16>(j, compile);
  throw std::invalid_argument("no element type is named " + dtype);
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) const char* teeny_row_error() { return last_error.c_str(); }

__attribute__((visibility("default"))) void* teeny_row_make(const char* text) try {
  return new Row(make(json::parse(text)));
} catch (const std::exception& error) {
  last_error = error.what();
  return nullptr;
}

__attribute__((visibility("default"))) int teeny_row_launch(void* handle, void* stream, const std::uint64_t* addresses,
                                                            const std::int64_t* sizes) try {
  Row& row = *static_cast<Row*>(handle);
  if (!row.place || row.place->handle != stream) {
    Device device = Device::open("cuda:0");
    row.place = Place{device, stream, teeny::cuda::wrap_stream(device, stream)};
  }
  row.launch(*row.place, addresses, sizes);
  return 0;
} catch (const std::exception& error) {
  last_error = error.what();
  return 1;
}

__attribute__((visibility("default"))) int teeny_launch_costs(int launches, int samples, double* seconds) try {
  const teeny::bench::LaunchCost cost = teeny::bench::measure_launches("cuda:0", launches, samples);
  seconds[0] = cost.bare, seconds[1] = cost.handle, seconds[2] = cost.launch;
  return 0;
} catch (const std::exception& error) {
  last_error = error.what();
  return 1;
}

__attribute__((visibility("default"))) int teeny_graph_costs(int launches, int samples, double* seconds) try {
  const teeny::bench::GraphCost cost = teeny::bench::measure_graphs("cuda:0", launches, samples);
  seconds[0] = cost.bare, seconds[1] = cost.graph;
  return 0;
} catch (const std::exception& error) {
  last_error = error.what();
  return 1;
}
}
