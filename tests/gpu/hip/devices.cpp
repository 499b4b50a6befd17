// Devices and versions.
#include <algorithm>
#include <cstring>
#include <string>

#include "tests/gpu/hip/call.h"
#include "tests/gpu/hip/device_figures.h"
#include "tests/gpu/hip/settings.h"
#include "tests/gpu/machine/settings.h"

using namespace tern::gpu::hip;

namespace {

void copy_text(char* to, std::size_t bytes, const std::string& text) {
  std::memset(to, 0, bytes);
  text.copy(to, bytes - 1);
}

// The name of gfx9 devices, with enabled features.
std::string architecture_name() {
  const std::string name = architecture();
  return name == "gfx942" || name == "gfx90a" ? name + ":sramecc+:xnack-" : name;
}

// gfx942 is 9.4.
int major() {
  return 9;
}
int minor() {
  const std::string name = architecture();
  return name.size() == 6 && name[4] >= '0' && name[4] <= '9' ? name[4] - '0' : 0;
}

// hipDriverGetVersion, hipRuntimeGetVersion: "HIP_VERSION", major * 10000000 + minor * 100000 + patch (hip_version.h).
void write_version(int* to) {
  const Version v = version();
  *required(to, "the pointer to the version") = v.major * 10000000 + v.minor * 100000 + v.patch;
}

struct Attribute {
  hipDeviceAttribute_t attribute;
  int value;
};
constexpr Attribute kAttributes[] = {
    {hipDeviceAttributeWarpSize, kWave},
    {hipDeviceAttributeMaxThreadsPerBlock, kMostThreads},
    {hipDeviceAttributeMaxThreadsPerMultiProcessor, kThreadsOfUnit},
    {hipDeviceAttributeMaxBlockDimX, kMostThreads},
    {hipDeviceAttributeMaxBlockDimY, kMostThreads},
    {hipDeviceAttributeMaxBlockDimZ, kMostThreads},
    {hipDeviceAttributeMaxGridDimX, kMostGrid},
    {hipDeviceAttributeMaxGridDimY, 65536},
    {hipDeviceAttributeMaxGridDimZ, 65536},
    {hipDeviceAttributeMaxSharedMemoryPerBlock, kLocalBytes},
    {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, kLocalBytes},
    {hipDeviceAttributeSharedMemPerMultiprocessor, kLocalBytes},
    {hipDeviceAttributeMultiprocessorCount, kComputeUnits},
    {hipDeviceAttributePhysicalMultiProcessorCount, kComputeUnits},
    {hipDeviceAttributeMaxRegistersPerBlock, 65536},
    {hipDeviceAttributeMaxRegistersPerMultiprocessor, kRegistersOfUnit},
    {hipDeviceAttributeClockRate, kClock},
    {hipDeviceAttributeMemoryClockRate, kMemoryClock},
    {hipDeviceAttributeMemoryBusWidth, kBusBits},
    {hipDeviceAttributeL2CacheSize, kCacheBytes},
    {hipDeviceAttributeIntegrated, 0},
    {hipDeviceAttributeCanMapHostMemory, 1},
    {hipDeviceAttributeConcurrentKernels, 1},
    {hipDeviceAttributeUnifiedAddressing, 1},
    {hipDeviceAttributeManagedMemory, 0},
    {hipDeviceAttributePageableMemoryAccess, 0},
    {hipDeviceAttributeCooperativeLaunch, 0},
    {hipDeviceAttributeMemoryPoolsSupported, 0},
    // Defined in later headers: hipDeviceAttributeVirtualMemoryManagementSupported, "Device supports virtual memory
    // management".
    {static_cast<hipDeviceAttribute_t>(hipDeviceAttributeMemoryPoolsSupported + 1), 1},
};

// hipDeviceProp_tR0600 of HIP 6 and 7: its size, and the offsets of the filled members in hip_runtime_api.h of HIP 7.1.
namespace r0600 {
constexpr std::size_t kSize = 1472;
enum Offset : std::size_t {
  totalGlobalMem = 288,
  sharedMemPerBlock = 296,
  regsPerBlock = 304,
  warpSize = 308,
  maxThreadsPerBlock = 320,
  maxThreadsDim = 324,
  maxGridSize = 336,
  clockRate = 348,
  totalConstMem = 352,
  major = 360,
  minor = 364,
  multiProcessorCount = 388,
  canMapHostMemory = 400,
  concurrentKernels = 576,
  memoryClockRate = 608,
  memoryBusWidth = 612,
  l2CacheSize = 616,
  maxThreadsPerMultiProcessor = 624,
  sharedMemPerMultiprocessor = 640,
  regsPerMultiprocessor = 648,
  gcnArchName = 1160,
  maxSharedMemoryPerMultiProcessor = 1416
};
}  // namespace r0600

template <class T>
void store_field(void* at, r0600::Offset offset, const T& value) {
  std::memcpy(static_cast<char*>(at) + offset, &value, sizeof value);
}

}  // namespace

// "hipInit: Explicitly initializes the HIP runtime. Most HIP APIs implicitly initialize the HIP runtime."
hipError_t hipInit(unsigned flags) {
  return call(__func__, [&](Machine&) { no_flags(flags); });
}
hipError_t hipDriverGetVersion(int* version) {
  return call(__func__, [&](Machine&) { write_version(version); });
}
hipError_t hipRuntimeGetVersion(int* version) {
  return call(__func__, [&](Machine&) { write_version(version); });
}

