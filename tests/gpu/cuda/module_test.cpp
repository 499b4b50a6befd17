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

TEST_F(Modules, TrapsEndTheProcess) {
  CUfunction trap = nullptr;
  SUCCEEDS(cuModuleGetFunction(&trap, module, "trap"));
  SUCCEEDS(cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  EXPECT_DEATH(cuStreamSynchronize(stream), "kernel trap: asked for");
}

}  // namespace
