// A libcuda without a GPU: the symbols of the driver's table (runtime/driver/cuda/libcuda.hpp), for its tests and for
// measuring what a launch costs above the driver.
//
//   FAKE_CUDA_DEVICES=9.0,8.6    compute capabilities of the devices; "9.0" where it is not set
//   FAKE_CUDA_SAY=1              print the first line of each program that is loaded
//   FAKE_CUDA_VERSION=11080      what the driver says of itself; 12080 where it is not set
//   FAKE_CUDA_INIT=100           what cuInit returns
//   FAKE_CUDA_WITHOUT_POOLS=1    the number of a device that has no memory pools
//   FAKE_CUDA_LAUNCH=nothing     cuLaunchKernel returns at once
//
// A test sets and reads numbers by name: "fail.cuStreamCreate" is what its next call returns, "calls.cuStreamCreate"
// how often it was called, "faults" the accesses of memory that was not there; "memory", "registers", "max_threads",
// "pools", "shared" and the like are what the device says of itself.
#include "fake_state.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))
// Every entry point but the cheapest: one thread at a time, counted, and failing on demand.
#define ENTER(name)                                                                    \
  const std::lock_guard lock(state().mutex);                                           \
  ++state().numbers["calls." #name];                                                   \
  if (const Result fails = demanded_failure("fail." #name); fails != ok) return fails; \
  if (state().lost != ok) return state().lost
#define ENTER_IN_CONTEXT(name) \
  ENTER(name);                 \
  if (current == nullptr) return invalid_context

using namespace fake;

namespace fake {

State& state() {
  static auto& instance = *new State;
  return instance;
}

}  // namespace fake

namespace {

thread_local Context* current = nullptr;
const bool launch_nothing = [] {
  const char* text = std::getenv("FAKE_CUDA_LAUNCH");
  return text != nullptr && std::strcmp(text, "nothing") == 0;
}();

Result demanded_failure(const char* key) {
  const auto found = state().numbers.find(key);
  if (found == state().numbers.end()) return ok;
  const Result result = static_cast<Result>(found->second);
  state().numbers.erase(found);
  return result;
}

// out[p] = p + n for each program, as fake_program.c has it on the CPU. Other kernels do nothing.
void run_kernel(const std::string& name, Address out, std::int32_t n, std::uint64_t programs) {
  ++state().numbers["runs"];
  if (name != "fill" || !state().reachable(state().blocks, out, programs * sizeof(float))) return;
  auto* values = reinterpret_cast<float*>(out);
  for (std::uint64_t p = 0; p < programs; ++p) values[p] = static_cast<float>(p + static_cast<std::uint64_t>(n));
}

void copy_now(Address to, Address from, std::size_t bytes, bool host_to, bool host_from) {
  State& s = state();
  if (!host_to && !s.reachable(s.blocks, to, bytes)) return;
  if (!host_from && !s.reachable(s.blocks, from, bytes)) return;
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
}

bool is_pinned(Address address) {
  const auto next = state().host_blocks.upper_bound(address);
  return next != state().host_blocks.begin() && address < std::prev(next)->first + std::prev(next)->second.bytes;
}

}  // namespace

// ---- what the test sets and reads

EXPORT void fake_cuda_set(const char* key, long long value) {
  const std::lock_guard lock(state().mutex);
  state().numbers[key] = value;
}
EXPORT long long fake_cuda_get(const char* key) {
  const std::lock_guard lock(state().mutex);
  if (std::strcmp(key, "used") == 0) return static_cast<long long>(state().used());
  if (std::strcmp(key, "host blocks") == 0) return static_cast<long long>(state().host_blocks.size());
  return state().number(key, 0);
}
// Forgets all numbers and a fault; memory and streams stay.
EXPORT void fake_cuda_reset() {
  const std::lock_guard lock(state().mutex);
  state().numbers.clear();
  state().lost = ok;
}

// ---- start, devices, contexts

EXPORT Result cuInit(unsigned) {
  const std::lock_guard lock(state().mutex);
  if (const char* fails = std::getenv("FAKE_CUDA_INIT")) return std::atoi(fails);
  const char* list = std::getenv("FAKE_CUDA_DEVICES");
  for (const char* at = list != nullptr ? list : "9.0"; *at != 0;) {
    char* end = nullptr;
    Device device{.number = static_cast<int>(state().devices.size())};
    device.major = static_cast<int>(std::strtol(at, &end, 10));
    device.minor = static_cast<int>(std::strtol(end + 1, &end, 10));
    state().devices.push_back(device);
    at = *end == ',' ? end + 1 : end;
  }
  return ok;
}
EXPORT Result cuDriverGetVersion(int* version) {
  const char* chosen = std::getenv("FAKE_CUDA_VERSION");
  return *version = chosen != nullptr ? std::atoi(chosen) : 12080, ok;
}
EXPORT Result cuGetErrorName(Result result, const char** name) {
  static const std::map<Result, const char*> names = {{invalid_value, "CUDA_ERROR_INVALID_VALUE"},
                                                      {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
                                                      {100, "CUDA_ERROR_NO_DEVICE"},
                                                      {invalid_context, "CUDA_ERROR_INVALID_CONTEXT"},
                                                      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                                      {out_of_resources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"}};
  const auto found = names.find(result);
  *name = found == names.end() ? nullptr : found->second;
  return found == names.end() ? invalid_value : ok;
}
EXPORT Result cuGetErrorString(Result, const char** text) { return *text = "a failure on demand", ok; }
EXPORT Result cuDeviceGetCount(int* count) {
  ENTER(cuDeviceGetCount);
  *count = static_cast<int>(state().devices.size());
  return ok;
}
EXPORT Result cuDeviceGet(int* device, int number) {
  ENTER(cuDeviceGet);
  *device = number;
  return ok;
}
EXPORT Result cuDeviceGetName(char* name, int length, int device) {
  ENTER(cuDeviceGetName);
  const std::string text = "Fake GPU " + std::to_string(device);
  std::strncpy(name, text.c_str(), static_cast<std::size_t>(length));
  return ok;
}
EXPORT Result cuDeviceGetUuid(void* uuid, int device) {
  ENTER(cuDeviceGetUuid);
  for (int i = 0; i < 16; ++i) static_cast<unsigned char*>(uuid)[i] = static_cast<unsigned char>(i * 16 + device);
  return ok;
}
EXPORT Result cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  ENTER(cuDeviceTotalMem_v2);
  *bytes = state().total();
  return ok;
}
EXPORT Result cuDeviceGetAttribute(int* value, int which, int device) {
  ENTER(cuDeviceGetAttribute);
  static const std::map<int, std::pair<const char*, int>> attributes = {
      {1, {"max_threads", 1024}}, {5, {"grid_x", 0x7fffffff}},  {6, {"grid_y", 65535}},
      {7, {"grid_z", 65535}},     {12, {"registers", 65536}},   {16, {"processors", 4}},
      {38, {"l2", 1 << 20}},      {97, {"shared", 227 * 1024}}, {115, {"pools", 1}},
  };
  if (which == 75 || which == 76) {
    const Device& d = state().devices[static_cast<std::size_t>(device)];
    *value = which == 75 ? d.major : d.minor;
    return ok;
  }
  const char* poolless = std::getenv("FAKE_CUDA_WITHOUT_POOLS");
  if (which == 115 && poolless != nullptr && std::atoi(poolless) == device) return *value = 0, ok;
  const auto found = attributes.find(which);
  if (found == attributes.end()) return invalid_value;
  *value = static_cast<int>(state().number(found->second.first, found->second.second));
  return ok;
}
EXPORT Result cuDevicePrimaryCtxRetain(Context** context, int device) {
  ENTER(cuDevicePrimaryCtxRetain);
  Context& made = state().contexts[device];
  made.device = &state().devices[static_cast<std::size_t>(device)];
  *context = &made;
  return ok;
}
EXPORT Result cuCtxGetCurrent(Context** context) { return *context = current, ok; }
EXPORT Result cuCtxSetCurrent(Context* context) {
  ENTER(cuCtxSetCurrent);
  current = context;
  return ok;
}
EXPORT Result cuProfilerStart() {
  ENTER_IN_CONTEXT(cuProfilerStart);
  return ok;
}
EXPORT Result cuProfilerStop() {
  ENTER_IN_CONTEXT(cuProfilerStop);
  return ok;
}

// ---- memory

EXPORT Result cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  ENTER_IN_CONTEXT(cuMemGetInfo_v2);
  *total = state().total();
  *free = *total - std::min(*total, state().used());
  return ok;
}
EXPORT Result cuMemAlloc_v2(Address* address, std::size_t bytes) {
  ENTER_IN_CONTEXT(cuMemAlloc_v2);
  return state().allocate(state().blocks, address, bytes, nullptr, true);
}
// Unlike a driver, which may wait for all work, it frees at once: a caller that did not wait is found out.
EXPORT Result cuMemFree_v2(Address address) {
  ENTER_IN_CONTEXT(cuMemFree_v2);
  return state().release(state().blocks, address);
}
EXPORT Result cuMemHostAlloc(void** host, std::size_t bytes, unsigned) {
  ENTER_IN_CONTEXT(cuMemHostAlloc);
  return state().allocate(state().host_blocks, reinterpret_cast<Address*>(host), bytes, nullptr, true);
}
EXPORT Result cuMemFreeHost(void* host) {
  ENTER_IN_CONTEXT(cuMemFreeHost);
  return state().release(state().host_blocks, reinterpret_cast<Address>(host));
}
EXPORT Result cuMemcpyHtoD_v2(Address to, const void* from, std::size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyHtoD_v2);
  copy_now(to, reinterpret_cast<Address>(from), bytes, false, true);
  return state().lost;
}
EXPORT Result cuMemcpyDtoH_v2(void* to, Address from, std::size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyDtoH_v2);
  copy_now(reinterpret_cast<Address>(to), from, bytes, true, false);
  return state().lost;
}
EXPORT Result cuMemcpyDtoD_v2(Address to, Address from, std::size_t bytes) {
  ENTER_IN_CONTEXT(cuMemcpyDtoD_v2);
  copy_now(to, from, bytes, false, false);
  return state().lost;
}
EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream* stream) {
  ENTER_IN_CONTEXT(cuMemcpyHtoDAsync_v2);
  const auto host = reinterpret_cast<Address>(from);
  if (!is_pinned(host)) {  // the driver takes a copy of pageable memory
    state().give(*stream, [to, data = std::string(static_cast<const char*>(from), bytes)] {
      copy_now(to, reinterpret_cast<Address>(data.data()), data.size(), false, true);
    });
    return ok;
  }
  state().give(*stream, [=] {
    if (state().reachable(state().host_blocks, host, bytes)) copy_now(to, host, bytes, false, true);
  });
  return ok;
}
EXPORT Result cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
  ENTER_IN_CONTEXT(cuMemcpyDtoHAsync_v2);
  const auto host = reinterpret_cast<Address>(to);
  if (!is_pinned(host)) {
    state().run_to(*stream, stream->given);
    copy_now(host, from, bytes, true, false);
    return state().lost;
  }
  state().give(*stream, [=] {
    if (state().reachable(state().host_blocks, host, bytes)) copy_now(host, from, bytes, true, false);
  });
  return ok;
}
EXPORT Result cuMemPoolCreate(Pool** pool, const void*) {
  ENTER_IN_CONTEXT(cuMemPoolCreate);
  *pool = &state().pool;
  return ok;
}
EXPORT Result cuMemPoolSetAttribute(Pool*, int, void*) {
  ENTER(cuMemPoolSetAttribute);
  return ok;
}
EXPORT Result cuMemPoolTrimTo(Pool* pool, std::size_t bytes) {
  ENTER(cuMemPoolTrimTo);
  pool->cached = std::min(pool->cached, bytes);
  return ok;
}
EXPORT Result cuMemAllocFromPoolAsync(Address* address, std::size_t bytes, Pool* pool, Stream* stream) {
  ENTER_IN_CONTEXT(cuMemAllocFromPoolAsync);
  if (const Result result = state().allocate(state().blocks, address, bytes, pool, false); result != ok) return result;
  state().give(*stream, [made = *address] { state().blocks[made].reached = true; });
  return ok;
}
EXPORT Result cuMemFreeAsync(Address address, Stream* stream) {
  ENTER_IN_CONTEXT(cuMemFreeAsync);
  state().give(*stream, [address] { state().release(state().blocks, address); });
  return ok;
}

