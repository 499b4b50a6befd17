// "memory_segments": an address range with memory mapped piece by piece.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "devices/gpu/devices.h"
#include "devices/gpu/library.h"
#include "devices/gpu/memory.h"
#include "devices/gpu/peers.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

// The driver maps and unmaps whole handles only, so each piece has its own handle. The smallest pieces (2 MiB) would
// need thousands of handles for a large model.
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20;

MemoryProperties properties_of(const GpuDevice& d) {
  MemoryProperties p;
  p.location.id = d.id;
  return p;
}

tern_device_status piece(std::int32_t device, std::uint64_t* bytes) {
  const GpuDevice* const d = find_device(device);
  if (d == nullptr) return TERN_DEVICE_INVALID;
  *bytes = d->piece;
  if (d->piece == 0) return failed(TERN_DEVICE_UNSUPPORTED, "the driver cannot map memory in pieces");
  return TERN_DEVICE_OK;
}

tern_device_status reserve(std::int32_t device, std::uint64_t bytes, tern_device_address* address) {
  TERN_GPU_ENTER(device);
  return checked(api().reserve(address, bytes, d->piece, 0, 0), "reserving addresses");
}

/// Mapped pieces of all devices.
struct MappedPieces {
  std::mutex mutex;
  std::map<int, std::set<Address>> device_addresses;
};

MappedPieces& mapped_pieces() {
  static MappedPieces& all = *std::make_unique<MappedPieces>().release();
  return all;
}

Status open_piece(Address address, std::uint64_t bytes, int device) {
  MemoryAccess access;
  access.location.id = device;
  return api().memory_access(address, bytes, &access, 1);
}

tern_device_status map_piece(const GpuDevice& d, Address address, std::uint64_t bytes) {
  const MemoryProperties p = properties_of(d);
  MemoryHandle handle = 0;
  TERN_GPU_TRY(checked(api().memory_create(&handle, bytes, &p, 0), "adding memory"));
  tern_device_status status = checked(api().memory_map(address, bytes, 0, handle, 0), "mapping memory");
  const bool mapped = status == TERN_DEVICE_OK;
  if (mapped) {
    status = checked(open_piece(address, bytes, d.id), "opening mapped memory");
  }
  if (mapped && status == TERN_DEVICE_OK) {
    // A peer opens the pieces that this loop misses, because the piece is listed first.
    const std::lock_guard lock(mapped_pieces().mutex);
    mapped_pieces().device_addresses[d.id].insert(address);
    for (const int peer : peers_of(d)) open_piece(address, bytes, peer);  // a failure makes copies slow, not wrong
  }
  if (mapped && status != TERN_DEVICE_OK) api().memory_unmap(address, bytes);
  // The mapping keeps the memory alive; unmapping frees the memory.
  const Status released = api().memory_release(handle);
  return status != TERN_DEVICE_OK ? status : checked(released, "releasing the handle of mapped memory");
}

tern_device_status unmap_pieces(const GpuDevice& d, Address address, std::uint64_t bytes) {
  tern_device_status status = TERN_DEVICE_OK;
  const std::lock_guard lock(mapped_pieces().mutex);
  for (std::uint64_t at = 0; at < bytes; at += d.piece) {
    mapped_pieces().device_addresses[d.id].erase(address + at);
    if (const Status error = api().memory_unmap(address + at, d.piece); error != kSuccess)
      status = checked(error, "unmapping memory");
  }
  return status;
}

tern_device_status unmap(std::int32_t device, tern_device_address address, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  return unmap_pieces(*d, address, bytes);
}

tern_device_status map(std::int32_t device, tern_device_address address, std::uint64_t bytes) {
  TERN_GPU_ENTER(device);
  for (std::uint64_t at = 0; at < bytes; at += d->piece) {
    const tern_device_status status = map_piece(*d, address + at, d->piece);
    if (status == TERN_DEVICE_OK) continue;
    const std::string why = message();
    unmap_pieces(*d, address, at);  // undoes a partial mapping
    return failed(status, why);
  }
  return TERN_DEVICE_OK;
}

constexpr tern_device_memory_segment_functions kSegments = {sizeof kSegments, 0, piece, reserve, map, unmap};

}  // namespace

void open_pieces(const GpuDevice& d, int peer) {
  const std::lock_guard lock(mapped_pieces().mutex);
  for (const Address address : mapped_pieces().device_addresses[d.id]) open_piece(address, d.piece, peer);
}

std::uint64_t piece_of(const GpuDevice& d) {
  const MemoryProperties p = properties_of(d);
  std::size_t smallest = 0;
  if (!has_segments(d) || api().granularity(&smallest, &p, 0) != kSuccess || smallest == 0) return 0;
  return (std::max<std::uint64_t>(kPiece, smallest) + smallest - 1) / smallest * smallest;
}

const tern_device_memory_segment_functions* memory_segment_functions() {
  return &kSegments;
}

}  // namespace tern::gpu
