// The CUDA driver's library, found at run time: the one table of its symbols. The declarations are ours, after the CUDA
// driver API's documentation; no header of NVIDIA is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

namespace teeny::runtime::cuda {

using Result = int;  // 0: success
using Device = int;
using DevicePointer = std::uint64_t;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using CudaStream = struct StreamTag*;
using CudaEvent = struct EventTag*;
struct Uuid {
  unsigned char bytes[16];
};
using LinkState = struct LinkTag*;
using GraphTemplate = struct GraphTag*;  // CUgraph
using GraphExecutable = struct GraphExecTag*;
using MemoryPool = struct PoolTag*;

// CUmemPoolProps: memory of one device, not shared with other processes.
struct PoolProperties {
  int allocation = 1;  // pinned: the only kind there is
  int handles = 0;     // none
  int location = 1;    // a device
  int device = 0;      // its number
  void* security = nullptr;
  unsigned char reserved[64] = {};
};

// CUdevice_attribute
enum Attribute : int {
  max_threads = 1,  // of one program
  max_grid_x = 5,
  max_grid_y = 6,
  max_grid_z = 7,
  max_registers = 12,  // of one program
  multiprocessors = 16,
  l2_cache_bytes = 38,
  compute_major = 75,
  compute_minor = 76,
  max_shared_bytes_optin = 97,
  memory_pools = 115
};

constexpr Result invalid_value = 1, out_of_memory = 2, no_device = 100, not_ready = 600, out_of_resources = 701;

// name, C symbol, parameters: what every driver has that can run teeny's programs.
#define TEENY_CUDA_SYMBOLS(X)                                                                               \
  X(init, cuInit, unsigned)                                                                                 \
  X(driver_version, cuDriverGetVersion, int*)                                                               \
  X(error_name, cuGetErrorName, Result, const char**)                                                       \
  X(error_string, cuGetErrorString, Result, const char**)                                                   \
  X(device_count, cuDeviceGetCount, int*)                                                                   \
  X(device_get, cuDeviceGet, Device*, int)                                                                  \
  X(device_name, cuDeviceGetName, char*, int, Device)                                                       \
  X(device_memory, cuDeviceTotalMem_v2, std::size_t*, Device)                                               \
  X(device_attribute, cuDeviceGetAttribute, int*, int, Device)                                              \
  X(device_uuid, cuDeviceGetUuid, Uuid*, Device)                                                            \
  X(profiler_start, cuProfilerStart)                                                                        \
  X(profiler_stop, cuProfilerStop)                                                                          \
  X(primary_retain, cuDevicePrimaryCtxRetain, Context*, Device)                                             \
  X(context_get, cuCtxGetCurrent, Context*)                                                                 \
  X(context_set, cuCtxSetCurrent, Context)                                                                  \
  X(memory_info, cuMemGetInfo_v2, std::size_t*, std::size_t*)                                               \
  X(memory_allocate, cuMemAlloc_v2, DevicePointer*, std::size_t)                                            \
  X(memory_free, cuMemFree_v2, DevicePointer)                                                               \
  X(host_allocate, cuMemHostAlloc, void**, std::size_t, unsigned)                                           \
  X(host_free, cuMemFreeHost, void*)                                                                        \
  X(copy_in_async, cuMemcpyHtoDAsync_v2, DevicePointer, const void*, std::size_t, CudaStream)               \
  X(copy_out_async, cuMemcpyDtoHAsync_v2, void*, DevicePointer, std::size_t, CudaStream)                    \
  X(copy_in, cuMemcpyHtoD_v2, DevicePointer, const void*, std::size_t)                                      \
  X(copy_out, cuMemcpyDtoH_v2, void*, DevicePointer, std::size_t)                                           \
  X(copy, cuMemcpyDtoD_v2, DevicePointer, DevicePointer, std::size_t)                                       \
  X(stream_create, cuStreamCreate, CudaStream*, unsigned)                                                   \
  X(stream_destroy, cuStreamDestroy_v2, CudaStream)                                                         \
  X(stream_synchronize, cuStreamSynchronize, CudaStream)                                                    \
  X(capture_begin, cuStreamBeginCapture_v2, CudaStream, int)                                                \
  X(capture_end, cuStreamEndCapture, CudaStream, GraphTemplate*)                                            \
  X(graph_destroy, cuGraphDestroy, GraphTemplate)                                                           \
  X(graph_exec_destroy, cuGraphExecDestroy, GraphExecutable)                                                \
  X(graph_launch, cuGraphLaunch, GraphExecutable, CudaStream)                                               \
  X(stream_capturing, cuStreamIsCapturing, CudaStream, int*)                                                \
  X(exchange_capture_mode, cuThreadExchangeStreamCaptureMode, int*)                                         \
  X(stream_wait, cuStreamWaitEvent, CudaStream, CudaEvent, unsigned)                                        \
  X(event_create, cuEventCreate, CudaEvent*, unsigned)                                                      \
  X(event_destroy, cuEventDestroy_v2, CudaEvent)                                                            \
  X(event_record, cuEventRecord, CudaEvent, CudaStream)                                                     \
  X(event_query, cuEventQuery, CudaEvent)                                                                   \
  X(event_synchronize, cuEventSynchronize, CudaEvent)                                                       \
  X(event_elapsed, cuEventElapsedTime, float*, CudaEvent, CudaEvent)                                        \
  X(link_create, cuLinkCreate_v2, unsigned, int*, void**, LinkState*)                                       \
  X(link_add, cuLinkAddData_v2, LinkState, int, void*, std::size_t, const char*, unsigned, int*, void**)    \
  X(link_complete, cuLinkComplete, LinkState, void**, std::size_t*)                                         \
  X(link_destroy, cuLinkDestroy, LinkState)                                                                 \
  X(module_load, cuModuleLoadData, Module*, const void*)                                                    \
  X(module_unload, cuModuleUnload, Module)                                                                  \
  X(module_function, cuModuleGetFunction, Function*, Module, const char*)                                   \
  X(function_get, cuFuncGetAttribute, int*, int, Function)                                                  \
  X(function_set, cuFuncSetAttribute, Function, int, int)                                                   \
  X(launch, cuLaunchKernel, Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, \
    CudaStream, void**, void**)

// What newer drivers have; null in older ones.
#define TEENY_CUDA_LATER_SYMBOLS(X)                                                                      \
  X(graph_instantiate, cuGraphInstantiateWithFlags, GraphExecutable*, GraphTemplate, unsigned long long) \
  X(pool_create, cuMemPoolCreate, MemoryPool*, const PoolProperties*)                                    \
  X(pool_set, cuMemPoolSetAttribute, MemoryPool, int, void*)                                             \
  X(pool_trim, cuMemPoolTrimTo, MemoryPool, std::size_t)                                                 \
  X(pool_allocate, cuMemAllocFromPoolAsync, DevicePointer*, std::size_t, MemoryPool, CudaStream)         \
  X(pool_free, cuMemFreeAsync, DevicePointer, CudaStream)

struct Symbols {
#define TEENY_CUDA_MEMBER(name, symbol, ...) Result (*name)(__VA_ARGS__) = nullptr;
  TEENY_CUDA_SYMBOLS(TEENY_CUDA_MEMBER)
  TEENY_CUDA_LATER_SYMBOLS(TEENY_CUDA_MEMBER)
#undef TEENY_CUDA_MEMBER
};

// The library, loaded and initialised once; null where there is none or it cannot start, and `unavailable()` says why.
// TEENY_CUDA_LIBRARY names another file than libcuda.so.1.
const Symbols* symbols();
const std::string& unavailable();

// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
std::string text_of(Result result);
// Illegal address, timeout, assertion, a fault of the hardware: no call on the device succeeds any more.
bool context_lost(Result result);
// Throws device_failed where `result` is no success: "<operation>: <rule>; got <text>…".
void check(Result result, const char* operation);

// Makes `context` current for its scope and puts back what was: an engine's own context is left as it is.
class CurrentContext {
 public:
  explicit CurrentContext(Context context);
  // For destructors: where it cannot be made current, what follows fails and tells no one.
  CurrentContext(Context context, std::nothrow_t) noexcept;
  ~CurrentContext();
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  Context previous_ = nullptr;
  bool changed_ = false;
};

}  // namespace teeny::runtime::cuda
