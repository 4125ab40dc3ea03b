// One body, two worlds: as a kernel that is recorded, and as plain C++ that runs. What both leave in memory must be
// equal.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

#include "evaluate.hpp"

namespace worlds {
namespace tl = teeny::tl;

struct Recorded {
  using Int = tl::i32;
  using Bool = tl::b1;
  static auto range(auto... bounds) { return tl::range(bounds...); }
  template <class C, class T, class E>
  static auto if_(C c, T&& t, E&& e) {
    return tl::if_(c, t, e);
  }
  template <class C, class T>
  static void if_(C c, T&& t) {
    tl::if_(c, t);
  }
  template <class C, class B>
  static void while_(C&& c, B&& b) {
    tl::while_(c, b);
  }
  static Int load(tl::Ptr<std::int32_t> p) { return tl::load(p); }
  static void store(tl::Ptr<std::int32_t> p, Int v) { tl::store(p, v); }
  static Int add(tl::Ptr<std::int32_t> p, Int v) { return tl::atomic_add(p, v); }
  static Int choose(Bool c, Int a, Int b) { return tl::where(c, a, b); }
  static Int quotient(Int a, Int b) { return tl::div(a, b); }
};

struct Plain {
  // Integers that wrap.
  struct Int {
    std::int32_t v = 0;
    Int() = default;
    Int(long long x) : v(static_cast<std::int32_t>(x)) {}
    Int& operator+=(Int o) { return *this = *this + o; }
    Int& operator-=(Int o) { return *this = *this - o; }
    Int& operator*=(Int o) { return *this = *this * o; }
    Int& operator^=(Int o) { return *this = Int(v ^ o.v); }
    friend Int operator+(Int a, Int b) { return Int(static_cast<long long>(a.v) + b.v); }
    friend Int operator-(Int a, Int b) { return Int(static_cast<long long>(a.v) - b.v); }
    friend Int operator*(Int a, Int b) { return Int(static_cast<long long>(a.v) * b.v); }
    friend Int operator%(Int a, Int b) { return b.v == 0 ? Int(0) : Int(static_cast<long long>(a.v) % b.v); }
    friend Int operator&(Int a, Int b) { return Int(a.v & b.v); }
    friend Int operator^(Int a, Int b) { return Int(a.v ^ b.v); }
    friend Int operator-(Int a) { return Int(-static_cast<long long>(a.v)); }
    friend bool operator<(Int a, Int b) { return a.v < b.v; }
    friend bool operator>(Int a, Int b) { return a.v > b.v; }
    friend bool operator==(Int a, Int b) { return a.v == b.v; }
  };
  using Bool = bool;
  struct Pointer {
    std::vector<std::uint32_t>* memory;
    std::int64_t at;
    friend Pointer operator+(Pointer p, Int i) { return {p.memory, p.at + i.v}; }
    friend Pointer operator+(Pointer p, int i) { return {p.memory, p.at + i}; }
    Pointer& operator+=(Int i) { return *this = *this + i; }
  };
  struct Range {
    std::int64_t i, end, step;
    Range begin() const { return *this; }
    Range endless() const { return *this; }
    struct End {};
    bool operator!=(End) const { return i < end; }
    void operator++() { i += step; }
    Int operator*() const { return Int(i); }
    friend End end(const Range&) { return {}; }
  };
  struct Loop {
    std::int64_t first, last, step;
    Range begin() const { return {first, last, step}; }
    Range::End end() const { return {}; }
  };
  static Loop range(Int a, Int b, Int s = 1) { return {a.v, b.v, s.v}; }
  static Loop range(Int b) { return {0, b.v, 1}; }
  template <class T, class E>
  static auto if_(bool c, T&& t, E&& e) {
    return c ? t() : e();
  }
  template <class T>
  static void if_(bool c, T&& t) {
    if (c) t();
  }
  template <class C, class B>
  static void while_(C&& c, B&& b) {
    while (c()) b();
  }
  static Int load(Pointer p) { return Int(static_cast<std::int32_t>(p.memory->at(p.at))); }
  static void store(Pointer p, Int v) { p.memory->at(p.at) = static_cast<std::uint32_t>(v.v); }
  static Int add(Pointer p, Int v) {
    const Int old = load(p);
    store(p, old + v);
    return old;
  }
  static Int choose(bool c, Int a, Int b) { return c ? a : b; }
  static Int quotient(Int a, Int b) { return b.v == 0 ? Int(0) : Int(static_cast<long long>(a.v) / b.v); }
};

// A body as a kernel: operator()(World, memory, n).
template <class Body>
struct Kernel {
  void operator()(tl::Ptr<std::int32_t> memory, tl::i32 n) const { Body{}(Recorded{}, memory, n); }
};

inline std::vector<std::uint32_t> fresh_memory() {
  std::vector<std::uint32_t> memory(64);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::uint32_t>(static_cast<std::int32_t>(i * 7 % 13) - 6);
  return memory;
}

template <class Body>
std::vector<std::uint32_t> run_plain(int n) {
  std::vector<std::uint32_t> memory = fresh_memory();
  Body{}(Plain{}, Plain::Pointer{&memory, 0}, Plain::Int(n));
  return memory;
}

inline std::vector<std::uint32_t> run_trace(const teeny::detail::RecordedKernelPtr& kernel, int n) {
  std::vector<std::uint32_t> memory = fresh_memory();
  evaluate::Machine(kernel->trace().body, memory).run({0, static_cast<std::uint32_t>(n)});
  return memory;
}

}  // namespace worlds
