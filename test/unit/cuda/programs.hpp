// Asking ptxas whether it takes what is compiled for NVIDIA's architectures.
#pragma once

#include <cstdlib>
#include <string>

#include <nlohmann/json.hpp>

#include <teeny/tl.hpp>

#include "compiled_kernels.hpp"

namespace teeny::compiler {

inline std::string ptx_of(const CompileOutput& output) { return {output.program.begin(), output.program.end()}; }

inline std::string find_ptxas() {
  for (const char* place : {"ptxas", "/usr/local/cuda/bin/ptxas"})
    if (std::system((std::string("command -v ") + place + " >/dev/null 2>&1").c_str()) == 0) return place;
  return {};
}

// Whether it assembles for an architecture, "sm_90a".
inline bool knows(const std::string& ptxas, const std::string& architecture) {
  return said_by(ptxas + " --help").text.find("'" + architecture + "'") != std::string::npos;
}

// What ptxas says of a program that it does not take; empty: it does. `spills`: registers did not suffice.
inline std::string assemble(const std::string& ptxas, const CompileOutput& output, bool& spills) {
  const auto metadata = nlohmann::json::parse(output.metadata);
  const std::string architecture = metadata.at("target").get<std::string>().substr(5);
  const Said said = said_of(output, ".ptx", ptxas + " -arch=" + architecture + " --warn-on-spills ", " -o /dev/null");
  if (!said.started) return "ptxas could not be started";
  spills = said.text.find("spill") != std::string::npos;
  return said.ok ? "" : said.text;
}

}  // namespace teeny::compiler
