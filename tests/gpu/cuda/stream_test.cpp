#include <thread>

#include "tests/gpu/cuda/support.h"

namespace {

using Streams = Emulated;

TEST_F(Streams, WorkRunsWhenItIsWaitedForAndNotBefore) {
  const uint64_t before = figures().launches;
  zero(stream);
  SUCCEEDS(launch(add, memory, 1, stream));
  EXPECT_EQ(figures().launches, before);
  SUCCEEDS(cuStreamSynchronize(stream));
  EXPECT_EQ(figures().launches, before + 1);
}

// Streams without a common event have no order: the awaited stream runs first.
TEST_F(Streams, AreIndependent) {
  zero(stream);
  SUCCEEDS(cuStreamSynchronize(stream));
  SUCCEEDS(launch(add, memory, 3, stream));
  SUCCEEDS(launch(multiply, memory, 10, second_stream));
  SUCCEEDS(cuStreamSynchronize(second_stream));
  EXPECT_EQ(read(stream), 3);
}

TEST_F(Streams, EventsGiveAnOrder) {
  CUevent event = nullptr;
  SUCCEEDS(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  zero(stream);
  SUCCEEDS(launch(add, memory, 3, stream));
  SUCCEEDS(cuEventRecord(event, stream));
  SUCCEEDS(cuStreamWaitEvent(second_stream, event, 0));
  SUCCEEDS(launch(multiply, memory, 10, second_stream));
  SUCCEEDS(cuEventDestroy(event));  // "does not block on completion"
  EXPECT_EQ(read(second_stream), 30);
}

TEST_F(Streams, AWaitSeesTheRecordBeforeIt) {
  CUevent event = nullptr;
  SUCCEEDS(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  zero(stream);
  SUCCEEDS(cuEventRecord(event, stream));
  SUCCEEDS(cuStreamWaitEvent(second_stream, event, 0));
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuEventRecord(event, stream));  // not awaited by `second_stream`
  SUCCEEDS(launch(multiply, memory, 5, second_stream));
  EXPECT_EQ(read(second_stream), 0);
  EXPECT_EQ(read(stream), 1);
  SUCCEEDS(cuEventDestroy(event));
}

TEST_F(Streams, QueriesFindWorkForAWhile) {
  SUCCEEDS(cuStreamQuery(stream));
  zero(stream);
  SUCCEEDS(launch(add, memory, 1, stream));
  int asked = 0;
  while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY) ++asked;
  EXPECT_GE(asked, 2);
  EXPECT_EQ(read(stream), 1);
}

TEST_F(Streams, EventQueriesFindWorkForAWhile) {
  CUevent event = nullptr;
  SUCCEEDS(cuEventCreate(&event, 0));
  SUCCEEDS(cuEventQuery(event));  // never recorded
  zero(stream);
  SUCCEEDS(cuEventRecord(event, stream));
  FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(event));
  int asked = 1;
  while (cuEventQuery(event) == CUDA_ERROR_NOT_READY) ++asked;
  EXPECT_GE(asked, 2);
  SUCCEEDS(cuEventDestroy(event));
}

TEST_F(Streams, TimesArePositiveAndOfRecordedEvents) {
  CUevent start = nullptr, end = nullptr, untimed = nullptr;
  float milliseconds = 0;
  SUCCEEDS(cuEventCreate(&start, 0));
  SUCCEEDS(cuEventCreate(&end, 0));
  SUCCEEDS(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  SUCCEEDS(cuEventRecord(start, stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, end));
  zero(stream);
  SUCCEEDS(cuEventRecord(end, stream));
  FAILS(CUDA_ERROR_NOT_READY, cuEventElapsedTime(&milliseconds, start, end));
  SUCCEEDS(cuEventSynchronize(end));
  SUCCEEDS(cuEventElapsedTime(&milliseconds, start, end));
  EXPECT_GT(milliseconds, 0);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, start, untimed));
}

TEST_F(Streams, ADestroyedStreamFinishesItsWork) {
  CUevent event = nullptr;
  SUCCEEDS(cuEventCreate(&event, 0));
  zero(second_stream);
  SUCCEEDS(launch(add, memory, 9, second_stream));
  SUCCEEDS(cuEventRecord(event, second_stream));
  SUCCEEDS(cuStreamDestroy(second_stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(add, memory, 9, second_stream));
  SUCCEEDS(cuEventSynchronize(event));
  EXPECT_EQ(read(stream), 9);
  SUCCEEDS(cuEventDestroy(event));
}

TEST_F(Streams, HandlesAreChecked) {
  SUCCEEDS(cuStreamDestroy(second_stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(second_stream));
  CUevent event = nullptr;
  SUCCEEDS(cuEventCreate(&event, 0));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(reinterpret_cast<CUstream>(event)));
  SUCCEEDS(cuEventDestroy(event));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, stream));
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuStreamSynchronize(nullptr));
}

TEST_F(Streams, ThreadsNeedAContext) {
  std::thread([&] {
    CUdeviceptr address = 0;
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&address, 4));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, launch(add, memory, 1, stream));
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize(stream));
    CUcontext none = context;
    SUCCEEDS(cuCtxGetCurrent(&none));
    EXPECT_EQ(none, nullptr);
    SUCCEEDS(cuCtxPushCurrent(context));
    SUCCEEDS(cuStreamSynchronize(stream));
    SUCCEEDS(cuCtxPopCurrent(&none));
    EXPECT_EQ(none, context);
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&none));
  }).join();
}

TEST_F(Streams, TheLastReleaseEndsTheContext) {
  CUcontext again = nullptr;
  SUCCEEDS(cuDevicePrimaryCtxRetain(&again, device));
  EXPECT_EQ(again, context);
  SUCCEEDS(cuDevicePrimaryCtxRelease(device));
  SUCCEEDS(cuStreamSynchronize(stream));
  SUCCEEDS(cuDevicePrimaryCtxRelease(device));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamSynchronize(stream));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSetCurrent(context));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(device));
  SUCCEEDS(cuDevicePrimaryCtxRetain(&again, device));  // for TearDown
}

TEST_F(Streams, ThreadsMayWorkAtTheSameTime) {
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      SUCCEEDS(cuCtxSetCurrent(context));
      CUstream mine = nullptr;
      CUdeviceptr place = 0;
      SUCCEEDS(cuStreamCreate(&mine, CU_STREAM_NON_BLOCKING));
      SUCCEEDS(cuMemAlloc(&place, bytes));
      SUCCEEDS(cuMemsetD8Async(place, 0, bytes, mine));
      for (int n = 0; n < 100; ++n) SUCCEEDS(launch(add, place, 1, mine));
      EXPECT_EQ(read(mine, place), 100);
      SUCCEEDS(cuMemFree(place));
      SUCCEEDS(cuStreamDestroy(mine));
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
