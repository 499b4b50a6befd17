// Rule of grid_sample. A point reads taps along each axis (two for linear, four for cubic sampling), each with a
// position-dependent weight. The image's gradient uses the weights, the grid's their slopes.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "exporter/lower/reduction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

/// Tap of one axis, each value of shape [n, points]; `slope` is d weight / d grid, kNoValue if 0.
struct Tap {
  ValueId position = kNoValue, inside = kNoValue, weight = kNoValue, slope = kNoValue;
};

class Sampling {
 public:
  explicit Sampling(GradientCall& c)
      : c_(c),
        b_(c.b),
        axes_(static_cast<std::size_t>(b_.rank(c.operand(0)) - 2)),
        compute_dtype_(compute_type(b_.dtype(c.operand(0)))),
        mode_(static_cast<GridMode>(c.node.integer(AttrKey::mode))),
        padding_(static_cast<GridPadding>(c.node.integer(AttrKey::kind))),
        corners_(c.flag(AttrKey::align_corners)) {}

  void run() {
    const Dims image = b_.shape(c_.operand(0)), grid = b_.shape(c_.operand(1));
    points_ = b_.pool().product(std::span<const Dim>(grid).subspan(1, grid.size() - 2));
    const ValueId positions = b_.reshape(c_.operand(1), {grid[0], points_, grid.back()});
    std::vector<std::vector<Tap>> taps;  // per axis, the innermost first
    for (std::size_t a = 0; a < axes_; ++a) {
      taps.push_back(taps_of(b_.select(positions, 2, static_cast<std::int64_t>(a)), image[image.size() - 1 - a]));
    }
    x_ = flatten_from(b_, c_.operand(0), 2);
    g_ = flatten_from(b_, b_.cast(c_.grad(0), compute_dtype_), 2);
    if (c_.needs_gradient(0)) to_image_ = b_.full(b_.shape(x_), 0, compute_dtype_);
    to_grid_.assign(axes_, kNoValue);
    std::vector<std::size_t> tap_indices(axes_, 0);
    for (bool has_next = true; has_next;) {
      visit(taps, tap_indices);
      has_next = false;
      for (std::size_t a = 0; a < axes_ && !has_next; ++a) {
        has_next = ++tap_indices[a] < taps[a].size();
        if (!has_next) tap_indices[a] = 0;
      }
    }
    if (c_.needs_gradient(0)) c_.add_gradient(0, b_.reshape(to_image_, image));
    if (!c_.needs_gradient(1)) return;
    std::vector<ValueId> columns;
    for (ValueId v : to_grid_) {
      columns.push_back(b_.unsqueeze(v == kNoValue ? b_.full({grid[0], points_}, 0, compute_dtype_) : v, -1));
    }
    c_.add_gradient(1, b_.reshape(b_.concat(columns, -1), grid));
  }

 private:
  /// Positions in elements, and their slope: d position / d grid.
  std::pair<ValueId, ValueId> unnormalised(ValueId v, Dim size) {
    const ExprArg n = size_arg(b_, "n", size);
    const ValueId position =
        b_.expr(corners_ ? "(v + 1) * ((n - 1) / 2)" : "(v + 1) * (n / 2) - 0.5", {{"v", v}, n}, compute_dtype_);
    return {position, b_.expr(corners_ ? "v * 0 + (n - 1) / 2" : "v * 0 + n / 2", {{"v", v}, n}, compute_dtype_)};
  }
  /// Reflects or clamps positions into the image; the slope is 0 for clamped positions.
  std::pair<ValueId, ValueId> padded(ValueId v, ValueId slope, Dim size) {
    const ExprArg n = size_arg(b_, "n", size);
    if (padding_ == GridPadding::reflection) {
      const std::string span = corners_ ? "low = 0; span = n - 1; " : "low = -0.5; span = n; ";
      const std::string remaining = span + "d = abs(v - low); r = fmod(d, 2 * span); ";
      const ValueId reflected =
          b_.expr(remaining + "(v < low) != (r > span) ? -s : s", {{"v", v}, {"s", slope}, n}, compute_dtype_);
      v = b_.expr(remaining + "span == 0 ? 0 : (r > span ? 2 * span - r : r) + low", {{"v", v}, n}, compute_dtype_);
      slope = reflected;
    }
    if (padding_ == GridPadding::zeros) return {v, slope};
    return {b_.expr("max(min(v, n - 1), 0)", {{"v", v}, n}, compute_dtype_),
            b_.expr("v > 0 && v < n - 1 ? s : 0", {{"v", v}, {"s", slope}, n}, compute_dtype_)};
  }

  Tap tap(ValueId position, Dim size) {
    const ExprArg n = size_arg(b_, "n", size);
    const ValueId inside = b_.expr("i >= 0 && i < n", {{"i", position}, n}, DType::i64, DType::boolean);
    return {b_.expr("max(min(i, n - 1), 0)", {{"i", position}, n}, DType::i64), inside, kNoValue, kNoValue};
  }

