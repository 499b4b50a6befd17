#include "fuzz/definitions/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "dtypes/convert.h"
#include "tools/compare.h"
#include "tools/element_text.h"

namespace tern::fuzz {
namespace {

using Number = std::complex<double>;

bool is_number(DType t) {
  return is_floating(t) || is_complex(t);
}

std::vector<Number> complex_elements(const HostTensor& t) {
  std::vector<Number> v(static_cast<std::size_t>(t.numel()));
  convert(t.data.data(), t.dtype, v.data(), DType::c128, t.numel());
  return v;
}

bool is_finite(Number z) {
  return std::isfinite(z.real()) && std::isfinite(z.imag());
}
bool same_number(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}
bool same_number(Number a, Number b) {
  return same_number(a.real(), b.real()) && same_number(a.imag(), b.imag());
}
/// Compares real or imaginary components and the signs of zeros. All NaN are equal.
bool same_component(double a, double b) {
  return same_number(a, b) && (std::isnan(a) || std::signbit(a) == std::signbit(b));
}

/// Bytes of element `i`; for half bytes, its whole byte.
std::span<const std::byte> element(const HostTensor& t, std::int64_t i) {
  const std::int64_t size = element_size(t.dtype);
  return {t.data.data() + i / elements_per_byte(t.dtype) * size, static_cast<std::size_t>(size)};
}
bool same_element(const HostTensor& a, const HostTensor& b, std::int64_t i) {
  return std::ranges::equal(element(a, i), element(b, i));
}

/// Describes a difference in failure, number of results, sizes or types; empty if equal.
std::string difference_of_kind(const NodeResults& a, const NodeResults& b) {
  if (a.failed || b.failed) {
    if (a.failed && b.failed) return {};
    return a.failed ? "fails: " + a.message : "gives results, and the definition fails: " + b.message;
  }
  for (std::size_t k = 0; k < std::max(a.outputs.size(), b.outputs.size()); ++k) {
    if (k >= a.outputs.size() || k >= b.outputs.size()) return "another number of results";
    const Comparison c = compare(a.outputs[k], b.outputs[k], Tolerance{});
    if (!c.mismatch.empty()) return fmt::format("result {}: {}", k, c.mismatch);
  }
  return {};
}

/// The type used to compute with type `t`.
DType float_compute_type(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128: return DType::f64;
    default: return DType::f32;
  }
}

/// Largest finite number of `t`; a smaller number for f8_e5m2.
double overflow_bound(DType t) {
  switch (t) {
    case DType::f64:
    case DType::c128: return std::numeric_limits<double>::max();
    case DType::f16:
    case DType::c32: return 65504;
    case DType::f8_e4m3fn:
    case DType::f8_e5m2: return 448;
    default: return std::numeric_limits<float>::max();
  }
}

/// Holds one result of each run.
struct ComparedOutput {
  const HostTensor &actual, &defined;
  const HostTensor* exact;                ///< the definition in float64; null if absent
  std::vector<const HostTensor*> shaken;  ///< the definition on operands changed in their last bits
};

Verdict compare_exact(const ComparedOutput& o, std::size_t k) {
  for (std::int64_t i = 0; i < o.actual.numel(); ++i) {
    if (same_element(o.actual, o.defined, i)) continue;
    const bool undetermined = o.exact != nullptr && std::ranges::any_of(o.shaken, [&](const HostTensor* s) {
                                return s == nullptr || s->sizes != o.exact->sizes || !same_element(*s, *o.exact, i);
                              });
    if (undetermined) continue;
    return {false, std::numeric_limits<double>::infinity(),
            fmt::format("result {}{}: {}, defined {}", k, index_text(o.actual, i), element_text(o.actual, i),
                        element_text(o.defined, i))};
  }
  return {};
}

Verdict compare_numbers(const ComparedOutput& o, std::size_t k, double terms) {
  const DType type = o.actual.dtype;
  const std::vector<Number> actual = complex_elements(o.actual), defined = complex_elements(o.defined),
                            exact = o.exact == nullptr ? defined : complex_elements(*o.exact);
  std::vector<std::vector<Number>> shaken;
  for (const HostTensor* s : o.shaken) shaken.push_back(complex_elements(*s));
  constexpr double kUnitsPerRounding = 4;
  constexpr double kDefinitionErrors = 4;  // largest allowed multiple of the definition's own error
  const double units = kUnitsPerRounding * (2 + std::sqrt(terms));
  Verdict verdict;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (same_number(actual[i], defined[i])) continue;
    double sensitivity = 0;
    bool shaken_overflows = false;  // any shaken result is infinite or NaN
    for (const std::vector<Number>& s : shaken) {
      shaken_overflows = shaken_overflows || !is_finite(s[i]);
      sensitivity = std::max(sensitivity, std::abs(s[i] - exact[i]));
    }
    double error_ratio = std::numeric_limits<double>::infinity(), max_error = 0;
    if (is_finite(actual[i])) {
      const Number reference = is_finite(exact[i]) ? exact[i] : defined[i];
      const double magnitude = std::abs(reference);
      max_error = unit_of_last_place(type, magnitude) + units * unit_of_last_place(float_compute_type(type), magnitude);
      if (!shaken_overflows) max_error += units * sensitivity;
      if (is_finite(defined[i])) max_error += kDefinitionErrors * std::abs(defined[i] - reference);
      const double error = std::abs(actual[i] - reference);
      error_ratio = error == 0 ? 0 : error / max_error;
    } else {
      // Intermediate overflows and parts of a complex infinity may become any infinity or NaN.
      const bool may_overflow = is_finite(exact[i]) && std::abs(exact[i]) > overflow_bound(type) / 1024;
      const bool overflowed = o.exact != nullptr && (is_finite(exact[i]) || shaken_overflows);
      if (may_overflow || (!is_finite(defined[i]) && (is_complex(type) || overflowed))) error_ratio = 0;
    }
    verdict.share = std::max(verdict.share, error_ratio);
    if (error_ratio > 1 && verdict.ok) {
      const auto at = static_cast<std::int64_t>(i);
      verdict.ok = false;
      verdict.difference =
          fmt::format("result {}{}: {}, defined {}, in float64 {}; allowed is {:.3g}", k, index_text(o.actual, at),
                      element_text(o.actual, at), element_text(o.defined, at),
                      o.exact == nullptr ? "unknown" : element_text(*o.exact, at), max_error);
    }
  }
  return verdict;
}

}  // namespace

