// Promises, assertions and printing.
#pragma once

#include <teeny/tl/memory.hpp>

namespace teeny::tl {

// Promises that a condition holds here.
inline void assume(b1 condition, Location where = Location::current()) { detail::assume(condition.value(), where); }

template <int R>
struct AssertOptions {
  MaskArgument<R> mask = {};
};

// The launch fails with `text` where the condition is false (and the mask holds).
template <int R>
void device_assert(Tensor<bool, R> condition, const char* text = "",
                   std::type_identity_t<AssertOptions<R>> options = {}, Location where = Location::current()) {
  detail::device_assert(condition.value(), options.mask.value, text, where);
}

namespace detail_ {
// A text that remembers its line, since parameters after a pack are not deduced.
struct PrintText {
  PrintText(const char* words, Location line = Location::current()) : text(words), where(line) {}
  const char* text;
  Location where;
};
}  // namespace detail_

// Prints the text and each value with its program id and index.
template <class... D, int... R>
void device_print(detail_::PrintText text, Tensor<D, R>... values) {
  static_assert((Element<D> && ...), "teeny: device_print of pointers");
  const detail::Value list[] = {values.value()..., {}};
  detail::device_print(text.text, list, sizeof...(D), text.where);
}

// A check of constants while recording: a mistake at this line unless it holds.
inline void static_check(bool holds, const char* rule, Location where = Location::current()) {
  if (!holds) detail::mistake("static_check", rule, nullptr, where);
}

}  // namespace teeny::tl