// ---- streams and events

EXPORT Result cuStreamCreate(Stream** stream, unsigned) {
  ENTER_IN_CONTEXT(cuStreamCreate);
  *stream = new Stream{.context = current};
  state().streams.insert(*stream);
  return ok;
}
EXPORT Result cuStreamDestroy_v2(Stream* stream) {
  ENTER_IN_CONTEXT(cuStreamDestroy_v2);
  state().run_to(*stream, stream->given);
  state().streams.erase(stream);
  return ok;  // never deleted: events name it
}
EXPORT Result cuStreamSynchronize(Stream* stream) {
  ENTER_IN_CONTEXT(cuStreamSynchronize);
  if (stream == nullptr) return ok;  // the default stream, which nothing is given to
  if (stream->capturing) return capture_unsupported;
  state().run_to(*stream, stream->given);
  return state().lost;
}
EXPORT Result cuEventCreate(Event** event, unsigned) {
  ENTER_IN_CONTEXT(cuEventCreate);
  *event = new Event;
  return ok;
}
EXPORT Result cuEventDestroy_v2(Event* event) {
  ENTER(cuEventDestroy_v2);
  delete event;
  return ok;
}
EXPORT Result cuEventRecord(Event* event, Stream* stream) {
  ENTER_IN_CONTEXT(cuEventRecord);
  if (state().streams.count(stream) == 0) return 400;
  *event = {.stream = stream, .position = stream->given};
  return ok;
}
EXPORT Result cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  ENTER_IN_CONTEXT(cuStreamWaitEvent);
  if (state().streams.count(stream) == 0) return 400;
  if (stream->capturing) return 905;
  state().give(*stream, [on = *event] {
    if (on.stream != nullptr) state().run_to(*on.stream, on.position);
  });
  return ok;
}
// A step at each question: who asks often enough is told so in the end.
EXPORT Result cuEventQuery(Event* event) {
  ENTER(cuEventQuery);
  if (event->stream == nullptr || event->stream->run >= event->position) return ok;
  state().run_to(*event->stream, event->stream->run + 1);
  return state().lost != ok ? state().lost : not_ready;
}
EXPORT Result cuEventSynchronize(Event* event) {
  ENTER(cuEventSynchronize);
  if (event->stream != nullptr) state().run_to(*event->stream, event->position);
  return state().lost;
}
EXPORT Result cuEventElapsedTime(float* milliseconds, Event*, Event*) {
  ENTER_IN_CONTEXT(cuEventElapsedTime);
  *milliseconds = 1.5f;
  return ok;
}