  std::vector<Tap> taps_of(ValueId grid, Dim size) {
    auto [v, slope] = unnormalised(grid, size);
    if (mode_ != GridMode::cubic) std::tie(v, slope) = padded(v, slope, size);
    v = b_.expr("abs(v) < 1e9 ? v : -100", {{"v", v}}, compute_dtype_);  // values beyond integer range lie outside
    if (mode_ == GridMode::nearest) {
      Tap t = tap(b_.expr("round(v)", {{"v", v}}, compute_dtype_, DType::i64), size);
      t.weight = b_.full({}, 1, compute_dtype_);
      return {t};
    }
    const ValueId low = b_.expr("floor(v)", {{"v", v}}, compute_dtype_),
                  remaining = b_.expr("v - l", {{"v", v}, {"l", low}}, compute_dtype_);
    std::vector<Tap> taps;
    if (mode_ == GridMode::linear) {
      for (const bool up : {false, true}) {
        Tap t = tap(b_.expr("l + k", {{"l", low}, {"k", up ? 1.0 : 0.0}}, compute_dtype_, DType::i64), size);
        t.weight = up ? remaining : b_.expr("1 - t", {{"t", remaining}}, compute_dtype_);
        t.slope = up ? slope : b_.expr("-s", {{"s", slope}}, compute_dtype_);
        taps.push_back(t);
      }
      return taps;
    }
    // Keys' cubic convolution with a = -0.75, and its derivative.
    constexpr const char* kWeights[] = {
        "x = t + 1; ((a * x - 5 * a) * x + 8 * a) * x - 4 * a", "((a + 2) * t - (a + 3)) * t * t + 1",
        "x = 1 - t; ((a + 2) * x - (a + 3)) * x * x + 1", "x = 2 - t; ((a * x - 5 * a) * x + 8 * a) * x - 4 * a"};
    constexpr const char* kSlopes[] = {
        "x = t + 1; s * ((3 * a * x - 10 * a) * x + 8 * a)", "s * (3 * (a + 2) * t - 2 * (a + 3)) * t",
        "x = 1 - t; -s * (3 * (a + 2) * x - 2 * (a + 3)) * x", "x = 2 - t; -s * ((3 * a * x - 10 * a) * x + 8 * a)"};
    for (int k = 0; k < 4; ++k) {
      ValueId position = b_.expr("l + k", {{"l", low}, {"k", static_cast<double>(k - 1)}}, compute_dtype_);
      position = padded(position, slope, size).first;
      Tap t = tap(b_.cast(position, DType::i64), size);
      t.weight = b_.expr(kWeights[k], {{"t", remaining}, {"a", -0.75}}, compute_dtype_);
      t.slope = b_.expr(kSlopes[k], {{"t", remaining}, {"a", -0.75}, {"s", slope}}, compute_dtype_);
      taps.push_back(t);
    }
    return taps;
  }

  /// Adds the element at tap at[a] of each axis a.
  void visit(const std::vector<std::vector<Tap>>& taps, const std::vector<std::size_t>& tap_indices) {
    const Dims shape = b_.shape(c_.operand(0));
    Dim stride = 1;
    ValueId position = kNoValue, inside = kNoValue;
    for (std::size_t a = 0; a < axes_; ++a) {
      const Tap& t = taps[a][tap_indices[a]];
      position =
          position == kNoValue
              ? t.position
              : b_.expr("p + i * s", {{"p", position}, {"i", t.position}, size_arg(b_, "s", stride)}, DType::i64);
      inside = inside == kNoValue ? t.inside
                                  : b_.expr("a && b", {{"a", inside}, {"b", t.inside}}, DType::i64, DType::boolean);
      stride = b_.pool().mul(stride, shape[shape.size() - 1 - a]);
    }
    const ValueId index = b_.expand(b_.unsqueeze(position, 1), b_.shape(g_));
    /// Product of the weights of all axes, the weight of axis `sloping` replaced by its slope.
    const auto weight = [&](std::size_t sloping) {
      ValueId w = kNoValue;
      for (std::size_t a = 0; a < axes_; ++a) {
        const Tap& t = taps[a][tap_indices[a]];
        const ValueId v = a == sloping ? t.slope : t.weight;
        w = w == kNoValue ? v : b_.expr("w * v", {{"w", w}, {"v", v}}, compute_dtype_);
      }
      return b_.expr("i ? w : 0", {{"i", inside}, {"w", w}}, compute_dtype_);
    };
    if (c_.needs_gradient(0)) {
      const ValueId src = b_.expr("g * w", {{"g", g_}, {"w", b_.unsqueeze(weight(axes_), 1)}}, compute_dtype_);
      to_image_ = b_.add(Op::scatter, {to_image_, index, src},
                         {attr(AttrKey::axis, Dim(2)), attr(AttrKey::kind, Dim(static_cast<int>(ScatterKind::sum)))});
    }
    if (!c_.needs_gradient(1) || mode_ == GridMode::nearest) return;
    const ValueId products = b_.expr("g * x", {{"g", g_}, {"x", b_.gather(x_, index, 2)}}, compute_dtype_);
    const ValueId dot = b_.reduce(products, "sum", {1}, false, compute_dtype_);
    for (std::size_t a = 0; a < axes_; ++a) {
      const ValueId contribution = b_.expr("d * w", {{"d", dot}, {"w", weight(a)}}, compute_dtype_);
      to_grid_[a] = to_grid_[a] == kNoValue
                        ? contribution
                        : b_.expr("x + y", {{"x", to_grid_[a]}, {"y", contribution}}, compute_dtype_);
    }
  }

  GradientCall& c_;
  Builder& b_;
  std::size_t axes_;
  DType compute_dtype_;
  GridMode mode_;
  GridPadding padding_;
  bool corners_;
  Dim points_;
  ValueId x_ = kNoValue, g_ = kNoValue, to_image_ = kNoValue;
  std::vector<ValueId> to_grid_;
};

}  // namespace

void differentiate_grid_sample(GradientCall& c) {
  Sampling(c).run();
}

}  // namespace tern
