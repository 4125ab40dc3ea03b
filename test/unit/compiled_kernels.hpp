// Compiling recorded kernels for a target, and asking a tool of the system what it says of a program.
#pragma once

#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include <teeny/kernel.hpp>

#include "compiler/pipeline/compile.hpp"
#include "kernels/suite.hpp"

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

struct Counts {
  int compiled = 0, refused = 0;
};

// Every kernel of the suite for one target, with `facts` as for buffers and strides that are multiples of 16: work(name,
// recording, output) for each program; what is refused must say what it got.
template <class Work>
Counts for_each_program(const std::string& target, bool facts, Work work) {
  Counts counts;
  kernels::for_each_recording([&](const char* name, const auto& recording) {
    CompileOutput output = compile_for(*recording, target);
    if (output.ok && facts) output = compile_for(*recording, target, output.relevant_facts);
    if (!output.ok) {
      ++counts.refused;
      EXPECT_NE(errors_of(output).find("got "), std::string::npos) << name << ": " << errors_of(output);
      std::printf("%s: %s refused: %s\n", target.c_str(), name, errors_of(output).substr(0, 160).c_str());
      return;
    }
    ++counts.compiled;
    work(name, *recording, output);
  });
  return counts;
}

struct Said {
  bool started = false, ok = false;
  std::string text;
};

// What a command prints.
inline Said said_by(const std::string& command) {
  Said said;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return said;
  said.started = true;
  char buffer[512];
  while (std::fgets(buffer, sizeof buffer, pipe)) said.text += buffer;
  said.ok = pclose(pipe) == 0;
  return said;
}

// What a command prints of the program in a file, whose path is put between the command's two parts.
inline Said said_of(const CompileOutput& output, const std::string& suffix, const std::string& before, const std::string& after) {
  const std::string path = testing::TempDir() + "teeny_" + std::to_string(getpid()) + suffix;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(output.program.data()), output.program.size());
  Said said = said_by(before + path + after);
  unlink(path.c_str());
  return said;
}

}  // namespace teeny::compiler
