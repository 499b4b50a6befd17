// The functions of NVSHMEM's host library (libnvshmem_host.so.3) called by Tern, among processes of one host. Calls are
// work on the caller's stream, like the real calls, wait there for the other ranks, and cannot be aborted.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "devices/gpu/cuda/nvshmem_api.h"
#include "devices/gpu/libraries/nccl_api.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/nccl/call.h"
#include "tests/gpu/libraries/nccl/mailboxes.h"
#include "tests/gpu/libraries/nccl/reduce.h"

using namespace tern;
using namespace tern::gpu;
using namespace tern::stand_in;

#define STAND_IN(type) extern "C" __attribute__((visibility("default"))) type

namespace {

struct World {
  int rank = 0, ranks = 0;
  std::unique_ptr<Mailboxes> boxes;
  Function kernel = nullptr;
  Address heap = 0, end = 0;  ///< bounds of all allocated memory
  std::atomic<int> calls{0};
};
World* world = nullptr;  // never freed

const std::atomic<bool> kNever{false};

/// A call: receives the inputs of all ranks, preceded by each rank's heap offset; all offsets must be equal.
struct PendingCall {
  std::uint64_t heap_offset = 0;
  std::vector<std::uint64_t> heap_offsets;
  std::vector<std::byte> gathered;
  std::vector<Message> messages;
  std::byte* out = nullptr;
  std::size_t count = 0;
  int type = -1;  ///< a type of nccl.h; -1: gathers
};

std::byte* bytes(const void* data) {
  return static_cast<std::byte*>(const_cast<void*>(data));
}

void run(void* context) {
  const std::unique_ptr<PendingCall> w(static_cast<PendingCall*>(context));
  world->boxes->exchange(w->messages, kNever);
  for (const std::uint64_t place : w->heap_offsets)
    if (place != w->heap_offsets[0]) misuse("ranks name other places of symmetric memory");
  ++world->calls;
  if (w->type < 0) {
    std::memcpy(w->out, w->gathered.data(), w->gathered.size());
  } else {
    reduce(w->type, kNcclSum, w->gathered.data(), world->ranks, w->count, w->out);
  }
}

std::uint64_t place_of(const void* data, std::size_t size) {
  const auto at = reinterpret_cast<Address>(data);
  if (at < world->heap || at + size > world->end) misuse("memory that is not symmetric");
  return at - world->heap;
}

int submit(std::int32_t team, void* out, const void* in, std::size_t size, std::size_t count, int type, Stream stream) {
  if (world == nullptr) misuse("a call before nvshmemx_hostlib_init_attr");
  if (team != kNvshmemWorld) misuse("there is no team %d", team);
  const auto ranks = static_cast<std::size_t>(world->ranks);
  auto w = std::make_unique<PendingCall>();
  w->heap_offset = place_of(in, size) << 32 | place_of(out, type < 0 ? size * ranks : size);
  w->heap_offsets.resize(ranks);
  w->gathered.resize(size * ranks);
  w->out = bytes(out);
  w->count = count;
  w->type = type;
  // Messages of a pair keep their order. A rank already has its own part.
  for (int r = 0; r < world->ranks; ++r) {
    const auto at = static_cast<std::size_t>(r);
    w->messages.push_back({true, r, bytes(&w->heap_offset), sizeof w->heap_offset});
    w->messages.push_back({false, r, bytes(&w->heap_offsets[at]), sizeof w->heap_offset});
    w->messages.push_back({true, r, bytes(in), size});
    w->messages.push_back({false, r, w->gathered.data() + size * at, size});
  }
  const CollectiveCall call{run, w.get()};
  if (launch(world->kernel, &call, stream) != kSuccess) return 7;  // NVSHMEMX_ERROR_INTERNAL
  w.release();
  return 0;
}

void report() {
  std::fprintf(stderr, "stand-in: rank %d of %d made %d calls of NVSHMEM\n", world->rank, world->ranks,
               world->calls.load());
}

}  // namespace

STAND_IN(void) nvshmemx_vendor_get_version_info(int* major, int* minor, int* patch) {
  *major = 3;
  *minor = 8;
  *patch = 0;
}
STAND_IN(int) nvshmemx_get_uniqueid(NvshmemId* id) {
  if (id->version != NvshmemId{}.version) misuse("an id without its version");
  std::snprintf(id->bytes, sizeof id->bytes, "/tern-stand-in-shmem-%d", static_cast<int>(getpid()));
  return 0;
}
STAND_IN(int)
nvshmemx_set_attr_uniqueid_args(int rank, int ranks, const NvshmemId* id, NvshmemAttributes* attributes) {
  attributes->arguments.id = {NvshmemIdArguments{}.version, id, rank, ranks};
  return 0;
}
STAND_IN(int) nvshmemx_hostlib_init_attr(unsigned flags, NvshmemAttributes* attributes) {
  const NvshmemArguments& a = attributes->arguments;
  if (flags != kNvshmemById || attributes->version != NvshmemAttributes{}.version ||
      a.version != NvshmemArguments{}.version)
    misuse("attributes that were not initialised");
  if (a.id.rank < 0 || a.id.rank >= a.id.ranks) misuse("rank %d of %d", a.id.rank, a.id.ranks);
  if (world != nullptr) misuse("a process joins two times");
  if (std::getenv("TERN_STAND_IN_NO_SHMEM") != nullptr && a.id.rank == 1) return 7;
  world = new World;
  world->rank = a.id.rank;
  world->ranks = a.id.ranks;
  world->kernel = load(kCollectiveKernel);
  world->boxes = std::make_unique<Mailboxes>(a.id.id->bytes, a.id.rank, a.id.ranks);
  if (std::getenv("TERN_STAND_IN_NO_SHMEM") != nullptr) return 0;
  while (!world->boxes->complete()) sched_yield();
  if (std::getenv("TERN_STAND_IN_COUNTS") != nullptr) std::atexit(report);
  return world->kernel == nullptr ? 7 : 0;
}
STAND_IN(void*) nvshmem_malloc(std::size_t size) {
  if (world->heap != 0) misuse("more memory than Tern needs");
  if (driver().allocate(&world->heap, size) != kSuccess) return nullptr;
  world->end = world->heap + size;
  return reinterpret_cast<void*>(world->heap);  // NOLINT(performance-no-int-to-ptr)
}
STAND_IN(int)
nvshmemx_fcollectmem_on_stream(std::int32_t team, void* out, const void* in, std::size_t size, Stream stream) {
  return submit(team, out, in, size, size, -1, stream);
}

#define SUM(name, type)                                                                                                \
  STAND_IN(int)                                                                                                        \
  nvshmemx_##name##_sum_reduce_on_stream(std::int32_t team, void* out, const void* in, std::size_t n, Stream stream) { \
    return submit(team, out, in, n * bytes_of(type), n, type, stream);                                                 \
  }
SUM(uint8, kNcclU8)
SUM(int8, kNcclI8)
SUM(int32, kNcclI32)
SUM(int64, kNcclI64)
SUM(uint32, kNcclU32)
SUM(uint64, kNcclU64)
SUM(half, kNcclF16)
SUM(bfloat16, kNcclBf16)
SUM(float, kNcclF32)
SUM(double, kNcclF64)
