// The functions of NCCL (libnccl.so.2) and RCCL (librccl.so.1) called by Tern, among processes of one host. Calls are
// work on the caller's stream, like the real calls, and wait there for the other ranks.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

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

struct Communicator {
  int rank = 0, ranks = 0;
  std::unique_ptr<Mailboxes> boxes;
  std::atomic<bool> aborted{false};
  Function kernel = nullptr;
  std::atomic<int> calls{0};
};
/// Target of the library's handle; work on streams owns the communicator.
using Handle = std::shared_ptr<Communicator>;

const Handle& handle(NcclComm comm) {
  if (comm == nullptr) misuse("no communicator");
  return *static_cast<Handle*>(comm);
}

/// Messages of a call or group, and the subsequent reduction.
struct PendingCall {
  Handle comm;
  std::vector<Message> messages;
  std::vector<std::byte> gathered;  ///< the elements of each rank
  std::byte* out = nullptr;
  std::size_t count = 0;  ///< elements of the result
  int type = 0, op = -1;
};

void run(void* context) {
  const std::unique_ptr<PendingCall> w(static_cast<PendingCall*>(context));
  Communicator& c = *w->comm;
  ++c.calls;
  std::vector<Message> others;
  for (const Message& m : w->messages) {
    if (m.peer != c.rank) others.push_back(m);
  }
  // A rank's messages to itself.
  for (const Message& s : w->messages) {
    if (!s.sends || s.peer != c.rank) continue;
    for (const Message& r : w->messages) {
      if (!r.sends && r.peer == c.rank && r.data != s.data) std::memmove(r.data, s.data, s.bytes);
    }
  }
  c.boxes->exchange(others, c.aborted);
  if (w->op < 0 || c.aborted) return;
  reduce(w->type, w->op, w->gathered.data(), c.ranks, w->count, w->out);
}

thread_local std::unique_ptr<PendingCall> group;
thread_local Stream group_stream = nullptr;
thread_local bool is_grouped = false;

int submit(std::unique_ptr<PendingCall> w, Stream stream) {
  const CollectiveCall call{run, w.get()};
  const Status status = launch(w->comm->kernel, &call, stream);
  if (status != kSuccess) return 1;  // ncclUnhandledCudaError
  w.release();
  return kNcclInProgress;
}

std::byte* bytes(const void* data) {
  return static_cast<std::byte*>(const_cast<void*>(data));
}

std::unique_ptr<PendingCall> create_call(NcclComm comm) {
  auto w = std::make_unique<PendingCall>();
  w->comm = handle(comm);
  return w;
}

/// Reduces all elements, or each rank's part.
int reduction(const void* in, void* out, std::size_t each, bool parts, int type, int op, NcclComm comm, Stream stream) {
  auto w = create_call(comm);
  const std::size_t size = bytes_of(type), share = each * size;
  const int ranks = w->comm->ranks;
  w->type = type;
  w->op = op;
  w->count = each;
  w->out = bytes(out);
  w->gathered.resize(share * static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    w->messages.push_back({true, r, bytes(in) + (parts ? share * static_cast<std::size_t>(r) : 0), share});
    w->messages.push_back({false, r, w->gathered.data() + share * static_cast<std::size_t>(r), share});
  }
  return submit(std::move(w), stream);
}

}  // namespace

