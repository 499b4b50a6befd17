#include "tools/view/weight.h"

#include <tern/error.h>

#include <algorithm>
#include <cmath>

#include "exporter/quantize/matrix.h"
#include "tools/view/numbers.h"

namespace tern::view {
namespace {

using nlohmann::json;

constexpr std::size_t kBins = 96;

/// JSON has no infinity and no NaN.
json finite(double v) {
  return std::isfinite(v) ? json(v) : json(nullptr);
}

template <class Each>
void each_number(Numbers& numbers, const Each& each) {
  for (std::int64_t r = 0; r < numbers.rows(); ++r) {
    for (const float x : numbers.row(r)) each(x);
  }
}

struct Moments {
  std::int64_t count = 0, finite = 0, zeros = 0;
  double sum = 0, squares = 0, min = INFINITY, max = -INFINITY;

  void add(float x) {
    ++count;
    if (!std::isfinite(x)) return;
    ++finite;
    zeros += x == 0;
    sum += x;
    squares += double{x} * x;
    min = std::min<double>(min, x);
    max = std::max<double>(max, x);
  }
  double mean() const { return finite > 0 ? sum / static_cast<double>(finite) : NAN; }
  double deviation() const {
    return finite > 0 ? std::sqrt(std::max(0.0, squares / static_cast<double>(finite) - mean() * mean())) : NAN;
  }
};

json histogram(Numbers& numbers, double low, double high) {
  std::vector<std::uint64_t> bins(kBins);
  const double scale = high > low ? kBins / (high - low) : 0;
  each_number(numbers, [&](float x) {
    if (!std::isfinite(x)) return;
    const double at = (x - low) * scale;
    ++bins[std::min(kBins - 1, static_cast<std::size_t>(std::max(0.0, at)))];
  });
  return bins;
}

/// The weight as quantization sees it: a row for each output channel of a convolution, else along the last axis. Where
/// it does not lie so in memory, no rows.
quantize::FloatMatrix matrix_of(const Numbers& numbers, bool of_convolution) {
  const TensorType& t = numbers.state().type;
  const std::vector<std::int64_t>& strides = numbers.state().strides;
  const std::size_t rank = strides.size(), split = of_convolution ? 1 : rank - 1;  // axes before it are rows
  quantize::FloatMatrix m{numbers.at(), t.dtype, 1, 1, strides[split - 1], strides[rank - 1], 0, 0};
  for (std::size_t axis = 0; axis < rank; ++axis) {
    (axis < split ? m.rows : m.columns) *= t.shape[axis].value();
    const bool folds =
        axis + 1 == split || axis + 1 == rank || strides[axis] == strides[axis + 1] * t.shape[axis + 1].value();
    if (!folds) return {};
  }
  return m;
}

bool convolves(const Program& program, std::uint32_t state) {
  for (const Function& f : program.functions) {
    for (const FunctionInput& in : f.inputs) {
      if (in.kind != FunctionInput::Kind::state || in.state != state) continue;
      const auto reads = [&](const Node& n) {
        return n.op == Op::convolution && n.inputs.size() > 1 && n.inputs[1] == in.value;
      };
      if (std::ranges::any_of(f.nodes, reads)) return true;
    }
  }
  return false;
}

/// Those whose blocks divide the rows, with the error that storing the weight so would have.
json formats_of(const Program& program, std::uint32_t state, const Numbers& numbers) {
  json all = json::array();
  const TensorType& t = numbers.state().type;
  const bool floats = t.dtype == DType::f32 || t.dtype == DType::f16 || t.dtype == DType::bf16;
  if (!floats || t.quantized() || t.rank() < 2 || numbers.rows() == 0) return all;
  const quantize::FloatMatrix m = matrix_of(numbers, convolves(program, state));
  for (const quantize::Format& format : quantize::formats()) {
    if (m.rows == 0 || m.columns % std::max(2, format.block) != 0) continue;
    const quantize::Quantized q = quantize::quantize(m, {&format, format.block});
    all.push_back({{"format", format.name},
                   {"bytes", q.bytes.size()},
                   {"sqnr_db", finite(q.error.sqnr())},
                   {"cosine", finite(q.error.cosine())}});
  }
  return all;
}

/// Row behind row, in pieces of any size.
class Stream {
 public:
  explicit Stream(Numbers& numbers) : numbers_(numbers) {}
  std::int64_t left() {
    while (part_.empty() && row_ < numbers_.rows()) part_ = numbers_.row(row_++);
    return static_cast<std::int64_t>(part_.size());
  }
  std::span<const float> take(std::int64_t count) {
    const std::span<const float> first = part_.first(static_cast<std::size_t>(count));
    part_ = part_.subspan(static_cast<std::size_t>(count));
    return first;
  }

 private:
  Numbers& numbers_;
  std::int64_t row_ = 0;
  std::span<const float> part_;
};

json problem(const std::exception& e) {
  return {{"problem", e.what()}};
}

}  // namespace

json weight_json(const Program& program, std::uint32_t state) {
  try {
    Numbers numbers(program, state);
    Moments m;
    each_number(numbers, [&](float x) { m.add(x); });
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
            {"formats", formats_of(program, state, numbers)}};
  } catch (const std::exception& e) {
    return problem(e);
  }
}

json compared_json(const Program& a, std::uint32_t state, const Program& b, std::uint32_t other) {
  try {
    Numbers x(a, state), y(b, other);
    // A quantized weight of a convolution is a matrix.
    if (x.rows() * x.columns() != y.rows() * y.columns()) fail(ErrorCode::invalid_argument, "their sizes differ");
    quantize::Error error;
    double largest = 0;
    Stream a_numbers(x), b_numbers(y);
    while (const std::int64_t n = std::min(a_numbers.left(), b_numbers.left())) {
      const std::span<const float> p = a_numbers.take(n), q = b_numbers.take(n);
      error.add(quantize::error_of(p.data(), q.data(), n));
      for (std::size_t i = 0; i < p.size(); ++i) largest = std::max(largest, std::abs(double{p[i]} - q[i]));
    }
    return {{"equal", error.noise == 0},
            {"sqnr_db", finite(error.sqnr())},
            {"cosine", finite(error.cosine())},
            {"largest_error", finite(largest)}};
  } catch (const std::exception& e) {
    return problem(e);
  }
}

}  // namespace tern::view
