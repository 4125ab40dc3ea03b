// The kernel language. See docs/language.md.
#pragma once

#include <teeny/tl/control.hpp>
#include <teeny/tl/debug.hpp>
#include <teeny/tl/elementwise.hpp>
#include <teeny/tl/memory.hpp>
#include <teeny/tl/operators.hpp>
#include <teeny/tl/reduce.hpp>
#include <teeny/tl/shape.hpp>
#include <teeny/tl/tensor.hpp>
#include <teeny/tl/types.hpp>
