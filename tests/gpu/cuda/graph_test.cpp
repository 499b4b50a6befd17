#include <cstring>

#include "tests/gpu/cuda/support.h"

namespace {

class Graphs : public Emulated {
 protected:
  void SetUp() override {
    Emulated::SetUp();
    initial_figures = figures();
    zero(stream);
    SUCCEEDS(cuStreamSynchronize(stream));
    SUCCEEDS(cuGraphCreate(&graph, 0));
  }
  void TearDown() override {
    if (executable != nullptr) {
      EXPECT_EQ(cuGraphExecDestroy(executable), CUDA_SUCCESS);
    }
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    EXPECT_EQ(figures().graphs, initial_figures.graphs);
    EXPECT_EQ(figures().executables, initial_figures.executables);
    Emulated::TearDown();
  }

  CUresult kernel(CUgraph where, CUfunction function, uint64_t a, uint64_t b, std::vector<CUgraphNode> after,
                  CUgraphNode* node) {
    void* parameters[] = {&a, &b};
    CUDA_KERNEL_NODE_PARAMS p = {};
    p.func = function;
    p.gridDimX = p.gridDimY = p.gridDimZ = p.blockDimX = p.blockDimY = p.blockDimZ = 1;
    p.kernelParams = parameters;
    return cuGraphAddKernelNode(node, where, after.data(), after.size(), &p);
  }
  // The kernel's last node becomes `last`.
  void append_kernel(CUgraph where, CUfunction function, uint64_t a, uint64_t b) {
    CUgraphNode& last = lasts[where];
    CUgraphNode node = nullptr;
    SUCCEEDS(kernel(where, function, a, b, last == nullptr ? std::vector<CUgraphNode>() : std::vector{last}, &node));
    last = node;
  }
  CUresult conditional(CUgraph where, CUgraphConditionalHandle handle, CUgraphConditionalNodeType type, unsigned size,
                       std::vector<CUgraph>& bodies) {
    CUgraphNodeParams p = {};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    p.conditional.handle = handle;
    p.conditional.type = type;
    p.conditional.size = size;
    p.conditional.ctx = context;
    CUgraphNode& last = lasts[where];
    CUgraphNode node = nullptr;
    const CUresult result = cuGraphAddNode(&node, where, &last, nullptr, last == nullptr ? 0 : 1, &p);
    if (result == CUDA_SUCCESS) {
      bodies.assign(p.conditional.phGraph_out, p.conditional.phGraph_out + size);
      last = node;
    }
    return result;
  }
  CUgraphConditionalHandle handle_for(CUgraph where, unsigned first = 0, unsigned flags = 0) {
    CUgraphConditionalHandle result = 0;
    EXPECT_EQ(cuGraphConditionalHandleCreate(&result, where, context, first, flags), CUDA_SUCCESS);
    return result;
  }
  void run() {
    if (executable == nullptr) {
      SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
    }
    SUCCEEDS(cuGraphLaunch(executable, stream));
    SUCCEEDS(cuStreamSynchronize(stream));
  }
  void set(CUdeviceptr at, unsigned value) { SUCCEEDS(cuMemsetD32Async(at, value, 1, stream)); }

  tern_emulator_figures initial_figures = {};
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  std::map<CUgraph, CUgraphNode> lasts;
};

// Nodes without dependencies have no order; the last added node runs first.
TEST_F(Graphs, OnlyDependenciesGiveAnOrder) {
  CUgraphNode node = nullptr;
  SUCCEEDS(kernel(graph, add, memory, 3, {}, &node));
  SUCCEEDS(kernel(graph, multiply, memory, 10, {}, &node));
  run();
  EXPECT_EQ(read(stream), 3);
}

TEST_F(Graphs, DependenciesAreOfTheGraphAndUnique) {
  CUgraphNode node = nullptr, next = nullptr;
  CUgraph second = nullptr;
  SUCCEEDS(cuGraphCreate(&second, 0));
  SUCCEEDS(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  const CUgraphNode twice[] = {node, node};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&next, graph, twice, 2));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&next, second, &node, 1));
  SUCCEEDS(cuGraphDestroy(second));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&next, second, nullptr, 0));
}

