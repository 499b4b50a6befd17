// "collective": small sums and gatherings by NVSHMEM, enqueued on a stream like NCCL calls. A process joins a single
// NVSHMEM world and never leaves, because leaving needs all ranks.
#include "devices/gpu/libraries/symmetric.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "devices/gpu/cuda/nvshmem.h"
#include "devices/gpu/cuda/symmetric_exchange.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

/// Largest result in bytes. Not measured on GPUs: values from the window of MPI.
struct Limit {
  std::int32_t kind;
  std::size_t bytes;
};
constexpr Limit kLimits[] = {{TERN_COLLECTIVE_ALL_REDUCE, 32 << 10}, {TERN_COLLECTIVE_ALL_GATHER, 32 << 10}};
constexpr std::size_t kMaxBytes = 32 << 10;

constexpr auto kExchangeTimeout =
    std::chrono::milliseconds(500);  ///< longest duration of a call after the arrival of all ranks
constexpr unsigned kNoTimes = 2;     // CU_EVENT_DISABLE_TIMING

/// The process's membership in NVSHMEM. Used by the holding group only.
struct World {
  std::atomic<bool> is_held{false};
  bool joined = false, spent = false;  ///< spent: failed, never used again
  std::int32_t rank = 0, ranks = 0;
  NvshmemId id;
  /// Double buffers for input and result. A rank starting a call has finished the previous call, so all ranks have
  /// started the previous call and finished the call before, which used the same buffer.
  Address memory = 0;
  unsigned call_count = 0;
  Event last = nullptr;  ///< recorded after the last call

  std::mutex mutex;
  std::string why;
  std::atomic<bool> lost{false};
};
World& world() {
  static auto* w = new World;  // leaked: calls on the device may outlive static objects
  return *w;
}

/// Joins the world with the other ranks; returns false if this rank cannot.
bool start(World& w, const Communication& c, const NvshmemId& id) {
  const NvshmemApi& shmem = nvshmem().api;
  NvshmemAttributes attributes;
  w.id = id;
  if (shmem.set_id(c.rank, c.ranks, &w.id, &attributes) != 0 || shmem.init(kNvshmemById, &attributes) != 0)
    return false;
  w.memory = reinterpret_cast<Address>(shmem.allocate(4 * kMaxBytes));
  return w.memory != 0 && api().event_create(&w.last, kNoTimes) == kSuccess;
}

bool all_are(const std::vector<SymmetricRecord>& all, Ability ability) {
  return std::ranges::all_of(all, [&](const SymmetricRecord& r) { return r.ability == ability; });
}

/// True if all ranks are in one world with their ranks of the group.
bool same_world(const std::vector<SymmetricRecord>& all) {
  std::int32_t rank = 0;
  return all_are(all, Ability::joined) && std::ranges::all_of(all, [&](const SymmetricRecord& r) {
           return r.rank == rank++ && r.ranks == static_cast<std::int32_t>(all.size()) &&
                  std::memcmp(&r.id, &all[0].id, sizeof r.id) == 0;
         });
}

/// Negotiates for a process holding its world.
tern_device_status agree(World& w, bool able, Communication& c, bool* agreed) {
  SymmetricRecord mine;
  if (able && w.joined) {
    mine = {Ability::joined, w.rank, w.ranks, 0, w.id};
  } else if (able && (c.rank != 0 || nvshmem().api.unique_id(&mine.id) == 0)) {
    mine.ability = Ability::fresh;
  }
  std::vector<SymmetricRecord> all;
  TERN_GPU_TRY(exchange(c, mine, &all));
  if (all_are(all, Ability::fresh)) {
    w.joined = start(w, c, all[0].id);
    w.rank = c.rank;
    w.ranks = c.ranks;
    mine = {w.joined ? Ability::joined : Ability::none, w.rank, w.ranks, 0, w.id};
    TERN_GPU_TRY(exchange(c, mine, &all));
    w.spent = !same_world(all);
  }
  *agreed = same_world(all);
  return TERN_DEVICE_OK;
}

std::atomic<int> users{0};

}  // namespace

