/* What a compiled CPU program exports and expects: shared by the CPU lowering, which emits it, and the CPU driver,
   which calls it. Plain C, position independent, no dependency but the C library. */
#ifndef TEENY_SUPPORT_CPU_PROGRAM_ABI_H
#define TEENY_SUPPORT_CPU_PROGRAM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Host services for a running program. One per worker thread and launch. */
typedef struct teeny_cpu_context {
  void* arena;          /* metadata's arena_bytes, aligned to 64, private to the thread, contents undefined */
  void* host;           /* the driver's own */
  /* device_assert failed: the program returns at once afterwards. `operation` is the pre-order number. */
  void (*assert_failed)(struct teeny_cpu_context* context, uint32_t operation, const char* message, uint64_t program, uint64_t lane);
  /* device_print of one operand: `count` elements of DType `dtype` at `values`. */
  void (*print)(struct teeny_cpu_context* context, uint32_t operation, const char* prefix, int32_t dtype, const void* values,
                uint64_t count, uint64_t program);
  uint32_t stop;        /* set by assert_failed; programs test it between grid steps */
} teeny_cpu_context;

/* Runs the programs first … last - 1 of the grid; the linear id is x + grid[0] * (y + grid[1] * z).
   `arguments` has one 64-bit slot per kernel argument, the value in its low bytes. */
typedef void (*teeny_cpu_entry)(const uint64_t* arguments, const uint32_t* grid, uint64_t first, uint64_t last,
                                teeny_cpu_context* context);

#ifdef __cplusplus
}
#endif
#endif
