// Initialization, devices, contexts.
#include <cstring>

#include "tests/gpu/cuda/call.h"
#include "tests/gpu/machine/fault.h"
#include "tests/gpu/machine/properties.h"
#include "tests/gpu/machine/settings.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

struct Attribute {
  CUdevice_attribute key;
  uint64_t value;
};

// All supported attributes; others are refused, so that no test relies on an invented figure.
const std::vector<Attribute>& attributes() {
  static const Properties& p = properties();
  static const std::vector<Attribute> result = {
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, p.most_threads},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, p.most_block[0]},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, p.most_block[1]},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, p.most_block[2]},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, p.most_grid[0]},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, p.most_grid[1]},
      {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, p.most_grid[2]},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, p.local_bytes},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, p.local_bytes_opt_in},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, p.local_bytes_processor},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, p.local_bytes_reserved},
      {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, p.warp},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, p.registers},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, p.registers},
      {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, p.clock_khz},
      {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, p.memory_clock_khz},
      {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, p.bus_bits},
      {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, p.cache_bytes},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, p.multiprocessors},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, p.threads_processor},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, p.blocks_processor},
      {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
      {CU_DEVICE_ATTRIBUTE_INTEGRATED, 0},
      {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
      {CU_DEVICE_ATTRIBUTE_ECC_ENABLED, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 1},
      {CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, 0},
      {CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, 0},
      {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
      {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
      {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, static_cast<uint64_t>(settings().major)},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, static_cast<uint64_t>(settings().minor)},
  };
  return result;
}

}  // namespace

CUresult CUDAAPI cuInit(unsigned int flags) {
  return call("cuInit", 2000, [&](Machine& machine) {
    need_zero(flags, "Flags");  // "Currently, the Flags parameter must be 0."
    if (!machine.initialized()) install_fault_handler();
    machine.initialize();
  });
}

CUresult CUDAAPI cuDriverGetVersion(int* version) {
  return call("cuDriverGetVersion", 2020, [&](Machine&) { require(version, "driverVersion") = driver_version(); });
}

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  return call("cuDeviceGetCount", 2000, [&](Machine&) { require(count, "count") = settings().devices; });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  return call("cuDeviceGet", 2000,
              [&](Machine& machine) { require(device, "device") = machine.check_device(ordinal); });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
  return call("cuDeviceGetName", 2000, [&](Machine& machine) {
    machine.check_device(device);
    require(name, "name");
    if (length <= 0) refuse(Status::invalid_value, "len is %d", length);
    std::strncpy(name, properties().name, static_cast<size_t>(length));
    name[length - 1] = 0;
  });
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return call("cuDeviceTotalMem_v2", 3020,
              [&](Machine& machine) { require(bytes, "bytes") = machine.memory.total(machine.check_device(device)); });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute key, CUdevice device) {
  return call("cuDeviceGetAttribute", 2000, [&](Machine& machine) {
    machine.check_device(device);
    for (const Attribute& attribute : attributes()) {
      if (attribute.key != key) continue;
      require(value, "pi") = static_cast<int>(attribute.value);
      return;
    }
    refuse(Status::invalid_value, "device attribute %d is not emulated: add it to device.cpp", static_cast<int>(key));
  });
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return call("cuDeviceGetUuid_v2", 11040, [&](Machine& machine) {
    std::memset(&require(uuid, "uuid"), 0xE0 + machine.check_device(device), sizeof(CUuuid));
  });
}

CUresult CUDAAPI cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return call("cuDevicePrimaryCtxRetain", 7000,
              [&](Machine& machine) { require(context, "pctx") = handle<CUcontext>(machine.retain_primary(device)); });
}

CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return call("cuDevicePrimaryCtxRelease_v2", 11000, [&](Machine& machine) { machine.release_primary(device); });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  return call("cuCtxSetCurrent", 4000, [&](Machine& machine) { machine.set_current(number(context)); });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* context) {
  // "If no context is bound to the calling CPU thread then *pctx is set to NULL and CUDA_SUCCESS is returned."
  return call("cuCtxGetCurrent", 4000,
              [&](Machine& machine) { require(context, "pctx") = handle<CUcontext>(machine.current_or_null()); });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call("cuDeviceCanAccessPeer", 4000,
              [&](Machine& machine) { require(can, "canAccessPeer") = machine.can_access(device, peer) ? 1 : 0; });
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  return call("cuCtxEnablePeerAccess", 4000, [&](Machine& machine) {
    need_zero(flags, "Flags");
    const auto context = machine.current(), other = machine.context(number(peer));
    // "Returns CUDA_ERROR_INVALID_CONTEXT if [...] the current context is peerContext."
    if (same_primary(*context, *other)) refuse(Status::invalid_context, "the peer is the current context");
    machine.enable_peer(context->device, other->device);
  });
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) {
  return call("cuCtxPushCurrent_v2", 4000, [&](Machine& machine) { machine.push_current(number(context)); });
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* context) {
  return call("cuCtxPopCurrent_v2", 4000, [&](Machine& machine) {
    const uint64_t popped = machine.pop_current();
    if (context != nullptr) *context = handle<CUcontext>(popped);
  });
}
