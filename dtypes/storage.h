// The C++ type of an element for each DType, and a switch from DType to C++ type.
#pragma once

#include <tern/dtype.h>
#include <tern/error.h>

#include <complex>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "dtypes/complex_half.h"
#include "dtypes/small_float.h"

namespace tern {

// clang-format off
/// Every DType with an addressable element; float4_e2m1fn_x2 has none (packed_f4.h). A `bool` in memory must be 0 or 1.
#define TERN_FOR_EACH_STORAGE(X) \
  X(boolean,     bool)           \
  X(u8,          std::uint8_t)   \
  X(i8,          std::int8_t)    \
  X(i16,         std::int16_t)   \
  X(i32,         std::int32_t)   \
  X(i64,         std::int64_t)   \
  X(u16,         std::uint16_t)  \
  X(u32,         std::uint32_t)  \
  X(u64,         std::uint64_t)  \
  X(f16,         Half)           \
  X(bf16,        BFloat16)       \
  X(f32,         float)          \
  X(f64,         double)         \
  X(c32,         ComplexHalf)    \
  X(c64,         std::complex<float>)  \
  X(c128,        std::complex<double>) \
  X(f8_e4m3fn,   F8E4M3FN)       \
  X(f8_e5m2,     F8E5M2)         \
  X(f8_e4m3fnuz, F8E4M3FNUZ)     \
  X(f8_e5m2fnuz, F8E5M2FNUZ)     \
  X(f8_e8m0,     F8E8M0)         \
  X(f6_e2m3,     F6E2M3)         \
  X(f6_e3m2,     F6E3M2)
// clang-format on

template <DType>
struct StorageOf;  // no member `type` for invalid and f4_e2m1
template <class T>
inline constexpr DType dtype_of_v = DType::invalid;

#define TERN_STORAGE_TRAIT(name, T) \
  template <>                       \
  struct StorageOf<DType::name> {   \
    using type = T;                 \
  };                                \
  template <>                       \
  inline constexpr DType dtype_of_v<T> = DType::name;
TERN_FOR_EACH_STORAGE(TERN_STORAGE_TRAIT)
#undef TERN_STORAGE_TRAIT

template <DType D>
using storage_t = typename StorageOf<D>::type;

template <class T>
inline constexpr bool is_complex_v =
    std::is_same_v<T, ComplexHalf> || std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

/// Calls f(std::type_identity<T>{}) with the storage type of `dtype` and returns the result. Fails (unsupported) for
/// float4_e2m1fn_x2 and invalid numbers.
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
#define TERN_STORAGE_CASE(name, T) \
  case DType::name: return std::forward<F>(f)(std::type_identity<T>{});
    TERN_FOR_EACH_STORAGE(TERN_STORAGE_CASE)
#undef TERN_STORAGE_CASE
    default: break;
  }
  fail(ErrorCode::unsupported, "elements of type " + std::string(name_of(dtype)) +
                                   " cannot be visited one by one; convert them to another type first");
}

}  // namespace tern
