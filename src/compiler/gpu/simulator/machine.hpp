// The state of a running launch: warps, the shared memory of one program, and who touched what.
#pragma once

#include <bit>
#include <memory>
#include <unordered_map>

#include "compiler/gpu/simulator/code.hpp"

namespace teeny::compiler::simulator {

// A copy on its way to shared memory.
struct Copy {
  int lane = 0;
  std::int64_t group = 0;         // of its lane
  std::int64_t to = 0;            // bytes in shared memory
  Word from = 0;
  std::int32_t bytes = 0;
  bool reads = false;             // otherwise it writes zeros
  const Instruction* instruction = nullptr;
  std::array<std::uint8_t, 16> found{};  // at its source when it set out
};

// Bytes that a product reads until it has been waited for.
struct Reading {
  std::int64_t group = 0;  // of its warp
  std::int64_t at = 0, bytes = 0;
  Word found = 0;                   // when it began
  const Instruction* instruction = nullptr;
};

struct Warp {
  int number = 0;
  std::uint32_t next = 0;                // instruction
  Word mask = 0;                         // active lanes
  std::vector<Word> masks;               // of the control flow around
  std::vector<Word> values;              // slot by slot, a word for each lane
  const Instruction* barrier = nullptr;  // that it waits at
  bool done = false;
  std::vector<Copy> copies;
  std::vector<std::uint32_t> groups;     // closed so far, by lane
  std::vector<Reading> readings;
  std::uint32_t products = 0;            // groups of them closed so far
};

// The last accesses of one byte. A phase is what lies between two barriers for the memory; phase 0: never.
struct Cell {
  std::uint32_t written = 0, read = 0;           // phases
  std::uint32_t write_source = 0, read_source = 0;
  std::uint16_t writer = 0, reader = 0;          // threads
  bool many_readers = false;
  bool atomic_write = false, atomic_read = false;
};

// What to do about a finding in shared memory.
inline constexpr const char* lowering_at_fault =
    "shared memory is the compiler's own: report it with the kernel and this device's name";

// What can be wrong: an operation is blamed for each once.
enum class Fault : std::uint8_t {
  race, divergence, unwaited_copy, uninitialised, out_of_bounds, misaligned, endless_loop, failed_assertion
};

// One lane's access.
struct Access {
  const Instruction& instruction;
  std::uint32_t thread;
  bool atomic = false;
};

// The bytes around a touched one; a launch may range over more memory than there is room for cells.
struct Page {
  static constexpr Word bytes = 1024;
  std::array<Cell, bytes> cells;
};

class Machine {
 public:
  Machine(const Code& code, const gpu::Capability& capability, const Launch& launch, const Options& options,
          Result& result);
  void run_grid();

  // ---- for instructions
  const Code& code() const { return code_; }
  const gpu::Capability& capability() const { return capability_; }
  int lanes() const { return code_.lanes; }
  Word all_lanes() const { return lanes() == 64 ? ~Word(0) : (Word(1) << lanes()) - 1; }
  Word* values(Warp& warp, Slot slot) { return warp.values.data() + std::size_t(slot) * std::size_t(code_.lanes); }
  Slot operand(const Instruction& instruction, std::uint32_t i) const { return code_.slots[instruction.operands + i]; }
  Slot result(const Instruction& instruction, std::uint32_t i) const { return code_.slots[instruction.results + i]; }
  std::uint32_t thread(const Warp& warp, int lane) const { return std::uint32_t(warp.number * code_.lanes + lane); }
  // The lanes that make an access: active ones whose mask holds.
  Word accessing(Warp& warp, const Instruction& instruction);
  // Whether all lanes of the warp are here; otherwise a finding, and the program stops.
  bool whole(Warp& warp, const Instruction& instruction);
  void jump(Warp& warp, std::uint32_t target) { warp.next = target; }
  std::vector<Word>& scratch() { return scratch_; }
  // Counts a loop's next round; false where there are too many.
  bool repeat(const Instruction& instruction);

  // ---- global memory, at the host's addresses
  bool reach(const Access& access, Word address, std::int64_t bytes, std::int64_t alignment);  // false: after a finding
  void read_global(const Access& access, Word address, std::uint8_t* data, std::int64_t bytes);
  void write_global(const Access& access, Word address, const std::uint8_t* data, std::int64_t bytes);

  // ---- shared memory: byte offsets
  // Where element `index` of the array begins, for `count` elements in one access; -1 after a finding.
  std::int64_t place(const Access& access, std::int64_t index, std::int64_t count, std::int64_t element_bytes);
  void read_shared(const Access& access, std::int64_t at, std::uint8_t* data, std::int64_t bytes);
  void write_shared(const Access& access, std::int64_t at, const std::uint8_t* data, std::int64_t bytes);
  void begin_copy(Warp& warp, Copy copy);
  void land_copies(Warp& warp, const Instruction& wait);
  // An element that a product reads now and may read until its mma_wait: up to 8 bytes from `at` on.
  Word begin_reading(Warp& warp, const Instruction& instruction, std::int64_t at, std::int64_t bytes);
  void end_readings(Warp& warp, const Instruction& wait);
  void fence(const Warp& warp);
  // Counts the turns that banks need for the lanes' accesses of so many bytes each (-1: no access).
  void count_banks(const Instruction& instruction, const std::int64_t* places, int count, std::int64_t bytes);

  void note(Event event, const Instruction& instruction);
  void note(Event::What what, bool shared, const Access& access, Word address, std::int64_t bytes,
            std::int64_t group = 0) {
    if (!options_.log) return;
    const auto memory = static_cast<std::uint8_t>(shared ? 1 : 2);
    note({what, memory, access.atomic, access.thread, address, bytes, group}, access.instruction);
  }

