// Driver functions used by the CUDA and ROCm plugins. Each function has one name here beside the vendors' names;
// names.h (cuda/ or hip/) selects the vendor. Types follow the C ABI of 64-bit machines: handles are pointers, enums
// are int. tests/gpu/prototypes.h compares every prototype with the vendors' headers, so building a plugin needs
// neither toolkit.
#pragma once

#include <cstddef>
#include <cstdint>

#include "names.h"

namespace tern::gpu {

using Status = int;  ///< CUresult, hipError_t
constexpr Status kSuccess = 0;
constexpr Status kOutOfMemory = 2;  // CUDA_ERROR_OUT_OF_MEMORY, hipErrorOutOfMemory
constexpr Status kNoDevice = 100;   // CUDA_ERROR_NO_DEVICE, hipErrorNoDevice

constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING, hipStreamNonBlocking: unordered with the default stream
// CU_STREAM_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed: during a capture the plugin creates streams for bodies
// of control flow, and other threads may allocate and compile.
constexpr int kRelaxed = 2;

using Address = std::uint64_t;  ///< CUdeviceptr; a pointer in HIP
using Context = void*;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using GraphNode = void*;
using GraphExec = void*;
using MemoryHandle = std::uint64_t;  ///< CUmemGenericAllocationHandle; a pointer in HIP

/// CUmemLocation, hipMemLocation.
struct MemoryLocation {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE, hipMemLocationTypeDevice
  int id = 0;
};
/// CUmemAllocationProp, hipMemAllocationProp.
struct MemoryProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED, hipMemAllocationTypePinned
  int handle_types = 0;
  MemoryLocation location;
  void* windows = nullptr;
  unsigned char flags[8] = {};
};
/// CUmemAccessDesc, hipMemAccessDesc.
struct MemoryAccess {
  MemoryLocation location;
  int flags = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE, hipMemAccessFlagsProtReadWrite
};

// Required functions: X(name, CUDA's symbol, HIP's symbol, (parameters)).
#define TERN_GPU_FUNCTIONS(X)                                                                                    \
  X(init, cuInit, hipInit, (unsigned flags))                                                                     \
  X(driver_version, cuDriverGetVersion, hipDriverGetVersion, (int* version))                                     \
  X(device_count, cuDeviceGetCount, hipGetDeviceCount, (int* count))                                             \
  X(device_get, cuDeviceGet, hipDeviceGet, (int* device, int ordinal))                                           \
  X(device_name, cuDeviceGetName, hipDeviceGetName, (char* name, int length, int device))                        \
  X(device_memory, cuDeviceTotalMem_v2, hipDeviceTotalMem, (std::size_t * bytes, int device))                    \
  X(device_attribute, cuDeviceGetAttribute, hipDeviceGetAttribute, (int* value, int attribute, int device))      \
  X(allocate, cuMemAlloc_v2, hipMalloc, (Address * address, std::size_t bytes))                                  \
  X(free, cuMemFree_v2, hipFree, (Address address))                                                              \
  X(host_allocate, cuMemHostAlloc, hipHostMalloc, (void** memory, std::size_t bytes, unsigned flags))            \
  X(host_free, cuMemFreeHost, hipHostFree, (void* memory))                                                       \
  X(copy_to_device, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync,                                                    \
    (Address to, const void* from, std::size_t bytes, Stream stream))                                            \
  X(copy_to_host, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync,                                                      \
    (void* to, Address from, std::size_t bytes, Stream stream))                                                  \
  X(copy_within, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync,                                                       \
    (Address to, Address from, std::size_t bytes, Stream stream))                                                \
  X(stream_create, cuStreamCreate, hipStreamCreateWithFlags, (Stream * stream, unsigned flags))                  \
  X(stream_destroy, cuStreamDestroy_v2, hipStreamDestroy, (Stream stream))                                       \
  X(stream_synchronize, cuStreamSynchronize, hipStreamSynchronize, (Stream stream))                              \
  X(stream_wait, cuStreamWaitEvent, hipStreamWaitEvent, (Stream stream, Event event, unsigned flags))            \
  X(event_create, cuEventCreate, hipEventCreateWithFlags, (Event * event, unsigned flags))                       \
  X(event_destroy, cuEventDestroy_v2, hipEventDestroy, (Event event))                                            \
  X(event_record, cuEventRecord, hipEventRecord, (Event event, Stream stream))                                   \
  X(event_synchronize, cuEventSynchronize, hipEventSynchronize, (Event event))                                   \
  X(event_query, cuEventQuery, hipEventQuery, (Event event))                                                     \
  X(event_elapsed, cuEventElapsedTime, hipEventElapsedTime, (float* milliseconds, Event from, Event to))         \
  X(module_load, cuModuleLoadDataEx, hipModuleLoadDataEx,                                                        \
    (Module * module, const void* image, unsigned count, int* options, void** values))                           \
  X(module_unload, cuModuleUnload, hipModuleUnload, (Module module))                                             \
  X(module_function, cuModuleGetFunction, hipModuleGetFunction,                                                  \
    (Function * function, Module module, const char* name))                                                      \
  X(function_attribute, cuFuncGetAttribute, hipFuncGetAttribute, (int* value, int attribute, Function function)) \
  X(launch, cuLaunchKernel, hipModuleLaunchKernel,                                                               \
    (Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,   \
     unsigned block_z, unsigned local_bytes, Stream stream, void** parameters, void** extra))

