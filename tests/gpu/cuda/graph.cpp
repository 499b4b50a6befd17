// Graphs.
#include <algorithm>
#include <cstring>

#include "tests/gpu/cuda/launch.h"

using namespace tern::emulator;
using namespace tern::emulator::cuda;

namespace {

std::span<const uint64_t> numbers(const CUgraphNode* nodes, size_t count) {
  if (count != 0) require(nodes, "dependencies");
  return {reinterpret_cast<const uint64_t*>(nodes), count};
}

// Only plain dependencies are emulated.
void check_edges(const CUgraphEdgeData* edges, size_t count) {
  const CUgraphEdgeData plain{};
  for (size_t i = 0; edges != nullptr && i < count; ++i) {
    if (std::memcmp(&edges[i], &plain, sizeof(plain)) != 0) {
      refuse(Status::not_supported, "edge %zu of a node has data: only plain dependencies are emulated", i);
    }
  }
}

// The context of a node: the caller's, or the current context.
std::shared_ptr<Context> context_of(Machine& machine, CUcontext context) {
  return context != nullptr ? machine.context(number(context)) : machine.current();
}

template <class Parameters>
Launch kernel_of(Machine& machine, const Parameters& p) {
  if (p.func == nullptr) refuse(Status::not_supported, "kernel nodes of CUkernel are not emulated: give a CUfunction");
  Launch launch = launch_of(machine, p.func, {p.gridDimX, p.gridDimY, p.gridDimZ},
                            {p.blockDimX, p.blockDimY, p.blockDimZ}, p.sharedMemBytes, p.kernelParams, p.extra);
  machine.check_launch(launch);
  return launch;
}

// A single row: the machine copies bytes, not boxes.
Copy copy_of(Machine& machine, const CUDA_MEMCPY3D& p) {
  if (p.Height != 1 || p.Depth != 1) {
    refuse(p.Height == 0 || p.Depth == 0 ? Status::invalid_value : Status::not_supported,
           "a copy of %zu rows and %zu planes: only one row is emulated", p.Height, p.Depth);
  }
  auto side = [](CUmemorytype type, const void* host, CUdeviceptr device) {
    if (type == CU_MEMORYTYPE_HOST) return std::pair(number(host), true);
    if (type == CU_MEMORYTYPE_DEVICE) return std::pair(static_cast<uint64_t>(device), false);
    refuse(Status::not_supported, "memory type %d of a copy is not emulated", static_cast<int>(type));
  };
  const auto [from, from_host] = side(p.srcMemoryType, p.srcHost, p.srcDevice);
  const auto [to, to_host] = side(p.dstMemoryType, p.dstHost, p.dstDevice);
  if (from_host && to_host) refuse(Status::not_supported, "a copy from host to host is not emulated");
  Copy copy;
  copy.direction = from_host ? Direction::in : to_host ? Direction::out : Direction::device_to_device;
  copy.target = to + p.dstXInBytes;
  copy.source = from + p.srcXInBytes;
  copy.bytes = p.WidthInBytes;
  machine.check_copy(copy);
  return copy;
}

template <class Parameters>
Fill fill_of(Machine& machine, const Parameters& p) {
  if (p.height != 1) refuse(Status::not_supported, "a fill of %zu rows: only one row is emulated", p.height);
  const Fill fill{p.dst, p.value, p.elementSize, p.width};
  machine.check_fill(fill);
  return fill;
}

// cuGraphAddNode: "All unused bytes - that is, reserved0 and all bytes past the utilized union member - must be set to
// zero."
void check_unused(const CUgraphNodeParams& p, size_t used) {
  const auto* bytes = reinterpret_cast<const char*>(&p.reserved1);
  const bool zero = std::all_of(bytes + used, bytes + sizeof(p.reserved1), [](char byte) { return byte == 0; });
  if (!zero || p.reserved2 != 0 || p.reserved0[0] != 0 || p.reserved0[1] != 0 || p.reserved0[2] != 0) {
    refuse(Status::invalid_value, "unused bytes of nodeParams are not zero");
  }
}

uint64_t add_conditional(Machine& machine, uint64_t graph, std::span<const uint64_t> dependencies,
                         CUDA_CONDITIONAL_NODE_PARAMS& p) {
  // IF with two bodies, and SWITCH, exist since CUDA 12.8.
  const bool newer = p.type == CU_GRAPH_COND_TYPE_SWITCH || (p.type == CU_GRAPH_COND_TYPE_IF && p.size == 2);
  if (newer && driver_version() < 12080) {
    refuse(Status::invalid_value, "conditional type %d with %u bodies needs a driver of CUDA 12.8; this one has %d",
           static_cast<int>(p.type), p.size, driver_version());
  }
  if (p.type > CU_GRAPH_COND_TYPE_SWITCH)
    refuse(Status::invalid_value, "conditional type %d", static_cast<int>(p.type));
  // CUDA_CONDITIONAL_NODE_PARAMS::ctx: "Context on which to run the node."
  require(p.ctx, "nodeParams->conditional.ctx");
  const Condition type = p.type == CU_GRAPH_COND_TYPE_IF      ? Condition::if_
                         : p.type == CU_GRAPH_COND_TYPE_WHILE ? Condition::while_
                                                              : Condition::switch_;
  const auto node =
      machine.add_conditional(graph, dependencies, p.handle, machine.context(number(p.ctx)), type, p.size);
  p.phGraph_out = reinterpret_cast<CUgraph*>(std::get<Conditional>(node->content).handles.data());
  return node->handle;
}

uint64_t add(Machine& machine, uint64_t graph, std::span<const uint64_t> dependencies, CUgraphNodeParams& p) {
  switch (p.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      check_unused(p, sizeof(p.kernel));
      return machine.add_node(graph, dependencies, context_of(machine, p.kernel.ctx),
                              NodeContent(std::in_place_type<Work>, kernel_of(machine, p.kernel)));
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      check_unused(p, sizeof(p.memcpy));
      need_zero(static_cast<unsigned>(p.memcpy.flags), "nodeParams->memcpy.flags");
      return machine.add_node(graph, dependencies, context_of(machine, p.memcpy.copyCtx),
                              NodeContent(std::in_place_type<Work>, copy_of(machine, p.memcpy.copyParams)));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      check_unused(p, sizeof(p.memset));
      return machine.add_node(graph, dependencies, context_of(machine, p.memset.ctx),
                              NodeContent(std::in_place_type<Work>, fill_of(machine, p.memset)));
    case CU_GRAPH_NODE_TYPE_EMPTY: check_unused(p, 0); return machine.add_node(graph, dependencies, nullptr, Empty{});
    case CU_GRAPH_NODE_TYPE_GRAPH:
      check_unused(p, sizeof(p.graph));
      if (p.graph.ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE) {
        refuse(Status::not_supported, "child graphs that are moved are not emulated");
      }
      return machine.add_child(graph, dependencies, number(p.graph.graph));
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
      check_unused(p, sizeof(p.conditional));
      return add_conditional(machine, graph, dependencies, p.conditional);
    default: refuse(Status::not_supported, "graph nodes of type %d are not emulated", static_cast<int>(p.type));
  }
}

CUgraphNodeType type_of(const Node& node) {
  if (std::holds_alternative<Empty>(node.content)) return CU_GRAPH_NODE_TYPE_EMPTY;
  if (std::holds_alternative<EventNode>(node.content)) return CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  if (std::holds_alternative<Child>(node.content)) return CU_GRAPH_NODE_TYPE_GRAPH;
  if (std::holds_alternative<Conditional>(node.content)) return CU_GRAPH_NODE_TYPE_CONDITIONAL;
  const Work& work = std::get<Work>(node.content);
  return std::holds_alternative<Launch>(work) ? CU_GRAPH_NODE_TYPE_KERNEL
         : std::holds_alternative<Copy>(work) ? CU_GRAPH_NODE_TYPE_MEMCPY
                                              : CU_GRAPH_NODE_TYPE_MEMSET;
}

// Graph functions return CUDA_ERROR_INVALID_VALUE, not CUDA_ERROR_INVALID_HANDLE, for an invalid handle.
template <class Body>
CUresult graph_call(const char* name, int since, Body&& body) {
  return call(name, since, [&](Machine& machine) {
    try {
      body(machine);
    } catch (Failure& failure) {
      if (failure.status == Status::invalid_handle) failure.status = Status::invalid_value;
      throw;
    }
  });
}

}  // namespace

