// A compile from request to program, inside the compiler library.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/pipeline/diagnostics.hpp"
#include "support/compiler_abi.h"

namespace teeny::compiler {

// teeny_compile_request with its memory owned, so that a compile may outlive the caller's buffers.
struct CompileInput {
  std::vector<std::uint8_t> body;
  bool is_text = false;
  std::string kernel;
  std::string target;
  teeny_compile_options options{};
  std::vector<teeny_fact> facts;
  std::string dump;  // comma-separated: tt, tile, staged, synchronised, thread, llvm, asm, explain (explain.hpp)
  bool analyse_only = false;
};

struct CompileOutput {
  bool ok = false;
  std::vector<std::uint8_t> program;
  std::string metadata;
  std::vector<teeny_fact> relevant_facts;
  std::vector<CompileMessage> messages;
  std::string dump_text;
};

CompileInput own(const teeny_compile_request& request);

// Compiles for the request's target. Never throws: every failure is a message.
CompileOutput compile(CompileInput input);

// The tt text of the request's body, in `program`.
CompileOutput print_tt(CompileInput input);

}  // namespace teeny::compiler
