// Counting kernels against NVIDIA's published rules: sectors of 32 bytes for each request of a warp, and 32 banks of 4
// bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

// Memory with a GPU's alignment.
template <class T>
class Aligned {
 public:
  explicit Aligned(std::size_t count) : bytes_(count * sizeof(T) + 256) {
    data_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(bytes_.data()) + 255) / 256 * 256);
  }
  T* data() { return data_; }

 private:
  std::vector<char> bytes_;
  T* data_;
};

Grid line(std::uint32_t blocks, std::uint32_t threads) {
  Grid grid;
  grid.blocks[0] = blocks;
  grid.threads[0] = threads;
  return grid;
}

double per_request(const tern_emulated_accesses& a) {
  return a.sectors / a.requests;
}

constexpr const char* kStrided = R"(
template <class T> __device__ void copy(const T* x, T* y, int stride, int offset) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = x[i * stride + offset];
}
extern "C" __global__ void floats(const float* x, float* y, int stride, int offset) { copy(x, y, stride, offset); }
extern "C" __global__ void doubles(const double* x, double* y, int stride, int offset) { copy(x, y, stride, offset); }
extern "C" __global__ void vectors(const float4* x, float4* y, int stride, int offset) { copy(x, y, stride, offset); }
extern "C" __global__ void halves(const short* x, short* y, int stride, int offset) { copy(x, y, stride, offset); }
)";

template <class T>
tern_emulated_counts strided(const char* kernel, int stride, int offset, std::uint32_t blocks = 2) {
  static const Kernels kernels(kStrided, Counts::on);
  Aligned<T> x(64 * blocks * static_cast<std::size_t>(stride + 1) + 64), y(64 * blocks);
  return kernels.count(kernel, line(blocks, 64), x.data(), y.data(), stride, offset);
}

struct Vector {
  float values[4];
};

TEST(Counting, NeighboursShareSectors) {
  const tern_emulated_counts f = strided<float>("floats", 1, 0);
  EXPECT_EQ(f.loads.requests, 4);  // 128 threads are four warps
  EXPECT_EQ(per_request(f.loads), 4);
  EXPECT_EQ(per_request(f.stores), 4);
  EXPECT_EQ(f.loads.least_sectors, f.loads.sectors);
  EXPECT_EQ(f.worst_line, 0u);
  EXPECT_EQ(per_request(strided<double>("doubles", 1, 0).loads), 8);
  EXPECT_EQ(per_request(strided<Vector>("vectors", 1, 0).loads), 16);
  EXPECT_EQ(per_request(strided<short>("halves", 1, 0).loads), 2);
}

TEST(Counting, StridesTakeMoreSectors) {
  EXPECT_EQ(per_request(strided<float>("floats", 2, 0).loads), 8);
  EXPECT_EQ(per_request(strided<float>("floats", 8, 0).loads), 32);
  const tern_emulated_counts f = strided<float>("floats", 1000, 0);
  EXPECT_EQ(per_request(f.loads), 32);
  EXPECT_EQ(f.loads.least_sectors / f.loads.requests, 4);
  EXPECT_EQ(f.worst_sectors, 32);
  EXPECT_EQ(f.worst_least_sectors, 4);
  EXPECT_NE(f.worst_line, 0u);
}

// Best Practices Guide, "A Sequential but Misaligned Access Pattern": "If sequential threads in a warp access memory
// that is sequential but not aligned with a 32-byte segment, five 32-byte segments will be requested".
TEST(Counting, MisalignedTakesOneMore) {
  EXPECT_EQ(per_request(strided<float>("floats", 1, 1).loads), 5);
}

TEST(Counting, OneAddressIsOneSector) {
  const tern_emulated_counts f = strided<float>("floats", 0, 3);
  EXPECT_EQ(per_request(f.loads), 1);
  EXPECT_EQ(f.loads.least_sectors, f.loads.sectors);
}

TEST(Counting, MemoryMovesEachSectorOnce) {
  EXPECT_EQ(strided<float>("floats", 1, 0).loads.memory_bytes, 128 * 4);
  EXPECT_EQ(strided<float>("floats", 1, 0).stores.memory_bytes, 128 * 4);
  EXPECT_EQ(strided<float>("floats", 0, 0).loads.memory_bytes, 32);
  EXPECT_EQ(strided<float>("floats", 16, 0).loads.memory_bytes, 128 * 32);
}

