// The update of executable graphs in HIP.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

constexpr const char* kGraphExecUpdate = "hipGraphExecUpdate";
/// `node` and `result` describe a refusal.
using GraphExecUpdate = Status(GraphExec exec, Graph graph, GraphNode* node, int* result);

}  // namespace tern::gpu
