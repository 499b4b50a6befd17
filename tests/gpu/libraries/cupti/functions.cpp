// The functions of CUPTI called by Tern: callbacks for nodes of graphs, and records of their work in the emulated
// machine. CUPTI's clock has an origin of its own.
#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "devices/gpu/cuda/cupti_api.h"
#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/machine/counters_api.h"

using namespace tern::gpu;
using namespace tern::stand_in;

#define STAND_IN extern "C" __attribute__((visibility("default"))) Status

namespace {

constexpr Status kInvalidParameter = 1;      // CUPTI_ERROR_INVALID_PARAMETER
constexpr Status kInvalidOperation = 7;      // CUPTI_ERROR_INVALID_OPERATION
constexpr Status kMaxLimitReached = 12;      // CUPTI_ERROR_MAX_LIMIT_REACHED
constexpr Status kMultipleSubscribers = 39;  // CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
constexpr std::uint64_t kOrigin = 1'700'000'000'000'000'000;
constexpr std::size_t kBytes[] = {216, 96, 88};  // sizes of records, parallel to kCuptiRecords

struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t bytes = 0, valid_bytes = 0;
};

std::recursive_mutex mutex;  // guards all below; callbacks of nodes run under it
CuptiCallback callback = nullptr;
void* callback_data = nullptr;
std::set<std::uint32_t> callbacks;
CuptiBufferRequest request = nullptr;
CuptiBufferComplete complete = nullptr;
std::set<int> kinds;
std::vector<Buffer> buffers;
std::map<std::uint64_t, std::uint64_t> ids;      // node ids, by handle
std::map<std::uint64_t, std::uint64_t> handles;  // node handles, by id

void add_node(std::uint64_t handle, std::uint64_t id) {
  ids[handle] = id;
  handles[id] = handle;
}

void call_back(std::uint32_t number, std::uint64_t node, std::uint64_t original) {
  if (callback == nullptr || callbacks.count(number) == 0) return;
  CuptiGraphData graph{};
  graph.node = reinterpret_cast<GraphNode>(node);
  graph.original_node = reinterpret_cast<GraphNode>(original);
  const CuptiResource resource{nullptr, nullptr, &graph};
  callback(callback_data, kCuptiResources, number, &resource);
}

void created(std::uint64_t handle, std::uint64_t id) {
  const std::lock_guard lock(mutex);
  add_node(handle, id);
  call_back(kCuptiNodeCreated, handle, 0);
}

// NVIDIA's sample cuda_graphs_trace ignores nodes created during cuGraphInstantiate, and takes their numbers from
// GRAPHNODE_CLONED.
void cloned(std::uint64_t id, std::uint64_t original) {
  const std::lock_guard lock(mutex);
  const std::uint64_t handle = (std::uint64_t{1} << 48) + id;
  add_node(handle, id);
  call_back(kCuptiNodeCreated, handle, 0);
  const auto known = handles.find(original);
  if (known != handles.end()) call_back(kCuptiNodeCloned, handle, known->second);
}

void ran(std::uint64_t id, std::uint32_t launch, char kind, std::uint64_t begin, std::uint64_t end) {
  const std::lock_guard lock(mutex);
  const std::size_t row = kind == 'k' ? 0 : kind == 'c' ? 1 : 2;
  const CuptiRecord& r = kCuptiRecords[row];
  if (kinds.count(r.kind) == 0) return;
  if (buffers.empty() || buffers.back().bytes - buffers.back().valid_bytes < kBytes[row]) {
    Buffer buffer;
    std::size_t most_records = 0;
    request(&buffer.data, &buffer.bytes, &most_records);
    if (buffer.data == nullptr) return;
    if (reinterpret_cast<std::uintptr_t>(buffer.data) % 8 != 0) misuse("a buffer of CUPTI is not aligned to 8 bytes");
    buffers.push_back(buffer);
  }
  Buffer& buffer = buffers.back();
  std::uint8_t* record = buffer.data + buffer.valid_bytes;
  const auto put = [&](std::size_t offset, const auto& value) { std::memcpy(record + offset, &value, sizeof value); };
  std::memset(record, 0, kBytes[row]);
  put(0, r.kind);
  put(r.begin, kOrigin + begin * 1000);
  put(r.end, kOrigin + end * 1000);
  put(r.launch, launch);
  put(r.node, id);
  buffer.valid_bytes += kBytes[row];
}

