// Rows of text in aligned columns.
#pragma once

#include <string>
#include <vector>

namespace teeny::bench {

class Table {
 public:
  explicit Table(std::vector<std::string> header);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

 private:
  std::vector<std::vector<std::string>> rows_;  // the header first
};

// `value` with `digits` after the point.
std::string fixed(double value, int digits);
// 1.2e-07 and the like; "0" for zero.
std::string scientific(double value);
// "12.3 us", "4.56 ms", "1.20 s".
std::string duration(double seconds);

}  // namespace teeny::bench
