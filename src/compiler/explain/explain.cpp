#include "compiler/explain/explain.hpp"

#include <charconv>

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/raw_ostream.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <nlohmann/json.hpp>

#include <teeny/error.hpp>

#include "compiler/import/operation_number.hpp"

namespace teeny::compiler::explain {

using namespace mlir;

namespace {

[[noreturn]] void wrong(llvm::StringRef option) {
  throw Error(ErrorCode::invalid_argument, "explain: an option of TEENY_DUMP=explain; got '" + option.str() +
                                               "', expected json, grid=X:Y:Z, trips=N:N… or names=A:B…"
                                               "\nhelp: for example TEENY_DUMP='explain;grid=64:64;trips=128'");
}

std::vector<std::int64_t> numbers_of(llvm::StringRef option, llvm::StringRef text) {
  std::vector<std::int64_t> numbers;
  for (llvm::StringRef part : llvm::split(text, ':')) {
    std::int64_t number = 0;
    if (part.getAsInteger(10, number) || number < 0) wrong(option);
    numbers.push_back(number);
  }
  return numbers;
}

void read_option(Request& request, llvm::StringRef option) {
  const auto [name, value] = option.split('=');
  if (name == "json" && value.empty()) {
    request.json = true;
  } else if (name == "names") {
    for (llvm::StringRef part : llvm::split(value, ':')) request.names.push_back(part.str());
  } else if (name == "trips") {
    request.turns = numbers_of(option, value);
  } else if (name == "grid") {
    const auto numbers = numbers_of(option, value);
    if (numbers.size() > 3) wrong(option);
    request.grid = {1, 1, 1};
    std::copy(numbers.begin(), numbers.end(), request.grid.begin());
  } else {
    wrong(option);
  }
}

// "a, b are multiples of 16", a line for each kind.
std::vector<std::string> assumed(std::span<const teeny_fact> facts, const std::vector<std::string>& names) {
  std::vector<teeny_fact> sorted(facts.begin(), facts.end());
  llvm::sort(sorted, [](const teeny_fact& a, const teeny_fact& b) { return a.argument < b.argument; });
  llvm::MapVector<int, std::string> arguments;
  for (const teeny_fact& fact : sorted) {
    std::string& list = arguments[fact.kind];
    if (!list.empty()) list += ", ";
    list += fact.argument < names.size() ? names[fact.argument] : "argument " + std::to_string(fact.argument + 1);
  }
  std::vector<std::string> lines;
  for (const auto& [kind, list] : arguments)
    lines.push_back(list + (kind == TEENY_FACT_EQUALS_ONE          ? ": 1"
                            : kind == TEENY_FACT_DIVISIBLE_BY_16 ? ": a multiple of 16"
                            : kind == TEENY_FACT_FITS_32         ? ": below 2 GiB"
                                                                 : ": larger than the cache"));
  return lines;
}

std::string shape_text(llvm::ArrayRef<std::int64_t> shape, Type element) {
  std::string text;
  llvm::raw_string_ostream out(text);
  for (std::int64_t extent : shape) out << extent << "×";
  out << element;
  return text;
}

std::int64_t bytes_of(std::int64_t elements, Type element) { return elements * ((element.getIntOrFloatBitWidth() + 7) / 8); }

SharedPart part_of(tile::AllocOp allocation) {
  const tile::MemType type = allocation.getType();
  SharedPart part{.what = shape_text(type.getShape(), type.getElement()),
                  .offset = std::int64_t(allocation.getOffset().value_or(0)),
                  .bytes = bytes_of(type.all_elements(), type.getElement())};
  if (type.getBuffers() > 0) part.what = "a ring of " + std::to_string(type.getBuffers()) + " buffers of " + part.what;
  if (const unsigned swizzle = type.getEncoding().getSwizzle()) part.what += ", " + std::to_string(swizzle) + "-byte swizzle";
  return part;
}

// Needs of one kind and place follow each other in one part.
void add(std::vector<SharedPart>& parts, SharedPart part) {
  const auto same = llvm::find_if(parts, [&](const SharedPart& known) { return known.what == part.what && known.offset == part.offset; });
  if (same != parts.end())
    same->bytes = std::max(same->bytes, part.bytes);
  else if (part.bytes > 0)
    parts.push_back(std::move(part));
}

void add_scratch(std::vector<SharedPart>& parts, Operation& operation, const gpu::Capability& capability) {
  auto offsets = operation.getAttrOfType<DenseI64ArrayAttr>(gpu::scratch_offsets_attribute);
  if (!offsets) return;
  const auto scratch = gpu::scratch_of(&operation, capability);
  for (auto [offset, need] : llvm::zip(offsets.asArrayRef(), scratch))
    add(parts, {.what = "exchange between lanes of " + operation.getName().getStringRef().str(), .offset = offset,
                .bytes = bytes_of(need.elements, need.element)});
}

int bits_of(const gpu::MatrixUnit& unit) {
  const std::string& name = unit.operand;
  if (name == "f64") return 64;
  if (name == "f32" || name == "tf32") return 32;
  return name == "f16" || name == "bf16" ? 16 : 8;
}

}  // namespace

std::optional<Request> request_of(std::string_view dump) {
  for (llvm::StringRef word : llvm::split(llvm::StringRef(dump), ',')) {
    auto [name, options] = word.split(';');
    if (name != "explain") continue;
    Request request;
    if (!options.empty())
      for (llvm::StringRef option : llvm::split(options, ';')) read_option(request, option);
    return request;
  }
  return std::nullopt;
}

Explainer::Explainer(Request request, std::string kernel, const gpu::Capability& capability,
                     const teeny_compile_options& options, std::span<const teeny_fact> facts)
    : request_(std::move(request)), capability_(capability), options_(options) {
  report_.kernel = std::move(kernel);
  report_.target = capability.target;
  report_.assumed = assumed(facts, request_.names);
  report_.shared_limit = capability.shared_bytes;
  report_.machine = machine_of(capability.target);
  report_.max_registers = options.max_registers;
  report_.grid = request_.grid;
  report_.turns = request_.turns;
  for (const gpu::MatrixUnit& unit : capability.units)
    report_.products[unit.name] = {.multiply_adds = double(unit.m) * unit.n * unit.k, .bits = bits_of(unit), .warps = unit.warps};
}

void Explainer::note(llvm::StringRef stage, ModuleOp module) {
  if (stage == "synchronised") note_memory(module);
  if (stage != "thread") return;
  const CountOptions options{.contract = options_.contract != 0, .approximate = options_.approximate != 0};
  for (auto kernel : module.getOps<func::FuncOp>())
    if (!kernel.isExternal()) report_.function = count(kernel, capability_, options);
}

void Explainer::note_memory(ModuleOp module) {
  module.walk([&](Operation* operation) {
    if (auto allocation = dyn_cast<tile::AllocOp>(operation)) add(report_.shared, part_of(allocation));
    if (auto bars = dyn_cast<tile::BarInitOp>(operation))
      add(report_.shared, {.what = std::to_string(bars.getType().getCount()) + " arrival barriers",
                           .offset = std::int64_t(bars.getOffset().value_or(0)), .bytes = 8 * bars.getType().getCount()});
    add_scratch(report_.shared, *operation, capability_);
    auto view = dyn_cast<tile::ViewBufferOp>(operation);
    auto loop = view ? view->getParentOfType<scf::ForOp>() : scf::ForOp();
    if (!loop || !loop.isDefinedOutsideOfLoop(view.getMemory())) return;
    const std::string place = place_text(loop.getLoc());
    const auto same = llvm::find_if(report_.rings, [&](const Ring& ring) { return ring.place == place; });
    const std::int64_t buffers = cast<tile::MemType>(view.getMemory().getType()).getBuffers();
    if (same == report_.rings.end())
      report_.rings.push_back({place, buffers});
    else
      same->buffers = std::max(same->buffers, buffers);
  });
  llvm::sort(report_.shared, [](const SharedPart& a, const SharedPart& b) {
    return std::tie(a.offset, a.what) < std::tie(b.offset, b.what);
  });
}

std::string Explainer::finish(const GpuProgram& program) {
  const int loops = count_loops(report_.function.loops);
  if (!report_.turns.empty() && int(report_.turns.size()) != loops)
    throw Error(ErrorCode::invalid_argument, "explain: a number of turns for each loop; got " +
                                                 std::to_string(report_.turns.size()) + ", expected " + std::to_string(loops) +
                                                 "\nhelp: explain the kernel without turns first: it lists the loops");
  constexpr llvm::StringLiteral cuda = "cuda:";
  if (llvm::StringRef(report_.target).starts_with(cuda) && !program.format_version.empty()) {
    const std::string_view ptx(reinterpret_cast<const char*>(program.bytes.data()), program.bytes.size());
    report_.assembled = assemble(ptx, std::string_view(report_.target).substr(cuda.size()));
  } else {
    report_.assembled.how = "the program is not for NVIDIA's assembler";
  }
  return request_.json ? to_json(report_) + "\n" : to_text(report_);
}

std::string explain_cpu(const Request& request, const std::string& kernel, const std::string& target,
                        std::uint64_t arena_bytes, std::size_t program_bytes, std::span<const teeny_fact> facts) {
  const auto known = assumed(facts, request.names);
  if (request.json)
    return nlohmann::json({{"kernel", kernel}, {"target", target}, {"assumed", known}, {"arena_bytes", arena_bytes},
                           {"program_bytes", program_bytes}}).dump(2) + "\n";
  std::string text = "kernel " + kernel + " for " + target + "\n";
  for (const std::string& fact : known) text += "  assumed       " + fact + "\n";
  text += "  arena         " + std::to_string(arena_bytes) + " bytes of a worker thread: blocks that are kept, and packed operands\n";
  text += "  machine code  " + std::to_string(program_bytes) + " bytes\n";
  text += "Threads, shared memory, barriers and occupancy are of GPUs; the stages tt, llvm and asm show a CPU's program.\n";
  return text;
}

}  // namespace teeny::compiler::explain
