// Functions and records of CUPTI (CUDA 12 and 13).
#pragma once

#include <cstddef>
#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

using CuptiCallback = void (*)(void* data, int domain, std::uint32_t callback, const void* details);
using CuptiBufferRequest = void (*)(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
using CuptiBufferComplete = void (*)(Context context, std::uint32_t stream, std::uint8_t* buffer, std::size_t bytes,
                                     std::size_t valid_bytes);

// X(name, symbol after "cupti", (parameters))
#define TERN_GPU_CUPTI_FUNCTIONS(X)                                                                              \
  X(subscribe, Subscribe, (void** subscriber, CuptiCallback callback, void* data))                               \
  X(unsubscribe, Unsubscribe, (void* subscriber))                                                                \
  X(enable_callback, EnableCallback, (std::uint32_t enable, void* subscriber, int domain, std::uint32_t number)) \
  X(register_buffers, ActivityRegisterCallbacks, (CuptiBufferRequest request, CuptiBufferComplete complete))     \
  X(enable, ActivityEnable, (int kind))                                                                          \
  X(disable, ActivityDisable, (int kind))                                                                        \
  X(flush, ActivityFlushAll, (std::uint32_t flag))                                                               \
  X(next_record, ActivityGetNextRecord, (std::uint8_t * buffer, std::size_t bytes, void** record))               \
  X(node_id, GetGraphNodeId, (GraphNode node, std::uint64_t * id))

struct CuptiApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CUPTI_FUNCTIONS(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
};

constexpr int kCuptiResources = 3;               // CUPTI_CB_DOMAIN_RESOURCE
constexpr std::uint32_t kCuptiNodeCreated = 13;  // CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED
constexpr std::uint32_t kCuptiNodeCloned = 20;   // CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED

/// CUpti_ResourceData.
struct CuptiResource {
  Context context;
  Stream stream;
  const void* descriptor;
};

/// CUpti_GraphData.
struct CuptiGraphData {
  Graph graph, original_graph;
  GraphNode node, original_node;
  int type;
  GraphNode dependency;
  GraphExec exec;
};

/// Offsets in a record, equal in all versions of its kind.
struct CuptiRecord {
  int kind;
  std::size_t begin, end, launch, node;
};
constexpr CuptiRecord kCuptiRecords[] = {
    {10, 16, 24, 92, 144},  // CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
    {1, 16, 24, 44, 64},    // CUPTI_ACTIVITY_KIND_MEMCPY
    {2, 16, 24, 44, 64},    // CUPTI_ACTIVITY_KIND_MEMSET
};

}  // namespace tern::gpu
