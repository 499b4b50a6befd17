// Shared by tests of the emulated driver.
#pragma once

#include <cuda.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/gpu/machine/counters_api.h"

inline std::string name_of(CUresult code) {
  const char* name = nullptr;
  cuGetErrorName(code, &name);
  return name == nullptr ? "?" : name;
}

#define SUCCEEDS(call) ASSERT_EQ(name_of(call), "CUDA_SUCCESS") << tern_emulator_why()
#define FAILS(code, call) ASSERT_EQ(name_of(call), #code)

inline tern_emulator_figures figures() {
  tern_emulator_figures result;
  tern_emulator_counters(&result);
  return result;
}

// A device with its primary context current, two streams, memory of 64 numbers, and the kernels of
// ../machine/test_kernels.cpp.
class Emulated : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    SUCCEEDS(cuInit(0));
    SUCCEEDS(cuDeviceGet(&device, 0));
    SUCCEEDS(cuDevicePrimaryCtxRetain(&context, device));
    SUCCEEDS(cuCtxSetCurrent(context));
    SUCCEEDS(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    SUCCEEDS(cuStreamCreate(&second_stream, CU_STREAM_NON_BLOCKING));
    SUCCEEDS(cuMemAlloc(&memory, bytes));
    SUCCEEDS(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), bytes, 0));
    SUCCEEDS(cuModuleLoadData(&module, image().c_str()));
    SUCCEEDS(cuModuleGetFunction(&add, module, "add"));
    SUCCEEDS(cuModuleGetFunction(&multiply, module, "multiply"));
    SUCCEEDS(cuModuleGetFunction(&condition, module, "condition"));
    SUCCEEDS(cuModuleGetFunction(&count_down, module, "count_down"));
  }

  // The end of the context destroys all remaining objects.
  void TearDown() override {
    ASSERT_EQ(cuDevicePrimaryCtxRelease(device), CUDA_SUCCESS);
    ASSERT_EQ(cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
    ASSERT_EQ(figures().contexts, 0u);
    ASSERT_EQ(figures().streams, 0u);
    ASSERT_EQ(figures().allocations, 0u);
  }

  static std::string image() { return std::string("// tern-emulated-library: ") + TERN_TEST_KERNELS + "\n"; }

  // `function` on the first `count` numbers at `at`, with `value`.
  CUresult launch(CUfunction function, CUdeviceptr at, uint64_t value, CUstream where, unsigned count = 4) {
    void* parameters[] = {&at, &value};
    return cuLaunchKernel(function, 1, 1, 1, count, 1, 1, 0, where, parameters, nullptr);
  }

  // The first number, when all work of the stream has run.
  int read(CUstream where) { return read(where, memory); }
  int read(CUstream where, CUdeviceptr at) {
    int result = 0;
    EXPECT_EQ(cuMemcpyDtoHAsync(&result, at, sizeof(result), where), CUDA_SUCCESS);
    return result;
  }
  void zero(CUstream where) { ASSERT_EQ(cuMemsetD8Async(memory, 0, bytes, where), CUDA_SUCCESS); }

  static constexpr size_t bytes = 256;
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUstream stream = nullptr, second_stream = nullptr;
  CUdeviceptr memory = 0;
  int* pinned = nullptr;
  CUmodule module = nullptr;
  CUfunction add = nullptr, multiply = nullptr, condition = nullptr, count_down = nullptr;
};
