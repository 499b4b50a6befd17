#include "tests/gpu/libraries/nccl/reduce.h"

#include <tern/dtype.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "devices/gpu/libraries/nccl_api.h"
#include "dtypes/convert.h"
#include "tests/gpu/libraries/driver.h"

namespace tern::stand_in {
namespace {

using namespace gpu;

template <class T>
T joined(int op, T a, T b) {
  switch (op) {
    case kNcclSum:
    case kNcclAvg: return static_cast<T>(a + b);
    case kNcclProduct: return static_cast<T>(a * b);
    case kNcclMax: return std::max(a, b);
    case kNcclMin: return std::min(a, b);
    default: misuse("there is no reduction %d", op);
  }
}

template <class T>
void reduce_as(int op, const T* all, int ranks, std::size_t count, T* out) {
  for (std::size_t i = 0; i < count; ++i) {
    T x = all[static_cast<std::size_t>(ranks - 1) * count + i];
    for (int r = ranks - 2; r >= 0; --r) x = joined(op, x, all[static_cast<std::size_t>(r) * count + i]);
    out[i] = op == kNcclAvg ? static_cast<T>(x / static_cast<T>(ranks)) : x;
  }
}

void reduce_small(DType type, int op, const std::byte* all, int ranks, std::size_t count, std::byte* out) {
  std::vector<float> wide(count * static_cast<std::size_t>(ranks)), result(count);
  convert(all, type, wide.data(), DType::f32, static_cast<std::int64_t>(wide.size()));
  reduce_as(op, wide.data(), ranks, count, result.data());
  convert(result.data(), DType::f32, out, type, static_cast<std::int64_t>(count));
}

}  // namespace

std::size_t bytes_of(int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  if (type < 0 || type > kNcclBf16) misuse("there is no type %d", type);
  return kBytes[type];
}

void reduce(int type, int op, const std::byte* all, int ranks, std::size_t count, std::byte* out) {
  const auto as = [&](auto zero) {
    using T = decltype(zero);
    reduce_as(op, reinterpret_cast<const T*>(all), ranks, count, reinterpret_cast<T*>(out));
  };
  switch (type) {
    case kNcclI8: return as(std::int8_t{});
    case kNcclU8: return as(std::uint8_t{});
    case kNcclI32: return as(std::int32_t{});
    case kNcclU32: return as(std::uint32_t{});
    case kNcclI64: return as(std::int64_t{});
    case kNcclU64: return as(std::uint64_t{});
    case kNcclF32: return as(float{});
    case kNcclF64: return as(double{});
    default: return reduce_small(type == kNcclF16 ? DType::f16 : DType::bf16, op, all, ranks, count, out);
  }
}

}  // namespace tern::stand_in
