// Running programs one after another, and collecting findings.
#include "compiler/interpreter/machine.hpp"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace teeny::compiler::interpreter {

Machine::Machine(const Program& program, const teeny_interpret_request& request, Result& result)
    : root_(&program),
      program_(&program),
      request_(request),
      result_(result),
      check_(request.check != 0),
      radius_(request.radius != 0),
      slots_(program.types.size()),
      memory_(*this, request),
      grid_{request.grid[0], request.grid[1], request.grid[2]} {}

void Machine::run_grid() {
  check_argument_promises();
  const std::uint64_t count = std::uint64_t{grid_[0]} * grid_[1] * grid_[2];
  for (std::uint64_t linear = 0; linear < count && !stop_run_; ++linear) {
    program_id_[0] = static_cast<std::uint32_t>(linear % grid_[0]);
    program_id_[1] = static_cast<std::uint32_t>(linear / grid_[0] % grid_[1]);
    program_id_[2] = static_cast<std::uint32_t>(linear / grid_[0] / grid_[1]);
    stop_program_ = false;
    memory_.begin_program(static_cast<std::uint32_t>(linear));
    for (std::size_t i = 0; i < program_->arguments.size(); ++i) {
      Value& argument = slots_[program_->arguments[i]];
      argument.bits.assign(1, request_.arguments[i] & low_mask(width_of(type(program_->arguments[i]).kind)));
      if (type(program_->arguments[i]).kind == Kind::i1) argument.bits[0] = (request_.arguments[i] & 0xff) != 0;
      argument.clear_shadow();
    }
    const Block* exit = nullptr;
    run_region(program_->body, &exit);
  }
}

void Machine::check_argument_promises() {
  if (!check_) return;
  for (std::size_t i = 0; i < program_->arguments.size(); ++i) {
    const auto divisor = static_cast<std::uint64_t>(program_->divisibility[i]);
    const std::uint64_t bits = request_.arguments[i] & low_mask(width_of(type(program_->arguments[i]).kind));
    if (divisor <= 1 || bits % divisor == 0) continue;
    Finding finding;
    finding.kind = "false_hint";
    finding.message = program_->name + ": argument " + std::to_string(i) + " is promised to be divisible by " +
                      std::to_string(divisor) + "; got " + element_text(type(program_->arguments[i]).kind, bits);
    finding.help = "launch a variant without this promise, or pass an aligned value";
    result_.findings.push_back(std::move(finding));
  }
}

bool Machine::run_region(const Region& region, const Block** exit_block) {
  const Block* block = &region.blocks.front();
  std::uint64_t branches = 0;
  while (run_block(*block)) {
    if (block->exit != Exit::branch && block->exit != Exit::conditional_branch) {
      *exit_block = block;
      return true;
    }
    int side = 0;
    if (block->exit == Exit::conditional_branch) side = branch_value(block->operands[0], block->exit_index) & 1 ? 0 : 1;
    const Block* next = &region.blocks[block->targets[side]];
    assign(next->arguments, block->target_operands[side]);
    block = next;
    if (++branches > (std::uint64_t{1} << 24)) {
      report("endless_loop", block->exit_index, "branches without an end; got 2^24 of them, expected a return",
             "bound the loop");
      stop_run();
    }
  }
  return false;
}

bool Machine::run_block(const Block& block) {
  for (const Instruction& instruction : block.instructions) {
    execute(instruction);
    if (stopped()) return false;
  }
  return !stopped();
}

void Machine::execute(const Instruction& instruction) {
  instruction.run(*this, instruction);
  if (is_elementwise(instruction.op) && (check_ || radius_)) update_shadow(*this, instruction);
}

void Machine::assign(const std::vector<Slot>& targets, const std::vector<Slot>& sources) {
  if (targets.size() == 1) {
    if (targets[0] != sources[0]) slots_[targets[0]] = slots_[sources[0]];
    return;
  }
  std::vector<Value> values;
  values.reserve(sources.size());
  for (Slot source : sources) values.push_back(slots_[source]);
  for (std::size_t i = 0; i < targets.size(); ++i) slots_[targets[i]] = std::move(values[i]);
}

std::uint64_t Machine::branch_value(Slot slot, std::uint32_t source_index) {
  const Value& value = slots_[slot];
  if (const std::uint32_t origin = value.undefined_at(0))
    report_undefined(origin, source_index, "what decides a branch", -1, nullptr);
  return value.bits[0];
}

