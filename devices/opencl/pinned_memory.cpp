#include "devices/opencl/pinned_memory.h"

#include <map>
#include <mutex>

#include "devices/opencl/devices.h"
#include "devices/opencl/status.h"
#include "platform/environment.h"

namespace tern::opencl {
namespace {

struct Pinned {
  cl_command_queue queue;
  cl_mem buffer;
};

std::mutex mutex;
std::map<void*, Pinned>& all_pinned() {
  static std::map<void*, Pinned> all;
  return all;
}

/// False for CPUs: an extra copy within the same memory only costs time. TERN_XPU_PINNED=1 enables pinned memory there
/// for tests.
bool gains(const OpenClDevice& d) {
  return platform::variable_is_on("TERN_XPU_PINNED", !d.unified_memory);
}

void give_back(const Pinned& p, void* memory) {
  if (memory != nullptr) clEnqueueUnmapMemObject(p.queue, p.buffer, memory, 0, nullptr, nullptr);
  clFinish(p.queue);
  if (p.buffer != nullptr) clReleaseMemObject(p.buffer);
  clReleaseCommandQueue(p.queue);
}

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, void** memory) {
  const OpenClDevice* d = find(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  if (!gains(*d)) return failed(TERN_DEVICE_UNSUPPORTED, "the device's memory is the host's");
  cl_int error = CL_SUCCESS;
  Pinned p{clCreateCommandQueueWithProperties(d->context, d->id, nullptr, &error), nullptr};
  if (error != CL_SUCCESS) return checked(error, "clCreateCommandQueueWithProperties");
  p.buffer = clCreateBuffer(d->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &error);
  *memory = error != CL_SUCCESS ? nullptr
                                : clEnqueueMapBuffer(p.queue, p.buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes,
                                                     0, nullptr, nullptr, &error);
  if (error != CL_SUCCESS) {
    give_back(p, nullptr);
    return checked(error, "mapping a buffer of the host's memory");
  }
  const std::lock_guard lock(mutex);
  all_pinned()[*memory] = p;
  return TERN_DEVICE_OK;
}

tern_device_status release(std::int32_t, void* memory) {
  const std::lock_guard lock(mutex);
  const auto at = all_pinned().find(memory);
  if (at == all_pinned().end()) return failed(TERN_DEVICE_INVALID, "this is not pinned memory");
  give_back(at->second, memory);
  all_pinned().erase(at);
  return TERN_DEVICE_OK;
}

constexpr tern_device_pinned_memory_functions kPinnedMemory = {sizeof kPinnedMemory, 0, allocate, release};

}  // namespace

const tern_device_pinned_memory_functions* pinned_memory_functions() {
  return &kPinnedMemory;
}

}  // namespace tern::opencl
