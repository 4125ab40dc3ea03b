// The client's side of the compiler boundary (support/compiler_abi.h): in this process or in one of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <teeny/options.hpp>

#include "support/compiler_abi.h"

namespace teeny::runtime {

struct CompileRequest {
  std::vector<std::uint8_t> body;  // trace::serialise, or tt text
  bool is_text = false;
  std::string kernel;
  std::string target;
  CompileOptions options;
  std::vector<teeny_fact> facts;
  std::string dump;
  bool analyse_only = false;  // relevant facts alone, no program
};

struct CompileResult {
  bool ok = false;
  std::vector<std::uint8_t> program;
  std::string metadata;
  std::vector<teeny_fact> relevant_facts;
  std::string diagnostics;
  std::string dump_text;
};

class Compiler {
 public:
  virtual ~Compiler() = default;
  // A refusal is a result that is not ok. Throws compiler_missing, or compile_failed where the compiler itself broke.
  virtual CompileResult compile(const CompileRequest& request) = 0;
};

// The table of libteeny_compiler, loaded on the first call and kept. Looked for in TEENY_COMPILER_LIBRARY, beside this
// library, and where it was installed; build id, boundary and trace versions must be this library's.
// Throws compiler_missing.
const teeny_compiler_api& compiler_api();

// Calls the table in this process.
Compiler& in_process_compiler();
// Speaks with helper processes (teeny-compiler); a helper that dies fails one compile and is replaced.
Compiler& out_of_process_compiler();
// The one that TEENY_COMPILER chooses: "process", or in this process.
Compiler& chosen_compiler();

// The form in which requests and results travel and in which reproducers are kept. decode throws io on damaged bytes.
std::vector<std::uint8_t> encode(const CompileRequest& request);
std::vector<std::uint8_t> encode(const CompileResult& result);
CompileRequest decode_request(const std::uint8_t* bytes, std::size_t size);
CompileResult decode_result(const std::uint8_t* bytes, std::size_t size);

// Writes the request where a developer finds it; the path, or the empty string where it could not be written.
std::string write_reproducer(const CompileRequest& request);

// The identity that libteeny and libteeny_compiler of one build share.
const char* build_id();

}  // namespace teeny::runtime