Value Machine::run_expansion(const Program& expansion, const Value& operand) {
  std::vector<Value> slots(expansion.types.size());
  slots[expansion.arguments[0]].bits = operand.bits;
  slots_.swap(slots);
  const Program* saved = program_;
  program_ = &expansion;
  const bool check = check_, radius = radius_;
  check_ = radius_ = false;
  run_block(expansion.body.blocks[0]);
  check_ = check;
  radius_ = radius;
  program_ = saved;
  Value result = std::move(slots_[expansion.body.blocks[0].operands[0]]);
  slots_.swap(slots);
  return result;
}

void Machine::print(const std::string& text) {
  if (request_.print) request_.print(request_.print_context, text.data(), text.size());
}

bool Machine::reported(const char* kind, std::uint32_t source_index) const {
  return seen_.contains({source_index, kind});
}

void Machine::report(std::string kind, std::uint32_t source_index, std::string message, std::string help,
                     std::int64_t position, const std::vector<std::int64_t>* shape, std::uint64_t address) {
  if (!seen_.insert({source_index, kind}).second) return;
  const Source& where = source(source_index);
  Finding finding;
  finding.kind = std::move(kind);
  finding.message = where.name + ": " + message;
  finding.help = std::move(help);
  finding.operation = where.operation;
  finding.location = where.location;
  finding.program = {program_id_[0], program_id_[1], program_id_[2]};
  if (position >= 0 && shape) finding.lane = lane_text(position, *shape);
  finding.address = address;
  result_.findings.push_back(std::move(finding));
  const int limit = request_.max_findings > 0 ? request_.max_findings : 100;
  if (result_.findings.size() >= static_cast<std::size_t>(limit)) stop_run();
}

void Machine::report_undefined(std::uint32_t origin, std::uint32_t source_index, const char* role,
                               std::int64_t position, const std::vector<std::int64_t>* shape, std::uint64_t address) {
  const Source& from = source(origin - 1);
  const std::string where = from.operation >= 0     ? "operation " + std::to_string(from.operation)
                            : from.location.empty() ? "an earlier " + from.name
                                                    : from.name + " at " + from.location;
  if (from.name == "load") {
    report("masked_lane", source_index,
           std::string(role) + " comes from a lane that was not loaded; got the false lane of " + where +
               ", expected lanes loaded under a true mask",
           "give that load an `other`, or mask this use as well", position, shape, address);
  } else if (from.name == "poison") {
    report("undefined_value", source_index,
           std::string(role) + " has no value; got the poison of " + where + ", expected a defined value",
           "define the variable on every path", position, shape, address);
  } else {
    report("division_by_zero", source_index,
           std::string(role) + " comes from an integer division by zero; got the result of " + where +
               ", expected a divisor other than 0",
           "select a divisor of 1 where it is 0, or mask this use", position, shape, address);
  }
}

std::string lane_text(std::int64_t position, const std::vector<std::int64_t>& shape) {
  if (shape.empty() || position < 0) return "";
  std::string text = "]";
  for (std::size_t d = shape.size(); d-- > 0;) {
    text = std::to_string(position % shape[d]) + text;
    if (d > 0) text = ", " + text;
    position /= shape[d];
  }
  return "[" + text;
}

std::string element_text(Kind kind, std::uint64_t bits, bool as_signed, bool hexadecimal) {
  char buffer[64];
  if (hexadecimal || kind == Kind::pointer) {
    std::snprintf(buffer, sizeof buffer, "0x%0*" PRIx64, kind == Kind::i1 ? 1 : width_of(kind) / 4, bits);
  } else if (is_float(kind)) {
    const double value = to_double(kind, bits);
    if (std::isnan(value)) return "nan";
    std::snprintf(buffer, sizeof buffer, "%.*g", kind == Kind::f64 ? 17 : kind == Kind::f32 ? 9 : 6, value);
  } else if (as_signed && kind != Kind::i1) {
    std::snprintf(buffer, sizeof buffer, "%" PRId64, sign_extend(bits, width_of(kind)));
  } else {
    std::snprintf(buffer, sizeof buffer, "%" PRIu64, bits);
  }
  return buffer;
}

}  // namespace teeny::compiler::interpreter
