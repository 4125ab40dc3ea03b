// Control flow over run-time values. A variable declared outside of a region and assigned inside is carried by itself.
#pragma once

#include <teeny/tl/memory.hpp>

namespace teeny::tl {

struct RangeOptions {
  int stages = 0;  // copies in flight in a software pipeline; 0: the compiler's choice
  int unroll = 0;  // bodies at a time; 0: the compiler's choice
};

namespace detail_ {

template <class T>
concept Index = std::integral<T> || (is_tensor<T> && requires { requires T::rank == 0 && Int<typename T::dtype>; });

template <Index T>
consteval DType index_dtype() {
  if constexpr (is_tensor<T>) return dtype_of<typename T::dtype>;
  else return host_dtype<T>();
}
// i32 unless a bound does not fit it.
template <class... T>
using index_t = std::conditional_t<((bits_of(index_dtype<T>()) == 64 || index_dtype<T>() == DType::u32) || ...),
                                   std::int64_t, std::int32_t>;
template <Index T>
detail::Value index_value(const T& value, Location where) {
  if constexpr (is_tensor<T>) return value.value();
  else return record_literal(host_dtype<T>(), value, where);
}

// What a range-based for sees: one iteration, recorded.
class RangeBase {
 public:
  struct End {};
  RangeBase(const RangeBase&) = delete;
  End end() { return {}; }

 protected:
  RangeBase(detail::Value lower, detail::Value upper, detail::Value step, DType index, RangeOptions options,
            Location where)
      : lower_(lower), upper_(upper), step_(step), index_(index), options_(options), where_(where) {}
  ~RangeBase() {
    if (open_) detail::close_for(false);
    else if (!used_)
      detail::unused_range(where_);
  }
  detail::Value open() {
    used_ = open_ = true;
    return detail::open_for(lower_, upper_, step_, index_, options_.stages, options_.unroll, where_);
  }
  void close() {
    open_ = false;
    detail::close_for(true);
  }

 private:
  detail::Value lower_, upper_, step_;
  DType index_;
  RangeOptions options_;
  Location where_;
  bool open_ = false, used_ = false;
};

template <class I>
class Range : public RangeBase {
 public:
  Range(detail::Value lower, detail::Value upper, detail::Value step, RangeOptions options, Location where)
      : RangeBase(lower, upper, step, dtype_of<I>, options, where) {}
  class Iterator {
   public:
    Iterator(Range* range, detail::Value index) : range_(range), index_(index) {}
    Iterator(const Iterator&) = delete;
    Scalar<I> operator*() const { return {Raw{}, index_}; }
    void operator++() {
      range_->close();
      done_ = true;
    }
    bool operator!=(End) const { return !done_; }

   private:
    Range* range_;
    detail::Value index_;
    bool done_ = false;
  };
  Iterator begin() { return {this, open()}; }
};

template <class F>
constexpr void check_by_reference() {
  static_assert(std::is_trivially_copyable_v<std::remove_cvref_t<F>>,
                "teeny: the lambda copies a tensor: capture by reference, [&]");
}
template <class C>
constexpr void check_condition() {
  static_assert(is_tensor<C>, "teeny: the condition must be a run-time value; for a constant use if or if constexpr");
  if constexpr (is_tensor<C>) {
    static_assert(C::rank == 0,
                  "teeny: the condition must be one value, not a tensor: use tl::where, or tl::max(mask) != 0");
    static_assert(std::same_as<typename C::dtype, bool>, "teeny: the condition must be Scalar<bool>: write x != 0");
  }
}
template <class C>
inline constexpr bool good_condition = false;
template <>
inline constexpr bool good_condition<Scalar<bool>> = true;

struct Nothing {};

}  // namespace detail_

// for (auto i : tl::range(a, b, step)): i = a, a + step, … below b, at run time; the step is positive.
template <detail_::Index A, detail_::Index B, detail_::Index S = int>
detail_::Range<detail_::index_t<A, B, S>> range(A lower, B upper, S step = 1, RangeOptions options = {},
                                                Location where = Location::current()) {
  return {detail_::index_value(lower, where), detail_::index_value(upper, where), detail_::index_value(step, where),
          options, where};
}
template <detail_::Index A, detail_::Index B>
detail_::Range<detail_::index_t<A, B>> range(A lower, B upper, RangeOptions options,
                                             Location where = Location::current()) {
  return {detail_::index_value(lower, where), detail_::index_value(upper, where), detail_::index_value(1, where),
          options, where};
}
template <detail_::Index B>
detail_::Range<detail_::index_t<B>> range(B upper, RangeOptions options = {}, Location where = Location::current()) {
  return {detail_::index_value(0, where), detail_::index_value(upper, where), detail_::index_value(1, where), options,
          where};
}

// A loop of the host: its body is recorded once for each value.
class static_range {
 public:
  constexpr explicit static_range(int end) : begin_(0), end_(end), step_(1) {}
  constexpr static_range(int begin, int end, int step = 1) : begin_(begin), end_(end), step_(step) {}
  struct Iterator {
    int value, step;
    constexpr int operator*() const { return value; }
    constexpr void operator++() { value += step; }
    constexpr bool operator!=(const Iterator& end) const { return step > 0 ? value < end.value : value > end.value; }
  };
  constexpr Iterator begin() const { return {begin_, step_}; }
  constexpr Iterator end() const { return {end_, step_}; }

