// The text of mistakes: where, the line itself, what and what instead.
#include <algorithm>
#include <fstream>
#include <tuple>

#include "lang/recording.hpp"

namespace teeny::lang {

namespace {

// A line of a source file without leading blanks; empty where it cannot be read.
std::string source_line(const std::string& file, std::uint32_t number) {
  std::ifstream stream(file);
  std::string line;
  for (std::uint32_t i = 0; i < number; ++i)
    if (!std::getline(stream, line)) return {};
  const std::size_t start = line.find_first_not_of(" \t");
  return start == std::string::npos || line.size() > 1000 ? std::string() : line.substr(start);
}

}  // namespace

void throw_mistakes(const std::string& kernel, std::vector<Mistake> mistakes) {
  for (std::size_t i = 0; i < mistakes.size(); ++i) mistakes[i].order = i;
  std::sort(mistakes.begin(), mistakes.end(), [](const Mistake& a, const Mistake& b) {
    return std::tie(a.file, a.line, a.order) < std::tie(b.file, b.line, b.order);
  });
  std::string text =
      "kernel " + kernel + ": " + (mistakes.size() == 1 ? "1 mistake" : std::to_string(mistakes.size()) + " mistakes");
  for (const Mistake& mistake : mistakes) {
    text += "\n";
    if (mistake.line) text += mistake.file + ":" + std::to_string(mistake.line) + ": ";
    text += mistake.message;
    if (const std::string line = mistake.line ? source_line(mistake.file, mistake.line) : std::string(); !line.empty())
      text += "\n    " + line;
    if (!mistake.help.empty()) text += "\nhelp: " + mistake.help;
  }
  throw Error(ErrorCode::invalid_kernel, text, mistakes.front().file, mistakes.front().line);
}

}  // namespace teeny::lang
