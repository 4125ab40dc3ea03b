// A library loaded at run time.
#pragma once

#include <string>

namespace teeny::support {

// Owns a dlopen handle. Movable; closing follows destruction.
class DynamicLibrary {
 public:
  DynamicLibrary() = default;
  // When the addresses of functions are looked up: at once, or each at its first call (a third less time for a
  // compiler).
  enum class Binding { now, lazy };
  // Loads `path`; on failure the object is empty and `error` says why.
  static DynamicLibrary open(const std::string& path, std::string& error, Binding binding = Binding::now);
  DynamicLibrary(DynamicLibrary&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  ~DynamicLibrary();

  explicit operator bool() const { return handle_ != nullptr; }
  // The address of a symbol, or null.
  void* symbol(const char* name) const;
  // Keeps the library loaded to the end of the process.
  void leak() { handle_ = nullptr; }

 private:
  void* handle_ = nullptr;
};

// The folder of the library or program that contains `address`; empty where unknown.
std::string folder_of(const void* address);

}  // namespace teeny::support
