#include "tools/compare.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "dtypes/convert.h"
#include "dtypes/float_format.h"
#include "tools/element_text.h"
#include "tools/text.h"

namespace tern {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ComparePrecision {
  DType dtype;
  Tolerance tolerance;  ///< torch/testing/_comparison.py, _DTYPE_PRECISIONS
  int mantissa;         ///< bits, without the implicit leading 1
  int min_exponent;     ///< exponent of the smallest normal number
};

template <class Format>
constexpr ComparePrecision small_float(DType dtype, Tolerance tolerance = {}) {
  return {dtype, tolerance, Format::mantissa, 1 - Format::bias};
}

/// Complex types use their parts' precision. Types missing here are exact and have no last place.
constexpr std::array<ComparePrecision, 15> kPrecisions = {{
    small_float<Binary16>(DType::f16, {1e-3, 1e-5}),
    small_float<Brain16>(DType::bf16, {1.6e-2, 1e-5}),
    {DType::f32, {1.3e-6, 1e-5}, 23, -126},
    {DType::f64, {1e-7, 1e-7}, 52, -1022},
    small_float<Binary16>(DType::c32, {1e-3, 1e-5}),
    {DType::c64, {1.3e-6, 1e-5}, 23, -126},
    {DType::c128, {1e-7, 1e-7}, 52, -1022},
    small_float<E4M3FN>(DType::f8_e4m3fn),
    small_float<E5M2>(DType::f8_e5m2),
    small_float<E4M3FNUZ>(DType::f8_e4m3fnuz),
    small_float<E5M2FNUZ>(DType::f8_e5m2fnuz),
    {DType::f8_e8m0, {}, 0, -127},
    small_float<E2M3>(DType::f6_e2m3),
    small_float<E3M2>(DType::f6_e3m2),
    small_float<E2M1>(DType::f4_e2m1),
}};

const ComparePrecision* precision_of(DType dtype) {
  const auto found =
      std::find_if(kPrecisions.begin(), kPrecisions.end(), [&](const auto& p) { return p.dtype == dtype; });
  return found == kPrecisions.end() ? nullptr : &*found;
}

double unit_of_last_place(const ComparePrecision& precision, double magnitude) {
  const int exponent = magnitude > 0 ? std::ilogb(magnitude) : precision.min_exponent;
  return std::ldexp(1.0, std::max(exponent, precision.min_exponent) - precision.mantissa);
}

/// Result of comparing a pair of elements.
struct ElementVerdict {
  bool close;
  double error;
  double golden;  ///< magnitude of the golden element
};

bool same_part(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
}

/// Replaces NaN by infinity: a NaN or infinity on a single side makes the error infinite.
double finite_or_infinite(double error) {
  return std::isnan(error) ? kInfinity : error;
}

bool is_within(const Tolerance& tolerance, double error, double golden) {
  return std::isfinite(error) && error <= tolerance.atol + tolerance.rtol * golden;
}

ElementVerdict judge(double a, double b, const Tolerance& tolerance, bool is_exact) {
  if (std::isnan(a) && std::isnan(b)) return {true, 0, 0};
  if (a == b) return {!is_exact || std::signbit(a) == std::signbit(b), 0, std::fabs(b)};
  const double error = finite_or_infinite(std::fabs(a - b));
  return {!is_exact && is_within(tolerance, error, std::fabs(b)), error, std::fabs(b)};
}

ElementVerdict judge(std::complex<double> a, std::complex<double> b, const Tolerance& tolerance, bool is_exact) {
  const auto is_nan = [](std::complex<double> z) { return std::isnan(z.real()) || std::isnan(z.imag()); };
  const bool same_parts = same_part(a.real(), b.real()) && same_part(a.imag(), b.imag());
  if (same_parts || (!is_exact && is_nan(a) && is_nan(b))) return {true, 0, is_nan(b) ? 0 : std::abs(b)};
  if (a == b) return {!is_exact, 0, std::abs(b)};
  const double error = finite_or_infinite(std::abs(a - b));
  return {!is_exact && is_within(tolerance, error, std::abs(b)), error, std::abs(b)};
}

/// 64-bit integers: subtracts before rounding.
template <typename Int>
requires std::is_integral_v<Int> ElementVerdict judge(Int a, Int b, const Tolerance& tolerance, bool is_exact) {
  const auto magnitude = std::fabs(static_cast<double>(b));
  if (a == b) return {true, 0, magnitude};
  const auto difference = static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b);
  const auto error = static_cast<double>(a > b ? difference : std::uint64_t{0} - difference);
  return {!is_exact && is_within(tolerance, error, magnitude), error, magnitude};
}

