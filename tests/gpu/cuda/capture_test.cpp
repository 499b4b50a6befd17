#include <thread>

#include "tests/gpu/cuda/support.h"

namespace {

class Capture : public Emulated {
 protected:
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) { SUCCEEDS(cuStreamBeginCapture(stream, mode)); }
  CUstreamCaptureStatus status(CUstream which) {
    CUstreamCaptureStatus result = CU_STREAM_CAPTURE_STATUS_NONE;
    EXPECT_EQ(cuStreamIsCapturing(which, &result), CUDA_SUCCESS);
    return result;
  }
  size_t nodes(CUgraph of) {
    size_t count = 0;
    EXPECT_EQ(cuGraphGetNodes(of, nullptr, &count), CUDA_SUCCESS);
    return count;
  }
  void event(CUevent& result) { SUCCEEDS(cuEventCreate(&result, CU_EVENT_DISABLE_TIMING)); }
  // `call` is illegal in a capture and invalidates the capture.
  template <class Call>
  void invalidates(CUresult expected, Call call) {
    begin();
    EXPECT_EQ(name_of(call()), name_of(expected));
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(add, memory, 1, stream));
    CUgraph none = reinterpret_cast<CUgraph>(8);
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &none));
    EXPECT_EQ(none, nullptr);
    EXPECT_EQ(status(stream), CU_STREAM_CAPTURE_STATUS_NONE);
  }

  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
};

TEST_F(Capture, RunsNothingUntilTheGraphIsLaunched) {
  zero(stream);
  SUCCEEDS(cuStreamSynchronize(stream));
  begin();
  SUCCEEDS(launch(add, memory, 2, stream));
  SUCCEEDS(launch(multiply, memory, 3, stream));
  SUCCEEDS(cuMemcpyDtoHAsync(pinned, memory, 4, stream));
  SUCCEEDS(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(nodes(graph), 3u);
  EXPECT_EQ(read(stream), 0);
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphDestroy(graph));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  SUCCEEDS(cuStreamSynchronize(stream));
  EXPECT_EQ(*pinned, (2 * 3 + 2) * 3);
  SUCCEEDS(cuGraphExecDestroy(executable));
}

TEST_F(Capture, LaunchesOfOneGraphAreOrderedOnAnyStreams) {
  zero(stream);
  SUCCEEDS(cuStreamSynchronize(stream));
  begin();
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuStreamEndCapture(stream, &graph));
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  SUCCEEDS(cuGraphLaunch(executable, second_stream));
  EXPECT_EQ(read(second_stream), 2);
  SUCCEEDS(cuGraphLaunch(executable, stream));
  SUCCEEDS(cuGraphExecDestroy(executable));  // freed after its last run
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch(executable, stream));
  EXPECT_EQ(read(stream), 3);
  SUCCEEDS(cuGraphDestroy(graph));
}

TEST_F(Capture, OtherStreamsJoinByEvents) {
  CUevent fork = nullptr, join = nullptr;
  event(fork);
  event(join);
  zero(stream);
  SUCCEEDS(cuStreamSynchronize(stream));
  begin();
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuEventRecord(fork, stream));
  SUCCEEDS(cuStreamWaitEvent(second_stream, fork, 0));
  EXPECT_EQ(status(second_stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  SUCCEEDS(launch(multiply, memory, 10, second_stream));
  SUCCEEDS(cuEventRecord(join, second_stream));
  SUCCEEDS(cuStreamWaitEvent(stream, join, 0));
  SUCCEEDS(launch(add, memory, 2, stream));
  SUCCEEDS(cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(second_stream), CU_STREAM_CAPTURE_STATUS_NONE);
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  EXPECT_EQ(read(stream), 12);
  FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(fork));
  FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize(join));
}

TEST_F(Capture, ForksAreJoined) {
  const uint64_t graphs = figures().graphs;
  CUevent fork = nullptr;
  event(fork);
  begin();
  SUCCEEDS(cuEventRecord(fork, stream));
  SUCCEEDS(cuStreamWaitEvent(second_stream, fork, 0));
  SUCCEEDS(launch(add, memory, 1, second_stream));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(stream, &graph));
  EXPECT_EQ(status(second_stream), CU_STREAM_CAPTURE_STATUS_NONE);
  EXPECT_EQ(figures().graphs, graphs);
}

