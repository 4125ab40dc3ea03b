#include <teeny/check.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <teeny/error.hpp>
#include <teeny/half.hpp>

#include "runtime/device_state.hpp"

namespace teeny::detail {

namespace {

constexpr std::size_t most_mismatches_kept = 8;

// The interpreter's copies of the launch's memory: slices and aliases of one allocation stay slices and aliases.
class Twins {
 public:
  Twins(runtime::DeviceState& device, runtime::DeviceState& interpreter) : device_(device), interpreter_(interpreter) {}

  BufferView twin_of(const BufferView& view) {
    std::shared_ptr<runtime::DeviceMemory>& twin = twins_[view.memory.get()];
    if (!twin) {
      std::vector<std::byte> bytes(view.memory->bytes);
      device_.driver->copy_out(*view.memory, view.memory->address, bytes.data(), bytes.size());
      twin = interpreter_.driver->allocate(bytes.size());
      interpreter_.driver->copy_in(*twin, twin->address, bytes.data(), bytes.size());
    }
    return {twin, &interpreter_, twin->address + (view.address - view.memory->address), view.bytes};
  }

 private:
  runtime::DeviceState& device_;
  runtime::DeviceState& interpreter_;
  std::unordered_map<runtime::DeviceMemory*, std::shared_ptr<runtime::DeviceMemory>> twins_;
};

template <class T>
T read(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

double as_double(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::boolean:
      return read<std::uint8_t>(at) != 0;
    case DType::i8:
      return read<std::int8_t>(at);
    case DType::i16:
      return read<std::int16_t>(at);
    case DType::i32:
      return read<std::int32_t>(at);
    case DType::i64:
      return static_cast<double>(read<std::int64_t>(at));
    case DType::u8:
      return read<std::uint8_t>(at);
    case DType::u16:
      return read<std::uint16_t>(at);
    case DType::u32:
      return read<std::uint32_t>(at);
    case DType::u64:
      return static_cast<double>(read<std::uint64_t>(at));
    case DType::f16:
      return static_cast<float>(read<half>(at));
    case DType::bf16:
      return static_cast<float>(read<bfloat16>(at));
    case DType::f32:
      return read<float>(at);
    case DType::f64:
      return read<double>(at);
  }
  return 0;
}

// Compares one buffer of the device with its twin.
class Comparison {
 public:
  Comparison(const std::string& argument, DType dtype, const runtime::Radii& radii, std::uint64_t twin_address,
             CheckReport& report)
      : argument_(argument), dtype_(dtype), radii_(radii), twin_address_(twin_address), report_(report) {}

  void run(const std::vector<std::byte>& got, const std::vector<std::byte>& expected) {
    const std::size_t width = size_of(dtype_);
    auto next = std::lower_bound(radii_.begin(), radii_.end(), twin_address_,
                                 [](const auto& r, std::uint64_t at) { return r.first < at; });
    for (std::size_t at = 0; at + width <= got.size(); at += width) {
      while (next != radii_.end() && next->first < twin_address_ + at) ++next;
      const double radius = next != radii_.end() && next->first == twin_address_ + at ? next->second : 0;
      compare(at / width, got.data() + at, expected.data() + at, radius);
    }
  }

 private:
  void compare(std::uint64_t element, const std::byte* got, const std::byte* expected, double radius) {
    ++report_.compared;
    if (std::memcmp(got, expected, size_of(dtype_)) == 0) return;
    const double a = as_double(dtype_, got), b = as_double(dtype_, expected);
    if (is_float(dtype_) && std::isnan(a) && std::isnan(b)) return;
    const double distance = a == b ? 0 : std::abs(a - b);
    if (radius > 0 && distance <= radius) {
      report_.worst = std::max(report_.worst, distance / radius);
      return;
    }
    ++report_.mismatched;
    if (report_.mismatches.size() < most_mismatches_kept)
      report_.mismatches.push_back({argument_, element, a, b, radius});
  }

  const std::string& argument_;
  DType dtype_;
  const runtime::Radii& radii_;
  std::uint64_t twin_address_;
  CheckReport& report_;
};

std::vector<std::byte> contents(const BufferView& view) {
  std::vector<std::byte> bytes(view.bytes);
  copy_out(view, bytes.data(), bytes.size());
  return bytes;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

}  // namespace

CheckReport check_program(runtime::DeviceState* device, const RecordedKernelPtr& definition, const RecordedKernelPtr& kernel,
                          const Grid& grid, const CompileOptions& options, const LaunchArgument* arguments, std::size_t count) {
  if (definition->parameters() != kernel->parameters())
    throw Error(ErrorCode::invalid_argument, "check_against: a kernel and its definition have the same parameters; got " + kernel->name() + " and " +
                                                 definition->name() + "\nhelp: declare the same types and constness");
  device->synchronize();
  runtime::DeviceState* interpreter = runtime::open_device("interpreter");
  Twins twins(*device, *interpreter);
  std::vector<BufferView> views(count);
  std::vector<LaunchArgument> theirs(arguments, arguments + count);
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i].buffer == nullptr || arguments[i].buffer->memory == nullptr) continue;
    views[i] = twins.twin_of(*arguments[i].buffer);
    theirs[i] = {views[i].address, &views[i]};
  }
  CheckReport report;
  runtime::Radii radii;
  try {
    launch_with_radii(interpreter, find_program(interpreter, definition, options), definition, grid, nullptr, theirs.data(),
                      count, &radii);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::check_failed && error.code() != ErrorCode::assertion_failed) throw;
    report.findings = error.what();
    return report;  // what the kernel does is not defined: there is nothing to compare with
  }
  launch_program(device, find_program(device, kernel, options), kernel, grid, nullptr, arguments, count);
  device->synchronize();
  for (std::size_t i = 0; i < count; ++i) {
    if (views[i].memory == nullptr) continue;
    Comparison(kernel->parameter_name(i), kernel->parameters()[i].dtype, radii, views[i].address, report)
        .run(contents(*arguments[i].buffer), contents(views[i]));
  }
  return report;
}

std::string to_text(const CheckReport& report) {
  if (report.ok()) return "right: " + std::to_string(report.compared) + " elements compared\n";
  std::string text = report.findings;
  if (report.mismatched > 0)
    text += std::to_string(report.mismatched) + " of " + std::to_string(report.compared) + " elements are wrong\n";
  for (const Mismatch& m : report.mismatches)
    text += "  " + m.argument + "[" + std::to_string(m.element) + "]: got " + number(m.got) + ", expected " +
            number(m.expected) + (m.radius > 0 ? " within " + number(m.radius) : " exactly") + "\n";
  return text;
}

}  // namespace teeny::detail
