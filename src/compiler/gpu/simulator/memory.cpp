// Memory and its watch: bounds, alignment, races, bytes that were never written, copies on their way.
#include <algorithm>
#include <cstring>
#include <set>

#include "compiler/gpu/simulator/machine.hpp"

namespace teeny::compiler::simulator {

namespace {

std::string bytes_text(std::int64_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

}  // namespace

Word Machine::accessing(Warp& warp, const Instruction& instruction) {
  if (instruction.mask == no_slot) return warp.mask;
  const Word* masks = values(warp, instruction.mask);
  Word lanes = 0;
  for_each_lane(warp.mask, [&](int lane) { lanes |= (masks[lane] & 1) << lane; });
  return lanes;
}

// ---- who touched a byte

void Machine::race(const Access& access, bool write, std::uint32_t thread, std::uint32_t source, bool earlier_write,
                   Word address) {
  if (!first(Fault::race, access.instruction)) return;
  const bool global = address != 0;
  std::string help = lowering_at_fault;
  if (global)
    help = access.instruction.source == source
               ? "let one element of the block write it, or use an atomic operation"
               : "the accesses of one program to the same memory come in order unless their addresses are hidden from "
                 "the compiler: report it with the kernel";
  report(Fault::race, access.instruction,
         std::string("lanes must be ordered where they touch the same bytes of ") +
             (global ? "global" : "shared") + " memory; got a " + (write ? "write" : "read") + " by " +
             lane_name(access.thread) + " and a " + (earlier_write ? "write" : "read") + " by " + lane_name(thread) +
             " (" + source_name(source) + "), expected a barrier between them",
         help, address);
}

void Machine::touch(Cell& cell, std::uint32_t phase, const Access& access, bool write, bool same_bits, Word address) {
  const std::uint32_t source = access.instruction.source;
  if (cell.written == phase && cell.writer != access.thread && !(access.atomic && cell.atomic_write) &&
      !(write && same_bits && cell.write_source == source))
    race(access, write, cell.writer, cell.write_source, true, address);
  if (!write) {
    if (cell.read != phase) {
      cell.read = phase;
      cell.reader = static_cast<std::uint16_t>(access.thread);
      cell.read_source = source;
      cell.many_readers = false;
      cell.atomic_read = access.atomic;
    } else {
      cell.many_readers |= cell.reader != access.thread;
      cell.atomic_read &= access.atomic;
    }
    return;
  }
  if (cell.read == phase && (cell.many_readers || cell.reader != access.thread) &&
      !(access.atomic && cell.atomic_read))
    race(access, true, cell.reader, cell.read_source, false, address);
  cell.written = phase;
  cell.writer = static_cast<std::uint16_t>(access.thread);
  cell.write_source = source;
  cell.atomic_write = access.atomic;
}

Cell& Machine::cell(Word address) {
  const Word number = address / Page::bytes;
  if (number != last_page_number_) {
    std::unique_ptr<Page>& page = pages_[number];
    if (!page) page = std::make_unique<Page>();
    last_page_ = page.get();
    last_page_number_ = number;
  }
  return last_page_->cells[address % Page::bytes];
}

// ---- global memory

bool Machine::reach(const Access& access, Word address, std::int64_t bytes, std::int64_t alignment) {
  if (address % Word(alignment) != 0) {
    if (!first(Fault::misaligned, access.instruction)) return false;
    report(Fault::misaligned, access.instruction,
           "an address must be a multiple of " + bytes_text(alignment) + "; got " + std::to_string(address % Word(alignment)) +
               " more in " + lane_name(access.thread),
           "promise only what holds of pointers and strides", address);
    return false;
  }
  const auto holds = [&](const teeny_memory_range& range) {
    return address >= range.address && address - range.address + Word(bytes) <= range.bytes;
  };
  if (last_range_ < launch_.ranges.size() && holds(launch_.ranges[last_range_])) return true;
  auto after = std::upper_bound(launch_.ranges.begin(), launch_.ranges.end(), address,
                                [](Word at, const teeny_memory_range& range) { return at < range.address; });
  if (after != launch_.ranges.begin() && holds(*std::prev(after))) {
    last_range_ = std::size_t(std::prev(after) - launch_.ranges.begin());
    return true;
  }
  if (!first(Fault::out_of_bounds, access.instruction)) return false;
  report(Fault::out_of_bounds, access.instruction,
         "an access must lie inside a buffer; got " + bytes_text(bytes) + " by " + lane_name(access.thread) + " outside of all",
         "mask the access, or pass a larger buffer", address);
  return false;
}

void Machine::read_global(const Access& access, Word address, std::uint8_t* data, std::int64_t bytes) {
  note(Event::What::read, false, access, address, bytes);
  for (std::int64_t i = 0; i < bytes; ++i)
    touch(cell(address + Word(i)), global_phase_, access, false, false, address);
  std::memcpy(data, reinterpret_cast<const void*>(address), std::size_t(bytes));
}

void Machine::write_global(const Access& access, Word address, const std::uint8_t* data, std::int64_t bytes) {
  note(Event::What::write, false, access, address, bytes);
  auto* to = reinterpret_cast<std::uint8_t*>(address);
  for (std::int64_t i = 0; i < bytes; ++i)
    touch(cell(address + Word(i)), global_phase_, access, true, to[i] == data[i], address);
  std::memcpy(to, data, std::size_t(bytes));
}

// ---- shared memory

std::int64_t Machine::place(const Access& access, std::int64_t index, std::int64_t count, std::int64_t element_bytes) {
  const Instruction& instruction = access.instruction;
  const std::int64_t at = instruction.array.offset + index * element_bytes;
  if (index < 0 || index + count > instruction.array.elements || at < 0 ||
      at + count * element_bytes > code_.shared_bytes) {
    if (!first(Fault::out_of_bounds, instruction)) return -1;
    report(Fault::out_of_bounds, instruction,
           "an index must lie inside its array of shared memory; got " + std::to_string(index) + " by " +
               lane_name(access.thread) + ", expected " + std::to_string(count) + " of " +
               std::to_string(instruction.array.elements) + " elements",
           lowering_at_fault);
    return -1;
  }
  if (index % count != 0 || at % std::min<std::int64_t>(count * element_bytes, 16) != 0) {
    if (!first(Fault::misaligned, instruction)) return -1;
    report(Fault::misaligned, instruction,
           "an access of " + std::to_string(count) + " elements begins at a multiple of them; got index " +
               std::to_string(index) + " at byte " + std::to_string(at) + " by " + lane_name(access.thread),
           lowering_at_fault);
    return -1;
  }
  return at;
}

// Whether a copy is on its way to any of the bytes, after a finding.
bool Machine::flying(const Access& access, std::int64_t at, std::int64_t bytes, bool write) {
  for (std::int64_t i = at; i < at + bytes; ++i) {
    const Instruction* copy = flying_[std::size_t(i)];
    if (!copy || (copy == &access.instruction && write)) continue;  // copies of one element
    const Fault fault = write ? Fault::race : Fault::unwaited_copy;
    if (!first(fault, access.instruction)) return true;
    report(fault, access.instruction,
           std::string("bytes that a copy_async writes may not be touched before its copy_wait; got a ") +
               (write ? "write" : "read") + " by " + lane_name(access.thread) + " while " + source_name(copy->source) +
               " was on its way",
           lowering_at_fault);
    return true;
  }
  return false;
}

void Machine::read_shared(const Access& access, std::int64_t at, std::uint8_t* data, std::int64_t bytes) {
  note(Event::What::read, true, access, Word(at), bytes);
  flying(access, at, bytes, false);
  for (std::int64_t i = at; i < at + bytes; ++i) {
    if (!defined_[std::size_t(i)] && !flying_[std::size_t(i)] && first(Fault::uninitialised, access.instruction))
      report(Fault::uninitialised, access.instruction,
             "bytes of shared memory must be written before they are read; got a read by " + lane_name(access.thread) +
                 " of byte " + std::to_string(i),
             lowering_at_fault);
    touch(cells_[std::size_t(i)], shared_phase_, access, false, false, 0);
  }
  std::memcpy(data, shared_.data() + at, std::size_t(bytes));
}

void Machine::write_shared(const Access& access, std::int64_t at, const std::uint8_t* data, std::int64_t bytes) {
  note(Event::What::write, true, access, Word(at), bytes);
  flying(access, at, bytes, true);
  for (std::int64_t i = 0; i < bytes; ++i) {
    const auto byte = std::size_t(at + i);
    touch(cells_[byte], shared_phase_, access, true, shared_[byte] == data[i], 0);
    defined_[byte] = 1;
    if (!unseen_.empty()) unseen_[byte] = 2;
  }
  std::memcpy(shared_.data() + at, data, std::size_t(bytes));
}

// ---- copies

// The destination counts as written from now on: the copy may land at once.
void Machine::begin_copy(Warp& warp, Copy copy) {
  const Access access{*copy.instruction, thread(warp, copy.lane)};
  note(Event::What::write, true, access, Word(copy.to), copy.bytes);
  flying(access, copy.to, copy.bytes, true);
  for (std::int64_t i = copy.to; i < copy.to + copy.bytes; ++i) {
    touch(cells_[std::size_t(i)], shared_phase_, access, true, true, 0);
    flying_[std::size_t(i)] = copy.instruction;
  }
  if (copy.reads) read_global(access, copy.from, copy.found.data(), copy.bytes);
  warp.copies.push_back(copy);
}

void Machine::land_copies(Warp& warp, const Instruction& wait) {
  const auto landed = [&](int lane) { return std::int64_t(warp.groups[std::size_t(lane)]) - wait.number; };
  const auto lands = [&](const Copy& copy) {
    return (warp.mask >> copy.lane & 1) != 0 && copy.group < landed(copy.lane);
  };
  for_each_lane(warp.mask, [&](int lane) {
    note(Event::What::wait, true, {wait, thread(warp, lane)}, 0, 0, landed(lane));
  });
  for (const Copy& copy : warp.copies) {
    if (!lands(copy)) continue;
    const Access access{*copy.instruction, thread(warp, copy.lane)};
    std::array<std::uint8_t, 16> data{};
    if (copy.reads) {
      read_global(access, copy.from, data.data(), copy.bytes);
      if (data != copy.found && first(Fault::race, *copy.instruction))
        report(Fault::race, *copy.instruction,
               "bytes that a copy_async reads may not change before its copy_wait; got other ones for " +
                   lane_name(access.thread),
               "the accesses of one program to the same memory come in order: report it with the kernel", copy.from);
    }
    for (std::int64_t i = copy.to; i < copy.to + copy.bytes; ++i) flying_[std::size_t(i)] = nullptr;
    note(Event::What::landing, true, access, Word(copy.to), copy.bytes, copy.group);
    write_shared(access, copy.to, data.data(), copy.bytes);
  }
  std::erase_if(warp.copies, lands);
}

// ---- banks

// Lanes are served in groups that could fill all banks once; of a group, one word of each bank in a turn.
void Machine::count_banks(const Instruction& instruction, const std::int64_t* places, int count, std::int64_t bytes) {
  if (!options_.count_banks) return;
  const std::int64_t line = std::int64_t(capability_.banks) * capability_.bank_bytes;
  const int together = static_cast<int>(std::max<std::int64_t>(1, line / bytes));
  SharedAccesses& entry = banks_[instruction.source];
  ++entry.accesses;
  for (int first = 0; first < count; first += together) {
    std::set<std::int64_t> words;
    for (int lane = first; lane < std::min(count, first + together); ++lane)
      for (std::int64_t byte = 0; places[lane] >= 0 && byte < bytes; byte += capability_.bank_bytes)
        words.insert((places[lane] + byte) / capability_.bank_bytes);
    std::vector<std::uint64_t> of_bank(std::size_t(capability_.banks));
    for (std::int64_t word : words) ++of_bank[std::size_t(word % capability_.banks)];
    entry.turns += *std::max_element(of_bank.begin(), of_bank.end());
    entry.least += (words.size() + of_bank.size() - 1) / of_bank.size();
  }
}

}  // namespace teeny::compiler::simulator
