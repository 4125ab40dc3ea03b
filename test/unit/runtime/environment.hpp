// A folder and environment variables for one test, and processes.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace teeny::test {

// Sets a variable for a scope.
class Variable {
 public:
  Variable(std::string name, const std::string& value) : name_(std::move(name)) {
    if (const char* before = std::getenv(name_.c_str())) before_ = before, had_ = true;
    ::setenv(name_.c_str(), value.c_str(), 1);
  }
  ~Variable() {
    if (had_)
      ::setenv(name_.c_str(), before_.c_str(), 1);
    else
      ::unsetenv(name_.c_str());
  }
  Variable(const Variable&) = delete;

 private:
  std::string name_, before_;
  bool had_ = false;
};

// A new folder, gone with the scope.
class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "teeny-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  std::filesystem::path path;
};

// What a shell command writes on both streams.
inline std::string output_of(const std::string& command) {
  std::string text;
  FILE* pipe = ::popen(("{ " + command + "; } 2>&1").c_str(), "r");
  char buffer[4096];
  while (const std::size_t count = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, count);
  ::pclose(pipe);
  return text;
}

}  // namespace teeny::test
