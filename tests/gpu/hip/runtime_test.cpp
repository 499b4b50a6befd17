// The stand-in for HIP's runtime: small programs in the style of an application.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>
#include <hip/hiprtc.h>

#include <cstring>
#include <numeric>
#include <string>
#include <vector>

#include "tests/gpu/hip/allocation_properties.h"
#include "tests/gpu/hip/code_object.h"
#include "tests/gpu/machine/counters_api.h"

namespace tern::gpu::hip {
namespace {

#define OK(call) ASSERT_EQ(call, hipSuccess) << tern_emulator_why()

constexpr char kText[] = R"(
  extern "C" __global__ void twice(const int* x, int* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
  }
  extern "C" __global__ void __launch_bounds__(256) reversed(const int* x, int* y) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
  })";

std::string compiled(const char* source) {
  hiprtcProgram program = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(hiprtcCreateProgram(&program, source, "test.hip", 0, nullptr, nullptr), HIPRTC_SUCCESS);
  EXPECT_EQ(hiprtcCompileProgram(program, 0, nullptr), HIPRTC_SUCCESS);
  EXPECT_EQ(hiprtcGetCodeSize(program, &bytes), HIPRTC_SUCCESS);
  std::string code(bytes, 0);
  EXPECT_EQ(hiprtcGetCode(program, code.data()), HIPRTC_SUCCESS);
  EXPECT_EQ(hiprtcDestroyProgram(&program), HIPRTC_SUCCESS);
  return code;
}

const std::string& code() {
  static const std::string made = compiled(kText);
  return made;
}

class Runtime : public ::testing::Test {
 protected:
  void SetUp() override {
    OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    OK(hipModuleLoadData(&module, code().data()));
    OK(hipModuleGetFunction(&twice, module, "twice"));
    OK(hipModuleGetFunction(&reversed, module, "reversed"));
    OK(hipMalloc(&x, kBytes));
    OK(hipMalloc(&y, kBytes));
    std::iota(numbers.begin(), numbers.end(), 1);
    OK(hipMemcpyHtoDAsync(x, numbers.data(), kBytes, stream));
  }
  void TearDown() override {
    OK(hipFree(x));
    OK(hipFree(y));
    OK(hipModuleUnload(module));
    OK(hipStreamDestroy(stream));
  }
  hipError_t launch_twice() {
    int n = kCount;
    void* parameters[] = {&x, &y, &n};
    return hipModuleLaunchKernel(twice, 4, 1, 1, 64, 1, 1, 0, stream, parameters, nullptr);
  }
  std::vector<int> result() {
    std::vector<int> values(kCount, -1);
    EXPECT_EQ(hipMemcpyDtoHAsync(values.data(), y, kBytes, stream), hipSuccess);
    EXPECT_EQ(hipStreamSynchronize(stream), hipSuccess);
    return values;
  }

  static constexpr int kCount = 200;
  static constexpr std::size_t kBytes = kCount * sizeof(int);
  std::vector<int> numbers = std::vector<int>(kCount);
  hipStream_t stream = nullptr;
  hipModule_t module = nullptr;
  hipFunction_t twice = nullptr, reversed = nullptr;
  void *x = nullptr, *y = nullptr;
};

TEST_F(Runtime, AKernelRuns) {
  OK(launch_twice());
  const std::vector<int> values = result();
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(values[i], 2 * (i + 1));
}

// Two kernels with the same name, "twice".
TEST_F(Runtime, ModulesHaveKernelsOfTheirOwn) {
  const std::string code =
      compiled("extern \"C\" __global__ void twice(const int* x, int* y, int n) { y[threadIdx.x] = -x[threadIdx.x]; }");
  hipModule_t other = nullptr;
  hipFunction_t negated = nullptr;
  OK(hipModuleLoadData(&other, code.data()));
  OK(hipModuleGetFunction(&negated, other, "twice"));
  OK(launch_twice());
  EXPECT_EQ(result()[5], 12);
  std::swap(twice, negated);
  OK(launch_twice());
  EXPECT_EQ(result()[5], -6);
  OK(hipModuleUnload(other));
}

TEST_F(Runtime, ParametersAsABlockAndDynamicLocalMemory) {
  struct {
    void *x, *y;
  } block{x, y};
  std::size_t bytes = sizeof block;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  OK(hipModuleLaunchKernel(reversed, 1, 1, 1, kCount, 1, 1, kBytes, stream, nullptr, extra));
  const std::vector<int> values = result();
  for (int i = 0; i < kCount; ++i) ASSERT_EQ(values[i], kCount - i);
  bytes = 8;
  EXPECT_EQ(hipModuleLaunchKernel(reversed, 1, 1, 1, kCount, 1, 1, kBytes, stream, nullptr, extra),
            hipErrorInvalidValue);
}

