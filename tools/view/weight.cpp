#include "tools/view/weight.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "exporter/passes/quantize/matrix.h"
#include "tools/view/numbers.h"

namespace tern::view {
namespace {

using nlohmann::json;

constexpr std::size_t kBins = 96;

/// JSON has no infinity and no NaN.
json finite(double v) {
  return std::isfinite(v) ? json(v) : json(nullptr);
}

/// "exact" without errors; null with infinite or NaN values.
json decibels(const quantize::QuantizationError& error) {
  return error.noise == 0 ? json("exact") : finite(error.sqnr());
}

template <class Each>
void each_number(StateRows& numbers, const Each& each) {
  for (std::int64_t r = 0; r < numbers.rows(); ++r) {
    for (const double x : numbers.row(r)) each(x);
  }
}

struct ElementMoments {
  std::int64_t count = 0, finite = 0, zeros = 0;
  double sum = 0, squares = 0, min = INFINITY, max = -INFINITY;

  void add(double x) {
    ++count;
    if (!std::isfinite(x)) return;
    ++finite;
    zeros += x == 0;
    sum += x;
    squares += x * x;
    min = std::min(min, x);
    max = std::max(max, x);
  }
  double mean() const { return finite > 0 ? sum / static_cast<double>(finite) : NAN; }
  double deviation() const {
    return finite > 0 ? std::sqrt(std::max(0.0, squares / static_cast<double>(finite) - mean() * mean())) : NAN;
  }
};

json histogram(StateRows& numbers, double low, double high) {
  std::vector<std::uint64_t> bins(kBins);
  const double scale = high > low ? kBins / (high - low) : 0;
  each_number(numbers, [&](double x) {
    if (!std::isfinite(x)) return;
    const double at = (x - low) * scale;
    ++bins[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, at)))];
  });
  return bins;
}

/// The quantizable part of a weight for `tern export --quantize`: the first part read by a node. Empty if the weight
/// would stay unquantized.
std::optional<quantize::MatrixPart> part_of(const WeightReads& reads, const State& s) {
  const auto weight = reads.find(s.storage);
  if (weight == reads.end() || !weight->second.obstacle.empty() || weight->second.uses.empty()) return {};
  return weight->second.uses.front().matrix;
}

/// The formats with blocks dividing the rows, with the error of storing the weight in each format.
json formats_of(const WeightReads& reads, StateRows& numbers) {
  json list = json::array();
  const State& s = numbers.state();
  const std::optional<quantize::MatrixPart> part = part_of(reads, s);
  if (!part || s.type.packed() || !numbers.read_as(*part)) return list;
  const quantize::FloatMatrix m{numbers.storage() + part->offset * element_size(s.type.dtype),
                                s.type.dtype,
                                part->planes * part->rows,
                                part->columns,
                                part->row_stride,
                                part->column_stride,
                                part->rows,
                                part->plane_stride};
  for (const quantize::Format& format : quantize::formats()) {
    if (m.columns % std::max(elements_per_byte(format.element), std::max(1, format.block)) != 0) continue;
    const quantize::Quantized q = quantize::quantize(m, {&format, format.block});
    list.push_back({{"format", format.name},
                    {"bytes", q.bytes.size()},
                    {"sqnr_db", decibels(q.error)},
                    {"cosine", finite(q.error.cosine())}});
  }
  return list;
}

/// True for equal sizes, or for a convolution's kernels and the same kernels as a matrix.
bool same_shape(const TensorType& a, const TensorType& b) {
  if (a.shape == b.shape) return true;
  if (a.rank() < b.rank()) return same_shape(b, a);
  if (a.rank() < 3 || b.rank() != 2 || a.shape[0] != b.shape[0]) return false;
  std::int64_t kernel = 1;
  for (std::size_t i = 1; i < a.shape.size(); ++i) kernel *= a.shape[i].value();
  return kernel == b.shape[1].value();
}

