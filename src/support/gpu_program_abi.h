/* What a compiled GPU program expects of its driver, and what it tells it: shared by the GPU lowering and the drivers of
   all GPUs. Plain C.

   A program's metadata (JSON) holds, beside "entry" and "arguments":
     "threads": n        threads of one program (lanes x warps); launch exactly so many along x
     "lanes": n          of a warp; 1: the program needs no width
     "argument_block": bool  Vulkan: the words of the arguments stand in a buffer, whose address is the one push constant
     "shared_bytes": n   dynamic shared memory of one program
     "messages": bool    one more argument stands behind the kernel's own: the 64-bit device address of a
                         teeny_gpu_message_buffer that the host can read
                         On Vulkan one more 64-bit word stands behind them all: the first program of this dispatch along x in
                         its low half, the launch's programs along x in the high half; a launch of more programs than
                         the device dispatches at once is several dispatches along x
     "target": text      the least that runs it: "cuda:sm_80", with "ptx": "7.0" for PTX text
     "prints": [{"operation": n, "operand": n, "prefix": text, "dtype": n, "hex": bool}],
     "asserts": [{"operation": n, "message": text}]  what its messages mean
   Kernel arguments are passed in order, each of its own size (pointers: 64-bit addresses; bool: one byte). */
#ifndef TEENY_SUPPORT_GPU_PROGRAM_ABI_H
#define TEENY_SUPPORT_GPU_PROGRAM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum teeny_gpu_message_kind {
  TEENY_GPU_PRINT = 0,
  TEENY_GPU_ASSERT = 1 /* device_assert failed for this element; the program goes on */
} teeny_gpu_message_kind;

typedef struct teeny_gpu_message {
  uint32_t operation; /* pre-order number */
  uint16_t operand;   /* of device_print */
  uint16_t kind;
  uint64_t program;   /* x + grid[0] * (y + grid[1] * z) */
  uint64_t element;   /* row-major position in the operand's block; each element is told once */
  uint64_t value;     /* the element's bits, in the low bytes */
} teeny_gpu_message;

/* A message is claimed by adding 1 to `count`; numbers at or past `capacity` are lost, and the host says how many. */
typedef struct teeny_gpu_message_buffer {
  uint32_t count;
  uint32_t capacity;
  uint64_t reserved;
  teeny_gpu_message messages[1]; /* capacity of them */
} teeny_gpu_message_buffer;

#ifdef __cplusplus
}
#endif
#endif
