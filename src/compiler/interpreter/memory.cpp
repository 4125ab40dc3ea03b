// Memory of a launch and what is known of its accesses.
#include <algorithm>
#include <cstring>

#include "compiler/interpreter/machine.hpp"

namespace teeny::compiler::interpreter {
namespace {

// The later epoch of each program of two ascending clocks.
std::vector<std::pair<std::uint32_t, std::uint32_t>> join(
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& a,
    const std::vector<std::pair<std::uint32_t, std::uint32_t>>& b) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> joined;
  joined.reserve(a.size() + b.size());
  std::size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    if (j == b.size() || (i < a.size() && a[i].first < b[j].first))
      joined.push_back(a[i++]);
    else if (i == a.size() || b[j].first < a[i].first)
      joined.push_back(b[j++]);
    else
      joined.emplace_back(a[i].first, std::max(a[i].second, b[j].second)), ++i, ++j;
  }
  return joined;
}

}  // namespace

Memory::Memory(Machine& machine, const teeny_interpret_request& request)
    : machine_(machine), check_(request.check != 0), radius_(request.radius != 0), stamps_(1) {
  for (std::size_t i = 0; i < request.range_count; ++i) {
    const teeny_memory_range& range = request.ranges[i];
    if (range.bytes == 0) continue;
    ranges_.push_back({});
    ranges_.back().address = range.address;
    ranges_.back().bytes = range.bytes;
    ranges_.back().initialised = range.initialised;
  }
  std::sort(ranges_.begin(), ranges_.end(), [](auto& a, auto& b) { return a.address < b.address; });
}

MemoryRange* Memory::locate(const Lane& lane) {
  auto holds = [&](const MemoryRange& range) {
    return lane.address >= range.address && lane.address - range.address <= range.bytes &&
           range.bytes - (lane.address - range.address) >= lane.bytes;
  };
  if (last_range_ < ranges_.size() && holds(ranges_[last_range_])) return &ranges_[last_range_];
  auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), lane.address,
                       [](std::uint64_t address, const MemoryRange& range) { return address < range.address; });
  if (after != ranges_.begin() && holds(*(after - 1))) {
    last_range_ = static_cast<std::size_t>(after - 1 - ranges_.begin());
    return &ranges_[last_range_];
  }
  std::string nearest = "no buffer in the launch";
  std::uint64_t distance = ~std::uint64_t{0};
  for (const MemoryRange& range : ranges_) {
    const bool below = lane.address < range.address;
    const std::uint64_t end = range.address + range.bytes;
    const std::uint64_t away = below ? range.address - lane.address : lane.address >= end ? lane.address - end : 0;
    if (away >= distance) continue;
    distance = away;
    nearest = std::to_string(away) + " bytes " + (below ? "before the start" : "past the end") + " of a buffer of " +
              std::to_string(range.bytes) + " bytes";
  }
  machine_.report("out_of_bounds", lane.instruction.index,
                  "address outside of every buffer; got " + element_text(Kind::pointer, lane.address) + ", " + nearest +
                      ", expected " + std::to_string(lane.bytes) + " bytes inside one",
                  "mask the access with the bound of the index", static_cast<std::int64_t>(lane.position),
                  &machine_.shape_of(lane.instruction.operands[0]), lane.address);
  return nullptr;
}

void Memory::prepare_cells(MemoryRange& range, std::uint64_t offset, std::uint32_t bytes) {
  if (range.granule == 0) {
    range.granule = offset % bytes == 0 && range.bytes % bytes == 0 ? bytes : 1;
    range.cells.resize(range.bytes / range.granule);
  } else if (bytes % range.granule != 0 || offset % range.granule != 0) {
    std::vector<Cell> fine(range.bytes);
    for (std::uint64_t i = 0; i < range.bytes; ++i) fine[i] = range.cells[i / range.granule];
    range.cells = std::move(fine);
    range.granule = 1;
  }
}

void Memory::watch(MemoryRange& range, const Lane& lane, const void* bytes, bool atomic) {
  if (!check_) return;
  const std::uint64_t offset = lane.address - range.address;
  const bool write = bytes != nullptr;
  if ((!write || atomic) && range.initialised) {
    for (std::uint32_t i = 0; i < lane.bytes; ++i) {
      if (range.initialised[offset + i]) continue;
      machine_.report("uninitialised", lane.instruction.index,
                      "reads memory that nothing has written; got byte " + std::to_string(offset + i) +
                          " of a buffer of " + std::to_string(range.bytes) + " bytes, expected written memory",
                      "upload or fill the buffer first", static_cast<std::int64_t>(lane.position),
                      &machine_.shape_of(lane.instruction.operands[0]), lane.address);
      break;
    }
  }
  prepare_cells(range, offset, lane.bytes);
  const bool same =
      write && !atomic && std::memcmp(reinterpret_cast<const void*>(lane.address), bytes, lane.bytes) == 0;
  for (std::uint64_t cell = offset / range.granule; cell * range.granule < offset + lane.bytes; ++cell)
    touch(range, range.cells[cell], lane, write, atomic, same);
}

// Writing what is there already is seen by nobody, so it races with nobody.
void Memory::touch(MemoryRange&, Cell& cell, const Lane& lane, bool write, bool atomic, bool same_bytes) {
  if (!same_bytes) compare(cell.writer, true, lane, write, atomic);
  if (write && !same_bytes) compare(cell.reader, false, lane, write, atomic);
  const Access now = {static_cast<std::uint32_t>(stamps_.size() - 1), static_cast<std::uint32_t>(lane.position),
                      lane.instruction.index, atomic, false};
  if (write) {
    cell.writer = now;
  } else if (cell.reader.stamp == now.stamp && cell.reader.position != now.position) {
    cell.reader.many = true;
  } else if (cell.reader.stamp != now.stamp) {
    cell.reader = now;
  }
}

