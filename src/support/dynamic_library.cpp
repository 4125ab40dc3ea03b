#include "support/dynamic_library.hpp"

#include <dlfcn.h>
#include <stdlib.h>

#include <utility>

namespace teeny::support {

DynamicLibrary DynamicLibrary::open(const std::string& path, std::string& error, Binding binding) {
  DynamicLibrary library;
  library.handle_ = ::dlopen(path.c_str(), (binding == Binding::now ? RTLD_NOW : RTLD_LAZY) | RTLD_LOCAL);
  if (library.handle_ == nullptr) {
    const char* reason = ::dlerror();
    error = reason != nullptr ? reason : "unknown reason";
  }
  return library;
}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* DynamicLibrary::symbol(const char* name) const { return handle_ ? ::dlsym(handle_, name) : nullptr; }

std::string folder_of(const void* address) {
  Dl_info information;
  if (::dladdr(address, &information) == 0 || information.dli_fname == nullptr) return {};
  std::string path = information.dli_fname;
  // The main program is known by the name it was called with, which need not be a path.
  if (path.empty() || path[0] != '/') path = "/proc/self/exe";
  if (char* real = ::realpath(path.c_str(), nullptr)) {
    path = real;
    ::free(real);
  }
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

}  // namespace teeny::support
