#include <teeny/device.hpp>

#include <algorithm>
#include <charconv>

#include <teeny/error.hpp>

#include "runtime/device_state.hpp"
#include "runtime/statistics.hpp"
#include "support/log.hpp"

namespace teeny {

namespace runtime {

Statistics& statistics() {
  static auto& counters = *new Statistics;
  return counters;
}

Program* DeviceState::find_program(const detail::RecordedKernelPtr& kernel, const CompileOptions& options) {
  std::atomic<const Known*>& place = recent(kernel.get());
  const Known* known = place.load(std::memory_order_acquire);
  if (known != nullptr && known->kernel == kernel && known->options == options) return known->program;
  known = find_or_make(kernel, options);
  place.store(known, std::memory_order_release);
  return known->program;
}

const DeviceState::Known* DeviceState::find_known(const detail::RecordedKernelPtr& kernel,
                                                  const CompileOptions& options) const {
  const auto found = known_.find(kernel.get());
  if (found == known_.end()) return nullptr;
  for (const auto& entry : found->second)
    if (entry->options == options) return entry.get();
  return nullptr;
}

const DeviceState::Known* DeviceState::find_or_make(const detail::RecordedKernelPtr& kernel,
                                                    const CompileOptions& options) {
  {
    const std::shared_lock lock(programs_mutex_);
    if (const Known* known = find_known(kernel, options)) return known;
  }
  const std::unique_lock lock(programs_mutex_);
  if (const Known* known = find_known(kernel, options)) return known;
  const std::string key = kernel->digest() + " " + std::to_string(options.warps) + " " +
                          std::to_string(options.stages) + " " + std::to_string(options.max_registers) + " " +
                          std::to_string(options.reproducible) + std::to_string(options.contract) +
                          std::to_string(options.approximate) + std::to_string(options.debug_info);
  std::unique_ptr<Program>& program = programs_[key];
  if (!program) {
    program = std::make_unique<Program>(*driver, options);
    if (!kernel->is_text() && support::list_has(support::environment("TEENY_DUMP"), "trace")) {
      const std::string text = "// trace of " + kernel->name() + "\n" + trace::to_text(kernel->trace().body);
      std::fwrite(text.data(), 1, text.size(), stderr);
    }
  }
  auto& list = known_[kernel.get()];
  list.push_back(std::unique_ptr<const Known>(new Known{kernel, options, program.get()}));
  return list.back().get();
}

std::shared_ptr<DriverStream> DeviceState::make_stream() { return track(driver->make_stream()); }

std::shared_ptr<DriverStream> DeviceState::track(std::shared_ptr<DriverStream> stream) {
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(streams_, [](const auto& weak) { return weak.expired(); });
  streams_.push_back(stream);
  return stream;
}

void DeviceState::synchronize() {
  check_capture(nullptr, "a wait for the device's work");
  std::vector<std::shared_ptr<DriverStream>> streams;
  {
    const std::lock_guard lock(streams_mutex_);
    for (const auto& weak : streams_)
      if (auto stream = weak.lock()) streams.push_back(std::move(stream));
  }
  std::exception_ptr first;
  const auto wait = [&](DriverStream& stream) {
    try {
      stream.synchronize();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  };
  wait(driver->default_stream());
  for (const auto& stream : streams) wait(*stream);
  if (first) std::rethrow_exception(first);
}

namespace {

std::string list_of_devices() {
  std::string text;
  for (const DeviceInfo& info : devices())
    if (info.unusable.empty()) text += (text.empty() ? "'" : ", '") + info.spec + "'";
  return text;
}

struct Spec {
  std::string kind;
  int index = 0;
  std::string uuid;  // or the start of one, in the place of a number
};

// Letters, digits and dashes behind "GPU-" and the like.
bool is_uuid(std::string_view text) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
  };
  const std::size_t dash = text.find('-');
  return dash != std::string_view::npos && dash != 0 && dash + 1 < text.size() &&
         std::all_of(text.begin(), text.end(), fits);
}

Spec parse_spec(std::string_view text) {
  const std::size_t colon = text.find(':');
  Spec spec{.kind = std::string(text.substr(0, colon)), .index = 0, .uuid = {}};
  bool good = !spec.kind.empty() &&
              std::all_of(spec.kind.begin(), spec.kind.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  if (colon != std::string_view::npos) {
    const std::string_view which = text.substr(colon + 1);
    const auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), spec.index);
    if (error != std::errc() && is_uuid(which))
      spec.uuid = which;
    else
      good = good && error == std::errc() && end == which.data() + which.size() && spec.index >= 0;
  }
  if (!good)
    throw Error(ErrorCode::invalid_argument, "Device::open: a kind of device, and its number or UUID; got '" +
                                                 std::string(text) + "', expected one of " + list_of_devices() +
                                                 "\nhelp: look at TEENY_DEVICE");
  return spec;
}

// Of a kind whose devices are described; null where the text asks for another kind's.
std::unique_ptr<DeviceState> open_named(std::string_view text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return nullptr;
  for (const auto& driver : drivers())
    if (driver->kind() == text.substr(0, colon))
      if (auto device = driver->open_named(text.substr(colon + 1)))
        return std::make_unique<DeviceState>(std::move(device));
  return nullptr;
}

// The number of the device that is meant; -1: it is not here.
int find_device(const Spec& spec, const std::vector<DeviceInfo>& list) {
  if (spec.uuid.empty()) return static_cast<std::size_t>(spec.index) < list.size() ? spec.index : -1;
  int found = -1;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (!list[i].uuid.starts_with(spec.uuid)) continue;
    if (found >= 0)
      throw Error(ErrorCode::invalid_argument, "Device::open: a UUID must fit one device; got '" + spec.uuid +
                                                   "', which fits " + list[static_cast<std::size_t>(found)].uuid +
                                                   " and " + list[i].uuid +
                                                   ", expected more of it\nhelp: copy it "
                                                   "from `teeny devices --json`");
    found = static_cast<int>(i);
  }
  return found;
}

}  // namespace

