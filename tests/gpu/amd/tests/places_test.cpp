// Positions of threads, their parameters, and the library's description of kernels.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/gpu/amd/tests/launcher.h"

namespace tern::gpu::amd {
namespace {

TEST(Places, EveryThreadOfAGridKnowsItsPlaceAndTheSizes) {
  const Library library(R"(
    extern "C" __global__ void places(unsigned* out) {
      const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      unsigned* mine = out + 4 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
      mine[0] = blockIdx.x * 100 + blockIdx.y * 10 + blockIdx.z;
      mine[1] = threadIdx.x * 100 + threadIdx.y * 10 + threadIdx.z;
      mine[2] = gridDim.x * 100 + gridDim.y * 10 + gridDim.z;
      mine[3] = blockDim.x * 100 + blockDim.y * 10 + blockDim.z;
    })");
  std::vector<unsigned> out(4 * 24 * 60, 7777);
  library.run("places", {{2, 3, 4}, {5, 4, 3}}, out.data());
  std::size_t at = 0;
  for (unsigned bz = 0; bz < 4; ++bz)
    for (unsigned by = 0; by < 3; ++by)
      for (unsigned bx = 0; bx < 2; ++bx) {
        for (unsigned z = 0; z < 3; ++z)
          for (unsigned y = 0; y < 4; ++y)
            for (unsigned x = 0; x < 5; ++x, at += 4) {
              ASSERT_EQ(out[at], bx * 100 + by * 10 + bz);
              ASSERT_EQ(out[at + 1], x * 100 + y * 10 + z);
              ASSERT_EQ(out[at + 2], 234u);
              ASSERT_EQ(out[at + 3], 543u);
            }
      }
}

TEST(Places, ParametersLieAtTheirNaturalAlignment) {
  const Library library(R"(
    struct Pair { char a; double b; };
    struct Wide { float4 v; };
    extern "C" __global__ void parameters(double* out, char c, short s, Pair pair, bool flag, _Float16 h, Wide wide, int i) {
      out[0] = c; out[1] = s; out[2] = pair.a; out[3] = pair.b; out[4] = flag; out[5] = h;
      out[6] = wide.v.x + 10 * wide.v.w; out[7] = i;
    })");
  struct Pair {
    char a;
    double b;
  };
  struct alignas(16) Wide {
    float v[4];
  };
  std::vector<double> out(8);
  const std::uint16_t half = 0x3E00;  // 1.5
  library.run("parameters", {{1, 1, 1}, {1, 1, 1}}, out.data(), char(-3), short(-400), Pair{5, 0.1}, true, half,
              Wide{{1, 2, 3, 4}}, -70000);
  EXPECT_EQ(out, (std::vector<double>{-3, -400, 5, 0.1, 1, 1.5, 41, -70000}));
  const tern_emulated_kernel& kernel = library.kernel("parameters");
  std::vector<std::uint32_t> offsets;
  for (std::uint32_t i = 0; i < kernel.parameter_count; ++i) offsets.push_back(kernel.parameters[i].offset);
  // Each argument at the next multiple of its alignment (AMDGPU backend's guide, "Kernarg Segment").
  EXPECT_EQ(offsets, (std::vector<std::uint32_t>{0, 8, 10, 16, 32, 34, 48, 64}));
  EXPECT_EQ(kernel.parameter_bytes, 68u);
}

TEST(Places, KernelsSayWhatTheyNeed) {
  const Library library(R"(
    extern "C" __global__ void __launch_bounds__(128) plain(int* x) { x[threadIdx.x] = 1; }
    extern "C" __global__ void local(int* x) {
      __shared__ int tile[100];
      tile[threadIdx.x] = x[threadIdx.x];
      __syncthreads();
      x[threadIdx.x] = tile[63 - threadIdx.x];
    }
    __device__ int counter = 5;
    __constant__ int table[3] = {7, 8, 9};
    extern "C" __global__ void globals(int* x) { x[threadIdx.x] = atomicAdd(&counter, 1) + table[threadIdx.x]; })");
  const tern_emulated_kernel& plain = library.kernel("plain");
  EXPECT_EQ(plain.most_threads, 128u);
  EXPECT_EQ(plain.local_bytes, 0u);
  EXPECT_EQ(plain.uses_groups, 0u);
  const tern_emulated_kernel& local = library.kernel("local");
  EXPECT_EQ(local.most_threads, 1024u);
  EXPECT_EQ(local.local_bytes, 400u);
  EXPECT_EQ(local.uses_groups, 1u);
  std::vector<int> x(64);
  std::iota(x.begin(), x.end(), 0);
  library.run("local", {}, x.data());
  for (int i = 0; i < 64; ++i) EXPECT_EQ(x[i], 63 - i);
  library.run("globals", {{1, 1, 1}, {3, 1, 1}}, x.data());
  EXPECT_EQ((std::vector<int>{x[0], x[1], x[2]}), (std::vector<int>{12, 14, 16}));
}

}  // namespace
}  // namespace tern::gpu::amd
