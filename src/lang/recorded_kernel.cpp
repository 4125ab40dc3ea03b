// Recording from the outside: record(), the table of recordings, and the numbers of a launch.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <mutex>

#include "lang/recording.hpp"
#include "support/digest.hpp"

namespace teeny::lang {

namespace {
thread_local Recording* active = nullptr;
std::atomic<std::uint32_t> next_serial{1};

// Makes a recording the thread's own for a scope, whatever leaves it. A body may launch another kernel.
class Activation {
 public:
  explicit Activation(Recording& recording) : outer_(active) { active = &recording; }
  ~Activation() { active = outer_; }
  Activation(const Activation&) = delete;

 private:
  Recording* outer_;
};

std::vector<std::string> parameter_names(const char* list, int count) {
  std::vector<std::string> names;
  for (const char* c = list; c && *c;) {
    std::string name;
    for (; *c && *c != ','; ++c)
      if (*c != ' ' && *c != '\t' && *c != '\n') name += *c;
    if (*c == ',') ++c;
    names.push_back(std::move(name));
  }
  if (static_cast<int>(names.size()) != count) {
    names.clear();
    for (int i = 0; i < count; ++i) names.push_back("argument " + std::to_string(i + 1));
  }
  return names;
}

std::string constant_text(const detail::Constant& constant) {
  using Form = detail::Constant::Form;
  switch (constant.form) {
    case Form::integer:
      return std::to_string(static_cast<std::int64_t>(constant.bits));
    case Form::unsigned_integer:
      return std::to_string(constant.bits);
    case Form::boolean:
      return constant.bits ? "true" : "false";
    case Form::function:
      return "{}";
    case Form::floating:
      break;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", std::bit_cast<double>(constant.bits));
  return text;
}

}  // namespace

Recording* current_or_null() { return active; }

}  // namespace teeny::lang

namespace teeny::detail {

using lang::Recording;
using lang::SlotId;

Value parameter(int index) {
  Recording& r = lang::current("parameter", {});
  return r.value(r.parameters[index]);
}

Value parameter_as(int index, DType type) {
  Recording& r = lang::current("parameter", {});
  r.slots[r.parameters[index]].type.dtype = type;
  return r.value(r.parameters[index]);
}

RecordedKernelPtr record(const KernelDescription& description, const ElementType* parameters, int parameter_count,
                         void (*body)(const void*), const void* object) {
  std::uint32_t serial = lang::next_serial++;
  if (serial == 0) serial = lang::next_serial++;
  Recording recording(serial);
  for (int i = 0; i < parameter_count; ++i) {
    const SlotId slot = recording.new_slot(parameters[i], 0, {});
    recording.slots[slot].form = parameters[i].pointer ? lang::Type::Form::pointer : lang::Type::Form::element;
    recording.parameters.push_back(slot);
  }
  const std::string name(description.type_name);
  trace::Trace trace;
  {
    lang::Activation activation(recording);
    body(object);
    recording.finish();
    trace = lang::build_trace(recording);
  }
  if (!recording.mistakes.empty()) lang::throw_mistakes(name, std::move(recording.mistakes));
  trace.kernel = name;
  trace.parameter_names = lang::parameter_names(description.parameter_names, parameter_count);
  for (int i = 0; i < description.constant_count; ++i)
    trace.constants.emplace_back(std::string(description.constant_names[i]),
                                 lang::constant_text(description.constants[i]));
  if (const std::string wrong = trace::verify(trace.body); !wrong.empty())
    throw Error(ErrorCode::invalid_kernel, "kernel " + name + ": the recorded body is not well formed: " + wrong +
                                               "\nhelp: this is a fault of teeny; please report the kernel\n" +
                                               trace::to_text(trace.body));
  return std::make_shared<const RecordedKernel>(std::move(trace));
}

// ---- RecordedKernel

RecordedKernel::RecordedKernel(trace::Trace&& trace)
    : trace_(std::make_unique<trace::Trace>(std::move(trace))), body_(trace::serialise(trace_->body)) {
  digest_ = support::to_hex(support::sha256(body_.data(), body_.size()));
  for (const trace::ValueId parameter : trace_->body.parameters) {
    const trace::Type& type = trace_->body.types[parameter];
    parameters_.push_back({type.dtype, type.form == trace::Type::Form::pointer, type.read_only});
  }
}

RecordedKernel::RecordedKernel(std::string name, std::vector<std::uint8_t> text, std::vector<Parameter> parameters)
    : trace_(std::make_unique<trace::Trace>()),
      body_(std::move(text)),
      parameters_(std::move(parameters)),
      is_text_(true) {
  digest_ = support::to_hex(support::Sha256().field("text").field(body_.data(), body_.size()).finish());
  trace_->kernel = std::move(name);
  trace_->parameter_names = lang::parameter_names(nullptr, static_cast<int>(parameters_.size()));
}

RecordedKernel::~RecordedKernel() = default;

const std::string& RecordedKernel::name() const { return trace_->kernel; }
const std::string& RecordedKernel::parameter_name(std::size_t index) const { return trace_->parameter_names[index]; }

namespace {

[[noreturn]] void does_not_fit(const RecordedKernel& kernel, std::size_t index, const std::string& value) {
  const Parameter& parameter = kernel.parameters()[index];
  throw Error(ErrorCode::invalid_argument, "launch: " + kernel.parameter_name(index) + " of kernel " + kernel.name() +
                                               " must fit its type; got " + value + ", expected a value of " +
                                               name_of(parameter.dtype) +
                                               "\nhelp: declare the parameter with a wider type");
}

std::uint64_t float_bits(DType type, double value) {
  if (type == DType::f64) return std::bit_cast<std::uint64_t>(value);
  if (type == DType::f16) return half(value).bits();
  if (type == DType::bf16) return bfloat16(value).bits();
  const double limit = static_cast<double>(std::numeric_limits<float>::max());
  const float narrow =
      std::isfinite(value) && std::abs(value) > limit
          ? (std::abs(value) < limit * (1 + 0x1p-25)
                 ? std::copysign(std::numeric_limits<float>::max(), static_cast<float>(value > 0 ? 1 : -1))
                 : static_cast<float>(value > 0 ? 1 : -1) * std::numeric_limits<float>::infinity())
          : static_cast<float>(value);
  return std::bit_cast<std::uint32_t>(narrow);
}

double float_of(DType type, std::uint64_t bits) {
  if (type == DType::f64) return std::bit_cast<double>(bits);
  if (type == DType::f16) return half::from_bits(static_cast<std::uint16_t>(bits));
  if (type == DType::bf16) return bfloat16::from_bits(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

template <class T>
std::uint64_t integer_argument(const RecordedKernel& kernel, std::size_t index, T value) {
  const DType type = kernel.parameters()[index].dtype;
  if (is_float(type)) return float_bits(type, static_cast<double>(value));
  const int width = bits_of(type);
  const bool negative = std::is_signed_v<T> && value < 0;
  const std::uint64_t magnitude =
      negative ? std::uint64_t{0} - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const std::uint64_t limit = is_signed_integer(type) ? (std::uint64_t{1} << (width - 1)) - (negative ? 0 : 1)
                              : negative              ? 0
                              : width == 64           ? ~std::uint64_t{0}
                                                      : (std::uint64_t{1} << width) - 1;
  if (magnitude > limit) does_not_fit(kernel, index, std::to_string(value));
  return width == 64 ? static_cast<std::uint64_t>(value)
                     : static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << width) - 1);
}

}  // namespace

std::uint64_t RecordedKernel::argument(std::size_t index, long long value) const {
  return integer_argument(*this, index, value);
}
std::uint64_t RecordedKernel::argument(std::size_t index, unsigned long long value) const {
  return integer_argument(*this, index, value);
}
std::uint64_t RecordedKernel::argument(std::size_t index, double value) const {
  const DType type = parameters_[index].dtype;
  if (!is_float(type)) does_not_fit(*this, index, std::to_string(value));
  const std::uint64_t bits = float_bits(type, value);
  if (std::isfinite(value) && !std::isfinite(float_of(type, bits))) does_not_fit(*this, index, std::to_string(value));
  return bits;
}

// ---- RecordingTable

// A list that only grows: who finds its recording takes no lock.
struct RecordingTable::State {
  struct Entry {
    std::vector<Constant> constants;
    RecordedKernelPtr kernel;
    std::unique_ptr<const Entry> next;  // owns the rest
  };
  std::mutex mutex;                    // of those who add
  std::unique_ptr<const Entry> first;  // guarded by mutex
  std::atomic<const Entry*> published{nullptr};

