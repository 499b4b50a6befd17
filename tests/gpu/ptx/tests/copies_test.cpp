// cp.async: copies to shared memory during a block's computation.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

constexpr char kHelpers[] = R"(
  __device__ __forceinline__ unsigned shared_address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
  __device__ __forceinline__ void copy16(void* to, const void* from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" :: "r"(shared_address(to)), "l"(from) : "memory");
  }
  __device__ __forceinline__ void commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
  template <int n> __device__ __forceinline__ void wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(n) : "memory");
  }
)";

// Copies a tile while summing the previous tile. `waits`: the number of pending copies allowed at a sum.
std::vector<float> sums_of_tiles(const std::vector<float>& x, const std::string& waits) {
  const Kernels kernels(std::string(kHelpers) + R"(extern "C" __global__ void k(const float* x, float* y, int tiles) {
    __shared__ __align__(16) float buffer[2][128];
    const int t = threadIdx.x;
    copy16(&buffer[0][4 * t], x + 4 * t);
    commit();
    float sum = 0;
    for (int i = 0; i < tiles; ++i) {
      if (i + 1 < tiles) copy16(&buffer[(i + 1) % 2][4 * t], x + 128 * (i + 1) + 4 * t);
      commit();
      wait<)" + waits + R"(>();
      __syncthreads();
      for (int j = 0; j < 4; ++j) sum += buffer[i % 2][(4 * (t + 1) + j) % 128];  // what another thread copied
      __syncthreads();
    }
    y[t] = sum;
  })");
  std::vector<float> y(32);
  kernels.run("k", {{1, 1, 1}, {32, 1, 1}}, x.data(), y.data(), static_cast<int>(x.size() / 128));
  return y;
}

std::vector<float> ascending(std::size_t count) {
  std::vector<float> x(count);  // aligned to 16 bytes, as by malloc
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

TEST(Copies, TwoBuffers) {
  const std::vector<float> x = ascending(128 * 5), y = sums_of_tiles(x, "1");
  for (std::size_t t = 0; t < 32; ++t) {
    float sum = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 4; ++j) sum += x[128 * i + (4 * (t + 1) + j) % 128];
    }
    EXPECT_EQ(y[t], sum);
  }
}

TEST(Copies, AMissingWaitShows) {
  const std::vector<float> x = ascending(128 * 5), right = sums_of_tiles(x, "0"), wrong = sums_of_tiles(x, "2");
  EXPECT_EQ(right, sums_of_tiles(x, "1"));
  EXPECT_NE(wrong, right);
}

// "cp-size: 4, 8 or 16; src-size: the remaining bytes are filled with zeros"; wait_all also waits for uncommitted
// copies.
TEST(Copies, FewerBytesThanTheCopy) {
  const Kernels kernels(std::string(kHelpers) + R"(extern "C" __global__ void k(const int* x, int* y, int bytes) {
    __shared__ __align__(16) int tile[8];
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                 :: "r"(shared_address(tile)), "l"(x), "r"(bytes) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(shared_address(tile + 4)), "l"(x + 4) : "memory");
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(shared_address(tile + 6)), "l"(x + 7) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 7; ++i) y[i] = tile[i];
  })");
  alignas(16) const int x[] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto run = [&](int bytes) {
    std::vector<int> y(7);
    kernels.run("k", {{1, 1, 1}, {1, 1, 1}}, &x[0], y.data(), bytes);
    return y;
  };
  EXPECT_EQ(run(16), (std::vector<int>{1, 2, 3, 4, 5, 6, 8}));
  EXPECT_EQ(run(8), (std::vector<int>{1, 2, 0, 0, 5, 6, 8}));
  EXPECT_EQ(run(0), (std::vector<int>{0, 0, 0, 0, 5, 6, 8}));
}

}  // namespace
}  // namespace tern::emulated
