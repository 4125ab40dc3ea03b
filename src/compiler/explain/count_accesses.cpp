#include "compiler/explain/count_accesses.hpp"

#include <algorithm>
#include <set>

namespace teeny::compiler::explain {

namespace {

constexpr std::int64_t sector_bytes = 32;  // what caches of GPUs move at least

// A lane's address: what it has of each symbol that lanes differ in, and the constant.
std::vector<std::int64_t> place_of(const LaneValue& address, std::size_t lane) {
  std::vector<std::int64_t> place;
  for (const auto& [symbol, coefficient] : address.terms)
    if (!coefficient.shared()) place.push_back(coefficient[lane]);
  place.push_back(address.constant[lane]);
  return place;
}

std::int64_t floor_division(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

}  // namespace

std::int64_t bank_turns(const gpu::Capability& capability, const std::vector<std::int64_t>& places, std::int64_t bytes,
                        std::int64_t& least) {
  const std::int64_t line = std::int64_t(capability.banks) * capability.bank_bytes;
  const auto together = std::size_t(std::max<std::int64_t>(1, line / bytes));
  std::int64_t turns = 0;
  least = 0;
  for (std::size_t first = 0; first < places.size(); first += together) {
    std::set<std::int64_t> words;
    for (std::size_t lane = first; lane < std::min(places.size(), first + together); ++lane)
      for (std::int64_t byte = 0; byte < bytes; byte += capability.bank_bytes)
        words.insert(floor_division(places[lane] + byte, capability.bank_bytes));
    std::vector<std::int64_t> of_bank(std::size_t(capability.banks), 0);
    for (std::int64_t word : words) ++of_bank[std::size_t(word - floor_division(word, capability.banks) * capability.banks)];
    turns += *std::max_element(of_bank.begin(), of_bank.end());
    least += (std::int64_t(words.size()) + capability.banks - 1) / capability.banks;
  }
  return turns;
}

void AccessCounter::global(Accesses& accesses, mlir::Value address, std::int64_t bytes) {
  ++accesses.count;
  const auto value = values_.of(address);
  if (!value) {
    ++accesses.unknown;
    accesses.bytes += bytes * values_.threads();
    accesses.by_axes.back() += bytes * values_.threads();
    return;
  }
  std::set<std::vector<std::int64_t>> all;
  for (int warp = 0; warp < values_.threads() / values_.lanes(); ++warp) {
    std::set<std::vector<std::int64_t>> places, sectors;
    for (int lane = 0; lane < values_.lanes(); ++lane) {
      auto place = place_of(*value, std::size_t(warp * values_.lanes() + lane));
      places.insert(place);
      const std::int64_t first = place.back();
      for (std::int64_t byte = 0; byte < bytes; byte = (floor_division(first + byte, sector_bytes) + 1) * sector_bytes - first) {
        place.back() = floor_division(first + byte, sector_bytes);
        sectors.insert(place);
      }
    }
    accesses.moved += std::int64_t(sectors.size()) * sector_bytes;
    accesses.known_bytes += std::int64_t(places.size()) * bytes;
    all.merge(places);
  }
  accesses.bytes += std::int64_t(all.size()) * bytes;
  accesses.by_axes[values_.axes(*value)] += std::int64_t(all.size()) * bytes;
}

void AccessCounter::shared(Accesses& accesses, mlir::Value index, std::int64_t offset, std::int64_t element_bytes,
                           std::int64_t bytes, int last) {
  ++accesses.count;
  const int reached = last == 0 ? values_.lanes() : std::min(last, values_.lanes());
  const int warps = values_.threads() / values_.lanes();
  accesses.bytes += bytes * reached * warps;
  const auto value = values_.of(index);
  // A number that all lanes add moves them all by as many banks.
  if (!value || std::any_of(value->terms.begin(), value->terms.end(), [](const auto& term) { return !term.second.shared(); })) {
    ++accesses.unknown;
    return;
  }
  for (int warp = 0; warp < warps; ++warp) {
    std::vector<std::int64_t> places;
    for (int lane = 0; lane < reached; ++lane)
      places.push_back((value->constant[std::size_t(warp * values_.lanes() + lane)] + offset) * element_bytes);
    std::int64_t least = 0;
    accesses.turns += bank_turns(capability_, places, bytes, least);
    accesses.least += least;
  }
}

}  // namespace teeny::compiler::explain
