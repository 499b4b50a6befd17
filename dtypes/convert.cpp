#include "dtypes/convert.h"

#include <tern/error.h>

#include <algorithm>
#include <complex>
#include <cstddef>
#include <cstring>
#include <string>

#include "dtypes/bulk.h"
#include "dtypes/core_convert.h"
#include "dtypes/packed_f4.h"
#include "dtypes/storage.h"

namespace tern {
namespace {

// Elements in flight between two stages: the buffers stay in the first-level cache. Even, for packed pairs.
constexpr std::int64_t kConvertChunk = 512;
struct alignas(64) Buffer {
  std::byte bytes[kConvertChunk * sizeof(std::complex<double>)];
};

void check(DType t, const char* which) {
  if (element_size(t) == 0) {
    fail(ErrorCode::invalid_argument, std::string("convert: the ") + which + " has no element type");
  }
}

/// Calls f(T{}) for the small float T of `t`. `t` must be a small float; float4 comes unpacked.
template <class F>
void visit_small(DType t, F&& f) {
  switch (t) {
    case DType::f16: return f(Half{});
    case DType::bf16: return f(BFloat16{});
    case DType::f8_e4m3fn: return f(F8E4M3FN{});
    case DType::f8_e5m2: return f(F8E5M2{});
    case DType::f8_e4m3fnuz: return f(F8E4M3FNUZ{});
    case DType::f8_e5m2fnuz: return f(F8E5M2FNUZ{});
    case DType::f8_e8m0: return f(F8E8M0{});
    case DType::f6_e2m3: return f(F6E2M3{});
    case DType::f6_e3m2: return f(F6E3M2{});
    default: fail(ErrorCode::internal, "convert: " + std::string(name_of(t)) + " is not a small float");
  }
}

void widen_f4(const std::uint8_t* packed, float* dst, std::int64_t n) {
  F4E2M1 codes[kConvertChunk];
  for (std::int64_t done = 0; done < n; done += kConvertChunk) {
    const std::int64_t m = std::min(kConvertChunk, n - done);
    unpack_f4(packed + done / 2, codes, m);
    decode_run(codes, dst + done, m);
  }
}

void narrow_f4(const float* src, std::uint8_t* packed, std::int64_t n) {
  F4E2M1 codes[kConvertChunk];
  for (std::int64_t done = 0; done < n; done += kConvertChunk) {
    const std::int64_t m = std::min(kConvertChunk, n - done);
    encode_run(src + done, codes, m, Overflow::saturate);
    pack_f4(codes, packed + done / 2, m);
  }
}

void widen(const void* src, DType from, float* dst, std::int64_t n) {
  if (from == DType::c32) return decode_run(static_cast<const Half*>(src), dst, 2 * n);
  if (from == DType::f4_e2m1) return widen_f4(static_cast<const std::uint8_t*>(src), dst, n);
  visit_small(from, [&](auto tag) { decode_run(static_cast<const decltype(tag)*>(src), dst, n); });
}

void narrow(const float* src, void* dst, DType to, std::int64_t n, Overflow policy) {
  if (to == DType::c32) return encode_run(src, static_cast<Half*>(dst), 2 * n, policy);
  if (to == DType::f4_e2m1) return narrow_f4(src, static_cast<std::uint8_t*>(dst), n);
  visit_small(to, [&](auto tag) { encode_run(src, static_cast<decltype(tag)*>(dst), n, policy); });
}

}  // namespace

std::int64_t run_bytes(DType dtype, std::int64_t count) {
  return dtype == DType::f4_e2m1 ? packed_f4_bytes(count) : count * element_size(dtype);
}

void convert(const void* src, DType from, void* dst, DType to, std::int64_t count, Overflow policy) {
  check(from, "source");
  check(to, "destination");
  if (count < 0) fail(ErrorCode::invalid_argument, "convert: the count is " + std::to_string(count));
  if (count == 0) return;
  if (from == to) {
    std::memcpy(dst, src, static_cast<std::size_t>(run_bytes(from, count)));
    return;
  }
  const DType wide_from = core_of(from);
  const DType wide_to = core_of(to);
  if (wide_from == from && wide_to == to) return convert_core(src, from, dst, to, count);
  if (wide_from == to) return widen(src, from, static_cast<float*>(dst), count);
  if (wide_to == from) return narrow(static_cast<const float*>(src), dst, to, count, policy);

  Buffer a;
  Buffer b;
  for (std::int64_t done = 0; done < count; done += kConvertChunk) {
    const std::int64_t n = std::min(kConvertChunk, count - done);
    const void* s = static_cast<const std::byte*>(src) + run_bytes(from, done);
    void* d = static_cast<std::byte*>(dst) + run_bytes(to, done);
    if (wide_from != from) {
      widen(s, from, reinterpret_cast<float*>(a.bytes), n);
      s = a.bytes;
    }
    if (wide_from != wide_to) {
      void* out = wide_to == to ? d : b.bytes;
      convert_core(s, wide_from, out, wide_to, n);
      s = out;
    }
    if (wide_to != to) narrow(static_cast<const float*>(s), d, to, n, policy);
  }
}

}  // namespace tern
