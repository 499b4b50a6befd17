// "peer": copies between GPUs.
#include "devices/gpu/peers.h"

#include <map>
#include <mutex>
#include <set>

#include "devices/gpu/handles.h"
#include "devices/gpu/library.h"
#include "devices/gpu/memory.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

struct PeerAccess {
  std::mutex mutex;
  std::set<std::pair<int, int>> requested;  ///< accessing device, accessed device
  std::map<int, std::vector<int>> opened;   ///< accessed device, accessing devices
};

PeerAccess& peer_access() {
  // Never destroyed, like the devices.
  static PeerAccess& all = *std::make_unique<PeerAccess>().release();
  return all;
}

/// Lets `d`, the current device, read and write the memory of `accessed`. False if the machine cannot.
bool enable_peer(const GpuDevice& d, const GpuDevice& accessed) {
  int can = 0;
  if (api().can_access_peer(&can, d.id, accessed.id) != kSuccess || can == 0) return false;
  const Status error = api().enable_peer(peer_of(accessed), 0);
  return error == kSuccess || error == names::kPeerAlreadyEnabled;  // the application may have enabled it
}

/// Opens the memory of `accessed` to `d`, once. Copies without access are correct: the driver takes them through the
/// host.
void open_to_peer(const GpuDevice& d, const GpuDevice& accessed) {
  PeerAccess& all = peer_access();
  {
    const std::lock_guard lock(all.mutex);
    if (!all.requested.emplace(d.id, accessed.id).second) return;
  }
  if (!enable_peer(d, accessed)) return;
  {
    const std::lock_guard lock(all.mutex);
    all.opened[accessed.id].push_back(d.id);
  }
  open_pieces(accessed, d.id);
}

tern_device_status copy_from_peer(std::int32_t device, tern_device_stream stream, tern_device_address to,
                                  std::int32_t from_device, tern_device_address from, std::uint64_t bytes) {
  const GpuDevice* const source = find_device(from_device);
  if (source == nullptr) return TERN_DEVICE_INVALID;
  if (api().can_access_peer == nullptr || api().enable_peer == nullptr || api().copy_peer == nullptr)
    return failed(TERN_DEVICE_UNSUPPORTED, "the driver has no copies between devices");
  {
    const DeviceScope scope(from_device);  // creates the context
    if (scope.device() == nullptr) return scope.status();
    if (const GpuDevice* const reader = find_device(device)) open_to_peer(*source, *reader);
  }
  TERN_GPU_ENTER(device);
  open_to_peer(*d, *source);
  const TimedWork timed(*stream);
  return checked(api().copy_peer(to, peer_of(*d), from, peer_of(*source), bytes, stream->current()),
                 "copying between devices");
}

constexpr tern_device_peer_functions kPeers = {sizeof kPeers, 0, copy_from_peer};

}  // namespace

std::vector<int> peers_of(const GpuDevice& d) {
  PeerAccess& all = peer_access();
  const std::lock_guard lock(all.mutex);
  const auto at = all.opened.find(d.id);
  return at == all.opened.end() ? std::vector<int>() : at->second;
}

const tern_device_peer_functions* peer_functions() {
  return &kPeers;
}

}  // namespace tern::gpu
