// teeny-compiler: compiles what arrives on the socket that is its standard input, until that closes.
// teeny-compiler FILE: compiles a reproducer file and prints what came of it.
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/compiler/frame.hpp"

namespace {

using namespace teeny::runtime;

CompileResult compile(const std::vector<std::uint8_t>& message) {
  CompileResult result;
  try {
    result = in_process_compiler().compile(decode_request(message.data(), message.size()));
  } catch (const teeny::Error& error) {
    if (error.code() == teeny::ErrorCode::compiler_missing) result.metadata = "compiler_missing";
    result.diagnostics = error.what();
  }
  return result;
}

int replay(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  const CompileResult result = compile(bytes);
  std::printf("%s\n%s%s%s\n", result.ok ? "compiled" : "failed", result.diagnostics.c_str(),
              result.dump_text.empty() ? "" : "\n", result.dump_text.c_str());
  return result.ok ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2) return replay(arguments[1]);
  std::vector<std::uint8_t> message;
  while (receive_frame(STDIN_FILENO, message))
    if (!send_frame(STDIN_FILENO, encode(compile(message)))) return 1;
  return 0;
}
