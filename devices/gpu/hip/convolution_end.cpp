#include "devices/gpu/hip/convolution_end.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "devices/gpu/libraries/own_kernels.h"

namespace tern::gpu {
namespace {

constexpr OwnKernels kOwn{"tern_convolution_end", "the end of a convolution", 256};

// An element for each thread, computed in float.
constexpr const char* kText = R"(
typedef long long i64;
#if DTYPE == 11
typedef unsigned short T;
__device__ float load(T x) {
  return __uint_as_float((unsigned)x << 16);
}
__device__ T store(float x) {
  const unsigned bits = __float_as_uint(x);
  return x != x ? (T)0x7FC0 : (T)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
#else
#if DTYPE == 10
typedef _Float16 T;
#else
typedef float T;
#endif
__device__ float load(T x) {
  return (float)x;
}
__device__ T store(float x) {
  return (T)x;
}
#endif

extern "C" __global__ void tern_end(const T* bias, T* y, i64 count, i64 plane, i64 channels, int relu) {
  const i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float v = load(y[i]);
  if (bias) v += load(bias[i / plane % channels]);
  if (relu && v < 0) v = 0;
  y[i] = store(v);
}
)";

}  // namespace

Function convolution_end(const GpuDevice& d, const Convolution& c) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, Function> all;  // for the lifetime of the process
  const std::lock_guard lock(mutex);
  const std::pair key(d.id, c.dtype);
  if (const auto at = all.find(key); at != all.end()) return at->second;
  Function function = nullptr;
  const std::pair<const char*, Function*> functions[] = {{"tern_end", &function}};
  if (kOwn.load(d, "#define DTYPE " + std::to_string(c.dtype) + kText, functions) != TERN_DEVICE_OK) return nullptr;
  return all.emplace(key, function).first->second;
}

tern_device_status end_convolution(Function end, Stream stream, const Convolution& c, Address bias, Address y) {
  std::int64_t plane = 1;
  for (std::size_t i = 2; i < c.y.sizes.size(); ++i) plane *= c.y.sizes[i];
  std::int64_t channels = c.y.sizes[1], count = c.y.sizes[0] * channels * plane;
  int relu = c.has_relu ? 1 : 0;
  void* parameters[] = {&bias, &y, &count, &plane, &channels, &relu};
  return kOwn.launch(end, kOwn.blocks_for(count), stream, parameters);
}

}  // namespace tern::gpu
