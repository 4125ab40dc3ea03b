#include "runtime/driver/cpu/shared_object.hpp"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include <teeny/error.hpp>

#include "support/write_all.hpp"

namespace teeny::runtime {

namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(ErrorCode::device_failed,
              "load: the program must be loadable; got '" + what + "', expected a shared object" +
                  "\nhelp: check that the process may map executable memory (noexec, SELinux)");
}

void write_whole(int descriptor, const std::vector<std::uint8_t>& bytes) {
  const int reason = support::write_all(descriptor, bytes);
  if (reason == 0) return;
  ::close(descriptor);
  fail(::strerror(reason));
}

// The loader takes a path that it has seen before for the same library, and descriptor numbers return. So the path's
// spelling counts: each bit of a serial number is "./" or "/".
std::string unique_path(int descriptor) {
  static std::atomic<std::uint32_t> serial{1};
  std::string path = "/proc/self/fd/";
  for (std::uint32_t number = serial.fetch_add(1); number != 0; number >>= 1) path += (number & 1) != 0 ? "./" : "/";
  return path + std::to_string(descriptor);
}

support::DynamicLibrary load_from_file(const std::vector<std::uint8_t>& bytes, std::string& error) {
  const char* folder = ::getenv("TMPDIR");
  std::string path = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/teeny-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) fail(std::string(::strerror(errno)) + " for " + path);
  write_whole(descriptor, bytes);
  ::close(descriptor);
  support::DynamicLibrary library = support::DynamicLibrary::open(path, error);
  ::unlink(path.c_str());
  return library;
}

}  // namespace

support::DynamicLibrary load_shared_object(const std::vector<std::uint8_t>& bytes) {
  std::string error;
  const int descriptor = ::memfd_create("teeny-program", MFD_CLOEXEC);
  if (descriptor >= 0) {
    write_whole(descriptor, bytes);
    support::DynamicLibrary library = support::DynamicLibrary::open(unique_path(descriptor), error);
    ::close(descriptor);
    if (library) return library;
  }
  support::DynamicLibrary library = load_from_file(bytes, error);
  if (!library) fail(error);
  return library;
}

}  // namespace teeny::runtime
