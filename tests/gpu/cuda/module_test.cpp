#include <cstdio>
#include <fstream>

#include "tests/gpu/cuda/support.h"
#include "tests/gpu/machine/pointer.h"

namespace {

using Modules = Emulated;

TEST_F(Modules, ParametersAreCopiedAtTheCall) {
  zero(stream);
  uint64_t value = 4;
  void* parameters[] = {&memory, &value};
  SUCCEEDS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr));
  value = 100;
  EXPECT_EQ(read(stream), 4);
}

TEST_F(Modules, ParametersMayBeABuffer) {
  zero(stream);
  uint64_t block[2] = {memory, 6};
  size_t size = sizeof(block);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  SUCCEEDS(cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra));
  EXPECT_EQ(read(stream), 6);
  size = 8;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra));
  void* both[] = {block, block};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, both, extra));
}

TEST_F(Modules, LaunchesHaveLimits) {
  uint64_t value = 0;
  void* p[] = {&memory, &value};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 0, 1, 1, 1, 1, 1, 0, stream, p, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 65536, 1, 1, 1, 1, 0, stream, p, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1025, 1, 1, 0, stream, p, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 32, 32, 2, 0, stream, p, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 65, 0, stream, p, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  p[1] = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, stream, p, nullptr));
}

TEST_F(Modules, LargeLocalMemoryIsOptedInto) {
  CUfunction local = nullptr;
  SUCCEEDS(cuModuleGetFunction(&local, module, "local"));
  auto launch_with = [&](unsigned dynamic) {
    return cuLaunchKernel(local, 1, 1, 1, 1, 1, 1, dynamic, stream, nullptr, nullptr);
  };
  SUCCEEDS(launch_with(32 << 10));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch_with((32 << 10) + 1));  // 16 KiB are the function's own
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuFuncSetAttribute(local, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 212 << 10));
  SUCCEEDS(cuFuncSetAttribute(local, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 211 << 10));
  SUCCEEDS(launch_with(211 << 10));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch_with((211 << 10) + 1));
  SUCCEEDS(cuStreamSynchronize(stream));
}

TEST_F(Modules, FunctionsHaveAttributes) {
  CUfunction local = nullptr;
  int value = 0, blocks = 0, grid = 0;
  SUCCEEDS(cuModuleGetFunction(&local, module, "local"));
  SUCCEEDS(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, local));
  EXPECT_EQ(value, 256);
  SUCCEEDS(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, local));
  EXPECT_EQ(value, 16384);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(local, 1, 1, 1, 257, 1, 1, 0, stream, nullptr, nullptr));
  // 2,048 threads of a multiprocessor at 256 a block, and 228 KiB at 17.
  SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, local, 256, 0));
  EXPECT_EQ(blocks, 8);
  // 228 KiB at 16 + 60 + 1.
  SUCCEEDS(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, local, 256, 60 << 10));
  EXPECT_EQ(blocks, 2);
  SUCCEEDS(cuOccupancyMaxPotentialBlockSize(&grid, &value, add, nullptr, 0, 0));
  EXPECT_EQ(value, 1024);
  EXPECT_EQ(grid, 264);
}

TEST_F(Modules, UnloadingEndsTheirFunctions) {
  SUCCEEDS(launch(add, memory, 1, stream));
  SUCCEEDS(cuModuleUnload(module));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(add, memory, 1, stream));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(module));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel add runs after its module was unloaded");
}

TEST_F(Modules, UnknownKernelsAreNotFound) {
  CUfunction none = nullptr;
  FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&none, module, "none"));
}

TEST_F(Modules, TextsAreChecked) {
  CUmodule none = nullptr;
  char log[200] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, tern::emulator::pointer<void>(sizeof(log))};
  FAILS(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx(&none, "no PTX at all", 2, options, values));
  EXPECT_NE(std::string(log).find(".version"), std::string::npos);
  EXPECT_EQ(reinterpret_cast<size_t>(values[1]), std::string(log).size());
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&none, ".version 8.0\n.target sm_100\n"));
  FAILS(CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData(&none, ".version 8.0\n.target sm_80a\n"));
  FAILS(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData(&none, "// tern-emulated-library: /nowhere.so\n"));
}

#ifdef TERN_EMULATOR_PTX
// Doubles the number of each thread, of a block of 4.
constexpr char kTwice[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 twice_param_0)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [twice_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  shl.b32 %r3, %r2, 1;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";

void run_twice(CUmodule twice_module, CUdeviceptr memory, CUstream stream) {
  CUfunction twice = nullptr;
  SUCCEEDS(cuModuleGetFunction(&twice, twice_module, "twice"));
  void* parameters[] = {&memory};
  SUCCEEDS(cuMemsetD32Async(memory, 21, 4, stream));
  SUCCEEDS(cuLaunchKernel(twice, 1, 1, 1, 4, 1, 1, 0, stream, parameters, nullptr));
}

TEST_F(Modules, TextsAreTranslated) {
  CUmodule translated = nullptr;
  SUCCEEDS(cuModuleLoadData(&translated, kTwice));
  run_twice(translated, memory, stream);
  EXPECT_EQ(read(stream, memory + 12), 42);
  FAILS(CUDA_ERROR_INVALID_PTX,
        cuModuleLoadData(&translated, ".version 8.0\n.target sm_80\n.visible .entry x() { no.such; }\n"));
}

// An ELF header without sections stands for a CUBIN: its hash names the PTX to execute.
TEST(Binaries, RunTheTextThatIsKeptForThem) {
  std::string binary(64, 0);
  binary.replace(0, 7, "\177ELF\2\1\1");
  binary[18] = static_cast<char>(190);
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a of 64 bits
  for (const char byte : binary) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  char name[32];
  std::snprintf(name, sizeof(name), "/%016llx.ptx", static_cast<unsigned long long>(hash));
  const std::string folder = testing::TempDir(), path = folder + name;
  std::ofstream(path) << kTwice;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TERN_EMULATOR_CUBINS", folder.c_str(), 1);
        CUcontext context = nullptr;
        CUmodule module = nullptr;
        CUdeviceptr memory = 0;
        CUstream stream = nullptr;
        int result = 0;
        cuInit(0);
        cuDevicePrimaryCtxRetain(&context, 0);
        cuCtxSetCurrent(context);
        cuStreamCreate(&stream, 0);
        cuMemAlloc(&memory, 16);
        std::string other = binary;
        other[40] = 1;
        if (cuModuleLoadData(&module, other.data()) != CUDA_ERROR_NO_BINARY_FOR_GPU) std::_Exit(1);
        if (cuModuleLoadData(&module, binary.data()) != CUDA_SUCCESS) std::_Exit(2);
        run_twice(module, memory, stream);
        cuMemcpyDtoHAsync(&result, memory, 4, stream);
        std::_Exit(result);
      },
      testing::ExitedWithCode(42), "");
  std::remove(path.c_str());
}
#endif

TEST_F(Modules, TrapsEndTheProcess) {
  CUfunction trap = nullptr;
  SUCCEEDS(cuModuleGetFunction(&trap, module, "trap"));
  SUCCEEDS(cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel trap: asked for");
}

}  // namespace