TEST(Counting, LargeGridsAreSampled) {
  const tern_emulated_counts all = strided<float>("floats", 1, 0, 400);
  EXPECT_EQ(all.loads.requests, 800);
  EXPECT_EQ(all.loads.sectors, 3200);
  EXPECT_EQ(all.blocks, 400u);
  EXPECT_EQ(all.recorded_blocks, 8u);
  EXPECT_TRUE(all.ran_whole);
  EXPECT_EQ(all.loads.memory_bytes, 400 * 64 * 4);

  static const Kernels kernels(kStrided, Counts::on);
  Aligned<float> x(25600), y(25600);
  std::fill_n(x.data(), 25600, 1.0f);
  Grid grid = line(400, 64);
  grid.most_work = 1000;
  const tern_emulated_counts part = kernels.count("floats", grid, x.data(), y.data(), 1, 0);
  EXPECT_FALSE(part.ran_whole);
  EXPECT_EQ(part.loads.requests, 800);
  EXPECT_EQ(part.loads.memory_bytes, 0);
  EXPECT_EQ(std::count(y.data(), y.data() + 25600, 1.0f), 9 * 64);  // the first block, and the recorded blocks
}

TEST(Counting, LanesThatTakePart) {
  const Kernels kernels(R"(
extern "C" __global__ void some(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i];
}
extern "C" __global__ void odd(const float* x, float* y) {
  if (threadIdx.x % 2) y[threadIdx.x] = x[threadIdx.x];
}
extern "C" __global__ void loop(const float* x, float* y, int n) {
  float sum = 0;
  for (int k = 0; k < n; ++k) sum += x[k * 32 + threadIdx.x];
  y[threadIdx.x] = sum;
}
)",
                        Counts::on);
  Aligned<float> x(32 * 3000), y(128);
  const tern_emulated_counts some = kernels.count("some", line(1, 128), x.data(), y.data(), 40);
  EXPECT_EQ(some.loads.requests, 2);  // no lane of the two last warps reads
  EXPECT_EQ(some.loads.sectors, 4 + 1);
  const tern_emulated_counts odd = kernels.count("odd", line(1, 32), x.data(), y.data());
  EXPECT_EQ(odd.loads.requests, 1);
  EXPECT_EQ(odd.loads.sectors, 4);
  EXPECT_EQ(odd.loads.least_sectors, 2);  // sixteen floats
  // More executions than are recorded of each lane.
  const tern_emulated_counts loop = kernels.count("loop", line(1, 32), x.data(), y.data(), 3000);
  EXPECT_EQ(loop.loads.requests, 3000);
  EXPECT_EQ(loop.loads.sectors, 12000);
  EXPECT_EQ(loop.operations, 3000 * 32);
}

constexpr const char* kBanks = R"(
extern "C" __global__ void words(float* y, int stride) {
  __shared__ float a[32 * 33];
  for (int k = threadIdx.x; k < 32 * 33; k += 32) a[k] = k;
  __syncwarp();
  y[threadIdx.x] = a[threadIdx.x * stride];
}
extern "C" __global__ void vectors(float4* y, int stride) {
  __shared__ float4 a[32 * 8];
  for (int k = threadIdx.x; k < 32 * 8; k += 32) a[k] = make_float4(k, k, k, k);
  __syncwarp();
  y[threadIdx.x] = a[threadIdx.x * stride];
}
)";

// Passes of a read beside conflict-free writes.
double passes(const char* kernel, int stride, int writes, int least) {
  static const Kernels kernels(kBanks, Counts::on);
  Aligned<Vector> y(32);
  const tern_emulated_counts c = kernels.count(kernel, line(1, 32), y.data(), stride);
  EXPECT_EQ(c.shared_requests, writes + 1);
  EXPECT_EQ(c.shared_least_passes, (writes + 1) * least);
  return c.shared_passes - writes * least;
}

TEST(Counting, BankConflicts) {
  EXPECT_EQ(passes("words", 1, 33, 1), 1);
  EXPECT_EQ(passes("words", 0, 33, 1), 1);  // all lanes read the same word
  EXPECT_EQ(passes("words", 2, 33, 1), 2);
  EXPECT_EQ(passes("words", 3, 33, 1), 1);
  EXPECT_EQ(passes("words", 32, 33, 1), 32);
  EXPECT_EQ(passes("words", 33, 33, 1), 1);
}

