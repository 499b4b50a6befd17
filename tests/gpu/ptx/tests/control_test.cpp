// Calls, branch tables, constants, and parameters; a kernel's requests to the machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

constexpr Grid kOneWarp{};

TEST(Control, DeviceFunctions) {
  const Kernels kernels(R"(
    struct Pair { double first; int second; };
    __device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
    __device__ __noinline__ Pair swapped(Pair p, float scale) { return {p.second * scale, (int)p.first}; }
    __device__ __noinline__ void add(float* to, float x) { *to += x; }
    extern "C" __global__ void k(int* y, float* z) {
      const int t = threadIdx.x;
      const Pair p = swapped(Pair{t + 0.5, fibonacci(t % 12)}, 2.0f);
      y[t] = (int)p.first * 1000 + p.second;
      add(z + t, t);
      add(z + t, 0.5f);
    })");
  std::vector<int> y(32);
  std::vector<float> z(32, 1);
  kernels.run("k", kOneWarp, y.data(), z.data());
  const int fibonacci[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (int t = 0; t < 32; ++t) {
    EXPECT_EQ(y[t], fibonacci[t % 12] * 2 * 1000 + t);
    EXPECT_EQ(z[t], static_cast<float>(t) + 1.5f);
  }
}

// A barrier in a function: callers run on fibers, too.
TEST(Control, AFunctionWithABarrier) {
  const Kernels kernels(R"(
    __device__ __noinline__ int turned(int v) {
      __shared__ int tile[64];
      __syncthreads();
      tile[threadIdx.x] = v;
      __syncthreads();
      return tile[63 - threadIdx.x];
    }
    extern "C" __global__ void k(int* y) { y[threadIdx.x] = turned(threadIdx.x) + turned(1000 * threadIdx.x); })");
  EXPECT_EQ(kernels.kernel("k").uses_groups, 1u);
  std::vector<int> y(64);
  kernels.run("k", {{1, 1, 1}, {64, 1, 1}}, y.data());
  for (int t = 0; t < 64; ++t) EXPECT_EQ(y[t], 1001 * (63 - t));
}

TEST(Control, ConstantsAndVariables) {
  const Kernels kernels(R"(
    __constant__ int table[4] = {7, -5, 3, 0x7fffffff};
    __constant__ double parts[2] = {0.1, -1e300};
    __device__ int counter = 5;
    __device__ int* there = &counter;
    __device__ const char text[] = "tern";
    extern "C" __global__ void k(const int* x, double* y) {
      const int t = threadIdx.x;
      y[t] = table[x[t] & 3] + parts[x[t] & 1] + text[x[t] & 3];
      if (t == 0) *there += 10;
    }
    extern "C" __global__ void count(int* y) { *y = counter; })");
  std::vector<int> x(32);
  for (int t = 0; t < 32; ++t) x[t] = t * 7 + 1;
  std::vector<double> y(32);
  kernels.run("k", kOneWarp, x.data(), y.data());
  const int table[] = {7, -5, 3, 0x7fffffff};
  const double parts[] = {0.1, -1e300};
  for (int t = 0; t < 32; ++t) EXPECT_EQ(y[t], table[x[t] & 3] + parts[x[t] & 1] + "tern"[x[t] & 3]);
  int counter = 0;
  kernels.run("count", {{1, 1, 1}, {1, 1, 1}}, &counter);
  EXPECT_EQ(counter, 15);
}

TEST(Control, Switches) {
  const Kernels kernels(R"(extern "C" __global__ void k(const int* x, int* y) {
    const int t = threadIdx.x;
    int v = x[t];
    switch (v) {
      case 0: v = y[t] * 3; break;
      case 1: v = y[t] + 100;  // and on
      case 2: v = v * v + y[t]; break;
      case 3: y[t + 32] = 3; v = 1; break;
      case 4: v = y[t] / 3; break;
      case 5: return;
      case 6: v = y[t] ^ 5; break;
      default: v = -1;
    }
    y[t] = v;
  })");
  std::vector<int> x(32), y(64, 0);
  for (int t = 0; t < 32; ++t) x[t] = t % 10 - 1, y[t] = 10 + t;
  std::vector<int> wanted = y;
  for (int t = 0; t < 32; ++t) {
    int& v = wanted[t];
    const int was = v;
    switch (x[t]) {
      case 0: v = was * 3; break;
      case 1: v = (was + 100) * (was + 100) + was; break;
      case 2: v = 4 + was; break;
      case 3: wanted[t + 32] = 3, v = 1; break;
      case 4: v = was / 3; break;
      case 5: break;
      case 6: v = was ^ 5; break;
      default: v = -1;
    }
  }
  kernels.run("k", kOneWarp, x.data(), y.data());
  EXPECT_EQ(y, wanted);
}

TEST(Control, BranchesByATable) {
  const Kernels kernels = Kernels::from_ptx(R"(
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 y) {
  .reg .b32 %r<4>;
  .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [y];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  rem.u32 %r2, %r1, 3;
$targets: .branchtargets $first, $second, $third;
  brx.idx %r2, $targets;
$first:
  mov.u32 %r3, 10;
  bra $store;
$second:
  mov.u32 %r3, 20;
  bra $store;
$third:
  mov.u32 %r3, 30;
$store:
  st.global.u32 [%rd3], %r3;
  ret;
})");
  std::vector<int> y(32);
  kernels.run("k", kOneWarp, y.data());
  for (int t = 0; t < 32; ++t) EXPECT_EQ(y[t], 10 * (t % 3 + 1));
}

