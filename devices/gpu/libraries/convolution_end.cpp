#include "devices/gpu/libraries/convolution_end.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "devices/gpu/libraries/helper_kernels.h"

namespace tern::gpu {
namespace {

constexpr HelperKernels kEndKernels{"tern_convolution_end", "the end of a convolution", 128};
constexpr std::int64_t kThreadBytes = 16;  // bytes of a thread's elements

// Each thread handles EACH adjacent elements in float. The channel changes every `step` elements. NVRTC has no float16
// type.
constexpr const char* kEndText = R"(
#if DTYPE == 12
typedef float T;
__device__ float load(T x) {
  return x;
}
__device__ T store(float x) {
  return x;
}
#elif DTYPE == 11
typedef unsigned short T;
__device__ float load(T x) {
  return __uint_as_float((unsigned)x << 16);
}
__device__ T store(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? (T)0x7FC0 : (T)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
#elif defined(__CUDACC_RTC__)
typedef unsigned short T;
__device__ float load(T x) {
  float y;
  asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
  return y;
}
__device__ T store(float x) {
  T y;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
  return y;
}
#else
typedef _Float16 T;
__device__ float load(T x) {
  return (float)x;
}
__device__ T store(float x) {
  return (T)x;
}
#endif
struct __attribute__((aligned(16))) Elements {
  T e[EACH];
};

extern "C" __global__ void tern_end(const T* bias, T* y, unsigned count, unsigned step, unsigned channels, int relu) {
  const unsigned first = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
  if (first >= count) return;
  y += first;
  const unsigned here = count - first < EACH ? count - first : EACH;
  const bool whole = here == EACH && (unsigned long long)y % sizeof(Elements) == 0;
  Elements all;
  if (whole) {
    all = *(const Elements*)y;
  } else {
#pragma unroll
    for (int i = 0; i < EACH; ++i)
      if (i < here) all.e[i] = y[i];
  }
  unsigned channel = first / step % channels, left = step - first % step;
  float b = bias ? load(bias[channel]) : 0;
#pragma unroll
  for (int i = 0; i < EACH; ++i) {
    if (left == 0) {
      left = step;
      channel = channel + 1 == channels ? 0 : channel + 1;
      if (bias) b = load(bias[channel]);
    }
    --left;
    float v = load(all.e[i]);
    if (bias) v += b;
    if (relu && v < 0) v = 0;
    all.e[i] = store(v);
  }
  if (whole) {
    *(Elements*)y = all;
  } else {
#pragma unroll
    for (int i = 0; i < EACH; ++i)
      if (i < here) y[i] = all.e[i];
  }
}
)";

std::int64_t count_of(const Shape& s) {
  std::int64_t count = 1;
  for (const std::int64_t size : s.sizes) count *= size;
  return count;
}

/// True if the elements are dense (in any order of axes) and countable in 32 bits.
bool is_dense(const Shape& s) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < s.sizes.size(); ++i) last += (s.sizes[i] - 1) * s.strides[i];
  return last == count_of(s) - 1 && last < std::numeric_limits<std::int32_t>::max();
}

}  // namespace

Function convolution_end(const GpuDevice& d, const Convolution& c) {
  if (!is_dense(c.y)) return nullptr;
  static std::mutex mutex;
  static std::map<std::pair<int, int>, Function> all;  // never unloaded
  const std::lock_guard lock(mutex);
  const std::pair key(d.id, c.dtype);
  if (const auto at = all.find(key); at != all.end()) return at->second;
  Function function = nullptr;
  const std::pair<const char*, Function*> functions[] = {{"tern_end", &function}};
  const std::string text = "#define DTYPE " + std::to_string(c.dtype) + "\n#define EACH " +
                           std::to_string(kThreadBytes / c.bytes) + kEndText;
  if (kEndKernels.load(d, text, functions) != TERN_DEVICE_OK) return nullptr;
  return all.emplace(key, function).first->second;
}

tern_device_status end_convolution(Function end, Stream stream, const Convolution& c, Address bias, Address y) {
  const std::int64_t elements = count_of(c.y), each = kThreadBytes / c.bytes;
  auto count = static_cast<std::uint32_t>(elements), channels = static_cast<std::uint32_t>(c.y.sizes[1]);
  auto step = static_cast<std::uint32_t>(channels == 1 ? elements : c.y.strides[1]);
  int relu = c.has_relu ? 1 : 0;
  void* parameters[] = {&bias, &y, &count, &step, &channels, &relu};
  return kEndKernels.launch(end, kEndKernels.blocks_for((elements + each - 1) / each), stream, parameters);
}

}  // namespace tern::gpu
