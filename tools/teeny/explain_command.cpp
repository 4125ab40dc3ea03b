#include <charconv>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include <teeny/teeny.hpp>

#include "commands.hpp"
#include "explain_kernels.hpp"

namespace teeny::command {

namespace {

struct Options {
  std::string kernel, target, dtype = "f16", grid, turns;
  std::vector<std::string> constants;
  bool no_facts = false;
  ExplainOptions explain;
};

[[noreturn]] void wrong(const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "explain: " + rule + "\nhelp: " + help);
}

std::vector<std::int64_t> numbers_of(const char* option, const std::string& text) {
  std::vector<std::int64_t> numbers;
  for (std::size_t first = 0; first <= text.size();) {
    const std::size_t comma = std::min(text.find(',', first), text.size());
    std::int64_t number = -1;
    const auto [end, error] = std::from_chars(text.data() + first, text.data() + comma, number);
    if (error != std::errc() || end != text.data() + comma || number < 0)
      wrong(std::string(option) + " takes numbers; got '" + text + "'", std::string("write ") + option + " 64,64");
    numbers.push_back(number);
    first = comma + 1;
  }
  return numbers;
}

std::map<std::string, std::string> constants_of(const std::vector<std::string>& list) {
  std::map<std::string, std::string> constants;
  for (const std::string& one : list) {
    const std::size_t equals = one.find('=');
    if (equals == std::string::npos || equals == 0) wrong("--set takes NAME=VALUE; got '" + one + "'", "write --set BM=128");
    constants[one.substr(0, equals)] = one.substr(equals + 1);
  }
  return constants;
}

// "cpu" is this machine's.
std::string target_of(const std::string& text) { return text == "cpu" ? Device::open("cpu").info().target : text; }

int run(Options& options) {
  options.explain.facts = !options.no_facts;
  if (!options.grid.empty()) {
    const auto numbers = numbers_of("--grid", options.grid);
    if (numbers.size() > 3) wrong("--grid takes up to three numbers; got '" + options.grid + "'", "write --grid 64,64");
    options.explain.grid = {1, 1, 1};
    std::copy(numbers.begin(), numbers.end(), options.explain.grid.begin());
  }
  if (!options.turns.empty()) options.explain.turns = numbers_of("--trips", options.turns);
  const std::string target = target_of(options.target);
  const auto constants = constants_of(options.constants);
  if (!options.kernel.ends_with(".ttir")) {
    std::cout << explain_kernel(options.kernel, options.dtype, constants, target, options.explain);
    return 0;
  }
  if (!constants.empty()) wrong("--set is for kernels of the library; a .ttir file has its constants", "leave --set out");
  std::ifstream file(options.kernel, std::ios::binary);
  if (!file) throw Error(ErrorCode::io, "explain: " + options.kernel + " could not be read\nhelp: give the path of a .ttir file");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  std::cout << explain_text(text, options.kernel, target, options.explain);
  return 0;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("explain", "Say what a kernel becomes on a target, without a device (docs/explain.md)");
  command->add_option("kernel", options->kernel, "A .ttir file, or one of " + kernel_names())->required();
  command->add_option("--target", options->target, "What to compile for: cuda:sm_90a, simulator:…, vulkan:…, cpu")->required();
  command->add_option("--dtype", options->dtype, "Element type of a kernel of the library")->capture_default_str();
  command->add_option("--set", options->constants, "A constant of a kernel of the library: BM=128")->take_all();
  command->add_option("--warps", options->explain.compile.warps, "0: the target's choice");
  command->add_option("--stages", options->explain.compile.stages, "0: the compiler's choice");
  command->add_option("--max-registers", options->explain.compile.max_registers, "Of a thread; 0: no limit");
  command->add_flag("--contract", options->explain.compile.contract, "a * b + c may be rounded once");
  command->add_flag("--approximate", options->explain.compile.approximate, "exp, / and the like may be the device's own");
  command->add_flag("--reproducible", options->explain.compile.reproducible, "Reductions follow their tree");
  command->add_flag("--no-facts", options->no_facts, "Assume nothing of the arguments, not even that they are multiples of 16");
  command->add_option("--one", options->explain.ones, "An argument that is 1, by name or number")->take_all();
  command->add_option("--grid", options->grid, "Programs x,y,z of a launch to explain as well");
  command->add_option("--trips", options->turns, "Turns of each loop, in order");
  command->add_option("--emit", options->explain.stage, "Print a stage instead: tt, tile, staged, synchronised, thread, llvm, asm")
      ->default_str("explain");
  command->add_flag("--json", options->explain.json, "Print JSON");
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace teeny::command
