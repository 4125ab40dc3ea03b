// Compiling kernels for Vulkan's devices, and asking spirv-val whether it takes them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

#include "compiler/pipeline/compile.hpp"

namespace teeny::compiler {

inline CompileOutput compile_for(const teeny::detail::RecordedKernel& kernel, const std::string& target,
                                 std::vector<teeny_fact> facts = {}, const std::string& dump = {}) {
  CompileInput input;
  const auto body = kernel.body();
  input.body.assign(body.begin(), body.end());
  input.kernel = "kernel";
  input.target = target;
  input.facts = std::move(facts);
  input.dump = dump;
  return compile(std::move(input));
}

inline std::string errors_of(const CompileOutput& output) {
  std::string text;
  for (const CompileMessage& message : output.messages) text += message.message + "\n";
  return text;
}

inline bool has_spirv_val() { return std::system("command -v spirv-val >/dev/null 2>&1") == 0; }

// What spirv-val says of a program that it does not take; empty: it does.
inline std::string validate(const CompileOutput& output) {
  const std::string path = testing::TempDir() + "teeny_" + std::to_string(getpid()) + ".spv";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(output.program.data()), output.program.size());
  FILE* pipe = popen(("spirv-val --target-env vulkan1.3 " + path + " 2>&1").c_str(), "r");
  if (!pipe) return "spirv-val could not be started";
  std::string said;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) said += buffer;
  const int status = pclose(pipe);
  unlink(path.c_str());
  return status == 0 ? "" : said.empty() ? "spirv-val failed" : said;
}

}  // namespace teeny::compiler
