// Input values: for each element type its edges, then random ones.
#pragma once

#include "harness.hpp"

namespace teeny::conformance {

// Zeros, ones, powers of two and their neighbours, the largest and smallest, subnormals, infinities, NaN, halves that
// round.
template <class D>
const Host<D>& edge_values();

// `count` values: the edges first where `edges`, then half random bits and half numbers of ordinary size.
template <class D>
Host<D> values(std::size_t count, unsigned seed, bool edges = true);

// `count` small whole numbers in -limit … limit (0 … limit for unsigned types): sums and products of few are exact.
template <class D>
Host<D> whole_numbers(std::size_t count, unsigned seed, int limit);

// A pair of arrays in which every edge meets every other, repeated or cut to `count`, then random pairs.
template <class D>
void pairs(std::size_t count, unsigned seed, Host<D>& a, Host<D>& b);

}  // namespace teeny::conformance
