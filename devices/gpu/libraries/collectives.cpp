// "collective": groups of devices by NCCL or RCCL. The library chooses the order of additions.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/libraries/communication.h"
#include "devices/gpu/libraries/dtype_numbers.h"
#include "devices/gpu/libraries/nccl.h"
#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"

namespace tern::gpu {
namespace {

/// Types reducible by the library, by tern/dtype.h's number.
struct NcclType {
  std::int32_t dtype;
  int type;
};
constexpr NcclType kNcclTypes[] = {{2, kNcclU8},  {3, kNcclI8},   {5, kNcclI32},   {6, kNcclI64},  {8, kNcclU32},
                                   {9, kNcclU64}, {10, kNcclF16}, {11, kNcclBf16}, {12, kNcclF32}, {13, kNcclF64}};

/// Bytes per element, by type.
constexpr std::uint8_t kBytes[] = {0, 1, 1, 1, 2, 4, 8, 2, 4, 8, 2, 2, 4, 8, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
constexpr std::int32_t kTypesWithBytes = sizeof kBytes;

std::size_t bytes_of(const tern_device_collective& c) {
  return c.dtype >= 0 && c.dtype < kTypesWithBytes ? kBytes[c.dtype] : 0;
}

struct NcclReduction {
  int type = -1, op = -1;
};
/// Returns -1 if the library lacks the reduction, or computes other results than Tern.
NcclReduction reduction_of(const tern_device_collective& c) {
  if (c.dtype == kBool) {  // 0 or 1: `or` is the maximum, `and` the minimum
    const bool either =
        c.reduction == TERN_REDUCE_SUM || c.reduction == TERN_REDUCE_MAX || c.reduction == TERN_REDUCE_BOR;
    const bool both =
        c.reduction == TERN_REDUCE_PRODUCT || c.reduction == TERN_REDUCE_MIN || c.reduction == TERN_REDUCE_BAND;
    return either ? NcclReduction{kNcclU8, kNcclMax} : both ? NcclReduction{kNcclU8, kNcclMin} : NcclReduction{};
  }
  NcclReduction r;
  for (const NcclType& t : kNcclTypes) {
    if (t.dtype == c.dtype) r.type = t.type;
  }
  switch (c.reduction) {
    case TERN_REDUCE_SUM: r.op = kNcclSum; break;
    case TERN_REDUCE_PRODUCT: r.op = kNcclProduct; break;
    case TERN_REDUCE_MIN: r.op = kNcclMin; break;
    case TERN_REDUCE_MAX: r.op = kNcclMax; break;
    case TERN_REDUCE_AVG: r.op = c.dtype >= kF16 ? kNcclAvg : -1; break;
    default: break;
  }
  return r;
}

tern_device_status refuse() {
  return failed(TERN_DEVICE_UNSUPPORTED, "the library of collectives does not have this");
}

tern_device_status unique_id(std::int32_t device, std::uint8_t* id) {
  TERN_GPU_ENTER(device);
  NcclId made{};
  static_assert(sizeof made == TERN_DEVICE_GROUP_ID_BYTES);
  if (const int error = nccl().api.unique_id(&made); error != kNcclSuccess)
    return failed(TERN_DEVICE_FAILED, std::string("making the number of a group: ") + nccl().api.text(error));
  std::memcpy(id, &made, sizeof made);
  return TERN_DEVICE_OK;
}

tern_device_status join(std::int32_t device, const std::uint8_t* id, std::int32_t rank, std::int32_t ranks,
                        tern_device_communicator* communicator) {
  TERN_GPU_ENTER(device);
  NcclId number{};
  std::memcpy(&number, id, sizeof number);
  auto made = std::make_shared<Communication>();
  made->rank = rank;
  made->ranks = ranks;
  NcclConfig config;
  TERN_GPU_TRY(made->call("joining a group of devices",
                          [&] { return nccl().api.join(&made->comm, ranks, number, rank, &config); }));
  if (const tern_device_status status = join_symmetric(*made); status != TERN_DEVICE_OK) {
    made->abort(message());
    return status;
  }
  *communicator = new tern_device_communicator_s{std::move(made)};
  return TERN_DEVICE_OK;
}

/// Sends part r of `in` to rank r, and receives rank r's part for this rank in `out`.
int all_to_all(const Communication& c, const tern_device_collective& call, Stream stream) {
  const NcclApi& api = nccl().api;
  const std::size_t size = bytes_of(call);
  const std::size_t each = call.count / static_cast<std::size_t>(c.ranks);
  int error = api.group_begin();
  std::size_t from = 0, to = 0;
  for (int r = 0; r < c.ranks; ++r) {
    const std::size_t sent = call.input_splits == nullptr ? each : static_cast<std::size_t>(call.input_splits[r]);
    const std::size_t taken = call.output_splits == nullptr ? each : static_cast<std::size_t>(call.output_splits[r]);
    if (error == kNcclSuccess && sent != 0)
      error = api.send(pointer(call.input) + from * size, sent * size, kNcclU8, r, c.comm, stream);
    if (error == kNcclSuccess && taken != 0)
      error = api.receive(pointer(call.output) + to * size, taken * size, kNcclU8, r, c.comm, stream);
    from += sent;
    to += taken;
  }
  const int ended = api.group_end();
  return error == kNcclSuccess ? ended : error;
}

int begin(const Communication& c, const tern_device_collective& call, const NcclReduction& r, Stream stream) {
  const NcclApi& api = nccl().api;
  const auto ranks = static_cast<std::size_t>(c.ranks);
  const std::size_t bytes = call.count * bytes_of(call);
  std::byte *in = pointer(call.input), *out = pointer(call.output);
  switch (call.kind) {
    case TERN_COLLECTIVE_ALL_REDUCE: return api.all_reduce(in, out, call.count, r.type, r.op, c.comm, stream);
    case TERN_COLLECTIVE_REDUCE_SCATTER:
      return api.reduce_scatter(in, out, call.count / ranks, r.type, r.op, c.comm, stream);
    case TERN_COLLECTIVE_ALL_GATHER: return api.all_gather(in, out, bytes, kNcclU8, c.comm, stream);
    case TERN_COLLECTIVE_BROADCAST: return api.broadcast(in, out, bytes, kNcclU8, call.root, c.comm, stream);
    default: return all_to_all(c, call, stream);
  }
}

/// Remembers all groups used on the stream: waiting fails if any of them has failed.
void note_use(tern_device_stream_s& stream, const std::shared_ptr<Communication>& communication) {
  auto& all = stream.communications;
  if (std::ranges::find(all, communication) != all.end()) return;
  std::erase_if(all, [](const auto& c) { return c.use_count() == 1; });  // groups already left
  all.push_back(communication);
}

tern_device_status run(std::int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                       const tern_device_collective* call) {
  TERN_GPU_ENTER(device);
  const bool adds = call->kind == TERN_COLLECTIVE_ALL_REDUCE || call->kind == TERN_COLLECTIVE_REDUCE_SCATTER;
  const NcclReduction r = adds ? reduction_of(*call) : NcclReduction{};
  if (call->kind < 0 || call->kind > TERN_COLLECTIVE_ALL_TO_ALL ||
      (adds ? r.type < 0 || r.op < 0 : bytes_of(*call) == 0))
    return refuse();
  if (call->count == 0 && call->kind != TERN_COLLECTIVE_ALL_TO_ALL) return TERN_DEVICE_OK;
  Communication& c = *communicator->communication;
  note_use(*stream, communicator->communication);
  const TimedWork timed(*stream);
  if (const std::size_t bytes = call->count * bytes_of(*call); takes_symmetric(c, *call, bytes)) {
    if (const std::string why = c.failure(); !why.empty()) return failed(TERN_DEVICE_FAILED, why);
    return run_symmetric(*call, bytes, stream->current());
  }
  return c.call("a collective of devices", [&] { return begin(c, *call, r, stream->current()); });
}

tern_device_status run_batch(std::int32_t device, tern_device_stream stream, tern_device_communicator communicator,
                             const tern_device_collective* calls, std::uint32_t count) {
  TERN_GPU_ENTER(device);
  for (std::uint32_t i = 0; i < count; ++i) {
    if (bytes_of(calls[i]) == 0) return refuse();
  }
  Communication& c = *communicator->communication;
  note_use(*stream, communicator->communication);
  const TimedWork timed(*stream);
  return c.call("messages of devices", [&] {
    const NcclApi& api = nccl().api;
    int error = api.group_begin();
    for (std::uint32_t i = 0; i < count && error == kNcclSuccess; ++i) {
      const tern_device_collective& m = calls[i];
      const std::size_t bytes = m.count * bytes_of(m);
      if (bytes == 0) continue;
      error = m.kind == TERN_COLLECTIVE_SEND
                  ? api.send(pointer(m.input), bytes, kNcclU8, m.root, c.comm, stream->current())
                  : api.receive(pointer(m.output), bytes, kNcclU8, m.root, c.comm, stream->current());
    }
    const int ended = api.group_end();
    return error == kNcclSuccess ? ended : error;
  });
}

tern_device_status leave(std::int32_t device, tern_device_communicator communicator) {
  const DeviceScope scope(device);
  leave_symmetric(*communicator->communication);
  communicator->communication->leave();
  delete communicator;
  return TERN_DEVICE_OK;
}

/// Callable while another thread waits inside the driver for work ended by this call.
tern_device_status abort(std::int32_t device, tern_device_communicator communicator, const char* message) {
  const DeviceScope scope(device);
  communicator->communication->abort(message);
  abandon_symmetric(*communicator->communication, message);
  return TERN_DEVICE_OK;
}

constexpr tern_device_collective_functions kCollectives = {sizeof kCollectives, 0,    unique_id, join, run, leave,
                                                           run_batch,           abort};

}  // namespace

const tern_device_collective_functions* collective_functions() {
  return nccl().why.empty() ? &kCollectives : nullptr;
}

}  // namespace tern::gpu
