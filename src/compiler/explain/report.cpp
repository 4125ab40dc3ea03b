#include "compiler/explain/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace teeny::compiler::explain {

namespace {

// Adds the loops' work, turn by turn; false where the number of turns is not known.
bool add_loops(Counts& counts, const std::vector<Loop>& loops, const std::vector<std::int64_t>& given, std::size_t& next) {
  for (const Loop& loop : loops) {
    const std::size_t number = next++;
    const std::int64_t turns = number < given.size() ? given[number] : loop.turns.value_or(-1);
    Counts turn = loop.turn;
    if (!add_loops(turn, loop.inner, given, next) || turns < 0) return false;
    counts.add(turn, turns);
  }
  return true;
}

nlohmann::json json_of(const std::map<std::pair<std::string, int>, Accesses>& list, bool shared) {
  auto result = nlohmann::json::array();
  for (const auto& [name, accesses] : list) {
    nlohmann::json one = {{"kind", name.first}, {"width", name.second}, {"count", accesses.count}, {"bytes", accesses.bytes},
                          {"unknown", accesses.unknown}};
    if (shared)
      one["turns"] = accesses.turns, one["least_turns"] = accesses.least;
    else
      one["sector_bytes"] = accesses.moved, one["warp_bytes"] = accesses.known_bytes;
    result.push_back(std::move(one));
  }
  return result;
}

nlohmann::json json_of(const Counts& counts, const Report& report) {
  const Floor floor = report.floor_of(counts);
  nlohmann::json result = {{"global", json_of(counts.global, false)}, {"copies", json_of(counts.copies, false)},
                           {"shared", json_of(counts.shared, true)},  {"matrix", counts.matrix},
                           {"order", counts.order},                   {"lanes", counts.lanes},
                           {"special", counts.special},               {"arithmetic", counts.arithmetic},
                           {"others", counts.others}};
  if (report.machine)
    result["floor"] = {{"matrix_cycles", floor.matrix}, {"special_cycles", floor.special}, {"f32_cycles", floor.f32},
                       {"shuffle_cycles", floor.shuffles}, {"shared_cycles", floor.shared}, {"memory_seconds", floor.memory}};
  return result;
}

nlohmann::json json_of(const std::vector<Loop>& loops, const Report& report) {
  auto result = nlohmann::json::array();
  for (const Loop& loop : loops) {
    nlohmann::json one = {{"place", loop.place}, {"turn", json_of(loop.turn, report)}, {"loops", json_of(loop.inner, report)}};
    if (loop.turns) one["turns"] = *loop.turns;
    for (const Ring& ring : report.rings)
      if (ring.place == loop.place) one["stages"] = ring.buffers;
    result.push_back(std::move(one));
  }
  return result;
}

}  // namespace

std::optional<Counts> Report::all() const {
  Counts counts = function.outside;
  std::size_t next = 0;
  if (!add_loops(counts, function.loops, turns, next)) return std::nullopt;
  return counts;
}

Floor Report::floor_of(const Counts& counts) const {
  Floor floor;
  if (!machine) return floor;
  const Multiprocessor& rates = machine->multiprocessor;
  const double threads = function.threads(), warps = function.warps;
  for (const auto& [unit, count] : counts.matrix) {
    const Product& product = products.at(unit);
    floor.matrix += double(count) * warps / product.warps * product.multiply_adds / products_in_a_cycle(rates, product.bits);
  }
  for (const auto& [name, count] : counts.special) floor.special += double(count) * threads / rates.special;
  for (const auto& [name, count] : counts.arithmetic)
    if (name == "f32") floor.f32 += double(count) * threads / rates.f32;
  for (const auto& [name, count] : counts.lanes) floor.shuffles += double(count) * threads / rates.shuffles;
  double bytes = 0;
  for (const auto& [name, accesses] : counts.shared) floor.shared += double(accesses.turns);
  for (const auto* list : {&counts.global, &counts.copies})
    for (const auto& [name, accesses] : *list) bytes += double(accesses.bytes);
  if (machine->peak) floor.memory = bytes / (machine->peak->memory / machine->peak->multiprocessors);
  return floor;
}

double Report::multiply_adds(const Counts& counts) const {
  double sum = 0;
  for (const auto& [unit, count] : counts.matrix)
    sum += double(count) * function.warps / products.at(unit).warps * products.at(unit).multiply_adds;
  return sum;
}

std::array<double, 2> Report::launch_bytes(const Counts& all) const {
  double least = 0, most = 0;
  for (const auto* list : {&all.global, &all.copies})
    for (const auto& [name, accesses] : *list)
      for (unsigned axes = 0; axes < accesses.by_axes.size(); ++axes) {
        double different = 1;
        for (unsigned axis = 0; axis < 3; ++axis)
          if (axes >> axis & 1) different *= double(grid[axis]);
        least += different * double(accesses.by_axes[axes]);
        most += programs() * double(accesses.by_axes[axes]);
      }
  return {least, most};
}

std::string to_json(const Report& report) {
  nlohmann::json result = {{"kernel", report.kernel},
                           {"target", report.target},
                           {"assumed", report.assumed},
                           {"warps", report.function.warps},
                           {"lanes", report.function.lanes},
                           {"threads", report.function.threads()},
                           {"shared_bytes", report.function.shared_bytes},
                           {"shared_limit", report.shared_limit},
                           {"outside", json_of(report.function.outside, report)},
                           {"loops", json_of(report.function.loops, report)}};
  auto parts = nlohmann::json::array();
  for (const SharedPart& part : report.shared) parts.push_back({{"what", part.what}, {"offset", part.offset}, {"bytes", part.bytes}});
  result["shared"] = std::move(parts);
  if (const auto all = report.all()) result["all"] = json_of(*all, report);
  result["assembler"] = report.assembled.how;
  if (report.assembled.known)
    result["registers"] = report.assembled.registers, result["spilled_stores"] = report.assembled.spilled_stores,
    result["spilled_loads"] = report.assembled.spilled_loads;
  if (report.machine) {
    const Occupancy held = occupancy(report.machine->multiprocessor, report.function.warps, report.function.lanes,
                                     report.assembled.registers, report.function.shared_bytes);
    result["occupancy"] = {{"programs", held.programs}, {"warps", held.warps}, {"limit", held.limit},
                           {"registers_counted", report.assembled.known}};
    if (report.machine->peak) result["peak"] = {{"device", report.machine->peak->name}, {"source", report.machine->peak->source}};
  }
  if (report.grid[0] > 0) {
    result["grid"] = report.grid;
    if (const auto all = report.all()) {
      const auto [least, most] = report.launch_bytes(*all);
      result["launch"] = {{"least_bytes", least}, {"most_bytes", most}, {"multiply_adds", report.multiply_adds(*all) * report.programs()}};
    }
  }
  return result.dump(2);
}

}  // namespace teeny::compiler::explain