// ---- programs

EXPORT Result cuLinkCreate_v2(unsigned, int*, void**, Link** link) {
  ENTER_IN_CONTEXT(cuLinkCreate_v2);
  *link = new Link;
  return ok;
}
EXPORT Result cuLinkAddData_v2(Link* link, int, void* data, std::size_t, const char*, unsigned, int*, void**) {
  ENTER(cuLinkAddData_v2);
  link->text = static_cast<const char*>(data);
  return ok;
}
EXPORT Result cuLinkComplete(Link* link, void** image, std::size_t* bytes) {
  ENTER(cuLinkComplete);
  *image = link->text.data();
  *bytes = link->text.size() + 1;
  return ok;
}
EXPORT Result cuLinkDestroy(Link* link) {
  ENTER(cuLinkDestroy);
  delete link;
  return ok;
}
EXPORT Result cuModuleLoadData(Module** module, const void* image) {
  ENTER_IN_CONTEXT(cuModuleLoadData);
  *module = new Module{current, static_cast<const char*>(image)};
  const std::string& text = (*module)->image;
  if (std::getenv("FAKE_CUDA_SAY") != nullptr) std::printf("%s\n", text.substr(0, text.find('\n')).c_str());
  return ok;
}
EXPORT Result cuModuleUnload(Module* module) {
  ENTER(cuModuleUnload);
  delete module;
  return ok;
}
EXPORT Result cuModuleGetFunction(Function** function, Module* module, const char* name) {
  ENTER_IN_CONTEXT(cuModuleGetFunction);
  if (module->image.find(name) == std::string::npos) return not_found;
  *function = new Function{module->context, name};
  return ok;
}
EXPORT Result cuFuncGetAttribute(int* value, int which, Function*) {
  ENTER(cuFuncGetAttribute);
  static const std::map<int, std::pair<const char*, int>> attributes = {
      {0, {"function.max_threads", 1024}}, {1, {"function.static_shared", 0}}, {4, {"function.registers", 32}}};
  const auto found = attributes.find(which);
  if (found == attributes.end()) return invalid_value;
  *value = static_cast<int>(state().number(found->second.first, found->second.second));
  return ok;
}
EXPORT Result cuFuncSetAttribute(Function* function, int which, int value) {
  ENTER(cuFuncSetAttribute);
  if (which != 8 || value > state().number("shared", 227 * 1024)) return invalid_value;
  function->shared_limit = value;
  return ok;
}
EXPORT Result cuLaunchKernel(Function* function, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned,
                             unsigned, unsigned shared, Stream* stream, void** parameters, void**) {
  if (launch_nothing) return ok;
  ENTER_IN_CONTEXT(cuLaunchKernel);
  if (function->context != current || stream->context != current) return 400;
  if (x == 0 || y == 0 || z == 0 || y > 65535 || z > 65535 || static_cast<int>(shared) > function->shared_limit)
    return invalid_value;
  if (threads > 1024) return invalid_value;
  if (function->name != "fill") {
    state().give(*stream, [name = function->name] { run_kernel(name, 0, 0, 0); });
    return ok;
  }
  Address out;
  std::int32_t n;
  std::memcpy(&out, parameters[0], sizeof out);
  std::memcpy(&n, parameters[1], sizeof n);
  state().give(*stream, [name = function->name, out, n, programs = std::uint64_t{x} * y * z] {
    run_kernel(name, out, n, programs);
  });
  return ok;
}