TEST(Control, LocalArraysAndPointersToThem) {
  const Kernels kernels(R"(
    __device__ __noinline__ void sort(short* p, int n) {
      for (int i = 1; i < n; ++i)
        for (int j = i; j > 0 && p[j] < p[j - 1]; --j) { short s = p[j]; p[j] = p[j - 1]; p[j - 1] = s; }
    }
    extern "C" __global__ void k(int* y) {
      short own[16];
      for (int i = 0; i < 16; ++i) own[i] = (i * 7 + threadIdx.x) % 16;
      sort(own, 16);
      int bad = 0;
      for (int i = 0; i < 16; ++i) bad += own[i] != i;
      y[threadIdx.x] = bad * 100 + own[threadIdx.x % 16];
    })");
  std::vector<int> y(32);
  kernels.run("k", kOneWarp, y.data());
  for (int t = 0; t < 32; ++t) EXPECT_EQ(y[t], t % 16);
}

TEST(Control, ParametersAndIndicesOfGrids) {
  struct Fields {
    char a;
    double b;
    short c[3];
  };
  const Kernels kernels(R"(
    struct Parts { char a; double b; short c[3]; };
    extern "C" __global__ void __launch_bounds__(128) k(unsigned char small, Parts parts, double* y) {
      const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
      const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      y[block * (blockDim.x * blockDim.y * blockDim.z) + thread] =
          small + parts.a + parts.b * parts.c[threadIdx.z] + 1000.0 * (100 * blockIdx.z + 10 * blockIdx.y + blockIdx.x);
    })");
  EXPECT_EQ(kernels.kernel("k").most_threads, 128u);
  const Fields parts{-3, 0.5, {2, 4, 6}};
  std::vector<double> y(3 * 2 * 4 * 24, -1);
  kernels.run("k", {{3, 2, 4}, {4, 2, 3}}, static_cast<unsigned char>(200), parts, y.data());
  for (int i = 0; i < static_cast<int>(y.size()); ++i) {
    const int block = i / 24, z = i % 24 / 8;
    EXPECT_EQ(y[i], 197 + (z + 1) + 1000.0 * (100 * (block / 6) + 10 * (block / 3 % 2) + block % 3));
  }
}

TEST(Control, TheConditionOfAGraph) {
  const Kernels kernels(R"(
    extern "C" __device__ __cudart_builtin__ void cudaGraphSetConditional(unsigned long long handle, unsigned value);
    extern "C" __global__ void k(unsigned long long handle, const int* x) {
      if (threadIdx.x == 0) cudaGraphSetConditional(handle, x[0] > 3);
    })");
  int x = 4;
  kernels.run("k", kOneWarp, std::uint64_t{0x123456789A}, &x);
  x = 3;
  kernels.run("k", kOneWarp, std::uint64_t{7}, &x);
  ASSERT_EQ(kernels.conditionals().size(), 2u);
  EXPECT_EQ(kernels.conditionals()[0].handle, 0x123456789Au);
  EXPECT_EQ(kernels.conditionals()[0].value, 1u);
  EXPECT_EQ(kernels.conditionals()[1].handle, 7u);
  EXPECT_EQ(kernels.conditionals()[1].value, 0u);
}

// Functions of CUDA's mathematics are code in PTX, with tables and the approximations of the hardware.
TEST(Control, MathematicalFunctions) {
  const Kernels kernels(R"(extern "C" __global__ void k(const float* x, float* y, double* z) {
    const int t = threadIdx.x;
    y[t] = expf(x[t]); y[32 + t] = logf(x[t]); y[64 + t] = sinf(x[t] * 1000); y[96 + t] = tanhf(x[t]);
    y[128 + t] = powf(x[t], 1.7f); y[160 + t] = erff(x[t]); y[192 + t] = rsqrtf(x[t]); y[224 + t] = __expf(x[t]);
    z[t] = exp((double)x[t]); z[32 + t] = log((double)x[t]); z[64 + t] = sin((double)x[t] * 1000);
    z[96 + t] = rsqrt((double)x[t]);
  })");
  std::vector<float> x(32), y(256);
  std::vector<double> z(128);
  for (int t = 0; t < 32; ++t) x[t] = static_cast<float>(t) * 0.25f + 0.1f;
  kernels.run("k", kOneWarp, x.data(), y.data(), z.data());
  const auto near = [](double got, double wanted, double relative) {
    EXPECT_NEAR(got, wanted, relative * std::max(1.0, std::fabs(wanted)));
  };
  for (std::size_t t = 0; t < 32; ++t) {
    const double a = static_cast<double>(x[t]);
    const double wanted[] = {std::exp(a),
                             std::log(a),
                             std::sin(static_cast<double>(x[t] * 1000)),
                             std::tanh(a),
                             std::pow(a, static_cast<double>(1.7f)),
                             std::erf(a),
                             1 / std::sqrt(a),
                             std::exp(a)};
    for (std::size_t f = 0; f < 8; ++f) {
      SCOPED_TRACE(std::to_string(f) + " of " + std::to_string(a));
      near(static_cast<double>(y[32 * f + t]), wanted[f], f == 7 ? 4e-6 : 5e-7);
    }
    const double doubles[] = {std::exp(a), std::log(a), std::sin(a * 1000), 1 / std::sqrt(a)};
    for (std::size_t f = 0; f < 4; ++f) near(z[32 * f + t], doubles[f], 5e-16);
  }
}

}  // namespace
}  // namespace tern::emulated