void Memory::compare(const Access& earlier, bool earlier_writes, const Lane& lane, bool write, bool atomic) {
  if (earlier.stamp == 0 || (earlier.atomic && atomic)) return;
  const Stamp& stamp = stamps_[earlier.stamp];
  const Source &there = machine_.source(earlier.instruction), &here = machine_.source(lane.instruction.index);
  const auto describe = [&](const Source& source, bool writes) {
    std::string text = writes ? "a write" : "a read";
    if (source.operation >= 0) return text + " by operation " + std::to_string(source.operation);
    return source.location.empty() ? text + " by " + source.name : text + " at " + source.location;
  };
  const std::vector<std::int64_t>& shape = machine_.shape_of(lane.instruction.operands[0]);
  if (stamp.program == program_) {
    if (earlier.stamp != stamps_.size() - 1) return;  // a barrier or an atomic stands between
    if (!earlier.many && earlier.position == lane.position && there.shape == here.shape) return;
    machine_.report("position_race", lane.instruction.index,
                    "two element positions of one program touch this address without an order; got " +
                        describe(there, earlier_writes) + " of position " + std::to_string(earlier.position) + " and " +
                        describe(here, write) + " of position " + std::to_string(lane.position) +
                        ", expected a barrier or an atomic between them",
                    "put tl::barrier() between them, or let each position touch its own elements",
                    static_cast<std::int64_t>(lane.position), &shape, lane.address);
  } else if (!ordered(stamp)) {
    const std::uint32_t* grid = machine_.grid();
    const std::uint32_t x = stamp.program % grid[0], y = stamp.program / grid[0] % grid[1],
                        z = stamp.program / grid[0] / grid[1];
    machine_.report("race", lane.instruction.index,
                    "two programs touch this address without an order; got " + describe(there, earlier_writes) +
                        " in program [" + std::to_string(x) + ", " + std::to_string(y) + ", " + std::to_string(z) +
                        "] and " + describe(here, write) + ", expected an atomic that orders them",
                    "give each program its own elements, or use atomics", static_cast<std::int64_t>(lane.position),
                    &shape, lane.address);
  }
}

bool Memory::ordered(const Stamp& earlier) const {
  if (!clock_) return false;
  auto found = std::lower_bound(clock_->begin(), clock_->end(), earlier.program,
                                [](const auto& entry, std::uint32_t program) { return entry.first < program; });
  return found != clock_->end() && found->first == earlier.program && found->second >= earlier.epoch;
}

std::uint64_t Memory::load(const Lane& lane, Kind kind) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, reinterpret_cast<const void*>(lane.address), lane.bytes);
  ++reads_;
  return kind == Kind::i1 ? bits != 0 : bits;
}

void Memory::store(MemoryRange& range, const Lane& lane, Kind, std::uint64_t bits, double radius) {
  const std::uint64_t offset = lane.address - range.address;
  void* target = reinterpret_cast<void*>(lane.address);
  if (std::memcmp(target, &bits, lane.bytes) != 0) ++changes_;
  std::memcpy(target, &bits, lane.bytes);
  if (range.initialised) std::memset(range.initialised + offset, 1, lane.bytes);
  if (!radius_) return;
  if (range.radius.empty()) range.radius.assign(range.bytes, -1.0);
  range.radius[offset] = radius;
  for (std::uint32_t i = 1; i < lane.bytes; ++i) range.radius[offset + i] = -1.0;
}

double Memory::radius_at(const MemoryRange& range, std::uint64_t address) const {
  return range.radius.empty() ? 0.0 : std::max(0.0, range.radius[address - range.address]);
}

void Memory::collect_radii(Result& result) const {
  for (const MemoryRange& range : ranges_) {
    for (std::uint64_t i = 0; i < range.radius.size(); ++i) {
      if (range.radius[i] < 0) continue;
      result.radius_addresses.push_back(range.address + i);
      result.radii.push_back(range.radius[i]);
    }
  }
}

// ---- order

void Memory::begin_program(std::uint32_t linear) {
  program_ = linear;
  epoch_ = 1;
  clock_.reset();
  last_joined_.reset();
  if (check_) push_stamp();
}

void Memory::push_stamp() { stamps_.push_back({program_, epoch_}); }

void Memory::new_phase() {
  if (check_) push_stamp();
}

void Memory::acquire(std::uint64_t address) {
  if (!check_) return;
  auto found = released_.find(address);
  if (found == released_.end() || found->second == last_joined_ || found->second == clock_) return;
  last_joined_ = found->second;
  clock_ = clock_ ? std::make_shared<Clock>(join(*clock_, *found->second)) : found->second;
}

void Memory::release(std::uint64_t address) {
  if (!check_) return;
  if (!publishing_) {
    auto published = std::make_shared<Clock>(clock_ ? *clock_ : Clock());
    auto place = std::lower_bound(published->begin(), published->end(), std::make_pair(program_, std::uint32_t{0}));
    if (place != published->end() && place->first == program_)
      place->second = epoch_;
    else
      published->insert(place, {program_, epoch_});
    clock_ = publishing_ = std::move(published);
  }
  // A read-modify-write continues the release sequence that it finds: whoever acquires it later is ordered after both.
  std::shared_ptr<const Clock>& released = released_[address];
  released = !released || released == last_joined_ || released == publishing_
                 ? publishing_
                 : std::make_shared<Clock>(join(*released, *publishing_));
}

void Memory::end_release() {
  if (!publishing_) return;
  publishing_.reset();
  ++epoch_;
  push_stamp();
}

}  // namespace teeny::compiler::interpreter
