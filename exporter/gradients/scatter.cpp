// Rule of scatter, for each kind of combination.
#include "exporter/gradients/rules.h"
#include "exporter/gradients/shapes.h"
#include "schema/kinds.h"

namespace tern {
namespace {

/// Call with src cut to the index's shape, the extent of scatter.
class Scatter {
 public:
  explicit Scatter(GradientCall& c)
      : c_(c),
        b_(c.b),
        axis_(static_cast<std::int64_t>(c.axis())),
        index_(c.operand(1)),
        src_(cut(c.operand(2))),
        x_(c.operand(0)),
        g_(c.grad(0)),
        self_(c.flag(AttrKey::include_self)),
        compute_dtype_(is_complex(b_.dtype(x_)) ? b_.dtype(x_) : compute_type(b_.dtype(x_))) {}

  void run() {
    switch (static_cast<ScatterKind>(c_.node.integer(AttrKey::kind))) {
      case ScatterKind::set: return set();
      case ScatterKind::sum: return sum();
      case ScatterKind::prod: return product();
      case ScatterKind::mean: return mean();
      case ScatterKind::max:
      case ScatterKind::min: return extremum();
    }
  }

 private:
  void set() {
    c_.add_gradient(0, written(g_));
    give_src(gather_at_index(g_));
  }
  void sum() {
    c_.add_gradient(0, self_ ? g_ : written(g_));
    give_src(gather_at_index(g_));
  }
  void mean() {
    const ValueId ones = b_.full(b_.shape(index_), 1, compute_dtype_);
    const ValueId self_share = b_.full(b_.shape(x_), self_ ? 1 : 0, compute_dtype_);
    const ValueId count = joined(self_share, ones, ScatterKind::sum);
    const ValueId share_gradient = b_.expr("g / max(n, 1)", {{"g", g_}, {"n", count}}, compute_dtype_);
    c_.add_gradient(0, self_ ? share_gradient : written(share_gradient));
    give_src(gather_at_index(share_gradient));
  }
  /// Each factor gets the product of the others: a lone zero gets the product of the non-zeros; several zeros give 0.
  void product() {
    const ValueId src_zero = b_.expr("s == 0 ? 1 : 0", {{"s", src_}}, compute_dtype_);
    const ValueId src_factor = b_.expr("s == 0 ? 1 : s", {{"s", src_}}, compute_dtype_);
    const ValueId own_zero =
        self_ ? b_.expr("x == 0 ? 1 : 0", {{"x", x_}}, compute_dtype_) : b_.full(b_.shape(x_), 0, compute_dtype_);
    const ValueId own_factor =
        self_ ? b_.expr("x == 0 ? 1 : x", {{"x", x_}}, compute_dtype_) : b_.full(b_.shape(x_), 1, compute_dtype_);
    const ValueId zeros = joined(own_zero, src_zero, ScatterKind::sum);
    const ValueId factors = joined(own_factor, src_factor, ScatterKind::prod);
    const char* remaining_formula = "rest = n - z; rest == 0 ? f / v : 0";
    const auto flow = [&](ValueId g, ValueId n, ValueId z, ValueId f, ValueId v) {
      const ValueId remaining = b_.expr(remaining_formula, {{"n", n}, {"z", z}, {"f", f}, {"v", v}}, compute_dtype_);
      return b_.expr("g * r", {{"g", g}, {"r", c_.conj(remaining)}}, compute_dtype_);
    };
    if (c_.needs_gradient(0)) {
      const ValueId self_gradient = flow(g_, zeros, own_zero, factors, own_factor);
      c_.add_gradient(0, self_ ? self_gradient : written(self_gradient));
    }
    if (c_.needs_gradient(2)) {
      give_src(flow(gather_at_index(g_), gather_at_index(zeros), src_zero, gather_at_index(factors), src_factor));
    }
  }
  /// All elements equal to the result share its gradient.
  void extremum() {
    const ValueId y = c_.result(0);
    const ValueId self_share = self_ ? b_.expr("x == y ? 1 : 0", {{"x", x_}, {"y", y}}, compute_dtype_, compute_dtype_)
                                     : b_.full(b_.shape(x_), 0, compute_dtype_);
    const ValueId is_source_extremum =
        b_.expr("s == y ? 1 : 0", {{"s", src_}, {"y", gather_at_index(y)}}, compute_dtype_, compute_dtype_);
    const ValueId count = joined(self_share, is_source_extremum, ScatterKind::sum);
    const ValueId share_gradient = b_.expr("n == 0 ? 0 : g / n", {{"g", g_}, {"n", count}}, compute_dtype_);
    if (c_.needs_gradient(0)) {
      // Unwritten elements have their own value.
      const ValueId saved =
          self_ ? b_.expr("m * e", {{"m", self_share}, {"e", share_gradient}}, compute_dtype_) : written(g_);
      c_.add_gradient(0, saved);
    }
    give_src(b_.expr("m * e", {{"m", is_source_extremum}, {"e", gather_at_index(share_gradient)}}, compute_dtype_));
  }

  ValueId cut(ValueId src) {
    if (b_.rank(src) == 0) return b_.expand(src, b_.shape(c_.operand(1)));
    for (std::int64_t i = 0; i < b_.rank(src); ++i) src = b_.slice(src, i, 0, b_.size(c_.operand(1), i));
    return src;
  }
  ValueId gather_at_index(ValueId v) { return b_.gather(v, index_, axis_); }
  /// v with zeros at written positions.
  ValueId written(ValueId v) {
    return b_.add(Op::scatter, {v, index_, b_.full({}, 0, b_.dtype(v))},
                  {attr(AttrKey::axis, axis_), attr(AttrKey::kind, Dim(static_cast<int>(ScatterKind::set)))});
  }
  ValueId joined(ValueId self, ValueId src, ScatterKind kind) {
    return b_.add(Op::scatter, {self, index_, src},
                  {attr(AttrKey::axis, axis_), attr(AttrKey::kind, Dim(static_cast<int>(kind)))});
  }
  /// Elements of src outside the index get no gradient.
  void give_src(ValueId g) {
    if (!c_.needs_gradient(2)) return;
    const ValueId src = c_.operand(2);
    if (b_.rank(src) == 0) return c_.add_gradient(2, b_.reduce(g, "sum", b_.all_axes(g), false, b_.dtype(g)));
    Dims padding_after;
    for (std::int64_t i = 0; i < b_.rank(src); ++i)
      padding_after.push_back(b_.pool().sub(b_.size(src, i), b_.size(g, i)));
    const bool is_full = b_.shape(src) == b_.shape(g);
    c_.add_gradient(2, is_full ? g : b_.pad(g, Dims(padding_after.size(), 0), padding_after));
  }

  GradientCall& c_;
  Builder& b_;
  std::int64_t axis_;
  ValueId index_, src_, x_, g_;
  bool self_;
  DType compute_dtype_;
};

}  // namespace

void differentiate_scatter(GradientCall& c) {
  Scatter(c).run();
}

}  // namespace tern
