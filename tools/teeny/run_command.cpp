#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>

#include <teeny/teeny.hpp>

#include "commands.hpp"
#include "npy.hpp"

namespace teeny::command {

namespace {

struct Options {
  std::string device, file, grid = "1";
  std::vector<std::string> arguments;
};

// What an --arg says, and where its result goes.
struct Given {
  std::optional<TextArgument> argument;
  std::string output;  // a .npy file to write afterwards, or empty
  std::vector<std::size_t> shape;
  bool print = false;
};

[[noreturn]] void wrong(const std::string& rule, const std::string& help) {
  throw Error(ErrorCode::invalid_argument, "run: " + rule + "\nhelp: " + help);
}

Grid parse_grid(const std::string& text) {
  long axis[3] = {1, 1, 1};
  std::istringstream in(text);
  std::string part;
  int count = 0;
  while (std::getline(in, part, ',')) {
    char* end = nullptr;
    long value = std::strtol(part.c_str(), &end, 10);
    if (count == 3 || part.empty() || *end)
      wrong("--grid takes up to three numbers; got '" + text + "', expected x,y,z", "write --grid 4 or --grid 4,2,1");
    axis[count++] = value;
  }
  return {axis[0], axis[1], axis[2]};
}

std::optional<DType> parse_dtype(const std::string& text) {
  for (int i = 0; i < dtype_count; ++i)
    if (text == name_of(static_cast<DType>(i))) return static_cast<DType>(i);
  return std::nullopt;
}

AnyBuffer upload(const Device& device, const NpyArray& array) {
  AnyBuffer buffer = device.buffer(array.dtype, array.count());
  buffer.upload(std::as_bytes(std::span(array.bytes)));
  return buffer;
}

// zeros:f32:1024, ones:…, random:…, arange:…
NpyArray generate(const std::string& how, DType dtype, std::size_t count) {
  NpyArray array{dtype, {count}, std::vector<std::uint8_t>(count * size_of(dtype))};
  std::uint64_t state = 0x9E3779B97F4A7C15u;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    double random = static_cast<double>(state >> 11) * 0x1p-53;
    double value = how == "ones"     ? 1
                   : how == "arange" ? static_cast<double>(i)
                   : how == "random" ? (is_float(dtype) ? 2 * random - 1 : random * 100)
                                     : 0;
    array.set(i, value);
  }
  return array;
}

Given parse_argument(const Device& device, const std::string& text) {
  Given given;
  std::string source = text;
  if (auto at = source.find('>'); at != std::string::npos) given.output = source.substr(at + 1), source.resize(at);
  if (source.ends_with(".npy")) {
    NpyArray array = read_npy(source);
    given.shape = array.shape;
    given.argument = upload(device, array);
    return given;
  }
  if (auto first = source.find(':'); first != std::string::npos) {
    std::string how = source.substr(0, first), rest = source.substr(first + 1);
    auto second = rest.find(':');
    auto dtype = parse_dtype(rest.substr(0, second));
    long count = second == std::string::npos ? 0 : std::strtol(rest.c_str() + second + 1, nullptr, 10);
    bool known = how == "zeros" || how == "ones" || how == "random" || how == "arange";
    if (!known || !dtype || count <= 0)
      wrong("--arg '" + text + "' is no generated buffer; expected zeros|ones|arange|random:DTYPE:COUNT",
            "for example --arg random:f32:4096");
    given.shape = {static_cast<std::size_t>(count)};
    given.argument = upload(device, generate(how, *dtype, static_cast<std::size_t>(count)));
    given.print = given.output.empty();
    return given;
  }
  char* end = nullptr;
  long long integer = std::strtoll(source.c_str(), &end, 0);
  if (!source.empty() && !*end) {
    given.argument = integer;
    return given;
  }
  double real = std::strtod(source.c_str(), &end);
  if (source.empty() || *end)
    wrong("--arg '" + text + "' is neither a number, a .npy file nor a generated buffer", "see teeny run --help");
  given.argument = real;
  return given;
}

void show(std::size_t index, const NpyArray& array) {
  std::cout << "argument " << index + 1 << " (" << name_of(array.dtype) << " × " << array.count() << "):";
  for (std::size_t i = 0; i < std::min<std::size_t>(array.count(), 8); ++i) std::cout << ' ' << array.get(i);
  std::cout << (array.count() > 8 ? " …\n" : "\n");
}

int run(const Options& options) {
  std::ifstream file(options.file, std::ios::binary);
  if (!file)
    throw Error(ErrorCode::io, "run: " + options.file + " could not be read\nhelp: give the path of a .ttir file");
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  Device device = options.device.empty() ? Device::open() : Device::open(options.device);
  TextKernel kernel = TextKernel::read(device, text, options.file);
  std::vector<Given> given;
  std::vector<TextArgument> arguments;
  for (const std::string& argument : options.arguments) {
    given.push_back(parse_argument(device, argument));
    arguments.push_back(*given.back().argument);
  }
  kernel(parse_grid(options.grid), arguments);
  device.synchronize();
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!arguments[i].is_buffer()) continue;
    const AnyBuffer& buffer = arguments[i].buffer();
    NpyArray array{buffer.dtype(), given[i].shape, std::vector<std::uint8_t>(buffer.bytes())};
    buffer.download(std::as_writable_bytes(std::span(array.bytes)));
    if (!given[i].output.empty()) write_npy(given[i].output, array);
    if (given[i].print) show(i, array);
  }
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("run", "Run a kernel from a .ttir file of Python Triton");
  command->add_option("file", options->file, "The .ttir file")->required();
  command->add_option("--device", options->device, "The device; TEENY_DEVICE or the best one where not given");
  command->add_option("--grid", options->grid, "Programs along x,y,z")->capture_default_str();
  command
      ->add_option("--arg", options->arguments,
                   "One for each argument, in order: a number, FILE.npy, or zeros|ones|arange|random:DTYPE:COUNT; "
                   "append >OUT.npy to a buffer to keep what it holds afterwards")
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false);
  command->callback([&action, options] { action = [options] { return run(*options); }; });
}

}  // namespace teeny::command
