/* The boundary between libteeny and libteeny_compiler: a C table of functions, reached by dlopen. No C++ type, no
   exception and no allocation crosses it except as stated. libteeny never sees LLVM; the compiler never sees a driver. */
#ifndef TEENY_SUPPORT_COMPILER_ABI_H
#define TEENY_SUPPORT_COMPILER_ABI_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEENY_COMPILER_ABI_VERSION 2u
#define TEENY_COMPILER_ENTRY "teeny_compiler_entry"

typedef struct teeny_bytes {
  const uint8_t* data;
  size_t size;
} teeny_bytes;

/* What a variant of a program may take for granted of a launch. Facts about an argument carry its index. */
typedef enum teeny_fact_kind {
  TEENY_FACT_EQUALS_ONE = 0,      /* the integer argument is 1 (a stride, most often) */
  TEENY_FACT_DIVISIBLE_BY_16 = 1, /* the integer, or the pointer's address, is divisible by 16 */
  TEENY_FACT_FITS_32 = 2,         /* the buffer's extent in bytes is below 2^31 */
  TEENY_FACT_EXCEEDS_CACHE = 3    /* the buffer behind the pointer is larger than the last-level cache share */
} teeny_fact_kind;

typedef struct teeny_fact {
  uint16_t kind;
  uint16_t argument;
} teeny_fact;

typedef struct teeny_compile_options {
  int32_t warps;         /* 0: the target's default */
  int32_t stages;        /* 0: the target's default */
  int32_t max_registers; /* 0: no limit */
  int32_t reproducible;  /* reductions follow the defined tree bit for bit */
  int32_t contract;      /* a * b + c may be fused */
  int32_t approximate;   /* exp, exp2, sqrt, rsqrt and / of f32 and narrower may be the device's own */
  int32_t debug_info;    /* line tables in the program */
} teeny_compile_options;

typedef struct teeny_compile_request {
  teeny_bytes body;         /* trace::serialise, or tt text when is_text */
  int32_t is_text;
  const char* kernel;       /* name for people and for debuggers */
  const char* target;       /* "cpu:x86-64-v4+avx512bf16", "interpreter", … */
  teeny_compile_options options;
  const teeny_fact* facts;  /* assumed to hold: the guard of the variant to make */
  size_t fact_count;
  const char* dump;         /* TEENY_DUMP's list, or NULL */
  int32_t analyse_only;     /* stop after the analysis: relevant_facts, no program (making one all the same is allowed) */
} teeny_compile_request;

/* Everything points into memory owned by `owner`, until release(). */
typedef struct teeny_compile_result {
  int32_t ok;
  teeny_bytes program;              /* empty with analyse_only; the target's own form: a shared object on a CPU, serialised tt for the interpreter, a serialised thread function for a simulator */
  const char* metadata;             /* JSON: {"entry", "arena_bytes", "arguments": [{"type", "pointer"}], "phases": {name: ms}, …} */
  const teeny_fact* relevant_facts; /* which facts would have widened an access, most useful first */
  size_t relevant_fact_count;
  const char* diagnostics;          /* JSON: [{"severity", "message", "help", "operation": pre-order number or -1, "code"?: "unsupported"}] */
  const char* dump_text;            /* what `dump` asked for, or NULL */
  void* owner;
} teeny_compile_result;

/* A range of memory that a launch may touch. */
typedef struct teeny_memory_range {
  uint64_t address;
  uint64_t bytes;
  uint8_t* initialised; /* one byte per byte of memory, non-zero: written; NULL: treat as initialised. Updated by a run. */
} teeny_memory_range;

typedef struct teeny_interpret_request {
  teeny_bytes program;      /* teeny_compile_result::program of target "interpreter" or "simulator:…" */
  const uint64_t* arguments;/* one 64-bit slot per kernel argument, value in the low bytes */
  size_t argument_count;
  uint32_t grid[3];
  const teeny_memory_range* ranges;
  size_t range_count;
  int32_t check;            /* watch memory: the checker */
  int32_t radius;           /* also compute radii; see radius_of */
  int32_t max_findings;     /* stop collecting after so many; 0: 100 */
  uint64_t seed;            /* of a simulator's order of warps; 0: they change at barriers alone */
  void (*print)(void* context, const char* text, size_t size);
  void* print_context;
} teeny_interpret_request;

typedef struct teeny_interpret_result {
  int32_t ok;               /* ran to the end with no finding */
  const char* findings;     /* JSON: [{"kind", "message", "help", "operation", "program": [x, y, z], "lane", "address"}] */
  /* with `radius`: stored elements and the allowed distance from their value, sorted by address */
  const uint64_t* radius_addresses;
  const double* radii;
  size_t radius_count;
  void* owner;
} teeny_interpret_result;

typedef struct teeny_compiler_api {
  uint32_t abi_version;
  uint32_t trace_format_version;
  const char* build_id; /* the same text in both libraries of one build */
  int32_t (*compile)(const teeny_compile_request* request, teeny_compile_result* result);
  void (*release_compile)(teeny_compile_result* result);
  int32_t (*interpret)(const teeny_interpret_request* request, teeny_interpret_result* result);
  void (*release_interpret)(teeny_interpret_result* result);
  /* tt text of a serialised body, and back into a program-ready body check; result in program / diagnostics */
  int32_t (*print_tt)(const teeny_compile_request* request, teeny_compile_result* result);
} teeny_compiler_api;

typedef const teeny_compiler_api* (*teeny_compiler_entry_function)(void);

#ifdef __cplusplus
}
#endif
#endif
