// Compiling kernels for NVIDIA's architectures, and asking ptxas whether it takes them.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <teeny/kernel.hpp>
#include <teeny/tl.hpp>

#include "compiler/pipeline/compile.hpp"

namespace teeny::compiler {

inline CompileOutput compile_for(const teeny::detail::RecordedKernel& kernel, const std::string& target,
                                 std::vector<teeny_fact> facts = {}) {
  CompileInput input;
  const auto body = kernel.body();
  input.body.assign(body.begin(), body.end());
  input.kernel = "kernel";
  input.target = target;
  input.facts = std::move(facts);
  return compile(std::move(input));
}

inline std::string errors_of(const CompileOutput& output) {
  std::string text;
  for (const CompileMessage& message : output.messages) text += message.message + "\n";
  return text;
}

inline std::string ptx_of(const CompileOutput& output) { return {output.program.begin(), output.program.end()}; }

inline std::string find_ptxas() {
  for (const char* place : {"ptxas", "/usr/local/cuda/bin/ptxas"})
    if (std::system((std::string("command -v ") + place + " >/dev/null 2>&1").c_str()) == 0) return place;
  return {};
}

// Whether it assembles for an architecture, "sm_90a".
inline bool knows(const std::string& ptxas, const std::string& architecture) {
  FILE* pipe = popen((ptxas + " --help 2>&1").c_str(), "r");
  std::string said;
  char buffer[512];
  while (pipe && std::fgets(buffer, sizeof buffer, pipe)) said += buffer;
  if (pipe) pclose(pipe);
  return said.find("'" + architecture + "'") != std::string::npos;
}

// What ptxas says of a program that it does not take; empty: it does. `spills`: registers did not suffice.
inline std::string assemble(const std::string& ptxas, const CompileOutput& output, bool& spills) {
  const auto metadata = nlohmann::json::parse(output.metadata);
  const std::string architecture = metadata.at("target").get<std::string>().substr(5);
  const std::string path = testing::TempDir() + "teeny_" + std::to_string(getpid()) + ".ptx";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(output.program.data()), output.program.size());
  const std::string line = ptxas + " -arch=" + architecture + " --warn-on-spills " + path + " -o /dev/null 2>&1";
  std::string said;
  FILE* pipe = popen(line.c_str(), "r");
  if (!pipe) return "ptxas could not be started";
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) said += buffer;
  const int status = pclose(pipe);
  unlink(path.c_str());
  spills = said.find("spill") != std::string::npos;
  return status == 0 ? "" : said;
}

}  // namespace teeny::compiler