STAND_IN(int) ncclGetVersion(int* version) {
  *version = 22803;
  return kNcclSuccess;
}
STAND_IN(const char*) ncclGetErrorString(int result) {
  return result == 1 ? "unhandled cuda error" : "an error of the stand-in";
}
STAND_IN(int) ncclGetUniqueId(NcclId* id) {
  static std::atomic<int> number{0};
  *id = {};
  std::snprintf(id->bytes, sizeof id->bytes, "/tern-stand-in-%d-%d", static_cast<int>(getpid()), ++number);
  return kNcclSuccess;
}
STAND_IN(int) ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclId id, int rank, NcclConfig* config) {
  if (config == nullptr || config->magic != NcclConfig{}.magic || config->size < sizeof(NcclConfig))
    misuse("a config that was not initialised");
  if (rank < 0 || rank >= ranks) misuse("rank %d of %d", rank, ranks);
  auto c = std::make_shared<Communicator>();
  c->rank = rank;
  c->ranks = ranks;
  c->boxes = std::make_unique<Mailboxes>(id.bytes, rank, ranks);
  c->kernel = load(kCollectiveKernel);
  if (c->kernel == nullptr) return 1;
  *comm = new Handle(std::move(c));
  return kNcclInProgress;
}
STAND_IN(int) ncclCommGetAsyncError(NcclComm comm, int* state) {
  *state = handle(comm)->boxes->complete() ? kNcclSuccess : kNcclInProgress;
  return kNcclSuccess;
}
STAND_IN(int) ncclCommFinalize(NcclComm comm) {
  (void)handle(comm);
  return kNcclInProgress;
}
STAND_IN(int) ncclCommDestroy(NcclComm comm) {
  const Handle& c = handle(comm);
  if (std::getenv("TERN_STAND_IN_COUNTS") != nullptr)
    std::fprintf(stderr, "stand-in: rank %d of %d made %d calls\n", c->rank, c->ranks, c->calls.load());
  delete static_cast<Handle*>(comm);
  return kNcclSuccess;
}
STAND_IN(int) ncclCommAbort(NcclComm comm) {
  handle(comm)->aborted = true;
  delete static_cast<Handle*>(comm);
  return kNcclSuccess;
}

STAND_IN(int) ncclGroupStart() {
  if (is_grouped) misuse("a group in a group");
  is_grouped = true;
  return kNcclSuccess;
}
STAND_IN(int) ncclGroupEnd() {
  if (!is_grouped) misuse("the end of no group");
  is_grouped = false;
  if (group == nullptr) return kNcclSuccess;
  return submit(std::move(group), group_stream);
}
namespace {
int message(bool sends, const void* data, std::size_t count, int type, int peer, NcclComm comm, Stream stream) {
  const bool alone = !is_grouped;
  if (group == nullptr) group = create_call(comm);
  if (peer < 0 || peer >= group->comm->ranks) misuse("there is no rank %d", peer);
  group->messages.push_back({sends, peer, bytes(data), count * bytes_of(type)});
  group_stream = stream;
  return alone ? submit(std::move(group), stream) : kNcclSuccess;
}
}  // namespace
STAND_IN(int) ncclSend(const void* data, std::size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return message(true, data, count, type, peer, comm, stream);
}
STAND_IN(int) ncclRecv(void* data, std::size_t count, int type, int peer, NcclComm comm, Stream stream) {
  return message(false, data, count, type, peer, comm, stream);
}

STAND_IN(int)
ncclAllReduce(const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, Stream stream) {
  return reduction(in, out, count, false, type, op, comm, stream);
}
STAND_IN(int)
ncclReduceScatter(const void* in, void* out, std::size_t count, int type, int op, NcclComm comm, Stream stream) {
  return reduction(in, out, count, true, type, op, comm, stream);
}
STAND_IN(int) ncclAllGather(const void* in, void* out, std::size_t count, int type, NcclComm comm, Stream stream) {
  auto w = create_call(comm);
  const std::size_t share = count * bytes_of(type);
  for (int r = 0; r < w->comm->ranks; ++r) {
    w->messages.push_back({true, r, bytes(in), share});
    w->messages.push_back({false, r, bytes(out) + share * static_cast<std::size_t>(r), share});
  }
  return submit(std::move(w), stream);
}
STAND_IN(int)
ncclBroadcast(const void* in, void* out, std::size_t count, int type, int root, NcclComm comm, Stream stream) {
  auto w = create_call(comm);
  const std::size_t whole = count * bytes_of(type);
  if (w->comm->rank == root) {
    for (int r = 0; r < w->comm->ranks; ++r) w->messages.push_back({true, r, bytes(in), whole});
  }
  w->messages.push_back({false, root, bytes(out), whole});
  return submit(std::move(w), stream);
}