TEST(Counting, WideAccessesGoInParts) {
  EXPECT_EQ(passes("vectors", 1, 8, 4), 4);
  EXPECT_EQ(passes("vectors", 2, 8, 4), 8);
  EXPECT_EQ(passes("vectors", 8, 8, 4), 32);
}

TEST(Counting, AsynchronousCopies) {
  const Kernels kernels(R"(
extern "C" __global__ void copy(const float4* x, float4* y) {
  __shared__ float4 a[32];
  unsigned to = (unsigned)__cvta_generic_to_shared(&a[threadIdx.x]);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(x + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;");
  __syncthreads();
  y[threadIdx.x] = a[31 - threadIdx.x];
}
)",
                        Counts::on);
  Aligned<Vector> x(32), y(32);
  const tern_emulated_counts c = kernels.count("copy", line(1, 32), x.data(), y.data());
  EXPECT_EQ(c.loads.sectors, 16);
  EXPECT_EQ(c.shared_requests, 2);
  EXPECT_EQ(c.shared_passes, 8);
}

// Matrix accesses are rows of 16 bytes, eight at once: rows of 16 words lie on four groups of banks.
TEST(Counting, Matrices) {
  const Kernels kernels(R"(
extern "C" __global__ void load(unsigned* y, int stride) {
  __shared__ __align__(16) unsigned short a[2048];
  for (int k = threadIdx.x; k < 2048; k += 32) a[k] = 0;
  __syncwarp();
  unsigned r0, r1, r2, r3, from = (unsigned)__cvta_generic_to_shared(a) + (threadIdx.x % 32) * stride;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3) : "r"(from));
  float d[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(r0), "r"(r1), "r"(r2), "r"(r3), "r"(r0), "r"(r1));
  y[threadIdx.x] = d[0] + d[1];
}
)",
                        Counts::on);
  Aligned<unsigned> y(32);
  const tern_emulated_counts packed = kernels.count("load", line(1, 32), y.data(), 16);
  const tern_emulated_counts rows = kernels.count("load", line(1, 32), y.data(), 64);
  EXPECT_EQ(packed.shared_requests, 64 + 1);
  EXPECT_EQ(rows.shared_passes - packed.shared_passes, 16 - 4);
  EXPECT_EQ(packed.tensor_operations, 2 * 16 * 8 * 16);
  EXPECT_EQ(packed.operations, 32);
}

TEST(Counting, ArithmeticAndArraysOfThreads) {
  const Kernels kernels(R"(
extern "C" __global__ void arithmetic(float* y, float a) {
  float x = y[threadIdx.x];
  y[threadIdx.x] = fmaf(x, a, 1.0f) * 3.0f + (float)threadIdx.x;
}
extern "C" __global__ void array(float* y, int at) {
  volatile float a[64];
  for (int k = 0; k < 64; ++k) a[k] = k;
  y[threadIdx.x] = a[at];
}
extern "C" __global__ void atomics(int* y) { atomicAdd(y + threadIdx.x / 32 * 32, 1); }
)",
                        Counts::on);
  Aligned<float> y(64);
  EXPECT_EQ(kernels.count("arithmetic", line(1, 64), y.data(), 2.0f).operations, 64 * 4);
  EXPECT_EQ(kernels.count("array", line(1, 64), y.data(), 5).local_bytes, 64 * 65 * 4);
  const tern_emulated_counts c = kernels.count("atomics", line(1, 64), y.data());
  EXPECT_EQ(c.atomics.requests, 2);
  EXPECT_EQ(c.atomics.sectors, 2);
  EXPECT_EQ(c.atomics.memory_bytes, 2 * 32);
}

// A launch without counting counts nothing, and results are equal.
TEST(Counting, IsAsked) {
  const Kernels kernels(kStrided, Counts::on);
  Aligned<float> x(64), y(64);
  for (int i = 0; i < 64; ++i) x.data()[i] = static_cast<float>(i);
  kernels.run("floats", line(1, 64), x.data(), y.data(), 1, 0);
  EXPECT_EQ(y.data()[63], 63);
}

}  // namespace
}  // namespace tern::emulated