constexpr tern_emulator_observer kObserver = {created, cloned, ran};

/// Tells the emulated driver to report its nodes.
void observe(const tern_emulator_observer* observer) {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) misuse("CUPTI is used before the driver");
  using Observe = void(const tern_emulator_observer*);
  reinterpret_cast<Observe*>(dlsym(library, "tern_emulator_observe"))(observer);
}

}  // namespace

STAND_IN cuptiSubscribe(void** subscriber, CuptiCallback function, void* data) {
  if (is_to_fail("cuptiSubscribe")) return kMultipleSubscribers;
  {
    const std::lock_guard lock(mutex);
    if (callback != nullptr) return kMultipleSubscribers;
    callback = function;
    callback_data = data;
    *subscriber = &callback;
  }
  observe(&kObserver);
  return kSuccess;
}

STAND_IN cuptiUnsubscribe(void* subscriber) {
  if (subscriber != &callback) return kInvalidParameter;
  observe(nullptr);
  const std::lock_guard lock(mutex);
  callback = nullptr;
  callbacks.clear();
  return kSuccess;
}

STAND_IN cuptiEnableCallback(std::uint32_t enable, void* subscriber, int domain, std::uint32_t number) {
  const std::lock_guard lock(mutex);
  if (subscriber != &callback || callback == nullptr || domain != kCuptiResources) return kInvalidParameter;
  if (enable != 0) {
    callbacks.insert(number);
  } else {
    callbacks.erase(number);
  }
  return kSuccess;
}

STAND_IN cuptiActivityRegisterCallbacks(CuptiBufferRequest to_request, CuptiBufferComplete to_complete) {
  const std::lock_guard lock(mutex);
  if (to_request == nullptr || to_complete == nullptr) return kInvalidParameter;
  request = to_request;
  complete = to_complete;
  return kSuccess;
}

STAND_IN cuptiActivityEnable(int kind) {
  if (is_to_fail("cuptiActivityEnable")) return kInvalidParameter;
  const std::lock_guard lock(mutex);
  if (request == nullptr) misuse("activities are enabled before cuptiActivityRegisterCallbacks");
  kinds.insert(kind);
  return kSuccess;
}

STAND_IN cuptiActivityDisable(int kind) {
  const std::lock_guard lock(mutex);
  kinds.erase(kind);
  return kSuccess;
}

// "returns all the activity buffers which have all the activity records completed". The callback runs without the lock,
// because it may run on a thread of CUPTI's.
STAND_IN cuptiActivityFlushAll(std::uint32_t) {
  std::vector<Buffer> full;
  {
    const std::lock_guard lock(mutex);
    // "CUPTI_ERROR_INVALID_OPERATION if not preceded by a successful call to cuptiActivityRegisterCallbacks".
    if (complete == nullptr) return kInvalidOperation;
    full.swap(buffers);
  }
  for (const Buffer& b : full) complete(nullptr, 0, b.data, b.bytes, b.valid_bytes);
  return kSuccess;
}

// "CUPTI_ERROR_MAX_LIMIT_REACHED if no more records in the buffer".
STAND_IN cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t bytes, void** record) {
  std::uint8_t* next = buffer;
  if (*record != nullptr) {
    int kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    next = static_cast<std::uint8_t*>(*record);
    for (std::size_t row = 0; row < std::size(kBytes); ++row) next += kind == kCuptiRecords[row].kind ? kBytes[row] : 0;
  }
  if (next >= buffer + bytes) return kMaxLimitReached;
  *record = next;
  return kSuccess;
}

STAND_IN cuptiGetGraphNodeId(GraphNode node, std::uint64_t* id) {
  const std::lock_guard lock(mutex);
  const auto known = ids.find(reinterpret_cast<std::uint64_t>(node));
  if (known == ids.end()) return kInvalidParameter;
  *id = known->second;
  return kSuccess;
}