/// Aligns floats to a quantized value, a matrix in the layout of products; the floats may be transposed.
bool align(StateRows& floats, const WeightReads& reads, const StateRows& matrix) {
  const TensorType &f = floats.state().type, &q = matrix.state().type;
  if (!f.packed() && q.quantized()) {
    const std::optional<quantize::MatrixPart> part = part_of(reads, floats.state());
    if (part && part->planes * part->rows == matrix.rows() && part->columns == matrix.columns())
      return floats.read_as(*part);
  }
  return same_shape(f, q);
}

bool equal_bytes(StateRows& x, StateRows& y) {
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    x.row(r);
    y.row(r);
    if (!std::ranges::equal(x.bytes(), y.bytes())) return false;
  }
  return true;
}

/// Feeds rows in sequence, in pieces of any size.
class NumberStream {
 public:
  explicit NumberStream(StateRows& numbers) : numbers_(numbers) {}
  std::int64_t available() {
    while (unread_.empty() && row_ < numbers_.rows()) unread_ = numbers_.row(row_++);
    return static_cast<std::int64_t>(unread_.size());
  }
  std::span<const double> pop_front(std::int64_t count) {
    const std::span<const double> first = unread_.first(static_cast<std::size_t>(count));
    unread_ = unread_.subspan(static_cast<std::size_t>(count));
    return first;
  }

 private:
  StateRows& numbers_;
  std::int64_t row_ = 0;
  std::span<const double> unread_;
};

json problem(const std::exception& e) {
  return {{"problem", e.what()}};
}

}  // namespace

json weight_json(const Program& program, std::uint32_t state) {
  return weight_json(program, state, quantize::weights_of(program));
}

json weight_json(const Program& program, std::uint32_t state, const WeightReads& reads) {
  try {
    StateRows numbers(program, state);
    ElementMoments m;
    each_number(numbers, [&](double x) { m.add(x); });
    const double low = m.finite > 0 ? m.min : 0, high = m.finite > 0 ? m.max : 0;
    return {{"count", m.count},
            {"not_finite", m.count - m.finite},
            {"zeros", m.zeros},
            {"min", finite(m.min)},
            {"max", finite(m.max)},
            {"mean", finite(m.mean())},
            {"deviation", finite(m.deviation())},
            {"low", low},
            {"high", high},
            {"bins", histogram(numbers, low, high)},
            {"formats", formats_of(reads, numbers)}};
  } catch (const std::exception& e) {
    return problem(e);
  }
}

json compared_json(const Program& a, std::uint32_t state, const Program& b, std::uint32_t other) {
  try {
    StateRows x(a, state), y(b, other);
    const bool first = y.state().type.quantized();  // selects the value to read in the other's layout
    if (!(first ? align(x, quantize::weights_of(a), y) : align(y, quantize::weights_of(b), x)))
      fail(ErrorCode::invalid_argument, "their sizes differ");
    quantize::QuantizationError error;
    double largest = 0;
    bool finite_errors = true;
    NumberStream a_numbers(x), b_numbers(y);
    while (const std::int64_t n = std::min(a_numbers.available(), b_numbers.available())) {
      const std::span<const double> p = a_numbers.pop_front(n), q = b_numbers.pop_front(n);
      for (std::size_t i = 0; i < p.size(); ++i) {
        const double d = p[i] - q[i];
        error.add({p[i] * p[i], q[i] * q[i], d * d});
        largest = std::max(largest, std::abs(d));
        finite_errors = finite_errors && std::isfinite(d);
      }
    }
    const bool as_stored = x.state().type == y.state().type && !x.state().type.packed();
    return {{"equal", as_stored ? equal_bytes(x, y) : error.noise == 0},
            {"sqnr_db", decibels(error)},
            {"cosine", finite(error.cosine())},
            {"largest_error", finite_errors ? finite(largest) : json(nullptr)}};
  } catch (const std::exception& e) {
    return problem(e);
  }
}

}  // namespace tern::view
