#include "compiler/pipeline/link.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>

#include <lld/Common/Driver.h>
#include <llvm/Support/raw_ostream.h>

#include <teeny/error.hpp>

LLD_HAS_DRIVER(elf)

namespace teeny::compiler {

namespace {

// A folder of this link's own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "teeny-link-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw Error(ErrorCode::io, "link: a temporary folder is needed; " + pattern + " could not be made");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw Error(ErrorCode::io, "link: " + path + " could not be written");
}

std::vector<std::uint8_t> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || bytes.empty()) throw Error(ErrorCode::io, "link: " + path + " could not be read");
  return bytes;
}

}  // namespace

std::vector<std::uint8_t> link_shared_object(const std::vector<std::uint8_t>& object) {
  static std::mutex lld_mutex;
  TemporaryFolder folder;
  std::string input = folder.file("program.o"), output = folder.file("program.so");
  write_file(input, object);
  std::string said;
  llvm::raw_string_ostream stream(said);
  // Without mmap lld registers no signal handler for its output file.
  const char* arguments[] = {
      "ld.lld", "-shared", "--no-mmap-output-file", "--threads=1", "-Bsymbolic",   "--hash-style=gnu",
      "-z",     "now",     "--build-id=none",       "-o",          output.c_str(), input.c_str()};
  lld::Result result;
  {
    std::lock_guard lock(lld_mutex);
    result = lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  }
  if (result.retCode != 0) throw Error(ErrorCode::compile_failed, "link: lld failed\n" + said);
  return read_file(output);
}

}  // namespace teeny::compiler
