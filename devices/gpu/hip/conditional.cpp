// HIP graphs have no control flow: Tern reads predicates, and each body is a graph.
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {

tern_device_status prepare_graphs(const GpuDevice&) {
  return TERN_DEVICE_OK;
}

Status close_body(std::vector<OpenBody>& bodies) {
  bodies.pop_back();
  return kSuccess;
}

const tern_device_graph_conditional_functions* graph_conditional_functions() {
  return nullptr;
}

}  // namespace tern::gpu