CUresult CUDAAPI cuGraphCreate(CUgraph* graph, unsigned int flags) {
  return graph_call("cuGraphCreate", 10000, [&](Machine& machine) {
    need_zero(flags, "flags");
    require(graph, "phGraph") = handle<CUgraph>(machine.create_graph());
  });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  return graph_call("cuGraphDestroy", 10000, [&](Machine& machine) { machine.destroy_graph(number(graph)); });
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph, unsigned long long flags) {
  return graph_call("cuGraphInstantiateWithFlags", 11040, [&](Machine& machine) {
    require(executable, "phGraphExec");
    // Graphs have no memory nodes, so automatic frees change nothing; nor do priorities of nodes.
    const unsigned long long known =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    if ((flags & ~known) != 0) refuse(Status::not_supported, "flags 0x%llx are not emulated", flags & ~known);
    *executable = handle<CUgraphExec>(machine.instantiate(number(graph)));
  });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec executable, CUstream stream) {
  return graph_call("cuGraphLaunch", 10000,
                    [&](Machine& machine) { machine.launch_graph(number(executable), number(stream)); });
}

// "cuGraphExecUpdate returns CUDA_SUCCESS when the updated was performed successfully. It returns
// CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE if the graph update was not performed because it included changes which violated
// constraints specific to instantiated graph update."
CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec executable, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  return graph_call("cuGraphExecUpdate_v2", 12000, [&](Machine& machine) {
    require(info, "resultInfo") = {CU_GRAPH_EXEC_UPDATE_ERROR, nullptr, nullptr};
    const std::string why = machine.update_executable(number(executable), number(graph), true);
    if (!why.empty()) refuse(Status::update_failure, "%s", why.c_str());
    info->result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec executable) {
  return graph_call("cuGraphExecDestroy", 10000,
                    [&](Machine& machine) { machine.destroy_executable(number(executable)); });
}

CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* parameters) {
  return graph_call("cuGraphAddNode_v2", 12030, [&](Machine& machine) {
    require(node, "phGraphNode");
    check_edges(edges, count);
    *node = handle<CUgraphNode>(
        add(machine, number(graph), numbers(dependencies, count), require(parameters, "nodeParams")));
  });
}

CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                         size_t count, const CUDA_KERNEL_NODE_PARAMS* parameters) {
  return graph_call("cuGraphAddKernelNode_v2", 12000, [&](Machine& machine) {
    const CUDA_KERNEL_NODE_PARAMS& p = require(parameters, "nodeParams");
    require(node, "phGraphNode") =
        handle<CUgraphNode>(machine.add_node(number(graph), numbers(dependencies, count), context_of(machine, p.ctx),
                                             NodeContent(std::in_place_type<Work>, kernel_of(machine, p))));
  });
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMCPY3D* parameters, CUcontext context) {
  return graph_call("cuGraphAddMemcpyNode", 10000, [&](Machine& machine) {
    require(node, "phGraphNode") = handle<CUgraphNode>(
        machine.add_node(number(graph), numbers(dependencies, count), context_of(machine, context),
                         NodeContent(std::in_place_type<Work>, copy_of(machine, require(parameters, "copyParams")))));
  });
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext context) {
  return graph_call("cuGraphAddMemsetNode", 10000, [&](Machine& machine) {
    require(node, "phGraphNode") = handle<CUgraphNode>(
        machine.add_node(number(graph), numbers(dependencies, count), context_of(machine, context),
                         NodeContent(std::in_place_type<Work>, fill_of(machine, require(parameters, "memsetParams")))));
  });
}

CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  return graph_call("cuGraphAddEmptyNode", 10000, [&](Machine& machine) {
    require(node, "phGraphNode") =
        handle<CUgraphNode>(machine.add_node(number(graph), numbers(dependencies, count), nullptr, Empty{}));
  });
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                           size_t count, CUevent event) {
  return graph_call("cuGraphAddEventRecordNode", 11010, [&](Machine& machine) {
    require(node, "phGraphNode") =
        handle<CUgraphNode>(machine.add_event(number(graph), numbers(dependencies, count), number(event)));
  });
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, CUgraph child) {
  return graph_call("cuGraphAddChildGraphNode", 10000, [&](Machine& machine) {
    require(node, "phGraphNode") =
        handle<CUgraphNode>(machine.add_child(number(graph), numbers(dependencies, count), number(child)));
  });
}

CUresult CUDAAPI cuGraphConditionalHandleCreate(CUgraphConditionalHandle* result, CUgraph graph, CUcontext context,
                                                unsigned int first, unsigned int flags) {
  return graph_call("cuGraphConditionalHandleCreate", 12030, [&](Machine& machine) {
    require(result, "pHandle_out");
    if (flags > CU_GRAPH_COND_ASSIGN_DEFAULT) refuse(Status::invalid_value, "flags is 0x%x", flags);
    *result = machine.create_condition(number(graph), context_of(machine, context), first,
                                       flags == CU_GRAPH_COND_ASSIGN_DEFAULT);
  });
}

// "If numNodes is higher than the actual number of nodes, the remaining entries in nodes will be set to NULL, and the
// number of nodes actually obtained will be returned in numNodes." With nodes NULL: the number of nodes.
CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return graph_call("cuGraphGetNodes", 10000, [&](Machine& machine) {
    const auto g = machine.graph(number(graph));
    require(count, "numNodes");
    if (nodes != nullptr) {
      for (size_t i = 0; i < *count; ++i) {
        nodes[i] = i < g->nodes.size() ? handle<CUgraphNode>(g->nodes[i]->handle) : nullptr;
      }
      *count = std::min(*count, g->nodes.size());
    } else {
      *count = g->nodes.size();
    }
  });
}

CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return graph_call("cuGraphNodeGetType", 10000,
                    [&](Machine& machine) { require(type, "type") = type_of(*machine.node(number(node))); });
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID key,
                                               const CUkernelNodeAttrValue* value) {
  return graph_call("cuGraphKernelNodeSetAttribute", 11000, [&](Machine& machine) {
    const auto n = machine.node(number(node));
    if (type_of(*n) != CU_GRAPH_NODE_TYPE_KERNEL) refuse(Status::invalid_value, "the node is no kernel node");
    require(value, "value");
    // Accepts attributes that change no result.
    if (key != CU_LAUNCH_ATTRIBUTE_PRIORITY && key != CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW &&
        key != CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
      refuse(Status::not_supported, "attribute %d of a kernel node is not emulated", static_cast<int>(key));
    }
    n->attributes[key] = key == CU_LAUNCH_ATTRIBUTE_PRIORITY ? static_cast<uint64_t>(value->priority) : 1;
  });
}