  // Whether the operation is blamed for this the first time; report() follows.
  bool first(Fault fault, const Instruction& instruction);
  void report(Fault fault, const Instruction& instruction, std::string message, std::string help, Word address = 0);
  void stop() { stopped_ = true; }
  std::string lane_name(std::uint32_t thread) const;
  std::string source_name(std::uint32_t source) const;

 private:
  void start_program(std::uint64_t linear);
  void run_program();
  void run_warp(Warp& warp, std::uint64_t budget);
  Warp* choose_warp();
  void pass_barrier();
  void barriers_disagree(const Warp& waiting, const Warp& other);
  void fill(Warp& warp, const Initial& initial);
  void touch(Cell& cell, std::uint32_t phase, const Access& access, bool write, bool same_bits, Word address);
  void race(const Access& access, bool write, std::uint32_t thread, std::uint32_t source, bool earlier_write,
            Word address);
  Cell& cell(Word address);
  bool flying(const Access& access, std::int64_t at, std::int64_t bytes, bool write);
  std::uint64_t random();

  const Code& code_;
  const gpu::Capability& capability_;
  const Launch& launch_;
  const Options& options_;
  Result& result_;
  std::vector<Warp> warps_;
  std::array<std::uint32_t, 3> program_{};
  bool stopped_ = false;          // this program
  bool full_ = false;             // no room for more findings
  std::uint64_t rounds_ = 0;      // of loops in this program
  std::uint64_t random_ = 0;
  int turn_ = 0;
  std::vector<Word> scratch_;
  std::vector<std::uint8_t> blamed_;  // by source: bits of Fault

  std::size_t last_range_ = 0;
  std::unordered_map<Word, std::unique_ptr<Page>> pages_;
  Page* last_page_ = nullptr;
  Word last_page_number_ = ~Word(0);
  std::uint32_t global_phase_ = 0, shared_phase_ = 0;

  std::vector<std::uint8_t> shared_;
  std::vector<Cell> cells_;                   // of shared memory
  std::vector<std::uint8_t> defined_;
  std::vector<const Instruction*> flying_;    // the copy that will write the byte
  // By byte: the last write is by a lane and not yet seen by products beside the warps. 2: no fence yet; 1: no barrier
  // since the fence; 0: seen.
  std::vector<std::uint8_t> unseen_;
  std::vector<SharedAccesses> banks_;         // by source
};

template <class F>
void for_each_lane(Word mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(std::countr_zero(mask));
}

// ---- instructions, by file
// flow.cpp
void run_elements(Machine&, Warp&, const Instruction&);
void run_moves(Machine&, Warp&, const Instruction&);        // operands to results, where the lane is active
void run_branch(Machine&, Warp&, const Instruction&);       // operand: condition; target: run_else
void run_else(Machine&, Warp&, const Instruction&);         // target: run_join
void run_join(Machine&, Warp&, const Instruction&);         // the mask from before
void run_save(Machine&, Warp&, const Instruction&);         // keeps the mask for run_join
void run_count(Machine&, Warp&, const Instruction&);        // operands: lower, upper, step; result: rounds; number: unsigned
void run_test(Machine&, Warp&, const Instruction&);         // operand: rounds left or condition; target: run_join
void run_next(Machine&, Warp&, const Instruction&);         // operands: variable, step, rounds; target: run_test
void run_again(Machine&, Warp&, const Instruction&);        // target: a while loop's first instruction
void run_end(Machine&, Warp&, const Instruction&);
void run_barrier(Machine&, Warp&, const Instruction&);
// lanes.cpp
void run_shuffle(Machine&, Warp&, const Instruction&);      // number: ShuffleKind
void run_ballot(Machine&, Warp&, const Instruction&);
void run_round_tf32(Machine&, Warp&, const Instruction&);
void run_approximation(Machine&, Warp&, const Instruction&);  // number: 0: exp2, 1: rsqrt, of f32
void run_message(Machine&, Warp&, const Instruction&);      // number: MessageKind
void run_matrix_load(Machine&, Warp&, const Instruction&);  // number: transposed
void run_matrix_store(Machine&, Warp&, const Instruction&);
// products.cpp
void run_mma(Machine&, Warp&, const Instruction&);          // operands: a, b, sums
void run_mma_async(Machine&, Warp&, const Instruction&);    // operands: a or its index, b's index, sums; number: of a's; offset: a in memory
void run_mma_commit(Machine&, Warp&, const Instruction&);
void run_mma_wait(Machine&, Warp&, const Instruction&);     // operands: sums; number: pending
void run_fence(Machine&, Warp&, const Instruction&);
// access.cpp
void run_load(Machine&, Warp&, const Instruction&);         // operands: address, others
void run_store(Machine&, Warp&, const Instruction&);        // operands: address, values
void run_atomic_rmw(Machine&, Warp&, const Instruction&);   // number: RMWOp
void run_atomic_cas(Machine&, Warp&, const Instruction&);   // operands: address, compare, value
void run_shared_load(Machine&, Warp&, const Instruction&);
void run_shared_store(Machine&, Warp&, const Instruction&);
void run_shared_atomic(Machine&, Warp&, const Instruction&);
void run_copy(Machine&, Warp&, const Instruction&);         // operands: index, address
void run_commit(Machine&, Warp&, const Instruction&);
void run_wait(Machine&, Warp&, const Instruction&);         // number: pending

}  // namespace teeny::compiler::simulator
