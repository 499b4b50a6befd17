#include "dtypes/core_convert.h"

#include <tern/error.h>

#include <array>
#include <cstddef>
#include <string>
#include <tuple>
#include <utility>

#include "dtypes/cast.h"
#include "dtypes/float_bytes.h"
#include "dtypes/storage.h"

namespace tern {
namespace {

using CoreTypes = std::tuple<bool, std::uint8_t, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint16_t,
                             std::uint32_t, std::uint64_t, float, double, std::complex<float>, std::complex<double>>;
constexpr std::size_t kCoreCount = std::tuple_size_v<CoreTypes>;
using Indices = std::make_index_sequence<kCoreCount>;

using Loop = void (*)(const void*, void*, std::int64_t);

template <class From, class To>
void loop(const void* src, void* dst, std::int64_t n) {
  To* __restrict d = static_cast<To*>(dst);
  if constexpr (std::is_same_v<From, bool>) {
    // A byte of a file may have any value; reading it as a bool would be undefined behaviour.
    const auto* __restrict s = static_cast<const std::uint8_t*>(src);
    for (std::int64_t i = 0; i < n; ++i) d[i] = cast_to<To>(s[i] != 0);
  } else if constexpr (std::is_same_v<From, float> &&
                       (std::is_same_v<To, std::uint8_t> || std::is_same_v<To, std::int8_t>)) {
    bytes_of_floats(static_cast<const float*>(src), d, n);
  } else {
    const From* __restrict s = static_cast<const From*>(src);
    for (std::int64_t i = 0; i < n; ++i) d[i] = cast_to<To>(s[i]);
  }
}

template <class From, std::size_t... To>
constexpr std::array<Loop, kCoreCount> row(std::index_sequence<To...>) {
  return {loop<From, std::tuple_element_t<To, CoreTypes>>...};
}
template <std::size_t... From>
constexpr std::array<std::array<Loop, kCoreCount>, kCoreCount> table(std::index_sequence<From...>) {
  return {row<std::tuple_element_t<From, CoreTypes>>(Indices{})...};
}
constexpr auto kLoops = table(Indices{});

template <std::size_t... I>
constexpr std::array<DType, kCoreCount> core_dtypes(std::index_sequence<I...>) {
  return {dtype_of_v<std::tuple_element_t<I, CoreTypes>>...};
}

std::size_t core_index(DType t) {
  static constexpr auto dtypes = core_dtypes(Indices{});
  for (std::size_t i = 0; i < kCoreCount; ++i) {
    if (dtypes[i] == t) return i;
  }
  fail(ErrorCode::internal, "convert_core: " + std::string(name_of(t)) + " is not a core type");
}

}  // namespace

DType core_of(DType t) {
  if (t == DType::c32) return DType::c64;
  return is_floating(t) && t != DType::f64 ? DType::f32 : t;
}

void convert_core(const void* src, DType from, void* dst, DType to, std::int64_t count) {
  kLoops[core_index(from)][core_index(to)](src, dst, count);
}

}  // namespace tern