TEST_F(Graphs, NodesHaveTypes) {
  CUgraphNode node = nullptr, nodes[3] = {};
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_HOST;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = memory;
  copy.dstDevice = memory + 128;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  SUCCEEDS(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
  SUCCEEDS(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_MEMCPY);
  SUCCEEDS(kernel(graph, add, memory, 3, {}, &node));
  SUCCEEDS(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_KERNEL);
  size_t count = 3;
  SUCCEEDS(cuGraphGetNodes(graph, nodes, &count));
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(nodes[1], node);
  EXPECT_EQ(nodes[2], nullptr);
  copy.WidthInBytes = bytes;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
  CUkernelNodeAttrValue value = {};
  SUCCEEDS(cuGraphKernelNodeSetAttribute(nodes[1], CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetAttribute(nodes[0], CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
}

// "Each launch of the graph will record event to capture execution of the node's dependencies."
TEST_F(Graphs, EventNodesRecordInEachLaunch) {
  CUevent begin = nullptr, end = nullptr;
  CUgraphNode node = nullptr, next = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_HOST;
  float milliseconds = 0;
  SUCCEEDS(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  SUCCEEDS(cuEventCreate(&end, CU_EVENT_DEFAULT));
  SUCCEEDS(cuGraphAddEventRecordNode(&node, graph, nullptr, 0, begin));
  SUCCEEDS(cuGraphNodeGetType(node, &type));
  EXPECT_EQ(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  SUCCEEDS(kernel(graph, add, memory, 3, {node}, &next));
  SUCCEEDS(cuGraphAddEventRecordNode(&node, graph, &next, 1, end));
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, begin, end));
  run();
  SUCCEEDS(cuEventElapsedTime(&milliseconds, begin, end));
  EXPECT_GT(milliseconds, 0);
  SUCCEEDS(cuGraphLaunch(executable, stream));
  FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&milliseconds, begin, end));
  SUCCEEDS(cuEventSynchronize(end));
  EXPECT_EQ(read(stream), 6);
  SUCCEEDS(cuEventDestroy(begin));
  SUCCEEDS(cuEventDestroy(end));
}

TEST_F(Graphs, BodiesRecordNoEvents) {
  const auto handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  std::vector<CUgraph> bodies;
  CUevent event = nullptr;
  CUgraphNode node = nullptr;
  SUCCEEDS(cuEventCreate(&event, CU_EVENT_DEFAULT));
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  SUCCEEDS(cuGraphAddEventRecordNode(&node, bodies[0], nullptr, 0, event));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuEventDestroy(event));
}

TEST_F(Graphs, UnusedBytesOfParametersAreZero) {
  CUgraphNode node = nullptr;
  CUgraphNodeParams p = {};
  p.type = CU_GRAPH_NODE_TYPE_EMPTY;
  SUCCEEDS(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
  p.reserved1[3] = 1;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
}

TEST_F(Graphs, ChildrenAreCopies) {
  CUgraph child = nullptr;
  CUgraphNode node = nullptr;
  SUCCEEDS(cuGraphCreate(&child, 0));
  append_kernel(child, add, memory, 2);
  append_kernel(child, multiply, memory, 5);
  SUCCEEDS(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  SUCCEEDS(cuGraphDestroy(child));
  lasts[graph] = node;
  append_kernel(graph, add, memory, 1);
  run();
  EXPECT_EQ(read(stream), 11);
}

TEST_F(Graphs, IfRunsItsBodyOrTheOther) {
  const auto handle = handle_for(graph);
  std::vector<CUgraph> bodies;
  append_kernel(graph, condition, handle, memory + 128);
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 2, bodies));
  append_kernel(bodies[0], add, memory, 1);
  append_kernel(bodies[1], add, memory, 100);
  set(memory + 128, 5);
  run();
  EXPECT_EQ(read(stream), 1);
  set(memory + 128, 0);
  run();
  EXPECT_EQ(read(stream), 101);
}

TEST_F(Graphs, WhileRunsAsLongAsItsBodySaysSo) {
  const auto handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  std::vector<CUgraph> bodies;
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 1, bodies));
  append_kernel(bodies[0], add, memory, 1);
  append_kernel(bodies[0], count_down, handle, memory + 128);
  for (int i = 0; i < 1000; ++i) {
    set(memory + 128, 3);
    run();
  }
  EXPECT_EQ(read(stream), 3000);
}

TEST_F(Graphs, SwitchRunsOneBodyOrNone) {
  const auto handle = handle_for(graph);
  std::vector<CUgraph> bodies;
  append_kernel(graph, condition, handle, memory + 128);
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_SWITCH, 3, bodies));
  for (unsigned i = 0; i < 3; ++i) append_kernel(bodies[i], add, memory, i == 0 ? 1 : i == 1 ? 10 : 100);
  for (unsigned value : {2u, 0u, 3u, 1u, 2u}) {
    set(memory + 128, value);
    run();
  }
  EXPECT_EQ(read(stream), 211);
}

// A loop in a branch in a loop: the inner handles belong to the graph of the root.
TEST_F(Graphs, ConditionsNest) {
  const auto outer = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT), inner = handle_for(graph);
  std::vector<CUgraph> loop, branch;
  SUCCEEDS(conditional(graph, outer, CU_GRAPH_COND_TYPE_WHILE, 1, loop));
  append_kernel(loop[0], condition, inner, memory + 160);
  SUCCEEDS(conditional(loop[0], inner, CU_GRAPH_COND_TYPE_IF, 1, branch));
  append_kernel(branch[0], add, memory, 1);
  append_kernel(loop[0], count_down, outer, memory + 128);
  set(memory + 128, 4);
  set(memory + 160, 1);
  run();
  EXPECT_EQ(read(stream), 4);
  set(memory + 128, 4);
  set(memory + 160, 0);
  run();
  EXPECT_EQ(read(stream), 4);
}

