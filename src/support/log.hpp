// What teeny tells about itself on standard error: TEENY_LOG is a list of topics ("compile", "cache").
#pragma once

#include <string>
#include <string_view>

namespace teeny::support {

// True where the variable TEENY_LOG names the topic, or "all".
bool log_enabled(std::string_view topic);
// One line, "teeny: …", whole even when several threads write. Warnings are written always, the rest by topic.
void log_line(const std::string& line);
void warn(const std::string& line);

// An environment variable; the empty string where it is unset.
std::string environment(const char* name);
// True where the comma-separated list has the word.
bool list_has(std::string_view list, std::string_view word);

}  // namespace teeny::support
