// Which C++ type is which element type: dtype_of<float> == DType::f32, and back.
#pragma once

#include <cstdint>
#include <type_traits>

#include <teeny/dtype.hpp>
#include <teeny/half.hpp>

namespace teeny {
namespace detail {

template <class T>
inline constexpr int element_index = -1;
template <DType D>
struct ElementOf;

#define TEENY_ELEMENT(cpp_type, name)                                           \
  template <>                                                                   \
  inline constexpr int element_index<cpp_type> = static_cast<int>(DType::name); \
  template <>                                                                   \
  struct ElementOf<DType::name> {                                               \
    using type = cpp_type;                                                      \
  };
TEENY_ELEMENT(bool, boolean)
TEENY_ELEMENT(std::int8_t, i8)
TEENY_ELEMENT(std::int16_t, i16)
TEENY_ELEMENT(std::int32_t, i32)
TEENY_ELEMENT(std::int64_t, i64)
TEENY_ELEMENT(std::uint8_t, u8)
TEENY_ELEMENT(std::uint16_t, u16)
TEENY_ELEMENT(std::uint32_t, u32)
TEENY_ELEMENT(std::uint64_t, u64)
TEENY_ELEMENT(half, f16)
TEENY_ELEMENT(bfloat16, bf16)
TEENY_ELEMENT(float, f32)
TEENY_ELEMENT(double, f64)
#undef TEENY_ELEMENT

}  // namespace detail

// bool, std::int8_t … std::uint64_t, teeny::half, teeny::bfloat16, float, double.
template <class T>
concept Element = detail::element_index<T>
>= 0;

template <Element T>
inline constexpr DType dtype_of = static_cast<DType>(detail::element_index<T>);

// The C++ type of an element type: element_t<DType::f32> is float.
template <DType D>
using element_t = typename detail::ElementOf<D>::type;

}  // namespace teeny