  const RecordedKernelPtr* find(const KernelDescription& description) const {
    for (const Entry* entry = published.load(std::memory_order_acquire); entry != nullptr; entry = entry->next.get())
      if (std::equal(entry->constants.begin(), entry->constants.end(), description.constants,
                     description.constants + description.constant_count))
        return &entry->kernel;
    return nullptr;
  }
  const RecordedKernelPtr& add(const KernelDescription& description, RecordedKernelPtr kernel) {
    const std::lock_guard lock(mutex);
    if (const RecordedKernelPtr* found = find(description)) return *found;
    first = std::unique_ptr<const Entry>(
        new Entry{.constants = {description.constants, description.constants + description.constant_count},
                  .kernel = std::move(kernel),
                  .next = std::move(first)});
    published.store(first.get(), std::memory_order_release);
    return first->kernel;
  }
};

RecordingTable::RecordingTable() : state_(std::make_unique<State>()) {}
RecordingTable::~RecordingTable() = default;

const RecordedKernelPtr& RecordingTable::find_or_record(const KernelDescription& description,
                                                        const ElementType* parameters, int parameter_count,
                                                        void (*body)(const void*), const void* object) {
  if (const RecordedKernelPtr* found = state_->find(description)) return *found;
  // Recorded without a lock: a body may launch, and two threads that record the same get equal results.
  return state_->add(description, record(description, parameters, parameter_count, body, object));
}

}  // namespace teeny::detail
