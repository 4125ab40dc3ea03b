// What runs an interpreter program: slots, memory with its watch, findings, budgets.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include "compiler/interpreter/interpreter.hpp"
#include "compiler/interpreter/program.hpp"

namespace teeny::compiler::interpreter {

// Who touched a byte group last. `stamp` indexes Memory::stamps_; 0: nobody.
struct Access {
  std::uint32_t stamp = 0;
  std::uint32_t position = 0;  // row-major element index in the accessing tensor
  std::uint32_t instruction = 0;
  bool atomic = false;
  bool many = false;  // several positions of this stamp read it
};
struct Cell {
  Access writer, reader;
};

// What other orders of the float atomics on an element could give.
struct AtomicSum {
  double magnitude = 0;
  double radius = 0;
  double quantum = std::numeric_limits<double>::infinity();
  std::uint64_t terms = 0;
};

struct MemoryRange {
  std::uint64_t address = 0, bytes = 0;
  std::uint8_t* initialised = nullptr;
  std::uint32_t granule = 0;  // bytes that a cell stands for; 0: no cells yet
  std::vector<Cell> cells;
  std::vector<double> radius;  // by byte; -1: never stored. Empty: no store yet
};

// A tensor of one operation's addresses and masks, lane by lane, or one lane of it.
struct Lane {
  const Instruction& instruction;
  std::size_t position;
  std::uint64_t address;
  std::uint32_t bytes;
};

class Machine;

// Memory of a launch: bounds always, and with `check` the last accesses, happens-before between programs and written
// bytes.
class Memory {
 public:
  Memory(Machine& machine, const teeny_interpret_request& request);

  // The range that holds the lane's bytes; null after a finding.
  MemoryRange* locate(const Lane& lane);
  // Watches an access that is about to happen; `bytes` are what a write will store, null for a read.
  void watch(MemoryRange& range, const Lane& lane, const void* bytes, bool atomic);
  std::uint64_t load(const Lane& lane, Kind kind) const;
  void store(MemoryRange& range, const Lane& lane, Kind kind, std::uint64_t bits, double radius);
  double radius_at(const MemoryRange& range, std::uint64_t address) const;
  AtomicSum& atomic_sum(std::uint64_t address) { return atomic_sums_[address]; }
  void collect_radii(Result& result) const;

  // Order inside and between programs.
  void begin_program(std::uint32_t linear);
  void new_phase();                     // a barrier or an atomic of this program
  void acquire(std::uint64_t address);  // joins what was released at the address
  void release(std::uint64_t address);  // publishes this program's clock; end_release() closes the epoch
  void end_release();

  std::uint64_t changes() const { return changes_; }  // stores that altered a byte
  std::uint64_t reads() const { return reads_; }

 private:
  struct Stamp {
    std::uint32_t program, epoch;
  };
  // Ascending (program, epoch): the program's accesses up to that epoch have happened before.
  using Clock = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

  void prepare_cells(MemoryRange& range, std::uint64_t offset, std::uint32_t bytes);
  void touch(MemoryRange& range, Cell& cell, const Lane& lane, bool write, bool atomic, bool same_bytes);
  void compare(const Access& earlier, bool earlier_writes, const Lane& lane, bool write, bool atomic);
  bool ordered(const Stamp& earlier) const;
  void push_stamp();

  Machine& machine_;
  bool check_;
  bool radius_;
  std::vector<MemoryRange> ranges_;
  std::size_t last_range_ = 0;
  std::vector<Stamp> stamps_;
  std::uint32_t program_ = 0, epoch_ = 1;
  std::shared_ptr<const Clock> clock_;
  std::shared_ptr<const Clock> publishing_;   // what this operation releases
  std::shared_ptr<const Clock> last_joined_;  // kept alive, so that its address stays its own
  std::unordered_map<std::uint64_t, std::shared_ptr<const Clock>> released_;
  std::unordered_map<std::uint64_t, AtomicSum> atomic_sums_;
  std::uint64_t changes_ = 0;
  mutable std::uint64_t reads_ = 0;
};

class Machine {
 public:
  Machine(const Program& program, const teeny_interpret_request& request, Result& result);

  void run_grid();

  // Runs a region from its first block; false when the program has to stop. `exit_block` receives the block that
  // ended it.
  bool run_region(const Region& region, const Block** exit_block);
  void execute(const Instruction& instruction);

