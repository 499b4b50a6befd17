// Shared memory and barriers: kernels with cooperating threads, against sums on the host.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

TEST(Groups, ABlockReducesInStaticAndDynamicSharedMemory) {
  const Kernels kernels(R"(extern "C" __global__ void sum(const int* x, int* y) {
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
  EXPECT_EQ(kernels.kernel("sum").local_bytes, 1024u);
  EXPECT_EQ(kernels.kernel("sum").uses_groups, 1u);
  std::vector<int> x(1024), y(4);
  std::iota(x.begin(), x.end(), 1);
  kernels.run("sum", {{4, 1, 1}, {256, 1, 1}, 1024}, x.data(), y.data());
  for (int b = 0; b < 4; ++b) {
    EXPECT_EQ(y[b], std::accumulate(x.begin() + 256 * b, x.begin() + 256 * (b + 1), 0) * 1000 + 256);
  }
}

// Threads of a warp and whole warps, in a three-dimensional block with a partial last warp.
TEST(Groups, AReductionByShufflesAndSharedMemory) {
  const Kernels kernels(R"(extern "C" __global__ void sum(double* y) {
    __shared__ double of_warps[32];
    const int t = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int threads = blockDim.x * blockDim.y * blockDim.z;
    double v = t + 0.25 * blockIdx.y;
    const unsigned mask = __ballot_sync(0xffffffff, 1);
    for (int by = 16; by > 0; by /= 2) {
      const double other = __shfl_down_sync(mask, v, by);
      if ((t & 31) + by < 32 && t + by < threads) v += other;
    }
    if (t % 32 == 0) of_warps[t / 32] = v;
    __syncthreads();
    if (t != 0) return;
    for (int w = 1; w < (threads + 31) / 32; ++w) v += of_warps[w];
    y[blockIdx.y * gridDim.x + blockIdx.x] = v;
  })");
  std::vector<double> y(6);
  kernels.run("sum", {{2, 3, 1}, {5, 3, 7}}, y.data());
  for (int b = 0; b < 6; ++b) EXPECT_EQ(y[b], 104 * 105 / 2 + 105 * 0.25 * (b / 2));
}

TEST(Groups, BarriersCount) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* y) {
    const int t = threadIdx.x;
    const int n = __syncthreads_count(t % 3 == 0);
    const int all = __syncthreads_and(t < 100), not_all = __syncthreads_and(t < 99);
    const int any = __syncthreads_or(t == 57), none = __syncthreads_or(t == 100);
    y[t] = n * 10000 + all * 1000 + not_all * 100 + any * 10 + none;
  })");
  std::vector<int> y(100);
  kernels.run("k", {{1, 1, 1}, {100, 1, 1}}, y.data());
  for (const int n : y) EXPECT_EQ(n, 341010);
}

// Half of the threads produces, the other half consumes, with two barriers of 64 threads: producers do not wait at the
// first.
TEST(Groups, NamedBarriers) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* y) {
    __shared__ int tile[32];
    const int t = threadIdx.x % 32;
    for (int round = 0; round < 5; ++round) {
      if (threadIdx.x < 32) {
        asm volatile("bar.sync 2, 64;" ::: "memory");
        tile[t] = 100 * round + t;
        asm volatile("bar.arrive 1, 64;" ::: "memory");
      } else {
        asm volatile("bar.arrive 2, 64;" ::: "memory");
        asm volatile("bar.sync 1, 64;" ::: "memory");
        y[round * 32 + t] = tile[31 - t];
      }
    }
  })");
  std::vector<int> y(160);
  kernels.run("k", {{1, 1, 1}, {64, 1, 1}}, y.data());
  for (int i = 0; i < 160; ++i) EXPECT_EQ(y[i], 100 * (i / 32) + 31 - i % 32);
}

TEST(Groups, SharedMemoryIsNotZeroAtTheStartOfABlock) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* y) {
    __shared__ volatile int tile[1];
    y[blockIdx.x] = tile[0];
    tile[0] = 0;
  })");
  int y[2] = {0, 0};
  kernels.run("k", {{2, 1, 1}, {1, 1, 1}}, &y[0]);
  EXPECT_NE(y[0], 0);
  EXPECT_NE(y[1], 0);
}

TEST(Groups, AMissingBarrierShows) {
  const Kernels kernels(R"(extern "C" __global__ void k(int* y) {
    __shared__ volatile int tile[64];
    const int t = threadIdx.x;
    tile[t] = 5;
    const int forwards = tile[(t + 1) % 64], backwards = tile[(t + 63) % 64];
    y[t] = forwards + backwards;
    __syncthreads();
    y[t] += tile[t];
  })");
  std::vector<int> y(64);
  kernels.run("k", {{1, 1, 1}, {64, 1, 1}}, y.data());
  EXPECT_NE(std::count_if(y.begin(), y.end(), [](int n) { return n != 15; }), 0);
}

// Each block adds its sum; the last block, found by a counter and fences, reads all sums.
TEST(Groups, TheLastBlockReadsTheOthers) {
  const Kernels kernels(R"(extern "C" __global__ void k(volatile int* sums, unsigned* counter, int* y) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
      sums[blockIdx.x] = blockIdx.x * blockIdx.x;
      __threadfence();
      last = atomicInc(counter, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 31) for (int i = 0; i < gridDim.x; ++i) *y += sums[i];
  })");
  std::vector<int> sums(10);
  unsigned counter = 0;
  int y = 0;
  kernels.run("k", {{10, 1, 1}, {32, 1, 1}}, sums.data(), &counter, &y);
  EXPECT_EQ(y, 285);
  EXPECT_EQ(counter, 0u);
}

}  // namespace
}  // namespace tern::emulated
