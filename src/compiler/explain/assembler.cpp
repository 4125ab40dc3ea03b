#include "compiler/explain/assembler.hpp"

#include <cstdio>
#include <cstdlib>

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/FileUtilities.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>
#include <llvm/Support/Program.h>
#include <llvm/Support/raw_ostream.h>

namespace teeny::compiler::explain {

namespace {

constexpr unsigned seconds = 300;

struct Found {
  std::string path, how;
};

Found find_ptxas() {
  if (const char* given = std::getenv("TEENY_PTXAS"); given && *given) return {given, "named by TEENY_PTXAS"};
  if (auto path = llvm::sys::findProgramByName("ptxas")) return {*path, "found in PATH"};
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* folder = std::getenv(variable);
    if (!folder || !*folder) continue;
    const std::string path = std::string(folder) + "/bin/ptxas";
    if (llvm::sys::fs::can_execute(path)) return {path, std::string("found by ") + variable};
  }
  const std::string usual = "/usr/local/cuda/bin/ptxas";
  if (llvm::sys::fs::can_execute(usual)) return {usual, "found where toolkits are installed"};
  return {};
}

// What the program printed, both streams; `status` is its exit status.
std::string output_of(const std::string& program, llvm::ArrayRef<llvm::StringRef> arguments, int& status) {
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("teeny", "txt", path)) return status = -1, "";
  const llvm::FileRemover remover(path);
  llvm::SmallVector<llvm::StringRef> all{program};
  all.append(arguments.begin(), arguments.end());
  const llvm::StringRef to = path.str();
  std::string failure;
  status = llvm::sys::ExecuteAndWait(program, all, std::nullopt, {llvm::StringRef(""), to, to}, seconds, 0, &failure);
  auto buffer = llvm::MemoryBuffer::getFile(path);
  return (buffer ? (*buffer)->getBuffer().str() : std::string()) + failure;
}

// The number before the words; 0 where they do not occur.
int number_before(llvm::StringRef text, llvm::StringRef words) {
  const std::size_t at = text.find(words);
  if (at == llvm::StringRef::npos) return 0;
  llvm::StringRef head = text.take_front(at).rtrim();
  const std::size_t from = head.find_last_not_of("0123456789");
  int number = 0;
  return head.drop_front(from == llvm::StringRef::npos ? 0 : from + 1).getAsInteger(10, number) ? 0 : number;
}

std::string version_of(const std::string& program) {
  int status = 0;
  const std::string text = output_of(program, {"--version"}, status);
  const std::size_t at = text.rfind(", V");
  return at == std::string::npos ? "version unknown" : text.substr(at + 3, text.find_first_of(" \n", at + 3) - at - 3);
}

}  // namespace

Assembled assemble(std::string_view ptx, std::string_view architecture) {
  Assembled result;
  const Found found = find_ptxas();
  if (found.path.empty()) {
    result.how = "ptxas is not in TEENY_PTXAS, PATH, CUDA_HOME, CUDA_PATH or /usr/local/cuda";
    return result;
  }
  llvm::SmallString<128> path;
  int descriptor = 0;
  if (llvm::sys::fs::createTemporaryFile("teeny", "ptx", descriptor, path)) {
    result.how = "no temporary file could be written for ptxas";
    return result;
  }
  const llvm::FileRemover remover(path);
  llvm::raw_fd_ostream(descriptor, true) << ptx;
  int status = 0;
  const std::string text =
      output_of(found.path, {"-v", "-arch=" + std::string(architecture), path.str(), "-o", "/dev/null"}, status);
  result.how = "ptxas " + version_of(found.path) + ", " + found.path + ", " + found.how;
  if (status != 0) {
    result.how += "; it refused the program: " + llvm::StringRef(text).trim().split('\n').first.str();
    return result;
  }
  result.known = true;
  const std::size_t used = text.find("Used ");
  result.registers = used == std::string::npos ? 0 : number_before(text.substr(used), " registers");
  result.spilled_stores = number_before(text, " bytes spill stores");
  result.spilled_loads = number_before(text, " bytes spill loads");
  return result;
}

}  // namespace teeny::compiler::explain