 private:
  int begin_, end_, step_;
};

// Runs `then` where the condition holds, else `otherwise`. Functions that return a value both do, of one type.
template <class C, class T, class E = detail_::Nothing>
auto if_(C condition, T&& then, E&& otherwise = {}, Location where = Location::current()) {
  detail_::check_condition<C>();
  detail_::check_by_reference<T>();
  detail_::check_by_reference<E>();
  constexpr bool two = !std::same_as<std::remove_cvref_t<E>, detail_::Nothing>;
  static_assert(std::is_invocable_v<T&>, "teeny: if_ takes functions without parameters");
  if constexpr (detail_::good_condition<C>) {
    using X = std::invoke_result_t<T&>;
    if constexpr (std::is_void_v<X>) {
      if constexpr (two)
        static_assert(std::is_void_v<std::invoke_result_t<E&>>,
                      "teeny: one branch of if_ returns a value and the other does not");
      detail::open_if(condition.value(), false, where);
      then();
      if constexpr (two) {
        detail::next_else();
        otherwise();
      }
      detail::close_if();
    } else {
      static_assert(two, "teeny: an if_ that returns a value needs both branches");
      if constexpr (two) {
        static_assert(std::same_as<X, std::invoke_result_t<E&>>, "teeny: the branches of if_ return different types");
        if constexpr (std::same_as<X, std::invoke_result_t<E&>>) {
          X result{};
          detail::open_if(condition.value(), true, where);
          result = then();
          detail::next_else();
          result = otherwise();
          detail::close_if();
          return result;
        }
      }
    }
  }
}

// Evaluates the condition, a function, before each run of the body; the body may be left out.
template <class C, class B = detail_::Nothing>
void while_(C&& condition, B&& body = {}, Location where = Location::current()) {
  static_assert(std::is_invocable_v<C&>, "teeny: the condition of while_ is a function: [&] { return x < n; }");
  if constexpr (std::is_invocable_v<C&>) {
    detail_::check_by_reference<C>();
    detail_::check_by_reference<B>();
    using X = std::invoke_result_t<C&>;
    detail_::check_condition<X>();
    if constexpr (detail_::good_condition<X>) {
      detail::open_while(where);
      {
        auto go_on = condition();
        detail::next_body(go_on.value());
      }
      if constexpr (!std::same_as<std::remove_cvref_t<B>, detail_::Nothing>) body();
      detail::close_while();
    }
  }
}

// Ends the program here where the condition holds. At the top level of a body only.
template <class C>
void return_if(C condition, Location where = Location::current()) {
  detail_::check_condition<C>();
  if constexpr (detail_::good_condition<C>) detail::return_if(condition.value(), where);
}

}  // namespace teeny::tl
