// Element types: the run-time enumeration DType and the host types of f16 and bf16.
#pragma once

#include <cstddef>
#include <cstdint>

namespace teeny {

// Every element type, in promotion-independent order. The numeric values are part of the trace format: append only.
enum class DType : std::uint8_t {
  boolean = 0,  // one byte in memory, 0 or 1; any non-zero byte loads as true
  i8 = 1,
  i16 = 2,
  i32 = 3,
  i64 = 4,
  u8 = 5,
  u16 = 6,
  u32 = 7,
  u64 = 8,
  f16 = 9,
  bf16 = 10,
  f32 = 11,
  f64 = 12,
};

inline constexpr int dtype_count = 13;

// Bytes that one element takes in memory.
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::boolean:
    case DType::i8:
    case DType::u8: return 1;
    case DType::i16:
    case DType::u16:
    case DType::f16:
    case DType::bf16: return 2;
    case DType::i32:
    case DType::u32:
    case DType::f32: return 4;
    case DType::i64:
    case DType::u64:
    case DType::f64: return 8;
  }
  return 0;
}

// Bits of a value; 1 for a boolean.
constexpr int bits_of(DType type) { return type == DType::boolean ? 1 : static_cast<int>(size_of(type)) * 8; }

constexpr bool is_float(DType type) { return type >= DType::f16 && type <= DType::f64; }
constexpr bool is_signed_integer(DType type) { return type >= DType::i8 && type <= DType::i64; }
constexpr bool is_unsigned_integer(DType type) { return type >= DType::u8 && type <= DType::u64; }
constexpr bool is_integer(DType type) { return is_signed_integer(type) || is_unsigned_integer(type); }

// The name used in text everywhere: "bool", "i8" … "u64", "f16", "bf16", "f32", "f64".
constexpr const char* name_of(DType type) {
  constexpr const char* names[] = {"bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"};
  return static_cast<int>(type) < dtype_count ? names[static_cast<int>(type)] : "?";
}

}  // namespace teeny
