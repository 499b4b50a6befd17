#include "devices/gpu/hip/convolution_end.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "devices/gpu/compile.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"

namespace tern::gpu {
namespace {

constexpr unsigned kBlock = 256;

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

tern_device_status load(const GpuDevice& d, int dtype, Function* function) {
  const std::string text = "#define DTYPE " + std::to_string(dtype) + kText;
  tern_device_source source{};
  source.size = sizeof source;
  source.dialect = names::kDialect;
  source.name = "tern_convolution_end";
  source.text = text.c_str();
  source.length = text.size();
  std::string code;
  TERN_GPU_TRY(compile(d, source, &code));
  Module module = nullptr;
  TERN_GPU_TRY(
      checked(api().module_load(&module, code.c_str(), 0, nullptr, nullptr), "loading the end of a convolution"));
  const Status error = api().module_function(function, module, "tern_end");
  if (error != kSuccess) api().module_unload(module);
  return checked(error, "finding the end of a convolution");
}

}  // namespace

Function convolution_end(const GpuDevice& d, const Convolution& c) {
  static std::mutex mutex;
  static std::map<std::pair<int, int>, Function> all;  // for the lifetime of the process
  const std::lock_guard lock(mutex);
  const std::pair key(d.id, c.dtype);
  if (const auto at = all.find(key); at != all.end()) return at->second;
  Function function = nullptr;
  if (load(d, c.dtype, &function) != TERN_DEVICE_OK) return nullptr;
  return all.emplace(key, function).first->second;
}

tern_device_status end_convolution(Function end, Stream stream, const Convolution& c, Address bias, Address y) {
  std::int64_t plane = 1;
  for (std::size_t i = 2; i < c.y.sizes.size(); ++i) plane *= c.y.sizes[i];
  std::int64_t channels = c.y.sizes[1], count = c.y.sizes[0] * channels * plane;
  int relu = c.has_relu ? 1 : 0;
  void* parameters[] = {&bias, &y, &count, &plane, &channels, &relu};
  const auto blocks = static_cast<unsigned>((count + kBlock - 1) / kBlock);
  return checked(api().launch(end, blocks, 1, 1, kBlock, 1, 1, 0, stream, parameters, nullptr),
                 "launching the end of a convolution");
}

}  // namespace tern::gpu
