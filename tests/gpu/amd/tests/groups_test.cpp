// Local memory, barriers, atomics: kernels with cooperating threads, against sums on the host.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "tests/gpu/amd/tests/launcher.h"

namespace tern::gpu::amd {
namespace {

TEST(Groups, ABlockReducesInLocalMemory) {
  const Library library(R"(
    extern "C" __global__ void sum(const int* x, int* y) {
      __shared__ int tile[256];
      extern __shared__ int more[];
      const int t = threadIdx.x;
      tile[t] = x[blockIdx.x * 256 + t];
      more[t] = 1;
      for (int half = 128; half > 0; half /= 2) {
        __syncthreads();
        if (t < half) { tile[t] += tile[t + half]; more[t] += more[t + half]; }
      }
      if (t == 0) y[blockIdx.x] = tile[0] * 1000 + more[0];
    })");
  std::vector<int> x(1024), y(4);
  std::iota(x.begin(), x.end(), 1);
  library.run("sum", {{4, 1, 1}, {256, 1, 1}, 1024}, x.data(), y.data());
  for (int b = 0; b < 4; ++b)
    EXPECT_EQ(y[b], std::accumulate(x.begin() + 256 * b, x.begin() + 256 * (b + 1), 0) * 1000 + 256);
}

TEST(Groups, LocalMemoryIsNotZeroAtTheStartOfABlock) {
  const Library library(R"(
    extern "C" __global__ void read(float* y) {
      __shared__ volatile float tile[64];
      y[blockIdx.x] = tile[threadIdx.x];
      tile[threadIdx.x] = 1;
    })");
  float y[2] = {0, 0};
  library.run("read", {{2, 1, 1}, {1, 1, 1}}, &y[0]);
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_TRUE(std::isnan(y[1]));
}

TEST(Groups, AtomicsOfAllKinds) {
  const Library library(R"(
    extern "C" __global__ void atomics(int* i, float* f, double* d, unsigned long long* u) {
      __shared__ int tile;
      if (threadIdx.x == 0) tile = 0;
      __syncthreads();
      const int t = blockIdx.x * blockDim.x + threadIdx.x;
      atomicAdd(&tile, t);
      atomicAdd(i, 1); atomicMax(i + 1, t); atomicMin(i + 2, -t); atomicXor(i + 3, t); atomicOr(i + 4, t);
      atomicAdd(f, 0.5f); atomicAdd(d, 0.25); atomicAdd(u, 3ull);
      atomicCAS(i + 5, t, t + 1);
      atomicExch(i + 6, 9);
      __syncthreads();
      if (threadIdx.x == 0) i[7 + blockIdx.x] = tile;
    })");
  std::vector<int> i(9, 0);
  float f = 0;
  double d = 0;
  unsigned long long u = 0;
  library.run("atomics", {{2, 1, 1}, {100, 1, 1}}, i.data(), &f, &d, &u);
  int parity = 0;
  for (int t = 0; t < 200; ++t) parity ^= t;
  EXPECT_EQ(i[0], 200);
  EXPECT_EQ(i[1], 199);
  EXPECT_EQ(i[2], -199);
  EXPECT_EQ(i[3], parity);
  EXPECT_EQ(i[4], 255);
  EXPECT_GE(i[5], 1);
  EXPECT_EQ(i[6], 9);
  EXPECT_EQ(i[7], 99 * 100 / 2);
  EXPECT_EQ(i[8], 100 * 100 + 99 * 100 / 2);
  EXPECT_EQ(f, 100);
  EXPECT_EQ(d, 50);
  EXPECT_EQ(u, 600u);
}

TEST(Groups, ThreadsMayEndBeforeABarrierOfTheOthers) {
  const Library library(R"(
    extern "C" __global__ void some(int* y) {
      __shared__ int tile[128];
      if (threadIdx.x >= 100) return;
      tile[threadIdx.x] = threadIdx.x;
      __syncthreads();
      y[threadIdx.x] = tile[99 - threadIdx.x];
    })");
  std::vector<int> y(128, -1);
  library.run("some", {{1, 1, 1}, {128, 1, 1}}, y.data());
  for (int t = 0; t < 128; ++t) EXPECT_EQ(y[t], t < 100 ? 99 - t : -1);
}

// A thread of the second half must not run ahead of the first: blocks run their threads forwards and backwards in
// turns.
TEST(Groups, AMissingBarrierShows) {
  const Library library(R"(
    extern "C" __global__ void wrong(int* y) {
      __shared__ int tile[64];
      tile[threadIdx.x] = 5;
      y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x == 0 ? 0 : threadIdx.x - 1];
      __syncthreads();
      y[blockIdx.x * 64] = tile[1];
    })");
  std::vector<int> y(256);
  library.run("wrong", {{4, 1, 1}, {64, 1, 1}}, y.data());
  EXPECT_NE(std::count(y.begin(), y.end(), -1), 0);
}

using GroupsDeath = ::testing::Test;

TEST(GroupsDeath, DifferentBarriersTrap) {
  const Library library(R"(
    extern "C" __global__ void diverge(int* y) {
      if (threadIdx.x < 64) { y[threadIdx.x] = 1; __syncthreads(); y[threadIdx.x] += y[1]; }
      else { y[threadIdx.x] = 2; __syncthreads(); y[threadIdx.x] *= y[65]; }
    })");
  std::vector<int> y(128);
  EXPECT_EXIT(library.run("diverge", {{1, 1, 1}, {128, 1, 1}}, y.data()), ::testing::ExitedWithCode(3),
              "diverge: deadlock: threads of a block wait at different barriers");
}

TEST(GroupsDeath, WritesBehindLocalMemoryTrap) {
  const Library library(R"(
    extern "C" __global__ void far(int n) {
      extern __shared__ int tile[];
      for (int i = 0; i < n; ++i) ((volatile int*)tile)[i] = i;
    })");
  library.run("far", {{1, 1, 1}, {1, 1, 1}, 64}, 16);
  EXPECT_EXIT(library.run("far", {{1, 1, 1}, {1, 1, 1}, 64}, 17), ::testing::ExitedWithCode(3),
              "far: writes behind the end of its local memory");
}

TEST(GroupsDeath, TrapsAndPrintsEndTheProcess) {
  const Library library(R"(
    extern "C" __global__ void trap(int* x) { if (x[0] == 1) __builtin_trap(); }
    extern "C" __global__ void print(int* x) { printf("%d", x[0]); })");
  int x = 0;
  library.run("trap", {}, &x);
  x = 1;
  EXPECT_EXIT(library.run("trap", {}, &x), ::testing::ExitedWithCode(3), "trap: a trap instruction");
  EXPECT_EXIT(library.run("print", {}, &x), ::testing::ExitedWithCode(3), "print: calls printf");
}

}  // namespace
}  // namespace tern::gpu::amd