tern_device_status join_symmetric(Communication& c) {
  if (!wants_nvshmem() || c.ranks == 1) return TERN_DEVICE_OK;
  World& w = world();
  const bool holds = nvshmem().why.empty() && !w.is_held.exchange(true);
  const tern_device_status status = agree(w, holds && !w.spent, c, &c.symmetric);
  if (c.symmetric) {
    w.call_count = 0;
    ++users;
  } else if (holds) {
    w.is_held = false;
  }
  return status;
}

void leave_symmetric(Communication& c) {
  if (!c.symmetric) return;
  World& w = world();
  w.spent = w.spent || !c.failure().empty();
  c.symmetric = false;
  --users;
  w.is_held = false;
}

bool takes_symmetric(const Communication& c, const tern_device_collective& call, std::size_t bytes) {
  if (!c.symmetric) return false;
  const bool gathers = call.kind == TERN_COLLECTIVE_ALL_GATHER;
  if (!gathers && (call.reduction != TERN_REDUCE_SUM || call.dtype < 0 || call.dtype >= std::int32_t{kNvshmemTypes} ||
                   nvshmem().api.sums[call.dtype] == nullptr))
    return false;
  const std::size_t result = gathers ? bytes * static_cast<std::size_t>(c.ranks) : bytes;
  return std::ranges::any_of(kLimits, [&](const Limit& l) { return l.kind == call.kind && result <= l.bytes; });
}

tern_device_status run_symmetric(const tern_device_collective& call, std::size_t bytes, Stream stream) {
  World& w = world();
  const Address in = w.memory + (w.call_count++ % 2) * 2 * kMaxBytes, out = in + kMaxBytes;
  TERN_GPU_TRY(checked(api().copy_within(in, call.input, bytes, stream), "copying to symmetric memory"));
  const NvshmemApi& shmem = nvshmem().api;
  std::size_t result = bytes;
  int error = 0;
  if (call.kind == TERN_COLLECTIVE_ALL_GATHER) {
    error = shmem.gather(kNvshmemWorld, pointer(out), pointer(in), bytes, stream);
    result *= static_cast<std::size_t>(w.ranks);
  } else {
    error = shmem.sums[call.dtype](kNvshmemWorld, pointer(out), pointer(in), call.count, stream);
  }
  if (error != 0) return failed(TERN_DEVICE_FAILED, "a collective of devices: NVSHMEM: error " + std::to_string(error));
  TERN_GPU_TRY(checked(api().copy_within(call.output, out, result, stream), "copying from symmetric memory"));
  return checked(api().event_record(w.last, stream), "recording an event");
}

void abandon_symmetric(const Communication& c, const std::string& why) {
  if (!c.symmetric) return;
  World& w = world();
  const auto end = std::chrono::steady_clock::now() + kExchangeTimeout;
  while (api().event_query(w.last) == names::kNotReady) {
    if (std::chrono::steady_clock::now() >= end) {
      const std::lock_guard lock(w.mutex);
      if (w.why.empty()) w.why = why;
      w.lost = true;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

tern_device_status wait_for(Event event, const char* call) {
  if (users == 0 && !is_lost()) return checked(api().event_synchronize(event), call);
  for (;;) {
    const Status error = api().event_query(event);
    if (error != names::kNotReady) return checked(error, call);
    if (is_lost()) return lost();
    std::this_thread::yield();
  }
}

tern_device_status wait_for_stream(Stream stream) {
  constexpr const char* kWhat = "waiting for the stream";
  if (users == 0 && !is_lost()) return checked(api().stream_synchronize(stream), kWhat);
  if (is_lost()) return lost();
  Event event = nullptr;
  TERN_GPU_TRY(checked(api().event_create(&event, kNoTimes), kWhat));
  tern_device_status status = checked(api().event_record(event, stream), kWhat);
  if (status == TERN_DEVICE_OK) status = wait_for(event, kWhat);
  api().event_destroy(event);
  return status;
}

tern_device_status wait_before(Stream stream) {
  return users == 0 && !is_lost() ? TERN_DEVICE_OK : wait_for_stream(stream);
}

bool is_lost() {
  return world().lost;
}

tern_device_status lost() {
  const std::lock_guard lock(world().mutex);
  return failed(TERN_DEVICE_FAILED, world().why);
}

}  // namespace tern::gpu
