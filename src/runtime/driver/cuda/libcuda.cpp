#include "runtime/driver/cuda/libcuda.hpp"

#include <cstdlib>

#include <teeny/error.hpp>

#include "support/dynamic_library.hpp"
#include "support/log.hpp"

namespace teeny::runtime::cuda {

namespace {

struct Library {
  Symbols table;
  std::string reason;  // why there is none; empty: there is
};

std::string text_of(const Symbols& table, Result result) {
  const char *name = nullptr, *text = nullptr;
  table.error_name(result, &name);
  table.error_string(result, &text);
  return std::string(name ? name : "CUDA error " + std::to_string(result)) + (text ? std::string(": ") + text : "");
}

Library load() {
  Library library;
  const std::string chosen = support::environment("TEENY_CUDA_LIBRARY");
  std::string error;
  auto file = support::DynamicLibrary::open(chosen.empty() ? "libcuda.so.1" : chosen, error);
  if (!file) {
    library.reason = "the CUDA driver is not installed (" + error + ")";
    return library;
  }
  std::string missing;
#define TEENY_CUDA_FIND(name, c_name, ...)                                              \
  library.table.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(file.symbol(#c_name)); \
  if (library.table.name == nullptr && missing.empty()) missing = #c_name;
  TEENY_CUDA_SYMBOLS(TEENY_CUDA_FIND)
#undef TEENY_CUDA_FIND
#define TEENY_CUDA_FIND(name, c_name, ...) \
  library.table.name = reinterpret_cast<Result (*)(__VA_ARGS__)>(file.symbol(#c_name));
  TEENY_CUDA_LATER_SYMBOLS(TEENY_CUDA_FIND)
#undef TEENY_CUDA_FIND
  if (!missing.empty()) {
    library.reason = "the CUDA driver is too old: it has no " + missing;
    return library;
  }
  file.leak();  // contexts outlive every object of ours
  const Result result = library.table.init(0);
  if (result == no_device) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    library.reason = "the CUDA driver sees no GPU" +
                     (visible != nullptr ? " (CUDA_VISIBLE_DEVICES is '" + std::string(visible) + "')" : "");
  } else if (result != 0) {
    library.reason = "the CUDA driver did not start (cuInit: " + text_of(library.table, result) + ")";
  }
  return library;
}

const Library& library() {
  static const auto& loaded = *new Library(load());
  return loaded;
}

}  // namespace

const Symbols* symbols() { return library().reason.empty() ? &library().table : nullptr; }
const std::string& unavailable() { return library().reason; }

std::string text_of(Result result) { return text_of(library().table, result); }

// 714 … 719 are the hardware's faults (CUDA driver API, CUresult).
bool context_lost(Result result) {
  return result == 700 || result == 702 || result == 710 || (result >= 714 && result <= 719);
}

void check(Result result, const char* operation) {
  if (result == 0) return;
  throw Error(ErrorCode::device_failed,
              std::string(operation) + ": the device must carry it out; got " + text_of(result) + ", expected success" +
                  (context_lost(result)
                       ? "\nhelp: a kernel touched memory outside of its buffers or was stopped, and the device's "
                         "context is lost: find it with TEENY_DEVICE=interpreter, then start the process anew"
                       : "\nhelp: look at the device with nvidia-smi"));
}

CurrentContext::CurrentContext(Context context) {
  const Symbols& cuda = *symbols();
  if (cuda.context_get(&previous_) == 0 && previous_ == context) return;
  check(cuda.context_set(context), "cuCtxSetCurrent");
  changed_ = true;
}

CurrentContext::CurrentContext(Context context, std::nothrow_t) noexcept {
  const Symbols& cuda = *symbols();
  if (cuda.context_get(&previous_) == 0 && previous_ == context) return;
  changed_ = cuda.context_set(context) == 0;
}

CurrentContext::~CurrentContext() {
  // A thread that had no context keeps ours: the next call finds it there.
  if (changed_ && previous_ != nullptr) symbols()->context_set(previous_);
}

}  // namespace teeny::runtime::cuda