/// The largest finite part, for the unit of the last place.
template <typename T>
double largest_part(T value) {
  double magnitude_part = 0;
  if constexpr (std::is_same_v<T, std::complex<double>>) {
    for (const double p : {value.real(), value.imag()}) {
      if (std::isfinite(p)) magnitude_part = std::max(magnitude_part, std::fabs(p));
    }
  } else {
    magnitude_part = std::fabs(static_cast<double>(value));
    if (!std::isfinite(magnitude_part)) magnitude_part = 0;
  }
  return magnitude_part;
}

class Comparer {
 public:
  Comparer(const HostTensor& actual, const HostTensor& golden, Comparison& result)
      : actual_(actual),
        golden_(golden),
        comparison_(result),
        precision_(precision_of(golden.dtype)),
        row_(golden.sizes.empty() ? 1 : std::max<std::int64_t>(golden.sizes.back(), 1)) {}

  /// Compares as T: double, std::complex<double>, or the elements' own 64-bit integer type; `load_dtype` is its name.
  template <typename T>
  void run(DType load_dtype) {
    // Even: a chunk of types with two elements per byte begins at a whole byte.
    constexpr std::int64_t kChunk = 4096;
    std::vector<T> a(kChunk);
    std::vector<T> b(kChunk);
    for (std::int64_t begin = 0; begin < comparison_.elements; begin += kChunk) {
      const std::int64_t count = std::min(kChunk, comparison_.elements - begin);
      load(actual_, begin, count, a.data(), load_dtype);
      load(golden_, begin, count, b.data(), load_dtype);
      for (std::int64_t i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        record_element(judge(a[at], b[at], comparison_.tolerance, is_exact()), largest_part(b[at]), begin + i);
      }
    }
  }

 private:
  bool is_exact() const { return comparison_.tolerance.rtol == 0 && comparison_.tolerance.atol == 0; }

  static void load(const HostTensor& tensor, std::int64_t begin, std::int64_t count, void* destination,
                   DType load_dtype) {
    const std::int64_t offset = begin / elements_per_byte(tensor.dtype) * element_size(tensor.dtype);
    convert(tensor.data.data() + offset, tensor.dtype, destination, load_dtype, count);
  }

  void record_element(const ElementVerdict& verdict, double largest_part, std::int64_t index) {
    if (!verdict.close) {
      if (comparison_.mismatches++ == 0) comparison_.first_mismatch = index;
    }
    if (verdict.error > 0) {
      raise(comparison_.absolute, verdict.error, index);
      raise(comparison_.relative, std::isinf(verdict.error) ? kInfinity : verdict.error / verdict.golden, index);
    }
    if (precision_ == nullptr) return;
    row_error_ = std::max(row_error_, verdict.error);
    row_largest_ = std::max(row_largest_, largest_part);
    if ((index + 1) % row_ != 0) return;
    if (row_error_ > 0) {
      comparison_.worst_ulp =
          std::max(comparison_.worst_ulp, row_error_ / unit_of_last_place(*precision_, row_largest_));
    }
    row_error_ = row_largest_ = 0;
  }

  static void raise(WorstElement& worst, double error, std::int64_t index) {
    if (error > worst.error) worst = {error, index};
  }

