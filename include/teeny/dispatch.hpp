// From an element type known at run time to one known to C++: the body is instantiated for each type of a named list.
//
//   teeny::dispatch(any.dtype(), teeny::floating_types,
//                   [&]<class D> { launch(device, {n}, Softmax{}, any.as<D>(), …); });
#pragma once

#include <cstdint>
#include <utility>

#include <teeny/element.hpp>
#include <teeny/export.hpp>

namespace teeny {

template <class... D>
struct Types {};

inline constexpr Types<half, bfloat16, float, double> floating_types;
inline constexpr Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t> signed_types;
inline constexpr Types<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t> unsigned_types;
inline constexpr Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t>
    integer_types;
inline constexpr Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                       std::uint32_t, std::uint64_t, half, bfloat16, float, double>
    all_types;

namespace detail {
[[noreturn]] TEENY_EXPORT void no_such_type(DType dtype, const DType* list, int count);

template <class Result, class Function, class First, class... Rest>
Result dispatch_on(DType dtype, Types<First, Rest...>, Function& function, const DType* list, int count) {
  if (dtype == dtype_of<First>) return function.template operator()<First>();
  if constexpr (sizeof...(Rest) > 0) return dispatch_on<Result>(dtype, Types<Rest...>{}, function, list, count);
  else no_such_type(dtype, list, count);
}
}  // namespace detail

// Calls function.operator()<D>() for the D of the list that is `dtype` and returns its result; all D must give one
// result type. Throws invalid_argument, naming the list, where it is none of them.
template <class First, class... Rest, class Function>
decltype(auto) dispatch(DType dtype, Types<First, Rest...> types, Function&& function) {
  static constexpr DType list[] = {dtype_of<First>, dtype_of<Rest>...};
  using Result = decltype(function.template operator()<First>());
  return detail::dispatch_on<Result>(dtype, types, function, list, 1 + static_cast<int>(sizeof...(Rest)));
}

// Over the floating types.
template <class Function>
decltype(auto) dispatch(DType dtype, Function&& function) {
  return dispatch(dtype, floating_types, std::forward<Function>(function));
}

}  // namespace teeny
