// The real cuDNN makes the plans that devices/gpu asks for, for a described H100 and without any device: it supports
// the convolutions, reads the descriptors as they are meant, and its kernels fit the device. Nothing runs.
// TERN_TEST_CUDNN names the library, else it is that of the CUDA Toolkit; without one the tests are skipped. cuDNN
// wants a driver to be there: tests/scripts/device.sh cuda.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "devices/gpu/cuda/cudnn_plan.h"

namespace tern::gpu {
namespace {

// What cuDNN 9.8 and later want to know of a device; the values are those of an H100 SXM.
constexpr char kH100[] = R"({"deviceVer": 900, "maxGridSize": [2147483647, 65535, 65535],
  "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536, "multiProcessorCount": 132, "warpSize": 32,
  "maxSharedMemoryPerBlock": 49152, "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024,
  "maxRegistersPerSM": 65536, "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
  "pciDeviceId": 0, "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 85899345920,
  "smClockRateKHz": 1980000, "memClockRateKHz": 2619000, "l2CacheSize": 52428800, "cudaDeviceId": 0,
  "driverVer": 13000, "deviceName": "NVIDIA H100 80GB HBM3"})";
constexpr int kDeviceKind = 38, kDeviceJson = 2702, kPlanJson = 405, kTypeChar = 24;  // cudnn_graph.h

class CudnnPlans : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* own = std::getenv("TERN_TEST_CUDNN");
    void* library = dlopen(own != nullptr ? own : "/usr/local/cuda/lib64/libcudnn.so.9", RTLD_NOW);
    if (library == nullptr || std::getenv("TERN_TEST_NEEDS") == nullptr) GTEST_SKIP() << "no cuDNN, or no driver";
#define TERN_LOAD(name, suffix, parameters) \
  api.name = reinterpret_cast<decltype(api.name)>(dlsym(library, "cudnn" #suffix));
    TERN_GPU_CUDNN_FUNCTIONS(TERN_LOAD)
#undef TERN_LOAD
    ASSERT_EQ(api.descriptor_create(kDeviceKind, &target.device), kSuccess);
    ASSERT_EQ(api.set(target.device, kDeviceJson, kTypeChar, sizeof kH100, kH100), kSuccess);
    ASSERT_EQ(api.finalize(target.device), kSuccess);
  }
  void TearDown() override {
    if (target.device != nullptr) api.descriptor_destroy(target.device);
  }

  /// What cuDNN says of the plan, as JSON; empty without one.
  std::string plan(const Convolution& c, std::int64_t alignment = 16) {
    const std::unique_ptr<CudnnPlan> made = cudnn_plan(api, target, c, alignment);
    if (made == nullptr) return {};
    std::string json(1 << 16, '\0');
    std::int64_t count = 0;
    EXPECT_EQ(api.get(made->plan.handle(), kPlanJson, kTypeChar, std::ssize(json), &count, json.data()), kSuccess);
    return json.substr(0, json.find('\0'));
  }

  CudnnApi api;
  CudnnTarget target;
};

Shape contiguous(std::vector<std::int64_t> sizes) {
  Shape s{std::move(sizes), {}};
  s.strides.assign(s.sizes.size(), 1);
  for (std::size_t i = s.sizes.size(); i-- > 1;) s.strides[i - 1] = s.strides[i] * s.sizes[i];
  return s;
}

/// 64 channels of 56 x 56, a window of 3 x 3 with padding, in `groups`.
Convolution block(int type, std::uint32_t bytes, std::int64_t groups, bool has_bias) {
  Convolution c;
  c.type = type;
  c.bytes = bytes;
  c.is_exact = true;
  c.has_bias = has_bias;
  c.x = contiguous({2, 64, 56, 56});
  c.w = contiguous({64, 64 / groups, 3, 3});
  c.y = contiguous({2, 64, 56, 56});
  c.before = c.after = {1, 1};
  c.strides = c.dilations = {1, 1};
  return c;
}

TEST_F(CudnnPlans, EveryTypeHasOne) {
  struct Case {
    int type;
    std::uint32_t bytes;
  };
  for (const Case t : {Case{cudnn::kHalf, 2}, {cudnn::kBfloat16, 2}, {cudnn::kFloat, 4}}) {
    for (int kind = 0; kind < 8; ++kind) {
      Convolution c = block(t.type, t.bytes, (kind & 1) != 0 ? 64 : 1, (kind & 2) != 0);
      // cuDNN 9.19 fuses ReLU with float16 alone where no bias is before it: then Tern's kernel makes it.
      c.has_relu = (kind & 4) != 0;
      if (c.has_relu && !c.has_bias) continue;
      for (const std::int64_t alignment : {std::int64_t{16}, std::int64_t{t.bytes}})
        EXPECT_NE(plan(c, alignment), "") << t.type << ' ' << kind << ' ' << alignment;
    }
  }
  EXPECT_NE(plan(block(cudnn::kDouble, 8, 1, false)), "");
}

TEST_F(CudnnPlans, DescriptorsMeanWhatTheySay) {
  Convolution c = block(cudnn::kHalf, 2, 1, true);
  c.before = {2, 1};
  c.after = {0, 1};
  c.strides = {1, 2};
  c.dilations = {1, 1};
  c.y = contiguous({2, 64, 56, 28});
  const std::string json = plan(c);
  for (const char* part :
       {R"("dim":[64,64,3,3])", R"("stride":[576,9,3,1])", R"("dim":[1,64,1,1])", R"("stride":[1,2])",
        R"("mode":"CUDNN_CROSS_CORRELATION")", R"("mathPrec":"CUDNN_DATA_FLOAT")",
        R"("pointwiseMode":"CUDNN_POINTWISE_ADD")", R"("smVersion":900)", R"("ptrAlignment":16)"})
    EXPECT_NE(json.find(part), std::string::npos) << part << " is not in " << json;
}

TEST_F(CudnnPlans, ExactOnesUseNoTensorCores) {
  Convolution c = block(cudnn::kFloat, 4, 1, true);
  const std::string exact = plan(c);
  c.is_exact = false;
  const std::string any = plan(c);
  EXPECT_NE(exact, "");
  EXPECT_NE(exact.substr(exact.find("\"engine\"")), any.substr(any.find("\"engine\"")));
}

TEST_F(CudnnPlans, ThereIsNoneForSizesThatDisagree) {
  Convolution c = block(cudnn::kHalf, 2, 1, false);
  c.y = contiguous({2, 64, 55, 56});
  EXPECT_EQ(plan(c), "");
}

}  // namespace
}  // namespace tern::gpu