TEST_F(Capture, EndsOnItsStreamAndThread) {
  CUevent fork = nullptr;
  event(fork);
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(stream, &graph));
  begin();
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  std::thread([&] { FAILS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(stream, &graph)); }).join();
  SUCCEEDS(cuEventRecord(fork, stream));
  SUCCEEDS(cuStreamWaitEvent(second_stream, fork, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(second_stream, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  std::thread([&] { SUCCEEDS(cuStreamEndCapture(stream, &graph)); }).join();
}

TEST_F(Capture, UnsafeCallsInvalidate) {
  CUevent before = nullptr;
  event(before);
  SUCCEEDS(cuEventRecord(before, second_stream));
  CUdeviceptr address = 0;
  void* host = nullptr;
  CUmodule none = nullptr;
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemAlloc(&address, 4); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemFree(memory); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemHostAlloc(&host, 4, 0); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuModuleLoadData(&none, image().c_str()); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(stream); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(second_stream); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(stream); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuEventQuery(before); });
  invalidates(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, [&] { return cuStreamWaitEvent(stream, before, 0); });
}

TEST_F(Capture, ModesSayWhomItForbidsWhat) {
  CUdeviceptr address = 0;
  auto elsewhere = [&](CUstreamCaptureMode mode) {
    CUresult result = CUDA_ERROR_UNKNOWN;
    std::thread([&] {
      cuCtxSetCurrent(context);
      cuThreadExchangeStreamCaptureMode(&mode);
      result = cuMemAlloc(&address, 4);
    }).join();
    return result;
  };
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  SUCCEEDS(elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuMemAlloc(&address, 4));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));

  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  SUCCEEDS(cuMemAlloc(&address, 4));
  SUCCEEDS(cuStreamEndCapture(stream, &graph));

  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  SUCCEEDS(elsewhere(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  SUCCEEDS(elsewhere(CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  SUCCEEDS(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  SUCCEEDS(cuMemAlloc(&address, 4));
  SUCCEEDS(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, elsewhere(CU_STREAM_CAPTURE_MODE_GLOBAL));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
}

TEST_F(Capture, CapturesDoNotMerge) {
  CUevent recorded = nullptr;
  event(recorded);
  begin();
  SUCCEEDS(cuStreamBeginCapture(second_stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SUCCEEDS(cuEventRecord(recorded, second_stream));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(stream, recorded, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(stream, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(second_stream, &graph));
}

TEST_F(Capture, DependenciesCanBeReadAndReplaced) {
  CUstreamCaptureStatus state = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t id = 0;
  const CUgraphNode* dependencies = nullptr;
  size_t count = 9;
  SUCCEEDS(cuStreamGetCaptureInfo(stream, &state, &id, &graph, &dependencies, nullptr, &count));
  EXPECT_EQ(state, CU_STREAM_CAPTURE_STATUS_NONE);
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies(stream, nullptr, nullptr, 0, 0));
  begin();
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuStreamGetCaptureInfo(stream, &state, &id, &graph, &dependencies, nullptr, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_NE(id, 0u);
  CUgraphNode node = nullptr;
  SUCCEEDS(cuGraphAddEmptyNode(&node, graph, dependencies, count));
  SUCCEEDS(cuStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  SUCCEEDS(cuStreamGetCaptureInfo(stream, &state, &id, &graph, &dependencies, nullptr, &count));
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(dependencies[0], node);
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuGraphDestroy(graph));
  CUgraph same = nullptr;
  SUCCEEDS(cuStreamEndCapture(stream, &same));
  EXPECT_EQ(same, graph);
  SUCCEEDS(cuGraphDestroy(graph));
}

TEST_F(Capture, GoesIntoAGraphOfTheCaller) {
  zero(stream);
  SUCCEEDS(cuStreamSynchronize(stream));
  SUCCEEDS(cuGraphCreate(&graph, 0));
  CUgraphNode first = nullptr;
  CUDA_MEMSET_NODE_PARAMS fill = {memory, 0, 7, 4, 1, 1};
  SUCCEEDS(cuGraphAddMemsetNode(&first, graph, nullptr, 0, &fill, context));
  SUCCEEDS(cuStreamBeginCaptureToGraph(stream, graph, &first, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(launch(multiply, memory, 6, stream));
  CUgraph same = nullptr;
  SUCCEEDS(cuStreamEndCapture(stream, &same));
  EXPECT_EQ(same, graph);
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  SUCCEEDS(cuGraphLaunch(executable, stream));
  EXPECT_EQ(read(stream), 42);
  SUCCEEDS(cuGraphExecDestroy(executable));
  SUCCEEDS(cuGraphDestroy(graph));
}

TEST_F(Capture, PinnedSourcesAreReadAtEachLaunch) {
  begin();
  SUCCEEDS(cuMemcpyHtoDAsync(memory, pinned, 4, stream));
  SUCCEEDS(cuStreamEndCapture(stream, &graph));
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  for (int value = 1; value < 4; ++value) {
    *pinned = value;
    SUCCEEDS(cuGraphLaunch(executable, stream));
    EXPECT_EQ(read(stream), value);
  }
}

}  // namespace
