#include "tools/verify/deviation.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern {
namespace {

constexpr double kDeviationInfinite = std::numeric_limits<double>::infinity();

}  // namespace

void Deviation::add(double r, double a) {
  const bool same = r == a || (std::isnan(r) && std::isnan(a));
  const bool finite = std::isfinite(r) && std::isfinite(a);
  ++elements;
  unequal += same ? 0 : 1;
  not_finite += same || finite ? 0 : 1;
  if (!finite) return;
  const auto wide_r = static_cast<long double>(r), wide_a = static_cast<long double>(a);
  reference += wide_r * wide_r;
  actual += wide_a * wide_a;
  product += wide_r * wide_a;
  error += (wide_a - wide_r) * (wide_a - wide_r);
  largest_error = std::max(largest_error, std::fabs(a - r));
  largest_reference = std::max(largest_reference, std::fabs(r));
}

Deviation& Deviation::operator+=(const Deviation& other) {
  elements += other.elements;
  unequal += other.unequal;
  not_finite += other.not_finite;
  reference += other.reference;
  actual += other.actual;
  error += other.error;
  product += other.product;
  largest_error = std::max(largest_error, other.largest_error);
  largest_reference = std::max(largest_reference, other.largest_reference);
  rows += other.rows;
  same_rows += other.same_rows;
  return *this;
}

double Deviation::cosine() const {
  if (exact() || (reference == 0 && actual == 0)) return 1;
  if (reference == 0 || actual == 0) return 0;
  const long double cosine = product / (std::sqrt(reference) * std::sqrt(actual));
  return static_cast<double>(std::clamp(cosine, -1.0L, 1.0L));
}

double Deviation::sqnr() const {
  if (error == 0) return kDeviationInfinite;
  if (reference == 0) return -kDeviationInfinite;
  return static_cast<double>(10 * std::log10(reference / error));
}

double Deviation::relative() const {
  if (largest_error == 0) return 0;
  return largest_reference == 0 ? kDeviationInfinite : largest_error / largest_reference;
}

std::optional<double> Deviation::agreement() const {
  if (rows == 0) return std::nullopt;
  return static_cast<double>(same_rows) / static_cast<double>(rows);
}

void FirstAnswers::Answer::offer(double v, std::int64_t column) {
  const bool larger = v > value || (std::isnan(v) && !std::isnan(value));
  if (best_column >= 0 && !larger) return;
  value = v;
  best_column = column;
}

void FirstAnswers::add(double reference, double actual, Deviation& to) {
  reference_.offer(reference, column_);
  actual_.offer(actual, column_);
  if (++column_ < columns_) return;
  ++to.rows;
  to.same_rows += reference_.best_column == actual_.best_column ? 1 : 0;
  reference_ = actual_ = {};
  column_ = 0;
}

}  // namespace tern
