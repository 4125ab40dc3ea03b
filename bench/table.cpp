#include "bench/table.hpp"

#include <algorithm>
#include <cstdio>

namespace teeny::bench {

namespace {

// Columns on a terminal: a UTF-8 continuation byte takes none.
std::size_t width_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string format(const char* pattern, int digits, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, digits, value);
  return text;
}

}  // namespace

Table::Table(std::vector<std::string> header) : rows_{std::move(header)} {}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width_of(row[i]));
    }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i)
      line += rows_[r][i] + std::string(widths[i] - width_of(rows_[r][i]) + 2, ' ');
    while (!line.empty() && line.back() == ' ') line.pop_back();
    text += line + "\n";
    if (r == 0) {
      std::size_t total = 0;
      for (std::size_t w : widths) total += w + 2;
      text += std::string(total - 2, '-') + "\n";
    }
  }
  return text;
}

std::string fixed(double value, int digits) { return format("%.*f", digits, value); }
std::string scientific(double value) { return value == 0 ? "0" : format("%.*e", 1, value); }

std::string duration(double seconds) {
  if (seconds < 1e-3) return fixed(seconds * 1e6, 2) + " us";
  if (seconds < 1) return fixed(seconds * 1e3, 2) + " ms";
  return fixed(seconds, 2) + " s";
}

}  // namespace teeny::bench
