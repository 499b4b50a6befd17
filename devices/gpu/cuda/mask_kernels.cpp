#include "devices/gpu/cuda/mask_kernels.h"

#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "devices/gpu/libraries/helper_kernels.h"

namespace tern::gpu {
namespace {

constexpr HelperKernels kMaskKernels{"tern_masks", "masks", 128};

// NVRTC has no <stdint.h>. Numbers are bit patterns: ELEMENT is an unsigned integer type, INFINITE the bits of minus
// infinity, HIDING of -10^38, and DEEP of half of -10^38. The lowest number would overflow in kernels multiplying
// maxima by log2(e).
constexpr const char* kMaskText = R"(
typedef long long i64;
struct Mask {
  i64 strides[4], heads, rows, columns, row;
  int causal;
};
struct MaskedResult {
  i64 rows, queries, heads, width, mask_heads, mask_batches;
};

// The float32 of a float16.
__device__ unsigned single(unsigned short h) {
  const unsigned sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
  if (exponent == 31) return sign | 0x7F800000u | fraction << 13;
  if (exponent == 0) return sign | __float_as_uint(fraction * 5.9604644775390625e-8f);  // 2^-24
  return sign | (exponent + 112) << 23 | fraction << 13;
}

// A row of the bias for each block. In a row that sees keys, hidden ones and those of lower numbers get HIDING: blocks
// of keys that are all infinite have no maximum. Where the numbers of all keys that are seen are as low, infinity stays.
extern "C" __global__ void tern_bias(const MASK* mask, ELEMENT* bias, unsigned char* seen, Mask p) {
  __shared__ int kinds[2];
  if (threadIdx.x < 2) kinds[threadIdx.x] = 0;
  __syncthreads();
  const i64 row = blockIdx.x;
  const i64 query = row % p.rows, head = row / p.rows % p.heads, batch = row / p.rows / p.heads;
  const MASK* from = mask + batch * p.strides[0] + head * p.strides[1] + query * p.strides[2];
  ELEMENT* to = bias + row * p.row;
  const i64 end = p.causal && query + 1 < p.columns ? query + 1 : p.columns;
  for (i64 i = threadIdx.x; i < end; i += blockDim.x) {
    const ELEMENT e = BIAS(from[i * p.strides[3]]);
    if (e != INFINITE) kinds[0] = 1;
    if (e < DEEP) kinds[1] = 1;  // negative numbers have the greatest bits
  }
  __syncthreads();
  for (i64 i = threadIdx.x; i < p.columns; i += blockDim.x) {
    const ELEMENT e = BIAS(from[i * p.strides[3]]);
    to[i] = !kinds[0] ? 0 : kinds[1] && e > HIDING && e <= INFINITE ? HIDING : e;
  }
  if (threadIdx.x == 0) seen[row] = kinds[0];
}

// A row of the result for each thread.
extern "C" __global__ void tern_unseen(unsigned short* out, const unsigned char* seen, MaskedResult p) {
  const i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= p.rows) return;
  const i64 query = row % p.queries, head = row / p.queries % p.heads, batch = row / p.queries / p.heads;
  const i64 plane = (p.mask_batches > 1 ? batch * p.mask_heads : 0) + (p.mask_heads > 1 ? head : 0);
  if (seen[plane * p.queries + query]) return;
  for (i64 i = 0; i < p.width; ++i) out[row * p.width + i] = 0;
}
)";

struct MaskParameters {
  std::int64_t strides[4], heads, rows, columns, row;
  int causal;
};
struct ResultParameters {
  std::int64_t rows, queries, heads, width, mask_heads, mask_batches;
};

struct Bits {
  int type;  ///< cudnnDataType_t
  const char *element, *infinite, *hiding, *deep;
};
constexpr Bits kBits[] = {
    {cudnn::kBfloat16, "unsigned short", "0xFF80", "0xFE96", "0xFE16"},
    {cudnn::kFloat, "unsigned int", "0xFF800000u", "0xFE967699u", "0xFE167699u"},
};

std::string text_for(const Attention& a) {
  const Bits* bits = kBits;
  while (bits->type != a.bias_type) ++bits;
  return std::string("#define ELEMENT ") + bits->element + "\n#define INFINITE " + bits->infinite +
         "\n#define HIDING " + bits->hiding + "\n#define DEEP " + bits->deep + "\n#define MASK " +
         (a.is_boolean ? "unsigned char\n#define BIAS(m) ((ELEMENT)((m) ? 0 : INFINITE))\n"
          : a.is_half  ? "unsigned short\n#define BIAS(m) single(m)\n"
                       : "ELEMENT\n#define BIAS(m) (m)\n") +
         kMaskText;
}

}  // namespace

tern_device_status MaskKernels::make_bias(Stream stream, const Attention& a, Address mask, Address to,
                                          Address seen) const {
  const Shape b = a.bias();
  const std::vector<std::int64_t>& s = a.mask.strides;
  MaskParameters p{{s[0], s[1], s[2], s[3]}, b.sizes[1], b.sizes[2], b.sizes[3], b.strides[2], a.is_causal ? 1 : 0};
  void* parameters[] = {&mask, &to, &seen, &p};
  return kMaskKernels.launch(bias, b.sizes[0] * b.sizes[1] * b.sizes[2], stream, parameters);
}

tern_device_status MaskKernels::clear_unseen(Stream stream, const Attention& a, Address out, Address seen) const {
  const Shape b = a.bias();
  const std::vector<std::int64_t>& o = a.out.sizes;
  ResultParameters p{o[0] * o[1] * o[2], o[2], o[1], o[3], b.sizes[1], b.sizes[0]};
  void* parameters[] = {&out, &seen, &p};
  return kMaskKernels.launch(unseen, kMaskKernels.blocks_for(p.rows), stream, parameters);
}

const MaskKernels* mask_kernels(const GpuDevice& d, const Attention& a) {
  static std::mutex mutex;
  static std::map<std::tuple<int, int, bool, bool>, MaskKernels> all;  // never unloaded
  const std::lock_guard lock(mutex);
  const std::tuple key(d.id, a.bias_type, a.is_boolean, a.is_half);
  const auto at = all.find(key);
  if (at != all.end()) return &at->second;
  MaskKernels kernels;
  const std::pair<const char*, Function*> functions[] = {{"tern_bias", &kernels.bias},
                                                         {"tern_unseen", &kernels.unseen}};
  if (kMaskKernels.load(d, text_for(a), functions) != TERN_DEVICE_OK) return nullptr;
  return &all.emplace(key, kernels).first->second;
}

}  // namespace tern::gpu