// Optional functions, null on older drivers.
#define TERN_GPU_OPTIONAL_FUNCTIONS(X)                                                                        \
  X(capture_begin, cuStreamBeginCapture_v2, hipStreamBeginCapture, (Stream stream, int mode))                 \
  X(capture_end, cuStreamEndCapture, hipStreamEndCapture, (Stream stream, Graph * graph))                     \
  X(is_capturing, cuStreamIsCapturing, hipStreamIsCapturing, (Stream stream, int* status))                    \
  X(graph_instantiate, cuGraphInstantiateWithFlags, hipGraphInstantiateWithFlags,                             \
    (GraphExec * exec, Graph graph, unsigned long long flags))                                                \
  X(graph_launch, cuGraphLaunch, hipGraphLaunch, (GraphExec exec, Stream stream))                             \
  X(graph_exec_destroy, cuGraphExecDestroy, hipGraphExecDestroy, (GraphExec exec))                            \
  X(graph_destroy, cuGraphDestroy, hipGraphDestroy, (Graph graph))                                            \
  X(graph_add_event, cuGraphAddEventRecordNode, hipGraphAddEventRecordNode,                                   \
    (GraphNode * node, Graph graph, const GraphNode* nodes, std::size_t count, Event event))                  \
  X(granularity, cuMemGetAllocationGranularity, hipMemGetAllocationGranularity,                               \
    (std::size_t * bytes, const MemoryProperties* properties, int option))                                    \
  X(reserve, cuMemAddressReserve, hipMemAddressReserve,                                                       \
    (Address * address, std::size_t bytes, std::size_t alignment, Address wanted, unsigned long long flags))  \
  X(memory_create, cuMemCreate, hipMemCreate,                                                                 \
    (MemoryHandle * handle, std::size_t bytes, const MemoryProperties* properties, unsigned long long flags)) \
  X(memory_release, cuMemRelease, hipMemRelease, (MemoryHandle handle))                                       \
  X(memory_map, cuMemMap, hipMemMap,                                                                          \
    (Address address, std::size_t bytes, std::size_t offset, MemoryHandle handle, unsigned long long flags))  \
  X(memory_unmap, cuMemUnmap, hipMemUnmap, (Address address, std::size_t bytes))                              \
  X(memory_access, cuMemSetAccess, hipMemSetAccess,                                                           \
    (Address address, std::size_t bytes, const MemoryAccess* access, std::size_t count))                      \
  X(can_access_peer, cuDeviceCanAccessPeer, hipDeviceCanAccessPeer, (int* can, int device, int peer))         \
  X(enable_peer, cuCtxEnablePeerAccess, hipDeviceEnablePeerAccess, (names::Peer peer, unsigned flags))        \
  X(copy_peer, cuMemcpyPeerAsync, hipMemcpyPeerAsync,                                                         \
    (Address to, names::Peer to_device, Address from, names::Peer from_device, std::size_t bytes, Stream stream))

struct Api {
#define TERN_GPU_MEMBER(name, cuda, hip, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_FUNCTIONS(TERN_GPU_MEMBER)
  TERN_GPU_OPTIONAL_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

// Functions of the kernel compiler, NVRTC or hiprtc: X(name, suffix of CUDA's symbol, suffix of HIP's, (parameters)).
using Program = void*;
#define TERN_GPU_COMPILER_FUNCTIONS(X)                                                                 \
  X(create, CreateProgram, CreateProgram,                                                              \
    (Program * program, const char* text, const char* name, int headers, const char* const* texts,     \
     const char* const* names))                                                                        \
  X(compile, CompileProgram, CompileProgram, (Program program, int count, const char* const* options)) \
  X(destroy, DestroyProgram, DestroyProgram, (Program * program))                                      \
  X(log_size, GetProgramLogSize, GetProgramLogSize, (Program program, std::size_t * bytes))            \
  X(log, GetProgramLog, GetProgramLog, (Program program, char* text))                                  \
  X(code_size, GetCUBINSize, GetCodeSize, (Program program, std::size_t * bytes))                      \
  X(code, GetCUBIN, GetCode, (Program program, char* code))                                            \
  X(version, Version, Version, (int* major, int* minor))

struct CompilerApi {
#define TERN_GPU_MEMBER(name, cuda, hip, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_COMPILER_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

}  // namespace tern::gpu
