// Loads, stores, descriptors, atomics, barrier.
#pragma once

#include <teeny/tl/shape.hpp>

namespace teeny::tl {

// A mask of at most rank R; a host bool is allowed.
template <int R>
class MaskArgument {
 public:
  MaskArgument() = default;
  template <class D, int S>
  MaskArgument(Tensor<D, S> mask) : value(mask.value()) {
    static_assert(std::same_as<D, bool>, "teeny: a mask must be Tensor<bool>: write x != 0");
    static_assert(S <= R, "teeny: the mask has a higher rank than the pointers");
  }
  template <class T>
  requires std::same_as<T, bool> MaskArgument(T literal, Location where = Location::current())
      : value(record_literal(DType::boolean, literal, where)) {}
  detail::Value value;
};

// A host integer or a run-time integer.
class IndexArgument {
 public:
  template <std::integral T>
  IndexArgument(T literal, Location where = Location::current())
      : value(record_literal(host_dtype<T>(), literal, where)) {}
  template <class D>
  IndexArgument(Tensor<D, 0> index) : value(index.value()) {
    static_assert(Int<D>, "teeny: an index must be an integer");
  }
  detail::Value value;
};

// Enumerators are in the trace's order.
enum class Cache : std::uint8_t { none, ca, cg, cs, cv, wb, wt };
enum class Evict : std::uint8_t { normal, first, last };
enum class Order : std::uint8_t { relaxed, acquire, release, acquire_release, acq_rel = acquire_release };
enum class Scope : std::uint8_t { group, device, system };
enum class Padding : std::uint8_t { zero, nan };

template <class D, int R>
struct LoadOptions {
  MaskArgument<R> mask = {};       // false lanes touch no memory
  ValueArgument<D, R> other = {};  // what false lanes give; 0 where not said
  Cache cache = Cache::none;
  Evict evict = Evict::normal;
  bool is_volatile = false;  // never moved, merged or dropped
};
template <int R>
struct StoreOptions {
  MaskArgument<R> mask = {};
  Cache cache = Cache::none;
  Evict evict = Evict::normal;
};
template <int R>
struct AtomicOptions {
  MaskArgument<R> mask = {};
  Order order = Order::acquire_release;
  Scope scope = Scope::device;
};
struct SwapOptions {
  Order order = Order::acquire_release;
  Scope scope = Scope::device;
};

template <class D, int R>
Tensor<D, R> load(Tensor<const D*, R> pointer, std::type_identity_t<LoadOptions<D, R>> options = {},
                  Location where = Location::current()) {
  const detail::LoadAttributes attributes{static_cast<int>(options.cache), static_cast<int>(options.evict),
                                          options.is_volatile};
  return {Raw{}, detail::load(pointer.value(), options.mask.value, options.other.value, attributes, where)};
}

template <class D, int R>
void store(Tensor<D*, R> pointer, std::type_identity_t<ValueArgument<D, R>> value,
           std::type_identity_t<StoreOptions<R>> options = {}, Location where = Location::current()) {
  static_assert(!std::is_const_v<D>, "teeny: store through a pointer to const: declare the parameter tl::Ptr<D>");
  detail::store(pointer.value(), value.value, options.mask.value, static_cast<int>(options.cache),
                static_cast<int>(options.evict), where);
}

namespace detail_ {
enum class AtomicElements { add, compare, bits, exchange };
template <AtomicElements E, class D>
constexpr void check_atomic() {
  static_assert(!std::is_const_v<D>, "teeny: atomic through a pointer to const: declare the parameter tl::Ptr<D>");
  using T = std::remove_const_t<D>;
  constexpr int bits = bits_of(dtype_of<T>);
  if constexpr (E == AtomicElements::bits)
    static_assert(Int<T> && bits >= 32, "teeny: atomic_and, atomic_or, atomic_xor need 32- or 64-bit integers");
  else if constexpr (E == AtomicElements::add)
    static_assert(bits >= 32 || Float<T>, "teeny: atomic_add needs 32- or 64-bit integers or floats");
  else static_assert(bits >= 32, "teeny: this atomic needs 32- or 64-bit elements");
}
}  // namespace detail_

// One atomic read-modify-write for each lane whose mask holds; gives the old values, and 0 elsewhere. The kind's number
// is the trace's.
#define TEENY_ATOMIC(name, kind, elements)                                                                       \
  template <class D, int R>                                                                                      \
  Tensor<D, R> name(Tensor<D*, R> pointer, std::type_identity_t<ValueArgument<D, R>> value,                      \
                    std::type_identity_t<AtomicOptions<R>> options = {}, Location where = Location::current()) { \
    detail_::check_atomic<detail_::AtomicElements::elements, D>();                                               \
    return {Raw{}, detail::atomic(#name, kind, pointer.value(), value.value, options.mask.value,                 \
                                  static_cast<int>(options.order), static_cast<int>(options.scope), where)};     \
  }
TEENY_ATOMIC(atomic_add, 0, add)
TEENY_ATOMIC(atomic_max, 1, compare)
TEENY_ATOMIC(atomic_min, 2, compare)
TEENY_ATOMIC(atomic_and, 3, bits)
TEENY_ATOMIC(atomic_or, 4, bits)
TEENY_ATOMIC(atomic_xor, 5, bits)
TEENY_ATOMIC(atomic_xchg, 6, exchange)
#undef TEENY_ATOMIC

// Writes `desired` where memory holds `expected`; gives the old values.
template <class D, int R>
Tensor<D, R> atomic_cas(Tensor<D*, R> pointer, std::type_identity_t<ValueArgument<D, R>> expected,
                        std::type_identity_t<ValueArgument<D, R>> desired, SwapOptions options = {},
                        Location where = Location::current()) {
  detail_::check_atomic<detail_::AtomicElements::exchange, D>();
  return {Raw{}, detail::compare_and_swap(pointer.value(), expected.value, desired.value,
                                          static_cast<int>(options.order), static_cast<int>(options.scope), where)};
}

// Orders all accesses of this program before it and after it.
inline void barrier(Location where = Location::current()) { detail::barrier(where); }
inline void debug_barrier(Location where = Location::current()) { detail::barrier(where); }

struct DescriptorOptions {
  Padding padding = Padding::zero;
};

// A tensor in memory seen in blocks: loads give padding outside of it, stores there are dropped.
template <class D, int R>
class Descriptor {
 public:
  using element = std::remove_const_t<D>;
  Descriptor(Raw, detail::Value value) : value_(value) {}
  Descriptor(const Descriptor& other, Location where = Location::current())
      : value_(detail::copy_descriptor(other.value_, where)) {}
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {}