// "hipErrorNoDevice: Call to hipGetDeviceCount returned 0 devices."
hipError_t hipGetDeviceCount(int* count) {
  if (count != nullptr) *count = 0;
  return call(__func__, [&](Machine&) { *required(count, "count") = tern::emulator::settings().devices; });
}
hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
  return call(__func__, [&](Machine& machine) { *required(device, "device") = machine.check_device(ordinal); });
}
hipError_t hipSetDevice(int device) {
  return call(__func__, [&](Machine& machine) { set_device(machine.check_device(device)); });
}
hipError_t hipGetDevice(int* to) {
  return call(__func__, [&](Machine&) { *required(to, "device") = device(); });
}
hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
  return call(__func__,
              [&](Machine& machine) { *required(can, "canAccessPeer") = machine.can_access(device, peer) ? 1 : 0; });
}
hipError_t hipDeviceEnablePeerAccess(int peer, unsigned int flags) {
  return call(__func__, [&](Machine& machine) {
    no_flags(flags);
    machine.check_device(peer);
    machine.enable_peer(device(), peer);
  });
}
hipError_t hipDeviceGetName(char* name, int len, hipDevice_t device) {
  return call(__func__, [&](Machine& machine) {
    machine.check_device(device);
    if (len <= 0) refuse(Status::invalid_value, "len is %d", len);
    copy_text(required(name, "name"), static_cast<std::size_t>(len), kDeviceName);
  });
}
hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
  return call(__func__, [&](Machine& machine) {
    *required(bytes, "bytes") = machine.memory.total(machine.check_device(device));
  });
}

hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
  return call(__func__, [&](Machine& machine) {
    machine.check_device(device);
    required(value, "pi");
    if (attribute == hipDeviceAttributeComputeCapabilityMajor ||
        attribute == hipDeviceAttributeComputeCapabilityMinor) {
      *value = attribute == hipDeviceAttributeComputeCapabilityMajor ? major() : minor();
      return;
    }
    const auto* at = std::find_if(std::begin(kAttributes), std::end(kAttributes),
                                  [&](const Attribute& a) { return a.attribute == attribute; });
    if (at == std::end(kAttributes))
      refuse(Status::invalid_value, "the emulated device does not know its attribute %d", static_cast<int>(attribute));
    *value = at->value;
  });
}

// The function of HIP 5; programs compiled for HIP 6 and later call hipGetDevicePropertiesR0600.
hipError_t hipGetDeviceProperties(hipDeviceProp_t* p, int device) {
  return call(__func__, [&](Machine& machine) {
    machine.check_device(device);
    *required(p, "prop") = {};
    copy_text(p->name, sizeof p->name, kDeviceName);
    copy_text(p->gcnArchName, sizeof p->gcnArchName, architecture_name());
    p->totalGlobalMem = machine.memory.total(device);
    p->sharedMemPerBlock = p->maxSharedMemoryPerMultiProcessor = kLocalBytes;
    p->regsPerBlock = 65536;
    p->warpSize = kWave;
    p->maxThreadsPerBlock = kMostThreads;
    p->maxThreadsPerMultiProcessor = kThreadsOfUnit;
    for (int& size : p->maxThreadsDim) size = kMostThreads;
    p->maxGridSize[0] = kMostGrid;
    p->maxGridSize[1] = p->maxGridSize[2] = 65536;
    p->clockRate = kClock;
    p->memoryClockRate = kMemoryClock;
    p->memoryBusWidth = kBusBits;
    p->l2CacheSize = kCacheBytes;
    p->major = major();
    p->minor = minor();
    p->multiProcessorCount = kComputeUnits;
    p->concurrentKernels = p->canMapHostMemory = 1;
  });
}

extern "C" __attribute__((visibility("default"))) hipError_t hipGetDevicePropertiesR0600(void* p, int device) {
  return call(__func__, [&](Machine& machine) {
    using namespace r0600;
    machine.check_device(device);
    char* text = static_cast<char*>(required(p, "prop"));
    std::memset(text, 0, kSize);
    copy_text(text, 256, kDeviceName);
    copy_text(text + gcnArchName, 256, architecture_name());
    const std::size_t memory = machine.memory.total(device), local = kLocalBytes;
    store_field(p, totalGlobalMem, memory);
    for (const Offset at : {sharedMemPerBlock, sharedMemPerMultiprocessor, maxSharedMemoryPerMultiProcessor})
      store_field(p, at, local);
    const int threads[3] = {kMostThreads, kMostThreads, kMostThreads}, grid[3] = {kMostGrid, 65536, 65536};
    store_field(p, maxThreadsDim, threads);
    store_field(p, maxGridSize, grid);
    const std::pair<Offset, int> numbers[] = {{regsPerBlock, 65536},
                                              {warpSize, kWave},
                                              {maxThreadsPerBlock, kMostThreads},
                                              {clockRate, kClock},
                                              {r0600::major, ::major()},
                                              {r0600::minor, ::minor()},
                                              {multiProcessorCount, kComputeUnits},
                                              {canMapHostMemory, 1},
                                              {concurrentKernels, 1},
                                              {memoryClockRate, kMemoryClock},
                                              {memoryBusWidth, kBusBits},
                                              {l2CacheSize, kCacheBytes},
                                              {maxThreadsPerMultiProcessor, kThreadsOfUnit},
                                              {regsPerMultiprocessor, kRegistersOfUnit}};
    for (const auto& [offset, value] : numbers) store_field(p, offset, value);
  });
}
