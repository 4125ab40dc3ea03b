// The element-wise operations of the language, from its one list: their numbers, and calling one by its number on
// tensors.
#pragma once

#include "harness.hpp"

namespace teeny::conformance {

enum class Operation {
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) name,
#include <teeny/detail/operations.def>
};

enum class Kind { unary, binary, comparison, ternary, leaf, shape, memory, matrix, region, control, hint, debug };
enum class Elements { any, number, integer, floating, integer_or_bool, boolean, special };

struct OperationInfo {
  Operation operation;
  const char* name;
  Kind kind;
  Elements elements;
};
inline constexpr OperationInfo operation_list[] = {
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) \
  {Operation::name, #name, Kind::kind, Elements::elements},
#include <teeny/detail/operations.def>
};

// Whether the list gives the operation for element type D.
template <class D>
constexpr bool takes(const OperationInfo& info) {
  constexpr bool boolean = std::is_same_v<D, bool>;
  if (info.operation == Operation::umulhi) return tl::Int<D> && sizeof(D) >= 4;
  switch (info.elements) {
    case Elements::any:
      return true;
    case Elements::number:
      return !boolean;
    case Elements::integer:
      return tl::Int<D>;
    case Elements::floating:
      return tl::Float<D>;
    case Elements::integer_or_bool:
      return !tl::Float<D>;
    case Elements::boolean:
      return boolean;
    case Elements::special:
      return false;
  }
  return false;
}

// x through the unary operation; cast and bitcast, which change the type, are not among them.
template <class D, int R>
tl::Tensor<D, R> apply_unary(Operation operation, tl::Tensor<D, R> x) {
  switch (operation) {
#define TEENY_U_number(name)                          \
  case Operation::name:                               \
    if constexpr (tl::Numeric<D>) return tl::name(x); \
    break;
#define TEENY_U_floating(name)                      \
  case Operation::name:                             \
    if constexpr (tl::Float<D>) return tl::name(x); \
    break;
#define TEENY_U_integer_or_bool(name)                \
  case Operation::name:                              \
    if constexpr (!tl::Float<D>) return tl::name(x); \
    break;
#define TEENY_U_any(name)
#define TEENY_U_special(name)
#define TEENY_K_unary(name, elements) TEENY_U_##elements(name)
#define TEENY_K_binary(name, elements)
#define TEENY_K_comparison(name, elements)
#define TEENY_K_ternary(name, elements)
#define TEENY_K_leaf(name, elements)
#define TEENY_K_shape(name, elements)
#define TEENY_K_memory(name, elements)
#define TEENY_K_matrix(name, elements)
#define TEENY_K_region(name, elements)
#define TEENY_K_control(name, elements)
#define TEENY_K_hint(name, elements)
#define TEENY_K_debug(name, elements)
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) TEENY_K_##kind(name, elements)
#include <teeny/detail/operations.def>
#undef TEENY_K_unary
    default:
      break;
  }
  tl::static_check(false, "the operation is none of the unary ones");
  return x;
}

template <class D, int R, int S>
auto apply_binary(Operation operation, tl::Tensor<D, R> a, tl::Tensor<D, S> b) {
  using Result = tl::Tensor<D, (R > S ? R : S)>;
  switch (operation) {
#define TEENY_B_number(name)                                     \
  case Operation::name:                                          \
    if constexpr (tl::Numeric<D>) return Result(tl::name(a, b)); \
    break;
#define TEENY_B_integer(name)                                \
  case Operation::name:                                      \
    if constexpr (tl::Int<D>) return Result(tl::name(a, b)); \
    break;
#define TEENY_B_integer_or_bool(name)                           \
  case Operation::name:                                         \
    if constexpr (!tl::Float<D>) return Result(tl::name(a, b)); \
    break;
#define TEENY_B_special(name)
#define TEENY_K_unary(name, elements)
#undef TEENY_K_binary
#define TEENY_K_binary(name, elements) TEENY_B_##elements(name)
#define TEENY_OPERATION(name, kind, effect, operands, elements, meaning) TEENY_K_##kind(name, elements)
#include <teeny/detail/operations.def>
#undef TEENY_K_binary
    default:
      break;
  }
  tl::static_check(false, "the operation is none of the binary ones");
  return Result();
}

template <class D, int R, int S>
auto apply_comparison(Operation operation, tl::Tensor<D, R> a, tl::Tensor<D, S> b) {
  using Result = tl::Tensor<bool, (R > S ? R : S)>;
  switch (operation) {
    case Operation::eq:
      return Result(a == b);
    case Operation::ne:
      return Result(a != b);
    case Operation::lt:
      if constexpr (tl::Numeric<D>) return Result(a < b);
      break;
    case Operation::le:
      if constexpr (tl::Numeric<D>) return Result(a <= b);
      break;
    case Operation::gt:
      if constexpr (tl::Numeric<D>) return Result(a > b);
      break;
    case Operation::ge:
      if constexpr (tl::Numeric<D>) return Result(a >= b);
      break;
    default:
      break;
  }
  tl::static_check(false, "the operation is none of the comparisons");
  return Result();
}

}  // namespace teeny::conformance