  template <int N>
  Tensor<element, R> load(const IndexArgument (&offsets)[N], Location where = Location::current()) const {
    static_assert(N == R, "teeny: descriptor load: one offset for each dimension");
    detail::Value at[N];
    for (int i = 0; i < N; ++i) at[i] = offsets[i].value;
    return {Raw{}, detail::descriptor_load(value_, at, N, where)};
  }
  template <int N>
  void store(const IndexArgument (&offsets)[N], ValueArgument<element, R> value,
             Location where = Location::current()) const {
    static_assert(!std::is_const_v<D>, "teeny: store through a pointer to const: declare the parameter tl::Ptr<D>");
    static_assert(N == R, "teeny: descriptor store: one offset for each dimension");
    detail::Value at[N];
    for (int i = 0; i < N; ++i) at[i] = offsets[i].value;
    detail::descriptor_store(value_, at, N, value.value, where);
  }

 private:
  detail::Value value_;
};

// Shape and strides in elements; the last stride is 1.
template <class P, int R, int S, int B>
auto make_descriptor(Tensor<P, 0> base, const IndexArgument (&shape)[R], const IndexArgument (&strides)[S],
                     const int (&block)[B], DescriptorOptions options = {}, Location where = Location::current()) {
  static_assert(std::is_pointer_v<P>, "teeny: make_descriptor needs a pointer");
  static_assert(R == S && R == B, "teeny: make_descriptor: shape, strides and block have one length");
  detail::Value sizes[R], steps[R];
  for (int i = 0; i < R; ++i) {
    sizes[i] = shape[i].value;
    steps[i] = strides[i].value;
  }
  return Descriptor<std::remove_pointer_t<P>, R>(
      Raw{}, detail::make_descriptor(base.value(), sizes, steps, {block, B}, options.padding == Padding::nan, where));
}
template <class P, int R, int S, int B>
auto make_tensor_descriptor(Tensor<P, 0> base, const IndexArgument (&shape)[R], const IndexArgument (&strides)[S],
                            const int (&block)[B], DescriptorOptions options = {},
                            Location where = Location::current()) {
  return make_descriptor(base, shape, strides, block, options, where);
}

}  // namespace teeny::tl