TEST_F(Runtime, LimitsOfLaunches) {
  void* parameters[] = {&x, &y};
  const auto launch = [&](unsigned blocks, unsigned threads, unsigned local) {
    return hipModuleLaunchKernel(reversed, blocks, 1, 1, threads, 1, 1, local, stream, parameters, nullptr);
  };
  EXPECT_EQ(launch(1, 257, 0), hipErrorInvalidValue);  // __launch_bounds__
  EXPECT_EQ(launch(1, 0, 0), hipErrorInvalidValue);
  EXPECT_EQ(launch(1u << 30, 64, 0), hipErrorInvalidValue);  // 2^32 threads and more along an axis
  EXPECT_EQ(launch(1, 64, 65537), hipErrorInvalidValue);
  EXPECT_NE(std::string(tern_emulator_why()).find("65537 bytes of dynamic local memory"), std::string::npos)
      << tern_emulator_why();
  OK(launch(1, 64, 65536));
  int value = 0;
  OK(hipFuncGetAttribute(&value, HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, reversed));
  EXPECT_EQ(value, 256);
  int grid = 0, block = 0;
  OK(hipModuleOccupancyMaxPotentialBlockSize(&grid, &block, reversed, 0, 0));
  EXPECT_EQ(block, 256);
}

TEST_F(Runtime, ACapturedGraphReplays) {
  hipGraph_t graph = nullptr;
  hipGraphExec_t executable = nullptr;
  OK(hipStreamSynchronize(stream));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  OK(launch_twice());
  hipStreamCaptureStatus status = hipStreamCaptureStatusNone;
  std::size_t count = 0;
  const hipGraphNode_t* nodes = nullptr;
  OK(hipStreamGetCaptureInfo_v2(stream, &status, nullptr, nullptr, &nodes, &count));
  EXPECT_EQ(status, hipStreamCaptureStatusActive);
  EXPECT_EQ(count, 1u);
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphGetNodes(graph, nullptr, &count));
  EXPECT_EQ(count, 1u);
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipMemsetAsync(y, 0, kBytes, stream));
  EXPECT_EQ(result()[0], 0);  // a capture runs nothing
  OK(hipGraphLaunch(executable, stream));
  EXPECT_EQ(result()[3], 8);
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
}

TEST_F(Runtime, ACaptureGoesIntoAGraphOfTheCaller) {
  const auto begin =
      reinterpret_cast<hipError_t (*)(hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, std::size_t,
                                      hipStreamCaptureMode)>(dlsym(RTLD_DEFAULT, "hipStreamBeginCaptureToGraph"));
  ASSERT_NE(begin, nullptr);
  hipGraph_t graph = nullptr, ended = nullptr;
  OK(hipGraphCreate(&graph, 0));
  OK(begin(stream, graph, nullptr, nullptr, 0, hipStreamCaptureModeRelaxed));
  OK(launch_twice());
  OK(hipStreamEndCapture(stream, &ended));
  EXPECT_EQ(ended, graph);
  OK(hipGraphDestroy(graph));
}

TEST_F(Runtime, EventsAreLate) {
  hipEvent_t start = nullptr, stop = nullptr;
  float ms = -1;
  OK(hipEventCreateWithFlags(&start, hipEventDefault));
  OK(hipEventCreateWithFlags(&stop, hipEventDefault));
  EXPECT_EQ(hipEventElapsedTime(&ms, start, stop), hipErrorInvalidHandle);
  OK(hipEventRecord(start, stream));
  OK(launch_twice());
  OK(hipEventRecord(stop, stream));
  EXPECT_EQ(hipEventQuery(stop), hipErrorNotReady);
  OK(hipEventSynchronize(stop));
  OK(hipEventElapsedTime(&ms, start, stop));
  EXPECT_GT(ms, 0);
  OK(hipEventDestroy(start));
  OK(hipEventDestroy(stop));
}

TEST_F(Runtime, MemoryIsMappedPieceByPiece) {
  tern::gpu::hip::AllocationProperties as_of_6{};
  as_of_6.type = hipMemAllocationTypePinned;
  as_of_6.location = {hipMemLocationTypeDevice, 0};
  const auto& prop = reinterpret_cast<const hipMemAllocationProp&>(as_of_6);
  std::size_t piece = 0;
  OK(hipMemGetAllocationGranularity(&piece, &prop, hipMemAllocationGranularityMinimum));
  void* range = nullptr;
  OK(hipMemAddressReserve(&range, 2 * piece, 0, nullptr, 0));
  hipMemGenericAllocationHandle_t memory = nullptr;
  OK(hipMemCreate(&memory, piece, &prop, 0));
  OK(hipMemMap(range, piece, 0, memory, 0));
  EXPECT_EQ(hipMemMap(range, piece, 0, memory, 0), hipErrorInvalidValue);  // mapped already
  EXPECT_EQ(hipMemsetAsync(range, 1, 4, stream), hipErrorInvalidValue);    // no access
  hipMemAccessDesc access{{hipMemLocationTypeDevice, 0}, hipMemAccessFlagsProtReadWrite};
  OK(hipMemSetAccess(range, piece, &access, 1));
  OK(hipMemsetAsync(range, 1, 4, stream));
  int value = 0;
  OK(hipMemcpyAsync(&value, range, 4, hipMemcpyDefault, stream));
  OK(hipStreamSynchronize(stream));
  EXPECT_EQ(value, 0x01010101);
  OK(hipMemUnmap(range, piece));
  OK(hipMemRelease(memory));
  OK(hipMemAddressFree(range, 2 * piece));
}