Verdict compare_all_bits(const NodeResults& actual, const NodeResults& defined) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (const std::string text = difference_of_kind(actual, defined); !text.empty()) return {false, kInfinity, text};
  if (actual.failed) return {};
  for (std::size_t k = 0; k < actual.outputs.size(); ++k) {
    const HostTensor &a = actual.outputs[k], &b = defined.outputs[k];
    if (a.data == b.data) continue;
    const bool numeric = is_number(a.dtype);
    const std::vector<Number> x = numeric ? complex_elements(a) : std::vector<Number>(),
                              y = numeric ? complex_elements(b) : x;
    for (std::int64_t i = 0; i < a.numel(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (numeric ? same_component(x[at].real(), y[at].real()) && same_component(x[at].imag(), y[at].imag())
                  : same_element(a, b, i))
        continue;
      return {false, kInfinity,
              fmt::format("result {}{}: {}, defined {}", k, index_text(a, i), element_text(a, i), element_text(b, i))};
    }
  }
  return {};
}

Verdict compare_near(const NodeResults& actual, const NodeResults& defined, const References& references,
                     double terms) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto same_kind = [&](const NodeResults& r) { return !r.failed && r.outputs.size() == defined.outputs.size(); };
  if (const std::string text = difference_of_kind(actual, defined); !text.empty()) {
    // The number of results may depend on the last bits, too.
    const bool undetermined = std::ranges::any_of(references.shaken, [&](const NodeResults& r) {
      return r.failed.has_value() != references.exact.failed.has_value() ||
             (!r.failed && !difference_of_kind(r, references.exact).empty());
    });
    return undetermined ? Verdict{} : Verdict{false, kInfinity, text};
  }
  if (actual.failed) return {};
  Verdict total;
  for (std::size_t k = 0; k < actual.outputs.size() && total.ok; ++k) {
    ComparedOutput o{actual.outputs[k], defined.outputs[k], nullptr, {}};
    const bool has_reference = same_kind(references.exact) && references.exact.outputs[k].sizes == o.defined.sizes &&
                               is_number(references.exact.outputs[k].dtype) == is_number(o.defined.dtype);
    if (has_reference) {
      o.exact = &references.exact.outputs[k];
      for (const NodeResults& r : references.shaken) {
        if (same_kind(r) && r.outputs[k].sizes == o.defined.sizes) o.shaken.push_back(&r.outputs[k]);
      }
    }
    const Verdict v = is_number(o.actual.dtype) ? compare_numbers(o, k, terms) : compare_exact(o, k);
    total.ok = v.ok;
    total.share = std::max(total.share, v.share);
    total.difference = v.difference;
  }
  return total;
}

}  // namespace tern::fuzz
