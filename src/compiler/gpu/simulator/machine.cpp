// Programs, warps and barriers; findings; the entry.
#include "compiler/gpu/simulator/machine.hpp"

#include <algorithm>

#include "compiler/dialect/thread/thread.hpp"

namespace teeny::compiler::simulator {

namespace {

constexpr std::size_t most_pages = 1 << 14;

const char* name_of(Fault fault) {
  constexpr const char* names[] = {"race",          "divergence", "unwaited_copy", "uninitialised",
                                   "out_of_bounds", "misaligned", "endless_loop",  "assert"};
  return names[static_cast<int>(fault)];
}

}  // namespace

Machine::Machine(const Code& code, const gpu::Capability& capability, const Launch& launch, const Options& options,
                 Result& result)
    : code_(code), capability_(capability), launch_(launch), options_(options), result_(result) {
  warps_.resize(std::size_t(code.warps));
  for (std::size_t number = 0; number < warps_.size(); ++number) {
    warps_[number].number = static_cast<int>(number);
    warps_[number].values.resize(code.kinds.size() * std::size_t(code.lanes));
    for (const Initial& initial : code.initial) fill(warps_[number], initial);
  }
  const auto bytes = std::size_t(code.shared_bytes);
  shared_.resize(bytes);
  cells_.resize(bytes);
  if (options.count_banks) banks_.resize(code.sources.size());
  random_ = options.seed;
  blamed_.resize(code.sources.size());
}

std::uint64_t Machine::random() {  // SplitMix64
  std::uint64_t x = random_ += 0x9e3779b97f4a7c15u;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 27) * 0x94d049bb133111ebu;
  return x ^ x >> 31;
}

void Machine::fill(Warp& warp, const Initial& initial) {
  Word* to = values(warp, initial.slot);
  const auto number = [&]() -> Word {
    switch (initial.what) {
      case Initial::What::warp: return Word(warp.number);
      case Initial::What::program: return program_[initial.value];
      case Initial::What::programs: return launch_.grid[initial.value];
      case Initial::What::argument: {
        const Kind kind = code_.kinds[initial.slot];
        const Word bits = launch_.arguments[initial.value];
        return kind == Kind::i1 ? Word((bits & 0xff) != 0) : bits & interpreter::low_mask(interpreter::width_of(kind));
      }
      default: return initial.value;
    }
  };
  for (int lane = 0; lane < code_.lanes; ++lane)
    to[lane] = initial.what == Initial::What::lane ? Word(lane) : number();
}

void Machine::run_grid() {
  const std::uint64_t count = std::uint64_t{launch_.grid[0]} * launch_.grid[1] * launch_.grid[2];
  for (std::uint64_t linear = 0; linear < count && !full_; ++linear) {
    start_program(linear);
    run_program();
  }
  for (std::size_t source = 0; source < banks_.size(); ++source) {
    if (banks_[source].accesses == 0) continue;
    const interpreter::Source& where = code_.sources[source];
    banks_[source].operation = where.operation;
    banks_[source].location = where.location;
    banks_[source].name = where.name;
    result_.shared.push_back(banks_[source]);
  }
}

void Machine::start_program(std::uint64_t linear) {
  program_ = {static_cast<std::uint32_t>(linear % launch_.grid[0]),
              static_cast<std::uint32_t>(linear / launch_.grid[0] % launch_.grid[1]),
              static_cast<std::uint32_t>(linear / launch_.grid[0] / launch_.grid[1])};
  stopped_ = false;
  rounds_ = 0;
  ++global_phase_, ++shared_phase_;
  defined_.assign(shared_.size(), 0);
  flying_.assign(shared_.size(), nullptr);
  unseen_.assign(code_.placed.empty() ? 0 : shared_.size(), 0);
  if (pages_.size() > most_pages) {
    pages_.clear();
    last_page_number_ = ~Word(0);
  }
  for (Warp& warp : warps_) {
    warp.next = 0;
    warp.mask = all_lanes();
    warp.masks.clear();
    warp.barrier = nullptr;
    warp.done = false;
    warp.copies.clear();
    warp.readings.clear();
    warp.products = 0;
    warp.groups.assign(std::size_t(code_.lanes), 0);
    for (const Initial& initial : code_.initial)
      if (initial.what == Initial::What::program) fill(warp, initial);
  }
}

void Machine::run_program() {
  while (!stopped_) {
    Warp* warp = choose_warp();
    if (warp)
      run_warp(*warp, options_.seed == 0 ? ~std::uint64_t{0} : 1 + random() % 64);
    else if (std::all_of(warps_.begin(), warps_.end(), [](const Warp& one) { return one.done; }))
      return;
    else
      pass_barrier();
  }
}

// Null: all are done or wait.
Warp* Machine::choose_warp() {
  const std::size_t first = options_.seed == 0 ? 0 : random() % warps_.size();
  for (std::size_t i = 0; i < warps_.size(); ++i) {
    Warp& warp = warps_[(first + i) % warps_.size()];
    if (!warp.done && !warp.barrier) return &warp;
  }
  return nullptr;
}

