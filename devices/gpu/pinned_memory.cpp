// "pinned_memory": host buffers for DMA copies by the device.
#include "devices/gpu/devices.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
namespace {

constexpr unsigned kPortable = 1;  // CU_MEMHOSTALLOC_PORTABLE, hipHostMallocPortable: pinned for every device

tern_device_status allocate(std::int32_t device, std::uint64_t bytes, void** memory) {
  TERN_GPU_ENTER(device);
  return checked(api().host_allocate(memory, bytes, kPortable), "allocating pinned memory");
}

tern_device_status release(std::int32_t device, void* memory) {
  TERN_GPU_ENTER(device);
  return checked(api().host_free(memory), "freeing pinned memory");
}

constexpr tern_device_pinned_memory_functions kPinned = {sizeof kPinned, 0, allocate, release};

}  // namespace

const tern_device_pinned_memory_functions* pinned_memory_functions() {
  return &kPinned;
}

}  // namespace tern::gpu