  const HostTensor& actual_;
  const HostTensor& golden_;
  Comparison& comparison_;
  const ComparePrecision* precision_;
  std::int64_t row_;
  double row_error_ = 0;
  double row_largest_ = 0;
};

std::string difference_of_kind(const HostTensor& actual, const HostTensor& golden) {
  std::string text;
  if (actual.dtype != golden.dtype) {
    text = fmt::format("dtype {} instead of {}", name_of(actual.dtype), name_of(golden.dtype));
  }
  if (actual.sizes != golden.sizes) {
    if (!text.empty()) text += ", ";
    text += fmt::format("shape {} instead of {}", sizes_text(actual.sizes), sizes_text(golden.sizes));
  }
  return text;
}

}  // namespace

Tolerance default_tolerance(DType golden) {
  const ComparePrecision* precision = precision_of(golden);
  return precision != nullptr ? precision->tolerance : Tolerance{};
}

double unit_of_last_place(DType dtype, double magnitude) {
  const ComparePrecision* precision = precision_of(dtype);
  return precision == nullptr ? 0 : unit_of_last_place(*precision, magnitude);
}

Comparison compare(const HostTensor& actual, const HostTensor& golden, std::optional<Tolerance> tolerance) {
  require_consistent(actual, "the result");
  require_consistent(golden, "the golden tensor");
  Comparison result;
  result.tolerance = tolerance.value_or(default_tolerance(golden.dtype));
  if (!(result.tolerance.rtol >= 0) || !(result.tolerance.atol >= 0)) {
    fail(ErrorCode::invalid_argument, fmt::format("a tolerance of rtol {} and atol {}: neither may be negative or NaN",
                                                  result.tolerance.rtol, result.tolerance.atol));
  }
  result.mismatch = difference_of_kind(actual, golden);
  if (!result.mismatch.empty()) return result;
  result.elements = golden.numel();
  // Equal bytes are close under any tolerance.
  if (!std::equal(actual.data.begin(), actual.data.end(), golden.data.begin())) {
    Comparer comparer(actual, golden, result);
    if (is_complex(golden.dtype)) {
      comparer.run<std::complex<double>>(DType::c128);
    } else if (golden.dtype == DType::i64) {
      comparer.run<std::int64_t>(DType::i64);
    } else if (golden.dtype == DType::u64) {
      comparer.run<std::uint64_t>(DType::u64);
    } else {
      comparer.run<double>(DType::f64);
    }
  }
  result.ok = result.mismatches == 0;
  return result;
}

std::string describe(const Comparison& comparison, const HostTensor& actual, const HostTensor& golden) {
  if (!comparison.mismatch.empty()) return comparison.mismatch;
  const auto position = [&](std::int64_t i) {
    return fmt::format("{}: {}, expected {}", index_text(golden, i), element_text(actual, i), element_text(golden, i));
  };
  std::string text;
  if (comparison.ok) {
    if (comparison.absolute.index < 0) return "equal";
    text = "within the tolerance";
  } else {
    text = fmt::format("{} of {} elements differ, the first at {}", comparison.mismatches, comparison.elements,
                       position(comparison.first_mismatch));
  }
  if (comparison.absolute.index >= 0) {
    text += fmt::format("; largest absolute error {:.3g} at {}", comparison.absolute.error,
                        position(comparison.absolute.index));
  }
  // A separate condition: a relative error can be too small for a double.
  if (comparison.relative.index >= 0) {
    text += fmt::format("; largest relative error {:.3g} at {}", comparison.relative.error,
                        position(comparison.relative.index));
  }
  if (comparison.worst_ulp > 0) text += fmt::format("; {:.3g} units of the last place", comparison.worst_ulp);
  return text + fmt::format(" (rtol {:g}, atol {:g})", comparison.tolerance.rtol, comparison.tolerance.atol);
}

}  // namespace tern