// ---- capture and graphs

EXPORT Result cuStreamBeginCapture_v2(Stream* stream, int) {
  ENTER(cuStreamBeginCapture_v2);
  if (stream->capturing) return invalid_value;
  stream->capturing = true;
  return ok;
}
EXPORT Result cuStreamEndCapture(Stream* stream, Graph** graph) {
  ENTER(cuStreamEndCapture);
  if (!stream->capturing) return invalid_value;
  stream->capturing = false;
  *graph = new Graph{std::move(stream->captured)};
  stream->captured.clear();
  return ok;
}
EXPORT Result cuStreamIsCapturing(Stream* stream, int* status) {
  ENTER(cuStreamIsCapturing);
  *status = stream->capturing ? 1 : 0;
  return ok;
}
EXPORT Result cuThreadExchangeStreamCaptureMode(int*) {
  ENTER(cuThreadExchangeStreamCaptureMode);
  return ok;
}
EXPORT Result cuGraphInstantiateWithFlags(Graph** executable, Graph* graph, unsigned long long) {
  ENTER_IN_CONTEXT(cuGraphInstantiateWithFlags);
  *executable = new Graph(*graph);
  return ok;
}
EXPORT Result cuGraphLaunch(Graph* executable, Stream* stream) {
  ENTER_IN_CONTEXT(cuGraphLaunch);
  state().give(*stream, [executable] {
    for (const Operation& operation : executable->operations) operation();
  });
  return ok;
}
EXPORT Result cuGraphExecDestroy(Graph* executable) {
  ENTER(cuGraphExecDestroy);
  executable->operations.assign(1, [] {
    ++state().numbers["faults"];  // replayed after its end
    state().lost = illegal_address;
  });
  return ok;
}
EXPORT Result cuGraphDestroy(Graph* graph) {
  ENTER(cuGraphDestroy);
  delete graph;
  return ok;
}
