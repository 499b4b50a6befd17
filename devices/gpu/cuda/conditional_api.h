// Functions of cuda.h for control flow in graphs (CUDA 12.3 or later).
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

constexpr unsigned kReplaceDependencies = 1;  // CU_STREAM_SET_CAPTURE_DEPENDENCIES

enum class ConditionalKind : int { branch = 0, loop = 1 };  // CUgraphConditionalNodeType

/// CUgraphNodeParams with the member CUDA_CONDITIONAL_NODE_PARAMS.
struct ConditionalNode {
  int type = 13;  // CU_GRAPH_NODE_TYPE_CONDITIONAL
  int reserved0[3] = {};
  std::uint64_t handle = 0;
  ConditionalKind kind = ConditionalKind::branch;
  unsigned size = 1;        ///< number of bodies
  Graph* bodies = nullptr;  ///< the driver's answer
  Context context = nullptr;
  char reserved1[200] = {};
  long long reserved2 = 0;
};
static_assert(sizeof(ConditionalNode) == 256);

// X(name, symbol, (parameters))
#define TERN_GPU_CONDITIONAL(X)                                                                                \
  X(capture_info, cuStreamGetCaptureInfo_v3,                                                                   \
    (Stream stream, int* status, std::uint64_t* id, Graph* graph, const GraphNode** nodes, const void** edges, \
     std::size_t* count))                                                                                      \
  X(replace_dependencies, cuStreamUpdateCaptureDependencies_v2,                                                \
    (Stream stream, GraphNode * nodes, const void* edges, std::size_t count, unsigned flags))                  \
  X(capture_to_graph, cuStreamBeginCaptureToGraph,                                                             \
    (Stream stream, Graph graph, const GraphNode* nodes, const void* edges, std::size_t count, int mode))      \
  X(add_node, cuGraphAddNode_v2,                                                                               \
    (GraphNode * node, Graph graph, const GraphNode* nodes, const void* edges, std::size_t count,              \
     ConditionalNode* parameters))                                                                             \
  X(create_handle, cuGraphConditionalHandleCreate,                                                             \
    (std::uint64_t * handle, Graph graph, Context context, unsigned first, unsigned flags))

struct ConditionalApi {
#define TERN_GPU_MEMBER(name, symbol, parameters) Status(*name) parameters = nullptr;
  TERN_GPU_CONDITIONAL(TERN_GPU_MEMBER)
#undef TERN_GPU_MEMBER
  bool complete = true;
};

}  // namespace tern::gpu