DeviceState* open_device(std::string_view text) {
  static std::mutex mutex;
  static auto& opened = *new std::unordered_map<std::string, std::unique_ptr<DeviceState>>;
  const std::lock_guard lock(mutex);
  if (std::unique_ptr<DeviceState>& state = opened[std::string(text)]; state || (state = open_named(text)))
    return state.get();
  opened.erase(std::string(text));
  const Spec spec = parse_spec(text);
  std::string reason;
  for (const auto& driver : drivers()) {
    if (driver->kind() != spec.kind) continue;
    reason = driver->unavailable();
    const int index = find_device(spec, driver->devices());
    if (index < 0) break;
    std::unique_ptr<DeviceState>& state = opened[spec.kind + ":" + std::to_string(index)];
    if (!state) state = std::make_unique<DeviceState>(driver->open(index));
    return state.get();
  }
  throw Error(ErrorCode::unsupported, "Device::open: the device must be here; got '" + std::string(text) +
                                          "', expected one of " + list_of_devices() +
                                          (reason.empty() ? "" : "\nnote: " + reason) +
                                          "\nhelp: check its driver, or choose another with TEENY_DEVICE");
}

}  // namespace runtime

namespace {

// The best device here, without asking kinds of devices that come after it what they have.
std::string best_device() {
  for (const auto& driver : runtime::drivers()) {
    if (!driver->likely()) continue;
    for (const DeviceInfo& info : driver->devices())
      if (info.unusable.empty() && !info.software) return info.spec;
  }
  return "interpreter";
}

}  // namespace

std::vector<DeviceInfo> devices() {
  std::vector<DeviceInfo> list;
  std::vector<DeviceInfo> later;  // what a processor plays stands behind the processor itself, before the interpreter
  for (const auto& driver : runtime::drivers()) {
    if (driver->kind() == "interpreter") std::move(later.begin(), later.end(), std::back_inserter(list));
    for (DeviceInfo& info : driver->devices()) (info.software ? later : list).push_back(std::move(info));
  }
  return list;
}

std::vector<MissingKind> missing_kinds() {
  std::vector<MissingKind> list;
  for (const auto& driver : runtime::drivers())
    if (std::string reason = driver->unavailable(); !reason.empty())
      list.push_back({.kind = driver->kind(), .reason = std::move(reason)});
  return list;
}

Device Device::open() {
  const std::string chosen = support::environment("TEENY_DEVICE");
  if (!chosen.empty()) return open(chosen);
  return open(best_device());
}

Device Device::open(std::string_view spec) { return Device(runtime::open_device(spec)); }

const DeviceInfo& Device::info() const { return state_->driver->info(); }

Stream Device::stream() const { return Stream(state_->make_stream(), state_); }

void Device::synchronize() const { state_->synchronize(); }

int Device::parallel() const { return state_->driver->parallel(); }

void Device::set_parallel(int count) const {
  if (count < 1)
    throw Error(ErrorCode::invalid_argument,
                "set_parallel: at least one program runs at once; got " + std::to_string(count) +
                    ", expected 1 or more\nhelp: Device::parallel() tells the present number");
  state_->driver->set_parallel(count);
}

ProgramStatistics program_statistics() {
  const runtime::Statistics& counters = runtime::statistics();
  return {.compiles = counters.compiles.load(),
          .analyses = counters.analyses.load(),
          .cache_hits = counters.cache_hits.load(),
          .cache_rebuilds = counters.cache_rebuilds.load()};
}

}  // namespace teeny
