// A package's file: magic, digest of the rest, this build; then for each entry its key, its size and the result as it
// travels from the compiler (compiler.hpp).
#include <teeny/package.hpp>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <span>

#include <teeny/error.hpp>

#include "runtime/compiler/compiler.hpp"
#include "runtime/package.hpp"
#include "runtime/program_request.hpp"
#include "support/cuda_architectures.hpp"
#include "support/target.hpp"

namespace teeny {

using runtime::CacheEntry;
using support::Digest;

namespace {

constexpr char magic[8] = {'T', 'E', 'E', 'N', 'Y', 'P', 'K', '1'};
constexpr std::size_t header_size = 8 + 32;

struct Loaded {
  std::shared_mutex mutex;
  std::map<Digest, CacheEntry> entries;  // guarded by mutex
};
Loaded& loaded() {
  static auto& packages = *new Loaded;
  return packages;
}

void append_number(std::vector<std::uint8_t>& bytes, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
}

[[noreturn]] void unreadable(const std::string& path, const std::string& got) {
  throw Error(ErrorCode::io, "load_package: the file must be a package of this build; got " + path + ", " + got +
                                 "\nhelp: save it again with this build of teeny");
}

// Takes `count` bytes off the front.
const std::uint8_t* take(std::span<const std::uint8_t>& rest, std::uint64_t count, const std::string& path) {
  if (count > rest.size()) unreadable(path, "whose end is missing");
  const std::uint8_t* first = rest.data();
  rest = rest.subspan(static_cast<std::size_t>(count));
  return first;
}

std::uint64_t take_number(std::span<const std::uint8_t>& rest, const std::string& path) {
  const std::uint8_t* bytes = take(rest, 8, path);
  std::uint64_t value = 0;
  for (int i = 0; i < 8; ++i) value |= std::uint64_t{bytes[i]} << (8 * i);
  return value;
}

// The facts of the common launch. Of two that one argument cannot fulfil at once the more useful one, which comes first.
std::vector<teeny_fact> common_facts(const std::vector<teeny_fact>& relevant) {
  std::vector<teeny_fact> facts;
  for (const teeny_fact& fact : relevant) {
    const auto contradicts = [&](const teeny_fact& other) {
      return other.argument == fact.argument && other.kind != fact.kind && other.kind <= TEENY_FACT_DIVISIBLE_BY_16 &&
             fact.kind <= TEENY_FACT_DIVISIBLE_BY_16;
    };
    if (std::none_of(facts.begin(), facts.end(), contradicts)) facts.push_back(fact);
  }
  return facts;
}

// Of NVIDIA's targets, the compute capability; 0 for others.
int cuda_number(const support::Target& target) {
  if (target.kind != "cuda") return 0;
  for (const support::CudaArchitecture& known : support::cuda_architectures())
    if (known.name == target.architecture) return known.number;
  return 0;
}

}  // namespace

namespace runtime {

std::optional<CacheEntry> find_packaged(const Digest& key) {
  const std::shared_lock lock(loaded().mutex);
  const auto found = loaded().entries.find(key);
  if (found == loaded().entries.end()) return std::nullopt;
  return found->second;
}

}  // namespace runtime

struct Package::State {
  std::vector<std::string> targets;
  std::map<Digest, CacheEntry> entries;
};

Package::Package(std::vector<std::string> targets) : state_(std::make_unique<State>()) {
  std::vector<std::string> last;
  for (const std::string& text : targets) {
    const std::optional<support::Target> target = support::parse_target(text);
    if (!target)
      throw Error(ErrorCode::invalid_argument, "Package: a target is a kind and an architecture; got '" + text +
                                                   "', expected one like cuda:sm_90a\nhelp: `teeny devices` prints this "
                                                   "machine's");
    if (const int number = cuda_number(*target)) last.push_back(support::last_cuda_target(number));
  }
  state_->targets = std::move(targets);
  for (const std::string& target : last)
    if (std::find(state_->targets.begin(), state_->targets.end(), target) == state_->targets.end())
      state_->targets.push_back(target);
}

Package::~Package() = default;

void Package::add(const detail::RecordedKernelPtr& kernel, const CompileOptions& options) {
  std::map<Digest, CacheEntry> made;
  for (const std::string& target : state_->targets) {
    const auto make = [&](const std::vector<teeny_fact>& facts, bool analyse_only) -> const CacheEntry& {
      const runtime::ProgramRequest request{*kernel, options, target, facts, analyse_only};
      return made[runtime::digest_of(request)] = runtime::find_or_compile(request, "for a package");
    };
    const std::vector<teeny_fact> facts = common_facts(runtime::usable_facts(make({}, true), *kernel));
    make({}, false);
    if (!facts.empty()) make(facts, false);
  }
  state_->entries.merge(made);
}

const std::vector<std::string>& Package::targets() const { return state_->targets; }

void Package::save(const std::string& path) const {
  std::vector<std::uint8_t> rest;
  const std::string build = runtime::build_id();
  append_number(rest, build.size());
  rest.insert(rest.end(), build.begin(), build.end());
  for (const auto& [key, entry] : state_->entries) {
    const std::vector<std::uint8_t> payload = runtime::encode(runtime::CompileResult{
        .ok = true, .program = entry.program, .metadata = entry.metadata, .relevant_facts = entry.relevant_facts});
    rest.insert(rest.end(), key.begin(), key.end());
    append_number(rest, payload.size());
    rest.insert(rest.end(), payload.begin(), payload.end());
  }
  const Digest digest = support::sha256(rest.data(), rest.size());
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(magic, sizeof magic);
  file.write(reinterpret_cast<const char*>(digest.data()), static_cast<std::streamsize>(digest.size()));
  file.write(reinterpret_cast<const char*>(rest.data()), static_cast<std::streamsize>(rest.size()));
  file.close();
  if (!file)
    throw Error(ErrorCode::io, "Package::save: the file must be writable; got " + path +
                                   "\nhelp: look at the folder's permissions and the space on its disk");
}

void load_package(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<std::uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
  if (!file.is_open()) unreadable(path, "which cannot be opened");
  if (bytes.size() < header_size || std::memcmp(bytes.data(), magic, sizeof magic) != 0) unreadable(path, "another file");
  std::span<const std::uint8_t> rest(bytes.data() + header_size, bytes.size() - header_size);
  if (const Digest digest = support::sha256(rest.data(), rest.size());
      std::memcmp(bytes.data() + sizeof magic, digest.data(), digest.size()) != 0)
    unreadable(path, "which is damaged");
  const std::uint64_t length = take_number(rest, path);
  const std::string build(reinterpret_cast<const char*>(take(rest, length, path)), static_cast<std::size_t>(length));
  if (build != runtime::build_id()) unreadable(path, "one of build " + build);
  std::map<Digest, CacheEntry> entries;
  while (!rest.empty()) {
    Digest key;
    std::memcpy(key.data(), take(rest, key.size(), path), key.size());
    const std::uint64_t size = take_number(rest, path);
    runtime::CompileResult result = runtime::decode_result(take(rest, size, path), static_cast<std::size_t>(size));
    entries[key] = {std::move(result.program), std::move(result.metadata), std::move(result.relevant_facts)};
  }
  const std::unique_lock lock(loaded().mutex);
  loaded().entries.merge(entries);
}

}  // namespace teeny