TEST_F(Graphs, BodiesMayBeCaptured) {
  const auto handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  std::vector<CUgraph> bodies;
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  SUCCEEDS(cuStreamBeginCaptureToGraph(second_stream, bodies[0], nullptr, nullptr, 0, CU_STREAM_CAPTURE_MODE_RELAXED));
  SUCCEEDS(launch(add, memory, 8, second_stream));
  CUgraph same = nullptr;
  SUCCEEDS(cuStreamEndCapture(second_stream, &same));
  EXPECT_EQ(same, bodies[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(bodies[0]));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&executable, bodies[0], 0));
  run();
  EXPECT_EQ(read(stream), 8);
}

TEST_F(Graphs, ConditionsAreDefinedBeforeTheyAreRead) {
  const auto handle = handle_for(graph);
  std::vector<CUgraph> bodies;
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  EXPECT_DEATH(cuStreamSynchronize(stream), "which this launch has not set");
}

TEST_F(Graphs, KernelsSetConditionsOfTheirGraph) {
  const auto handle = handle_for(graph);
  void* p[] = {nullptr, nullptr};
  uint64_t a = handle, b = memory;
  p[0] = &a;
  p[1] = &b;
  SUCCEEDS(cuLaunchKernel(condition, 1, 1, 1, 1, 1, 1, 0, stream, p, nullptr));
  EXPECT_DEATH(cuStreamSynchronize(stream), "a kernel outside of a graph sets condition");
  SUCCEEDS(cuStreamDestroy(stream));
}

TEST_F(Graphs, HandlesHaveOneNodeEach) {
  CUgraph second = nullptr;
  std::vector<CUgraph> bodies;
  const auto handle = handle_for(graph);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphCreate(&second, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, conditional(second, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  SUCCEEDS(cuGraphDestroy(second));
  FAILS(CUDA_ERROR_INVALID_VALUE, conditional(graph, handle, CU_GRAPH_COND_TYPE_WHILE, 2, bodies));
  FAILS(CUDA_ERROR_INVALID_VALUE, conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 3, bodies));
  FAILS(CUDA_ERROR_INVALID_VALUE, conditional(graph, 12345, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  FAILS(CUDA_ERROR_INVALID_VALUE, conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
}

TEST_F(Graphs, ConditionalGraphsExistOnce) {
  const auto handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  std::vector<CUgraph> bodies;
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  CUgraphExec second = nullptr;
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&second, graph, 0));
  CUgraph parent = nullptr;
  CUgraphNode node = nullptr;
  SUCCEEDS(cuGraphCreate(&parent, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&node, parent, nullptr, 0, graph));
  SUCCEEDS(cuGraphDestroy(parent));
}

TEST_F(Graphs, BodiesDoNotTouchPageableMemory) {
  const auto handle = handle_for(graph, 1, CU_GRAPH_COND_ASSIGN_DEFAULT);
  std::vector<CUgraph> bodies;
  SUCCEEDS(conditional(graph, handle, CU_GRAPH_COND_TYPE_IF, 1, bodies));
  int pageable = 0;
  CUgraphNode node = nullptr;
  CUDA_MEMCPY3D copy = {};
  copy.srcMemoryType = CU_MEMORYTYPE_HOST;
  copy.srcHost = &pageable;
  copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.dstDevice = memory;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  SUCCEEDS(cuGraphAddMemcpyNode(&node, bodies[0], nullptr, 0, &copy, context));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&executable, graph, 0));
}

// "The modifications only affect future launches of hGraphExec. Already enqueued or running launches of hGraphExec are
// not affected by this call."
TEST_F(Graphs, AnUpdateLeavesEarlierLaunches) {
  const CUdeviceptr second = memory + 16 * sizeof(int);
  append_kernel(graph, add, memory, 5);
  append_kernel(graph, multiply, memory, 3);
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  CUgraph next = nullptr;
  CUgraphExecUpdateResultInfo info = {};
  SUCCEEDS(cuGraphCreate(&next, 0));
  append_kernel(next, add, second, 7);
  append_kernel(next, multiply, second, 2);
  SUCCEEDS(cuGraphExecUpdate(executable, next, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  SUCCEEDS(cuGraphDestroy(next));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  EXPECT_EQ(read(stream), 15);
  EXPECT_EQ(read(stream, second), 14);
}

TEST_F(Graphs, AnUpdateKeepsTheTopology) {
  append_kernel(graph, add, memory, 5);
  append_kernel(graph, multiply, memory, 3);
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  CUgraph next = nullptr;
  CUgraphExecUpdateResultInfo info = {};
  SUCCEEDS(cuGraphCreate(&next, 0));
  append_kernel(next, add, memory, 7);
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(executable, next, &info));  // a node is missing
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR);
  CUgraphNode node = nullptr;
  SUCCEEDS(kernel(next, multiply, memory, 3, {}, &node));
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(executable, next, &info));  // a dependency is missing
  SUCCEEDS(cuGraphDestroy(next));
  run();
  EXPECT_EQ(read(stream), 15) << "the graph has changed";
}

}  // namespace
