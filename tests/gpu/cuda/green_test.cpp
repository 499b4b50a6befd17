#include "tests/gpu/cuda/support.h"

namespace {

class Green : public Emulated {
 protected:
  void SetUp() override {
    Emulated::SetUp();
    SUCCEEDS(cuDeviceGetDevResource(device, &full_resource, CU_DEV_RESOURCE_TYPE_SM));
  }
  void split(unsigned least) {
    unsigned groups = 1;
    SUCCEEDS(cuDevSmResourceSplitByCount(&group_resource, &groups, &full_resource, &remaining_resource, 0, least));
    ASSERT_EQ(groups, 1u);
  }
  void create() {
    SUCCEEDS(cuDevResourceGenerateDesc(&descriptor, &group_resource, 1));
    SUCCEEDS(cuGreenCtxCreate(&green, descriptor, device, CU_GREEN_CTX_DEFAULT_STREAM));
  }

  CUdevResource full_resource = {}, group_resource = {}, remaining_resource = {};
  CUdevResourceDesc descriptor = nullptr;
  CUgreenCtx green = nullptr;
};

TEST_F(Green, MultiprocessorsAreSplitByEights) {
  EXPECT_EQ(full_resource.sm.smCount, 132u);
  unsigned groups = 0;
  SUCCEEDS(cuDevSmResourceSplitByCount(nullptr, &groups, &full_resource, nullptr, 0, 33));
  EXPECT_EQ(groups, 3u);  // of 40
  split(33);
  EXPECT_EQ(group_resource.sm.smCount, 40u);
  EXPECT_EQ(remaining_resource.sm.smCount, 92u);
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuDevSmResourceSplitByCount(&group_resource, &groups, &full_resource, &remaining_resource, 0, 133));
}

TEST_F(Green, ResultsOfASplitAreNotSplitAgain) {
  split(64);
  CUdevResource again = {};
  unsigned groups = 1;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount(&again, &groups, &group_resource, nullptr, 0, 8));
  create();
  SUCCEEDS(cuGreenCtxGetDevResource(green, &again, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(again.sm.smCount, 64u);
  CUdevResource smaller = {};
  SUCCEEDS(cuDevSmResourceSplitByCount(&smaller, &groups, &again, nullptr, 0, 8));
  EXPECT_EQ(smaller.sm.smCount, 8u);
  SUCCEEDS(cuGreenCtxDestroy(green));
}

TEST_F(Green, StreamsWorkInThem) {
  split(16);
  create();
  CUcontext as_context = nullptr, found = nullptr;
  CUstream mine = nullptr;
  SUCCEEDS(cuCtxFromGreenCtx(&as_context, green));
  SUCCEEDS(cuCtxPushCurrent(as_context));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&mine, green, 0, 0));
  SUCCEEDS(cuGreenCtxStreamCreate(&mine, green, CU_STREAM_NON_BLOCKING, 0));
  SUCCEEDS(cuStreamGetCtx(mine, &found));
  EXPECT_EQ(found, as_context);
  zero(mine);
  SUCCEEDS(launch(add, memory, 5, mine));  // a function of the primary context
  EXPECT_EQ(read(mine), 5);
  SUCCEEDS(cuCtxPopCurrent(nullptr));
  SUCCEEDS(cuGreenCtxDestroy(green));
  FAILS(CUDA_ERROR_STREAM_DETACHED, cuStreamSynchronize(mine));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuGreenCtxDestroy(green));
  SUCCEEDS(cuStreamDestroy(mine));
}

TEST_F(Green, TheyRetainThePrimaryContext) {
  split(16);
  create();
  SUCCEEDS(cuDevicePrimaryCtxRelease(device));
  SUCCEEDS(cuStreamSynchronize(stream));
  CUcontext again = nullptr;
  SUCCEEDS(cuDevicePrimaryCtxRetain(&again, device));
  EXPECT_EQ(again, context);
  SUCCEEDS(cuGreenCtxDestroy(green));
}

TEST_F(Green, ResourcesOfOneDescriptorAreOfOneSplit) {
  CUdevResource second = {};
  unsigned groups = 1;
  split(16);
  SUCCEEDS(cuDevSmResourceSplitByCount(&second, &groups, &full_resource, nullptr, 0, 16));
  CUdevResource both[] = {group_resource, second};
  FAILS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevResourceGenerateDesc(&descriptor, both, 2));
  both[1] = remaining_resource;
  SUCCEEDS(cuDevResourceGenerateDesc(&descriptor, both, 2));
  CUdevResource made_up = {};
  made_up.type = CU_DEV_RESOURCE_TYPE_SM;
  made_up.sm.smCount = 8;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc(&descriptor, &made_up, 1));
}

#if CUDA_VERSION >= 13010
TEST_F(Green, WorkQueuesAreConfigured) {
  CUdevResource queues = {};
  SUCCEEDS(cuDeviceGetDevResource(device, &queues, CU_DEV_RESOURCE_TYPE_WORKQUEUE_CONFIG));
  queues.wqConfig.wqConcurrencyLimit = 2;
  queues.wqConfig.sharingScope = CU_WORKQUEUE_SCOPE_GREEN_CTX_BALANCED;
  split(16);
  CUdevResource both[] = {group_resource, queues};
  SUCCEEDS(cuDevResourceGenerateDesc(&descriptor, both, 2));
  both[1].wqConfig.wqConcurrencyLimit = 0;
  FAILS(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, cuDevResourceGenerateDesc(&descriptor, both, 2));
}
#endif

}  // namespace
