/* Programs for the runtime's tests, in the form that the CPU lowering emits. */
#include "support/cpu_program_abi.h"

#include <stddef.h>

#define EXPORT __attribute__((visibility("default")))

/* out[p] = p + n for each program p. */
EXPORT void fill(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last, teeny_cpu_context* context) {
  (void)grid, (void)context;
  float* out = (float*)(uintptr_t)arguments[0];
  for (uint64_t p = first; p < last; ++p) out[p] = (float)(p + (uint32_t)arguments[1]);
}

/* As fill, and 1000 more: tells which variant ran. */
EXPORT void fill_special(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last,
                         teeny_cpu_context* context) {
  fill(arguments, grid, first, last, context);
  float* out = (float*)(uintptr_t)arguments[0];
  for (uint64_t p = first; p < last; ++p) out[p] += 1000.0f;
}

/* Prints its own id. */
EXPORT void shout(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last, teeny_cpu_context* context) {
  (void)arguments, (void)grid;
  for (uint64_t p = first; p < last; ++p) {
    const int32_t values[2] = {(int32_t)p, -1};
    context->print(context, 0, "p = ", 3, values, 2, p);
  }
}

/* Fails in program n; those before it store. */
EXPORT void trip(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last, teeny_cpu_context* context) {
  float* out = (float*)(uintptr_t)arguments[0];
  for (uint64_t p = first; p < last; ++p) {
    if (p == (uint32_t)arguments[1]) {
      context->assert_failed(context, 0, "p must not be n", p, 5);
      return;
    }
    fill(arguments, grid, p, p + 1, context);
    (void)out;
  }
}

/* Uses all of its arena and says whether it was private while it did. */
EXPORT void scratch(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last, teeny_cpu_context* context) {
  (void)grid;
  float* out = (float*)(uintptr_t)arguments[0];
  volatile uint64_t* arena = context->arena;
  for (uint64_t p = first; p < last; ++p) {
    for (size_t i = 0; i < 512; ++i) arena[i] = p;
    int whole = ((uintptr_t)arena % 64) == 0;
    for (size_t i = 0; i < 512; ++i) whole = whole && arena[i] == p;
    out[p] = whole ? 1.0f : 0.0f;
  }
}

/* Eight arguments, nothing done. */
EXPORT void nothing(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last, teeny_cpu_context* context) {
  (void)arguments, (void)grid, (void)first, (void)last, (void)context;
}
