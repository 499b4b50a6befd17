// Environment variables, each in its own process; entry points; injected failures; counters.
#include <cstring>

#include "tests/gpu/cuda/support.h"
#include "tests/gpu/machine/pointer.h"

namespace {

// Runs `body` with an environment variable set. Gtest starts the test again in another process, so no test may touch
// the machine before.
template <class Body>
[[noreturn]] void child(const char* variable, const char* value, Body body) {
  setenv(variable, value, 1);
  body();
  std::_Exit(testing::Test::HasFailure() ? 1 : 0);
}
#define WITH(variable, value, ...)                \
  GTEST_FLAG_SET(death_test_style, "threadsafe"); \
  EXPECT_EXIT(child(variable, value, [&] __VA_ARGS__), testing::ExitedWithCode(0), "")

void* entry(const char* name, int version) {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
  EXPECT_EQ(cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &status), CUDA_SUCCESS);
  EXPECT_EQ(function == nullptr, status != CU_GET_PROC_ADDRESS_SUCCESS);
  return function;
}

TEST(Settings, OlderDriversLackFunctions) {
  WITH("TERN_EMULATOR_DRIVER", "12020", {
    int version = 0;
    SUCCEEDS(cuDriverGetVersion(&version));
    EXPECT_EQ(version, 12020);
    SUCCEEDS(cuInit(0));
    EXPECT_NE(entry("cuMemAlloc", 12020), nullptr);
    EXPECT_EQ(entry("cuGraphConditionalHandleCreate", 12020), nullptr);
    EXPECT_EQ(entry("cuStreamGetCaptureInfo", 12020), entry("cuStreamGetCaptureInfo", 11030));
    void* function = nullptr;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress("cuInit", &function, 12030, 0, nullptr));
    CUdevResource resource;
    FAILS(CUDA_ERROR_ILLEGAL_STATE, cuDeviceGetDevResource(0, &resource, CU_DEV_RESOURCE_TYPE_SM));
  });
}

TEST(Settings, TextsOfNewerToolkitsAreRefused) {
  WITH("TERN_EMULATOR_DRIVER", "12040", {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDevicePrimaryCtxRetain(&context, 0));
    SUCCEEDS(cuCtxSetCurrent(context));
    FAILS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData(&module, ".version 8.5\n.target sm_80\n"));
  });
}

TEST(Settings, ElseCameWithVersion12080) {
  WITH("TERN_EMULATOR_DRIVER", "12070", {
    CUgraph graph = nullptr;
    CUgraphNode node = nullptr;
    CUgraphNodeParams p = {};
    p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDevicePrimaryCtxRetain(&p.conditional.ctx, 0));
    SUCCEEDS(cuGraphCreate(&graph, 0));
    SUCCEEDS(cuGraphConditionalHandleCreate(&p.conditional.handle, graph, p.conditional.ctx, 0, 0));
    p.conditional.type = CU_GRAPH_COND_TYPE_IF;
    p.conditional.size = 2;
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
    p.conditional.size = 1;
    SUCCEEDS(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
  });
}

TEST(Settings, TheDeviceHasTheCapabilityThatIsAskedFor) {
  WITH("TERN_EMULATOR_CAPABILITY", "8.6", {
    int major = 0, minor = 0;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0));
    SUCCEEDS(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0));
    EXPECT_EQ(major * 10 + minor, 86);
  });
}

TEST(Settings, ThereMayBeSeveralDevicesOrNone) {
  WITH("TERN_EMULATOR_DEVICES", "2", {
    int count = 0;
    CUdevice device = 0;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDeviceGetCount(&count));
    EXPECT_EQ(count, 2);
    SUCCEEDS(cuDeviceGet(&device, 1));
    FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 2));
  });
  WITH("TERN_EMULATOR_BUSY", "0", {
    CUcontext context = nullptr;
    SUCCEEDS(cuInit(0));
    FAILS(CUDA_ERROR_DEVICE_UNAVAILABLE, cuDevicePrimaryCtxRetain(&context, 0));
  });
  WITH("TERN_EMULATOR_DEVICES", "0", { FAILS(CUDA_ERROR_NO_DEVICE, cuInit(0)); });
}

TEST(Settings, CallsBeforeInitializationAreRefused) {
  WITH("TERN_EMULATOR_LOG", "0", {
    int count = 0;
    FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  });
}

