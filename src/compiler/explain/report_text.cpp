#include <algorithm>
#include <cmath>
#include <cstdio>

#include "compiler/explain/report.hpp"

namespace teeny::compiler::explain {

namespace {

std::string format(const char* form, double number) {
  char text[64];
  std::snprintf(text, sizeof text, form, number);
  return text;
}

std::string bytes_text(double bytes) {
  if (bytes >= 10 * 1024 * 1024) return format("%.1f MiB", bytes / (1024 * 1024));
  if (bytes >= 10 * 1024) return format("%.1f KiB", bytes / 1024);
  return format("%.0f bytes", bytes);
}

std::string time_text(double seconds) {
  if (seconds < 1e-6) return format("%.0f ns", seconds * 1e9);
  if (seconds < 1e-3) return format("%.2f µs", seconds * 1e6);
  return format("%.3f ms", seconds * 1e3);
}

class Writer {
 public:
  explicit Writer(const Report& report) : report_(report) {}

  std::string write() {
    head();
    section("outside of loops");
    work(report_.function.outside);
    int number = 0;
    loops(report_.function.loops, number, "");
    whole();
    if (report_.function.branches) text_ += "\nBoth sides of branches are counted; masks are taken to hold.\n";
    return text_;
  }

 private:
  void section(const std::string& title) { text_ += "\n" + title + "\n"; }
  void line(const std::string& name, const std::string& what) {
    text_ += "  " + name + std::string(name.size() < 14 ? 14 - name.size() : 1, ' ') + what + "\n";
  }

  void head() {
    const Function& function = report_.function;
    text_ += "kernel " + report_.kernel + " for " + report_.target + "\n";
    for (const std::string& fact : report_.assumed) line("assumed", fact);
    if (report_.assumed.empty()) line("assumed", "nothing of the arguments");
    line("threads", std::to_string(function.threads()) + " (" + std::to_string(function.warps) + " warps of " +
                        std::to_string(function.lanes) + " lanes)");
    line("shared memory", std::to_string(function.shared_bytes) + " bytes of " + std::to_string(report_.shared_limit));
    for (const SharedPart& part : report_.shared)
      line("", "at " + std::to_string(part.offset) + ": " + std::to_string(part.bytes) + " bytes, " + part.what);
    registers();
    held();
  }

  void registers() {
    const Assembled& assembled = report_.assembled;
    const std::string most = report_.max_registers > 0 ? ", at most " + std::to_string(report_.max_registers) : "";
    if (!assembled.known) return line("registers", "not known" + most + ": " + assembled.how);
    line("registers", std::to_string(assembled.registers) + " of a thread" + most + "; spilled: " +
                          std::to_string(assembled.spilled_stores) + " bytes stored, " + std::to_string(assembled.spilled_loads) +
                          " loaded");
    line("", "(" + assembled.how + ")");
  }

  void held() {
    if (!report_.machine) return line("occupancy", "not known: no table of this architecture");
    const Occupancy held = occupancy(report_.machine->multiprocessor, report_.function.warps, report_.function.lanes,
                                     report_.assembled.registers, report_.function.shared_bytes);
    line("occupancy", std::to_string(held.programs) + " programs of a multiprocessor, " + std::to_string(held.warps) + " of " +
                          std::to_string(report_.machine->multiprocessor.threads / 32) + " warps, limited by " + held.limit +
                          (report_.assembled.known ? "" : " (registers not counted)"));
    line("", "(CUDA C++ programming guide, technical specifications per compute capability)");
    if (report_.machine->peak)
      line("floors", std::string("of ") + report_.machine->peak->name + ": " + report_.machine->peak->source);
  }

  static std::string list(const std::map<std::string, std::int64_t>& counts) {
    std::string text;
    for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + name + " × " + std::to_string(count);
    return text;
  }

  void matrix(const Counts& counts) {
    for (const auto& [unit, count] : counts.matrix) {
      const int warps = report_.products.at(unit).warps;
      line("matrix", unit + " × " + std::to_string(count) + (warps == 1 ? " of a warp" : " of " + std::to_string(warps) + " warps"));
    }
  }

  void global(const std::string& name, const std::map<std::pair<std::string, int>, Accesses>& all) {
    for (const auto& [kind, accesses] : all) {
      std::string text = kind.first + " of " + std::to_string(kind.second) + " bytes × " + std::to_string(accesses.count) +
                         ": " + bytes_text(double(accesses.bytes)) + " of a program";
      if (accesses.moved > 0)
        text += ", " + format("%.0f", 100.0 * double(accesses.known_bytes) / double(accesses.moved)) + " % of what its sectors hold";
      if (accesses.unknown > 0) text += ", places of " + std::to_string(accesses.unknown) + " unknown";
      line(name, text);
    }
  }

