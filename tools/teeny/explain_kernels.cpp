#include "explain_kernels.hpp"

#include <charconv>
#include <functional>
#include <vector>

#include <teeny/error.hpp>
#include <teeny/half.hpp>

#include "kernels/attention.hpp"
#include "kernels/attention_backward.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/matmul.hpp"
#include "kernels/normalise.hpp"

namespace teeny::command {

namespace {

using Constants = std::map<std::string, std::string>;

[[noreturn]] void wrong(const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "explain: " + rule + "\nhelp: " + help);
}

[[noreturn]] void not_a_value(std::string_view name, const std::string& value, const char* expected) {
  wrong("--set " + std::string(name) + " takes " + expected + "; got '" + value + "'", "write --set " + std::string(name) + "=VALUE");
}

void set(bool& field, std::string_view name, const std::string& value) {
  if (value != "true" && value != "false" && value != "1" && value != "0") not_a_value(name, value, "true or false");
  field = value == "true" || value == "1";
}
void set(int& field, std::string_view name, const std::string& value) {
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), field);
  if (error != std::errc() || end != value.data() + value.size()) not_a_value(name, value, "an integer");
}
void set(tl::Precision& field, std::string_view name, const std::string& value) {
  if (value == "ieee") field = tl::Precision::ieee;
  else if (value == "fast" || value == "tf32") field = tl::Precision::fast;
  else if (value == "fast_x3" || value == "tf32x3") field = tl::Precision::fast_x3;
  else not_a_value(name, value, "ieee, fast or fast_x3");
}
template <class T>
void set(T&, std::string_view name, const std::string& value) {
  not_a_value(name, value, "nothing: it is a function");
}

// Fills the kernel's fields by their names.
template <class K>
void set_constants(K& kernel, const Constants& constants) {
  constexpr auto names = detail::constant_names<K>();
  for (const auto& [name, value] : constants) {
    bool known = false;
    std::size_t index = 0;
    const auto fill = [&](const auto& field) {
      if (names[index++] != name) return;
      known = true;
      set(const_cast<std::remove_cvref_t<decltype(field)>&>(field), name, value);  // of `kernel`, which is not const
    };
    detail::with_fields<detail::constant_count<K>()>(kernel, [&](const auto&... fields) { (fill(fields), ...); });
    if (known) continue;
    std::string list;
    for (std::string_view one : names) list += (list.empty() ? "" : ", ") + std::string(one);
    wrong("--set names a constant of the kernel; got '" + name + "', expected one of " + list, "docs/explain.md has examples");
  }
}

struct Call {
  std::string dtype;
  const Constants& constants;
  std::string_view target;
  const ExplainOptions& options;
};

// Calls use(D{}) with the element type.
template <class Use>
std::string with_dtype(const std::string& dtype, Use use) {
  if (dtype == "f32") return use(float{});
  if (dtype == "f16") return use(half{});
  if (dtype == "bf16") return use(bfloat16{});
  wrong("--dtype is an element type; got '" + dtype + "', expected f16, bf16 or f32", "write --dtype f16");
}

template <class K>
std::string of_one_type(const Call& call) {
  K kernel;
  set_constants(kernel, call.constants);
  return with_dtype(call.dtype, [&](auto d) { return explain<decltype(d)>(kernel, call.target, call.options); });
}

// Operands and result have one type.
template <class K>
std::string of_operands_and_result(const Call& call) {
  K kernel;
  set_constants(kernel, call.constants);
  return with_dtype(call.dtype, [&](auto d) { return explain<decltype(d), decltype(d)>(kernel, call.target, call.options); });
}

struct Named {
  const char* name;
  std::string (*explain)(const Call&);
};

std::string axpy(const Call& call) {
  kernels::Axpy kernel;
  set_constants(kernel, call.constants);
  if (call.dtype != "f32") wrong("axpy is of f32; got --dtype " + call.dtype, "write --dtype f32");
  return explain(kernel, call.target, call.options);
}

const std::vector<Named>& all_named() {
  static const std::vector<Named> list = {{"vector_add", of_one_type<kernels::VectorAdd>},
                                          {"copy", of_one_type<kernels::Copy>},
                                          {"axpy", axpy},
                                          {"softmax", of_one_type<kernels::Softmax>},
                                          {"layer_norm", of_one_type<kernels::LayerNorm>},
                                          {"matmul", of_operands_and_result<kernels::MatMul<>>},
                                          {"matmul_gelu", of_operands_and_result<kernels::MatMul<kernels::Gelu>>},
                                          {"attention", of_one_type<kernels::Attention>},
                                          {"attention_delta", of_one_type<kernels::AttentionDelta>},
                                          {"attention_backward_keys", of_one_type<kernels::AttentionBackwardKeys>},
                                          {"attention_backward_queries", of_one_type<kernels::AttentionBackwardQueries>}};
  return list;
}

}  // namespace

std::string kernel_names() {
  std::string text;
  for (const Named& named : all_named()) text += (text.empty() ? "" : ", ") + std::string(named.name);
  return text;
}

std::string explain_kernel(const std::string& name, const std::string& dtype, const Constants& constants,
                           std::string_view target, const ExplainOptions& options) {
  for (const Named& named : all_named())
    if (name == named.name) return named.explain({dtype, constants, target, options});
  wrong("a .ttir file or a kernel of the library; got '" + name + "', expected FILE.ttir or one of " + kernel_names(),
        "for example teeny explain matmul --target cuda:sm_90a");
}

}  // namespace teeny::command
