// CUPTI's records of graph nodes, loaded by the first traced run that records a graph.
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <unordered_map>

#include "devices/gpu/cuda/cupti_api.h"
#include "devices/gpu/graph_times.h"
#include "devices/gpu/libraries/shared_library.h"

namespace tern::gpu {
namespace {

constexpr const char* kCuptiFiles[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so",
                                       "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
constexpr LibraryPlaces kCuptiPlaces = {"CUPTI", "TERN_CUPTI", kCuptiFiles, "install nvidia-cuda-cupti from PyPI"};
constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kBufferAlignment = 8;  // ACTIVITY_RECORD_ALIGNMENT

/// Returns null if CUPTI is missing or lacks a function.
const CuptiApi* cupti() {
  static const CuptiApi* const found = [] {
    static CuptiApi a;
    std::string why;
    const auto takes = [](void* library, const char* file) {
      bool is_complete = true;
#define TERN_GPU_LOAD(name, symbol, parameters)                                                 \
  a.name = reinterpret_cast<decltype(a.name)>(platform::find_symbol(library, "cupti" #symbol)); \
  is_complete = is_complete && a.name != nullptr;
      TERN_GPU_CUPTI_FUNCTIONS(TERN_GPU_LOAD)
#undef TERN_GPU_LOAD
      return is_complete ? std::string() : std::string(file) + " lacks functions of CUPTI 12";
    };
    return open_library(kCuptiPlaces, takes, &why) == nullptr ? nullptr : &a;
  }();
  return found;
}

/// Two locks: CUPTI completes buffers on its own threads, also while its functions run.
struct NodeRecords {
  std::mutex use_mutex;  ///< guards the next two members
  int use_count = 0;
  void* subscriber = nullptr;
  std::mutex mutex;  ///< guards the records
  std::unordered_map<std::uint64_t, std::vector<NodeRecord>> node_lists;
};

/// Leaked: CUPTI's threads may outlive every static object.
NodeRecords& node_records() {
  static auto& records = *new NodeRecords;
  return records;
}

thread_local GraphTimes* numbered_graph = nullptr;

/// Called by the driver's calls of the thread that adds or copies nodes.
void see_node(void*, int domain, std::uint32_t callback, const void* details) {
  GraphTimes* const times = numbered_graph;
  if (times == nullptr || domain != kCuptiResources) return;
  const auto& data = *static_cast<const CuptiGraphData*>(static_cast<const CuptiResource*>(details)->descriptor);
  std::uint64_t node = 0, original = 0;
  if (cupti()->node_id(data.node, &node) != kSuccess) return;
  if (callback == kCuptiNodeCreated && !times->is_captured) {
    times->numbers[node] = times->number;
  } else if (callback == kCuptiNodeCloned && cupti()->node_id(data.original_node, &original) == kSuccess) {
    if (const auto known = times->numbers.find(original); known != times->numbers.end())
      times->numbers[node] = known->second;
  }
}

/// Allocates a buffer. CUPTI drops records if there is none.
void request_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(operator new(kBufferBytes, std::align_val_t(kBufferAlignment), std::nothrow));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

template <class Number>
Number number_at(const void* record, std::size_t offset) {
  Number n;
  std::memcpy(&n, static_cast<const std::byte*>(record) + offset, sizeof n);
  return n;
}

void complete_buffer(Context, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  NodeRecords& records = node_records();
  {
    const std::lock_guard lock(records.mutex);
    for (void* record = nullptr; cupti()->next_record(buffer, valid_bytes, &record) == kSuccess;) {
      for (const CuptiRecord& r : kCuptiRecords) {
        if (number_at<int>(record, 0) != r.kind) continue;
        const auto node = number_at<std::uint64_t>(record, r.node);
        if (node == 0) continue;
        records.node_lists[node].push_back({node, number_at<std::uint32_t>(record, r.launch),
                                            number_at<std::uint64_t>(record, r.begin),
                                            number_at<std::uint64_t>(record, r.end)});
      }
    }
  }
  operator delete(buffer, std::align_val_t(kBufferAlignment));
}

void stop(NodeRecords& records) {
  for (const CuptiRecord& r : kCuptiRecords) cupti()->disable(r.kind);
  cupti()->unsubscribe(records.subscriber);
  const std::lock_guard lock(records.mutex);
  records.node_lists.clear();
}

}  // namespace

bool begin_node_records() {
  if (cupti() == nullptr) return false;
  NodeRecords& records = node_records();
  const std::lock_guard lock(records.use_mutex);
  if (records.use_count > 0) {
    ++records.use_count;
    return true;
  }
  // Refused while another profiler of the process has CUPTI; its buffers stay its own.
  if (cupti()->subscribe(&records.subscriber, see_node, nullptr) != kSuccess) return false;
  bool is_ready = cupti()->register_buffers(request_buffer, complete_buffer) == kSuccess;
  for (const std::uint32_t callback : {kCuptiNodeCreated, kCuptiNodeCloned})
    is_ready = is_ready && cupti()->enable_callback(1, records.subscriber, kCuptiResources, callback) == kSuccess;
  for (const CuptiRecord& r : kCuptiRecords) is_ready = is_ready && cupti()->enable(r.kind) == kSuccess;
  if (is_ready) {
    records.use_count = 1;
  } else {
    stop(records);
  }
  return is_ready;
}

void end_node_records() {
  NodeRecords& records = node_records();
  const std::lock_guard lock(records.use_mutex);
  if (--records.use_count == 0) stop(records);
}

void number_nodes(GraphTimes* times) {
  numbered_graph = times;
}

std::vector<NodeRecord> take_node_records(const std::map<std::uint64_t, std::uint64_t>& numbers) {
  cupti()->flush(0);
  NodeRecords& records = node_records();
  const std::lock_guard lock(records.mutex);
  std::vector<NodeRecord> taken;
  for (const auto& [node, number] : numbers) {
    const auto found = records.node_lists.find(node);
    if (found == records.node_lists.end()) continue;
    taken.insert(taken.end(), found->second.begin(), found->second.end());
    records.node_lists.erase(found);
  }
  return taken;
}

}  // namespace tern::gpu