  void shared(const std::map<std::pair<std::string, int>, Accesses>& all) {
    for (const auto& [kind, accesses] : all) {
      std::string text = kind.first + " of " + std::to_string(kind.second) + " bytes × " + std::to_string(accesses.count);
      if (accesses.unknown == accesses.count) {
        text += ": bank conflicts unknown";
      } else {
        text += accesses.turns == accesses.least
                    ? ": no bank conflicts"
                    : ": bank conflicts, " + std::to_string(accesses.turns) + " cycles instead of " + std::to_string(accesses.least);
        if (accesses.unknown > 0) text += ", " + std::to_string(accesses.unknown) + " unknown";
      }
      line("shared", text);
    }
  }

  // Lines are of one lane where they say nothing else.
  void work(const Counts& counts) {
    matrix(counts);
    global("global", counts.global);
    global("copies", counts.copies);
    shared(counts.shared);
    if (!counts.lanes.empty()) line("lanes", list(counts.lanes));
    if (!counts.order.empty()) line("order", list(counts.order));
    if (!counts.special.empty()) line("special", list(counts.special));
    if (!counts.arithmetic.empty()) line("arithmetic", list(counts.arithmetic));
    if (!counts.others.empty()) line("others", list(counts.others));
    floor(counts);
  }

  void floor(const Counts& counts) {
    if (!report_.machine) return;
    const Floor floor = report_.floor_of(counts);
    std::string text;
    const auto part = [&](const char* name, double cycles) {
      if (cycles > 0) text += (text.empty() ? "" : ", ") + std::string(name) + " " + format("%.0f", cycles);
    };
    part("matrix", floor.matrix), part("special", floor.special), part("f32", floor.f32);
    part("shuffles", floor.shuffles), part("shared", floor.shared);
    if (!text.empty()) line("floor", "cycles of a multiprocessor: " + text);
    if (!report_.machine->peak) return;
    const double hertz = report_.machine->peak->hertz;
    const double operations = std::max({floor.matrix, floor.special, floor.f32, floor.shuffles, floor.shared}) / hertz;
    if (operations > 0 || floor.memory > 0)
      line(text.empty() ? "floor" : "", "by operations " + time_text(operations) + ", by bytes " + time_text(floor.memory) + " without caches");
  }

  void loops(const std::vector<Loop>& list, int& number, const std::string& within) {
    for (const Loop& loop : list) {
      const int own = number++;
      const std::string name = "loop " + std::to_string(own + 1);
      std::string title = name + (loop.place.empty() ? "" : " (" + loop.place + ")") + within;
      for (const Ring& ring : report_.rings)
        if (ring.place == loop.place) title += ", a ring of " + std::to_string(ring.buffers) + " stages";
      if (std::size_t(own) < report_.turns.size())
        title += ", " + std::to_string(report_.turns[std::size_t(own)]) + " turns given";
      else if (loop.turns)
        title += ", " + std::to_string(*loop.turns) + " turns";
      section(title + "; in one turn");
      work(loop.turn);
      loops(loop.inner, number, " in " + name);
    }
  }

  void whole() {
    if (report_.function.loops.empty() && report_.grid[0] == 0) return;
    section("in all");
    const auto all = report_.all();
    if (!all) return line("", "not known: the loops' turns depend on arguments; give --trips");
    matrix(*all);
    global("global", all->global);
    global("copies", all->copies);
    if (!all->special.empty()) line("special", list(all->special));
    floor(*all);
    if (report_.grid[0] > 0 && report_.machine && report_.machine->peak) launch(*all);
  }

  void launch(const Counts& all) {
    const Machine& machine = *report_.machine;
    const double programs = report_.programs();
    const int count = machine.peak->multiprocessors;
    const Occupancy held = occupancy(machine.multiprocessor, report_.function.warps, report_.function.lanes,
                                     report_.assembled.registers, report_.function.shared_bytes);
    const double at_once = double(held.programs) * count;
    section("launch of " + format("%.0f", programs) + " programs on " + machine.peak->name);
    if (at_once > 0)
      line("waves", format("%.2f", programs / at_once) + " of " + format("%.0f", at_once) + " programs that run at once");
    const Floor floor = report_.floor_of(all);
    const double busiest = std::ceil(programs / count);  // programs of the multiprocessor that has most
    const double operations = std::max({floor.matrix, floor.special, floor.f32, floor.shuffles, floor.shared}) * busiest / machine.peak->hertz;
    const auto [least, most] = report_.launch_bytes(all);
    line("floor", "by operations " + time_text(operations) + "; by bytes " + time_text(least / machine.peak->memory) +
                      " where caches keep everything, " + time_text(most / machine.peak->memory) + " without them");
    if (const double products = 2 * report_.multiply_adds(all) * programs; products > 0)
      line("", format("%.3f", products / 1e12) + " Tflop of matrix products: " + format("%.0f", products / operations / 1e12) +
                   " TFLOP/s at the floor by operations");
  }

  const Report& report_;
  std::string text_;
};

}  // namespace

std::string to_text(const Report& report) { return Writer(report).write(); }

}  // namespace teeny::compiler::explain
