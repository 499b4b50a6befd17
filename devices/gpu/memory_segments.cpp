// "memory_segments": a range of addresses that gets memory piece by piece.
#include <algorithm>

#include "devices/gpu/devices.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

// The driver maps a handle as a whole and unmaps it as a whole, so each piece is a handle of its own. Pieces of the
// smallest size (2 MiB) would be thousands of handles for a large model.
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20;

MemoryProperties properties_of(const GpuDevice& d) {
  MemoryProperties p;
  p.location.id = d.id;
  return p;
}

tern_device_status piece(std::int32_t device, std::uint64_t* bytes) {
  TERN_GPU_ENTER(device);
  if (!has_segments(*d)) return failed(TERN_DEVICE_UNSUPPORTED, "the driver does not map memory piece by piece");
  const MemoryProperties p = properties_of(*d);
  std::size_t smallest = 0;
  TERN_GPU_TRY(checked(api().granularity(&smallest, &p, 0), "asking for the size of pieces of memory"));
  *bytes = (std::max<std::uint64_t>(kPiece, smallest) + smallest - 1) / smallest * smallest;
  return TERN_DEVICE_OK;
}

tern_device_status reserve(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  TERN_GPU_ENTER(device);
  std::uint64_t aligned = 0;
  TERN_GPU_TRY(piece(device, &aligned));
  return checked(api().reserve(address, bytes, aligned, 0, 0), "reserving addresses");
}

tern_device_status map_piece(const GpuDevice& d, Address address, std::uint64_t bytes) {
  const MemoryProperties p = properties_of(d);
  MemoryHandle handle = 0;
  TERN_GPU_TRY(checked(api().memory_create(&handle, bytes, &p, 0), "adding memory"));
  tern_device_status status = checked(api().memory_map(address, bytes, 0, handle, 0), "mapping memory");
  const bool mapped = status == TERN_DEVICE_OK;
  if (mapped) {
    MemoryAccess access;
    access.location.id = d.id;
    status = checked(api().memory_access(address, bytes, &access, 1), "opening mapped memory");
  }
  if (mapped && status != TERN_DEVICE_OK) api().memory_unmap(address, bytes);
  // The mapping keeps the memory alive; unmapping it frees it.
  const Status released = api().memory_release(handle);
  return status != TERN_DEVICE_OK ? status : checked(released, "releasing the handle of mapped memory");
}

tern_device_status unmap(std::int32_t device, tern_device_address address, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  std::uint64_t one = 0;
  TERN_GPU_TRY(piece(device, &one));
  for (std::uint64_t at = 0; at < bytes; at += one)
    TERN_GPU_TRY(checked(api().memory_unmap(address + at, one), "unmapping memory"));
  return TERN_DEVICE_OK;
}

tern_device_status map(std::int32_t device, tern_device_address address, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  std::uint64_t one = 0;
  TERN_GPU_TRY(piece(device, &one));
  for (std::uint64_t at = 0; at < bytes; at += one) {
    const tern_device_status status = map_piece(*d, address + at, one);
    if (status == TERN_DEVICE_OK) continue;
    const std::string why = message();
    unmap(device, address, at);  // a failed map maps nothing
    return failed(status, why);
  }
  return TERN_DEVICE_OK;
}

constexpr tern_device_memory_segment_functions kSegments = {sizeof kSegments, 0, piece, reserve, map, unmap};

}  // namespace

const tern_device_memory_segment_functions* memory_segment_functions() {
  return &kSegments;
}

}  // namespace tern::gpu