// "If size is 0, no memory is allocated, *ptr returns nullptr, and hipSuccess is returned."
TEST(Hip, RulesThatDifferFromCuda) {
  void* nothing = &nothing;
  OK(hipMalloc(&nothing, 0));
  EXPECT_EQ(nothing, nullptr);
  OK(hipFree(nullptr));
  OK(hipHostFree(nullptr));
}

TEST(Hip, ImagesThatAreNoCodeObjects) {
  hipModule_t module = nullptr;
  const std::string other = "an image of another compiler, longer than a header";
  EXPECT_EQ(hipModuleLoadData(&module, other.data()), hipErrorInvalidImage);
  std::string wrong = code();
  std::strcpy(wrong.data() + offsetof(tern::gpu::hip::CodeObjectHeader, architecture), "gfx908");
  EXPECT_EQ(hipModuleLoadData(&module, wrong.data()), hipErrorNoBinaryForGpu);
}

TEST(Hip, Properties) {
  hipDeviceProp_t p{};
  OK(hipGetDeviceProperties(&p, 0));
  EXPECT_STREQ(p.gcnArchName, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(p.warpSize, 64);
  // The structure of HIP 6 and 7 has its architecture at byte 1160.
  std::vector<char> later(1472 + 8, 'x');
  const auto get = reinterpret_cast<hipError_t (*)(void*, int)>(dlsym(RTLD_DEFAULT, "hipGetDevicePropertiesR0600"));
  ASSERT_NE(get, nullptr);
  OK(get(later.data(), 0));
  EXPECT_STREQ(later.data() + 1160, "gfx942:sramecc+:xnack-");
  EXPECT_EQ(later[1472], 'x');
  int warp = 0, version = 0;
  OK(hipDeviceGetAttribute(&warp, hipDeviceAttributeWarpSize, 0));
  EXPECT_EQ(warp, 64);
  OK(hipRuntimeGetVersion(&version));
  EXPECT_EQ(version, 70200000);
  EXPECT_EQ(hipSetDevice(7), hipErrorInvalidDevice);
  EXPECT_STREQ(hipGetErrorName(hipErrorInvalidDevice), "hipErrorInvalidDevice");
}

TEST(Hip, StreamsHaveTheUnitsOfTheirMask) {
  const std::uint32_t mask[] = {0x0000ff00, 0, 1};
  std::uint32_t found[10] = {};
  hipStream_t some = nullptr, all = nullptr;
  OK(hipExtStreamCreateWithCUMask(&some, 3, mask));
  OK(hipExtStreamGetCUMask(some, 10, found));
  EXPECT_EQ(found[0], 0x0000ff00u);
  EXPECT_EQ(found[2], 1u);
  EXPECT_EQ(found[9], 0u);
  OK(hipStreamCreateWithFlags(&all, hipStreamNonBlocking));
  OK(hipExtStreamGetCUMask(all, 10, found));
  EXPECT_EQ(found[9], 0x0000ffffu) << "304 units";
  const std::uint32_t beyond[11] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0xffff0000, 1};
  hipStream_t none = nullptr;
  EXPECT_EQ(hipExtStreamCreateWithCUMask(&none, 11, beyond), hipErrorInvalidValue);
  OK(hipStreamDestroy(some));
  OK(hipStreamDestroy(all));
}

TEST(Hip, FailuresOfTheMemoryThatATestAsksFor) {
  tern_emulator_fail("hipMalloc", 2);
  void *first = nullptr, *second = nullptr;
  OK(hipMalloc(&first, 64));
  EXPECT_EQ(hipMalloc(&second, 64), hipErrorOutOfMemory);
  OK(hipFree(first));
}

TEST(Hip, FunctionsByTheirName) {
  const auto find = reinterpret_cast<hipError_t (*)(const char*, void**, int, std::uint64_t, int*)>(
      dlsym(RTLD_DEFAULT, "hipGetProcAddress"));
  ASSERT_NE(find, nullptr);
  void* function = nullptr;
  OK(find("hipMalloc", &function, 600, 0, nullptr));
  EXPECT_EQ(function, dlsym(RTLD_DEFAULT, "hipMalloc"));
  OK(find("hipGetDeviceProperties", &function, 602, 0, nullptr));
  EXPECT_EQ(function, dlsym(RTLD_DEFAULT, "hipGetDevicePropertiesR0600"));
  EXPECT_EQ(find("hipGraphAddConditionalNode", &function, 700, 0, nullptr), hipErrorInvalidValue);
}

}  // namespace
}  // namespace tern::gpu::hip