  Value& slot(Slot slot) { return slots_[slot]; }
  const SlotType& type(Slot slot) const { return program_->types[slot]; }
  const Program& program() const { return *program_; }
  Memory& memory() { return memory_; }
  bool checking() const { return check_; }
  bool with_radius() const { return radius_; }
  bool stopped() const { return stop_program_ || stop_run_; }
  void stop_program() { stop_program_ = true; }
  void stop_run() { stop_run_ = true; }
  // Inside a combine region float operations add their own rounding to the radius, sums times this: other devices
  // combine in other orders. 0 elsewhere.
  double rounding_scale() const { return rounding_scale_; }
  void set_rounding_scale(double scale) { rounding_scale_ = scale; }
  const std::uint32_t* program_id() const { return program_id_; }
  const std::uint32_t* grid() const { return grid_; }
  void print(const std::string& text);

  // Copies several values at once, as a loop's back edge does.
  void assign(const std::vector<Slot>& targets, const std::vector<Slot>& sources);
  // The scalar's value, after reporting an undefined one as the cause of a branch.
  std::uint64_t branch_value(Slot slot, std::uint32_t source_index);

  // Adds a finding unless the operation has one of this kind. `position` is an element index in `shape`; -1: none.
  void report(std::string kind, std::uint32_t source_index, std::string message, std::string help,
              std::int64_t position = -1, const std::vector<std::int64_t>* shape = nullptr, std::uint64_t address = 0);
  // Reports the use of an element whose `undefined` shadow is `origin` (not 0).
  void report_undefined(std::uint32_t origin, std::uint32_t source_index, const char* role, std::int64_t position,
                        const std::vector<std::int64_t>* shape, std::uint64_t address = 0);
  const Source& source(std::uint32_t index) const { return root_->sources[index]; }
  const std::vector<std::int64_t>& shape_of(Slot slot) const { return program_->types[slot].shape; }
  bool reported(const char* kind, std::uint32_t source_index) const;

  // Runs an element-wise expansion on whole values: slots of another program for the duration.
  Value run_expansion(const Program& expansion, const Value& operand);

 private:
  bool run_block(const Block& block);
  void check_argument_promises();

  const Program* root_;
  const Program* program_;
  const teeny_interpret_request& request_;
  Result& result_;
  bool check_, radius_;
  std::vector<Value> slots_;
  Memory memory_;
  std::uint32_t program_id_[3] = {0, 0, 0};
  std::uint32_t grid_[3];
  bool stop_program_ = false, stop_run_ = false;
  double rounding_scale_ = 0;
  std::set<std::pair<std::uint32_t, std::string>> seen_;
};

// ---- handlers, by file
ElementFunction integer_function(Op op);                      // integers.cpp; null: no such
ElementFunction cast_function(Op op, Kind from, Kind to);      // casts.cpp; null: no such
void run_elementwise(Machine& machine, const Instruction& instruction);
void update_shadow(Machine& machine, const Instruction& instruction);  // shadow.cpp: after an element-wise instruction
void update_radius(Machine& machine, const Instruction& instruction);  // radius.cpp

// access.cpp: reports an undefined or wrapped address (false) and an undefined value about to be stored.
bool admit_address(Machine& machine, const Instruction& instruction, const Value& pointers, std::size_t i);
void check_stored_value(Machine& machine, const Instruction& instruction, const Value& value, std::size_t i,
                        std::uint64_t address);

void run_move(Machine&, const Instruction&);
void run_constant(Machine&, const Instruction&);
void run_poison(Machine&, const Instruction&);
void run_program_id(Machine&, const Instruction&);
void run_num_programs(Machine&, const Instruction&);
void run_make_range(Machine&, const Instruction&);
void run_gather(Machine&, const Instruction&);
void run_load(Machine&, const Instruction&);
void run_store(Machine&, const Instruction&);
void run_atomic_rmw(Machine&, const Instruction&);
void run_atomic_cas(Machine&, const Instruction&);
void run_barrier(Machine&, const Instruction&);
void run_make_descriptor(Machine&, const Instruction&);
void run_descriptor_load(Machine&, const Instruction&);
void run_descriptor_store(Machine&, const Instruction&);
void run_dot(Machine&, const Instruction&);
void run_reduce(Machine&, const Instruction&);
void run_scan(Machine&, const Instruction&);
void run_for(Machine&, const Instruction&);
void run_while(Machine&, const Instruction&);
void run_if(Machine&, const Instruction&);
void run_call(Machine&, const Instruction&);
void run_hint(Machine&, const Instruction&);
void run_assume(Machine&, const Instruction&);
void run_assert(Machine&, const Instruction&);
void run_print(Machine&, const Instruction&);
void run_math(Machine&, const Instruction&);

// "[3, 5]" for an element index of a shape; empty for a scalar.
std::string lane_text(std::int64_t position, const std::vector<std::int64_t>& shape);
// An element as text: decimal numbers, signed where `as_signed`, hexadecimal addresses, nan, inf.
std::string element_text(Kind kind, std::uint64_t bits, bool as_signed = true, bool hexadecimal = false);

}  // namespace teeny::compiler::interpreter