TEST(Settings, MemoryHasTheSizeThatIsAskedFor) {
  WITH("TERN_EMULATOR_MEMORY", "1048576", {
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDevicePrimaryCtxRetain(&context, 0));
    SUCCEEDS(cuCtxSetCurrent(context));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, 1048577));
    SUCCEEDS(cuMemAlloc(&address, 1048576));
  });
}

TEST(Settings, CallsFailOnRequest) {
  WITH("TERN_EMULATOR_FAIL", "cuMemAlloc_v2:2", {
    CUcontext context = nullptr;
    CUdeviceptr address = 0;
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDevicePrimaryCtxRetain(&context, 0));
    SUCCEEDS(cuCtxSetCurrent(context));
    SUCCEEDS(cuMemAlloc(&address, 4));
    FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc(&address, 4));
    SUCCEEDS(cuMemAlloc(&address, 4));
    EXPECT_EQ(figures().mistakes, 0u);
    EXPECT_EQ(figures().refused, 1u);
  });
}

TEST(Settings, HostCodeMayBeKeptFromDeviceMemory) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        setenv("TERN_EMULATOR_PROTECT", "1", 1);
        CUcontext context = nullptr;
        CUdeviceptr address = 0;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuMemAlloc(&address, 4);
        *tern::emulator::pointer<volatile int>(address) = 1;
      },
      "code of the host touches 0x.* is byte 0 of 4 bytes that were allocated by cuMemAlloc_v2");
}

TEST(Settings, TheReportIsWrittenAtExit) {
  const std::string path = testing::TempDir() + "emulator_report.json";
  std::remove(path.c_str());
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_EMULATOR_REPORT", path.c_str(), 1);
        CUcontext context = nullptr;
        CUstream stream = nullptr;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuStreamCreate(&stream, 0);
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::FILE* file = std::fopen(path.c_str(), "r");
  ASSERT_NE(file, nullptr);
  char text[4096] = "";
  text[std::fread(text, 1, sizeof(text) - 1, file)] = 0;
  std::fclose(file);
  EXPECT_NE(std::strstr(text, "\"leaks\": {\"contexts\": 1, \"streams\": 1}"), nullptr) << text;
  EXPECT_NE(std::strstr(text, "\"cuStreamCreate\": 1"), nullptr) << text;
}

using Counters = Emulated;

TEST_F(Counters, CopiesAreCountedByDirectionAndSize) {
  const tern_emulator_figures before = figures();
  char host[256] = {};
  SUCCEEDS(cuMemcpyHtoDAsync(memory, host, 16, stream));
  SUCCEEDS(cuMemcpyHtoDAsync(memory, host, 17, stream));
  SUCCEEDS(cuMemcpyDtoDAsync(memory + 64, memory, 20, stream));
  SUCCEEDS(cuMemcpyDtoHAsync(host, memory, 4, stream));
  const tern_emulator_figures after = figures();
  EXPECT_EQ(after.bytes_in - before.bytes_in, 33u);
  EXPECT_EQ(after.bytes_over - before.bytes_over, 20u);
  EXPECT_EQ(after.bytes_out - before.bytes_out, 4u);
  EXPECT_EQ(after.small_copies_in - before.small_copies_in, 1u);
  EXPECT_EQ(after.small_copies_out - before.small_copies_out, 1u);
  EXPECT_EQ(after.mistakes, before.mistakes);
}

TEST_F(Counters, LaunchesAndCallsAreCountedByName) {
  const uint64_t launches = tern_emulator_launches("add"), calls = tern_emulator_calls("cuLaunchKernel");
  SUCCEEDS(launch(add, memory, 1, stream));
  EXPECT_EQ(tern_emulator_calls("cuLaunchKernel"), calls + 1);
  EXPECT_EQ(tern_emulator_launches("add"), launches);
  SUCCEEDS(cuStreamSynchronize(stream));
  EXPECT_EQ(tern_emulator_launches("add"), launches + 1);
}

TEST_F(Counters, TheNthCallFails) {
  tern_emulator_fail("cuStreamCreate", 2);
  CUstream one = nullptr;
  SUCCEEDS(cuStreamCreate(&one, 0));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, cuStreamCreate(&one, 0));
  SUCCEEDS(cuStreamCreate(&one, 0));
}

TEST_F(Counters, MistakesAreTold) {
  const uint64_t before = figures().mistakes;
  SUCCEEDS(cuStreamDestroy(second_stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy(second_stream));
  EXPECT_EQ(figures().mistakes, before + 1);
  EXPECT_NE(std::strstr(tern_emulator_why(), "was destroyed earlier"), nullptr);
}

}  // namespace
