// The update of executable graphs in CUDA 12 and later.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

/// CUgraphExecUpdateResultInfo.
struct GraphUpdateResult {
  int result = 0;
  GraphNode node = nullptr, source = nullptr;
};
constexpr const char* kGraphExecUpdate = "cuGraphExecUpdate_v2";
using GraphExecUpdate = Status(GraphExec exec, Graph graph, GraphUpdateResult* result);

}  // namespace tern::gpu
