#include "runtime/gpu_messages.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "runtime/messages.hpp"

namespace teeny::runtime {

namespace {

struct Told {
  teeny_gpu_message message;
  std::uint64_t execution = 0;  // how many times before its element has been told
};

// Lanes claim places in any order, but each in its own: the k-th message of an element is of the operation's k-th run.
std::vector<Told> in_order(const std::vector<teeny_gpu_message>& messages) {
  using Place = std::tuple<std::uint64_t, std::uint32_t, std::uint16_t, std::uint64_t>;
  std::map<Place, std::uint64_t> seen;
  std::vector<Told> told;
  told.reserve(messages.size());
  for (const teeny_gpu_message& m : messages)
    told.push_back({m, seen[Place{m.program, m.operation, m.operand, m.element}]++});
  std::sort(told.begin(), told.end(), [](const Told& a, const Told& b) {
    const auto key = [](const Told& t) {
      return std::tuple(t.message.program, t.execution, t.message.operation, t.message.operand, t.message.element);
    };
    return key(a) < key(b);
  });
  return told;
}

template <class List, class Matches>
const typename List::value_type* find(const List& list, Matches matches) {
  const auto found = std::find_if(list.begin(), list.end(), matches);
  return found == list.end() ? nullptr : &*found;
}

}  // namespace

void tell(const trace::Trace& trace, const std::array<std::uint32_t, 3>& grid, const MessageMeanings& meanings,
          std::vector<teeny_gpu_message> messages, std::uint64_t told) {
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::uint64_t> last_element;
  for (const teeny_gpu_message& m : messages) {
    std::uint64_t& last = last_element[{m.operation, m.operand}];
    last = std::max(last, m.element);
  }
  std::string lines;
  std::optional<Error> failure;
  for (const auto& [m, execution] : in_order(messages)) {
    const std::string program = program_text(m.program, grid);
    if (m.kind == TEENY_GPU_ASSERT) {
      const auto* check = find(meanings.asserts, [&](const auto& each) { return each.operation == m.operation; });
      if (!failure) failure = assertion_error(trace, m.operation, program, m.element, check ? check->message : "");
      continue;
    }
    const auto* print = find(meanings.prints, [&](const auto& each) {
      return each.operation == m.operation && each.operand == m.operand;
    });
    const bool scalar = last_element[{m.operation, m.operand}] == 0;
    lines += printed_line(trace, m.operation, program, scalar ? std::nullopt : std::optional(m.element),
                          print ? print->prefix : "", print ? print->dtype : DType::u64, &m.value);
  }
  if (told > messages.size())
    lines += located(trace, -1, std::to_string(told - messages.size()) + " further messages had no place") + "\n";
  if (!lines.empty()) print_line(lines);
  if (failure) throw *failure;
}

}  // namespace teeny::runtime
