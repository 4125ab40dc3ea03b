#include "support/log.hpp"

#include <cstdio>
#include <cstdlib>

namespace teeny::support {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

bool list_has(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    if (list.substr(0, comma) == word) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

bool log_enabled(std::string_view topic) {
  const std::string topics = environment("TEENY_LOG");
  return list_has(topics, topic) || list_has(topics, "all");
}

void log_line(const std::string& line) {
  const std::string whole = "teeny: " + line + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

void warn(const std::string& line) { log_line("warning: " + line); }

}  // namespace teeny::support