void Machine::run_warp(Warp& warp, std::uint64_t budget) {
  const Instruction* instructions = code_.instructions.data();
  for (; budget > 0 && !stopped_ && !warp.done && !warp.barrier; --budget) {
    const Instruction& instruction = instructions[warp.next++];
    instruction.run(*this, warp, instruction);
  }
}

void Machine::barriers_disagree(const Warp& waiting, const Warp& other) {
  const std::string elsewhere = other.done ? "at the end" : "at " + source_name(other.barrier->source);
  stop();
  if (!first(Fault::divergence, *waiting.barrier)) return;
  report(Fault::divergence, *waiting.barrier,
         "all warps of a program come to one barrier; got warp " + std::to_string(waiting.number) + " here and warp " +
             std::to_string(other.number) + " " + elsewhere,
         "let all lanes take the same way to a barrier");
}

void Machine::pass_barrier() {
  const auto waiting = std::find_if(warps_.begin(), warps_.end(), [](const Warp& warp) { return warp.barrier; });
  for (const Warp& warp : warps_)
    if (warp.barrier != waiting->barrier) return barriers_disagree(*waiting, warp);
  const auto memory = static_cast<std::uint32_t>(waiting->barrier->number);
  if (memory & std::uint32_t(thread::BarrierMemory::SHARED)) {
    ++shared_phase_;
    for (std::uint8_t& unseen : unseen_)
      if (unseen == 1) unseen = 0;
  }
  if (memory & std::uint32_t(thread::BarrierMemory::GLOBAL)) ++global_phase_;
  if (options_.log) note({.what = Event::What::barrier, .memory = static_cast<std::uint8_t>(memory)}, *waiting->barrier);
  for (Warp& warp : warps_) warp.barrier = nullptr;
}

void Machine::note(Event event, const Instruction& instruction) {
  event.operation = code_.operations[instruction.source];
  options_.log->push_back(event);
}

bool Machine::whole(Warp& warp, const Instruction& instruction) {
  if (warp.mask == all_lanes()) return true;
  stop();
  if (!first(Fault::divergence, instruction)) return false;
  const Word missing = all_lanes() & ~warp.mask;
  report(Fault::divergence, instruction,
         "all lanes of a warp come here together; got " + std::to_string(std::popcount(warp.mask)) + " of " +
             std::to_string(lanes()) + ", without " + lane_name(thread(warp, std::countr_zero(missing))),
         "let all lanes take the same way to what they do together");
  return false;
}

bool Machine::repeat(const Instruction& instruction) {
  // A loop that goes on longer waits for what will not come, or its bound is wrong.
  if (++rounds_ <= options_.max_rounds) return true;
  stop();
  if (!first(Fault::endless_loop, instruction)) return false;
  report(Fault::endless_loop, instruction, "a loop ends; got " + std::to_string(options_.max_rounds) + " rounds in one program",
         "programs run one after another here: a loop that waits for a later one never ends");
  return false;
}

std::string Machine::lane_name(std::uint32_t thread) const {
  const auto lanes = static_cast<std::uint32_t>(code_.lanes);
  return "lane " + std::to_string(thread % lanes) + " of warp " + std::to_string(thread / lanes);
}

std::string Machine::source_name(std::uint32_t source) const {
  const interpreter::Source& where = code_.sources[source];
  if (where.operation >= 0) return where.name + " of operation " + std::to_string(where.operation);
  return where.location.empty() ? where.name : where.name + " at " + where.location;
}

bool Machine::first(Fault fault, const Instruction& instruction) {
  std::uint8_t& blamed = blamed_[instruction.source];
  const auto bit = static_cast<std::uint8_t>(1u << static_cast<unsigned>(fault));
  if (blamed & bit) return false;
  blamed |= bit;
  return true;
}

void Machine::report(Fault fault, const Instruction& instruction, std::string message, std::string help,
                     Word address) {
  const interpreter::Source& where = code_.sources[instruction.source];
  Finding finding;
  finding.kind = name_of(fault);
  finding.message = where.name + ": " + std::move(message);
  finding.help = std::move(help);
  finding.operation = where.operation;
  finding.location = where.location;
  finding.program = program_;
  finding.address = address;
  result_.findings.push_back(std::move(finding));
  const int limit = options_.max_findings > 0 ? options_.max_findings : 100;
  if (result_.findings.size() >= std::size_t(limit)) full_ = stopped_ = true;
}

Result run(mlir::func::FuncOp kernel, const gpu::Capability& capability, const Launch& launch, const Options& options) {
  Result result;
  Code code;
  Finding finding;
  if (!translate(kernel, capability, code, finding)) {
    result.findings.push_back(std::move(finding));
    return result;
  }
  if (launch.arguments.size() != code.arguments) {
    finding.kind = "launch";
    finding.message = kernel.getName().str() + ": arguments of a launch; got " +
                      std::to_string(launch.arguments.size()) + ", expected " + std::to_string(code.arguments);
    finding.help = "pass one value for each parameter of the kernel";
    result.findings.push_back(std::move(finding));
    return result;
  }
  Machine(code, capability, launch, options, result).run_grid();
  result.ok = result.findings.empty();
  return result;
}

}  // namespace teeny::compiler::simulator
