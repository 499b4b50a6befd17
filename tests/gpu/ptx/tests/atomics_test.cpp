// Atomic operations on global and shared memory.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

TEST(Atomics, OfAllKindsOnGlobalMemory) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* i, float* f, double* d, unsigned long long* u, int* old) {
    const int t = blockIdx.x * blockDim.x + threadIdx.x;
    old[t] = atomicAdd(i, 1);
    atomicSub(i + 1, t);
    atomicMax(i + 2, t - 100); atomicMin(i + 3, 50 - t);
    atomicMax((unsigned*)i + 4, (unsigned)t); atomicMin((unsigned*)i + 5, (unsigned)-t - 1u);
    atomicAnd(i + 6, ~(1 << t % 5)); atomicOr(i + 7, t); atomicXor(i + 8, t);
    atomicExch(i + 9, 9);
    atomicInc((unsigned*)i + 10, 6); atomicDec((unsigned*)i + 11, 6);
    for (int seen = i[12]; ;) {  // a product by exchange
      const int was = atomicCAS(i + 12, seen, seen * 3 % 1009);
      if (was == seen) break;
      seen = was;
    }
    atomicAdd(f, 0.5f); atomicAdd(d, 0.25);
    atomicAdd(u, 3ull << 33); atomicMax(u + 1, (unsigned long long)t << 40); atomicCAS(u + 2, 0ull, t + 1ull);
  })");
  std::vector<int> i(13, 0), old(200, -1);
  i[3] = 1000, i[5] = -1, i[6] = 255, i[12] = 1;
  float f = 0;
  double d = 0;
  std::uint64_t u[3] = {};
  kernels.run("k", {{2, 1, 1}, {100, 1, 1}}, i.data(), &f, &d, &u[0], old.data());
  int parity = 0, product = 1;
  for (int t = 0; t < 200; ++t) parity ^= t, product = product * 3 % 1009;
  EXPECT_EQ(i[0], 200);
  EXPECT_EQ(i[1], -199 * 100);
  EXPECT_EQ(i[2], 99);
  EXPECT_EQ(i[3], -149);
  EXPECT_EQ(i[4], 199);
  EXPECT_EQ(i[5], -200);
  EXPECT_EQ(i[6], 255 - 31);
  EXPECT_EQ(i[7], 255);
  EXPECT_EQ(i[8], parity);
  EXPECT_EQ(i[9], 9);
  EXPECT_EQ(i[10], 200 % 7);
  EXPECT_EQ(i[11], 7 - 200 % 7);
  EXPECT_EQ(i[12], product);
  EXPECT_EQ(f, 100);
  EXPECT_EQ(d, 50);
  EXPECT_EQ(u[0], 600ull << 33);
  EXPECT_EQ(u[1], 199ull << 40);
  EXPECT_NE(u[2], 0u);
  std::vector<bool> seen(200);
  for (const int n : old) seen.at(static_cast<std::size_t>(n)) = true;
  EXPECT_EQ(std::count(seen.begin(), seen.end(), true), 200);
}

TEST(Atomics, OnSharedMemory) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* y, float* z) {
    __shared__ int bins[10];
    __shared__ float sum;
    extern __shared__ unsigned long long most[];
    if (threadIdx.x < 10) bins[threadIdx.x] = 0;
    if (threadIdx.x == 0) sum = 0, most[0] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 10], 1);
    atomicAdd(&sum, 0.125f);
    atomicMax(most, (unsigned long long)threadIdx.x << 33);
    __syncthreads();
    if (threadIdx.x < 10) y[threadIdx.x] = bins[threadIdx.x];
    if (threadIdx.x == 0) y[10] = most[0] >> 33, *z = sum;
  })");
  std::vector<int> y(11);
  float z = 0;
  kernels.run("k", {{1, 1, 1}, {96, 1, 1}, 8}, y.data(), &z);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(y[i], i < 6 ? 10 : 9);
  EXPECT_EQ(y[10], 95);
  EXPECT_EQ(z, 12);
}

// Threads of a warp spin on a lock.
TEST(Atomics, ThreadsSpinOnALock) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* lock, volatile int* y) {
    __syncthreads();
    for (bool done = false; !done;) {
      if (atomicCAS(lock, 0, 1) == 0) {
        const int was = *y;
        __threadfence();
        *y = was + 1;
        __threadfence();
        atomicExch(lock, 0);
        done = true;
      }
    }
  })");
  int lock = 0, y = 0;
  kernels.run("k", {{2, 1, 1}, {70, 1, 1}}, &lock, &y);
  EXPECT_EQ(y, 140);
}

}  // namespace
}  // namespace tern::emulated
