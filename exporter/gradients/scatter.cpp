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
        index_(c.in(1)),
        src_(cut(c.in(2))),
        x_(c.in(0)),
        g_(c.grad(0)),
        self_(c.flag(AttrKey::include_self)),
        wide_(is_complex(b_.dtype(x_)) ? b_.dtype(x_) : compute_type(b_.dtype(x_))) {}

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
    const ValueId ones = b_.full(b_.shape(index_), 1, wide_);
    const ValueId own = b_.full(b_.shape(x_), self_ ? 1 : 0, wide_);
    const ValueId count = joined(own, ones, ScatterKind::sum);
    const ValueId each = b_.expr("g / max(n, 1)", {{"g", g_}, {"n", count}}, wide_);
    c_.add_gradient(0, self_ ? each : written(each));
    give_src(gather_at_index(each));
  }
  /// Each factor gets the product of the others: a lone zero gets the product of the non-zeros; several zeros give 0.
  void product() {
    const ValueId src_zero = b_.expr("s == 0 ? 1 : 0", {{"s", src_}}, wide_);
    const ValueId src_factor = b_.expr("s == 0 ? 1 : s", {{"s", src_}}, wide_);
    const ValueId own_zero = self_ ? b_.expr("x == 0 ? 1 : 0", {{"x", x_}}, wide_) : b_.full(b_.shape(x_), 0, wide_);
    const ValueId own_factor = self_ ? b_.expr("x == 0 ? 1 : x", {{"x", x_}}, wide_) : b_.full(b_.shape(x_), 1, wide_);
    const ValueId zeros = joined(own_zero, src_zero, ScatterKind::sum);
    const ValueId factors = joined(own_factor, src_factor, ScatterKind::prod);
    const char* others = "rest = n - z; rest == 0 ? f / v : 0";
    const auto flow = [&](ValueId g, ValueId n, ValueId z, ValueId f, ValueId v) {
      const ValueId remaining = b_.expr(others, {{"n", n}, {"z", z}, {"f", f}, {"v", v}}, wide_);
      return b_.expr("g * r", {{"g", g}, {"r", c_.conj(remaining)}}, wide_);
    };
    if (c_.needs_gradient(0)) {
      const ValueId own = flow(g_, zeros, own_zero, factors, own_factor);
      c_.add_gradient(0, self_ ? own : written(own));
    }
    if (c_.needs_gradient(2)) {
      give_src(flow(gather_at_index(g_), gather_at_index(zeros), src_zero, gather_at_index(factors), src_factor));
    }
  }
  /// All elements equal to the result share its gradient.
  void extremum() {
    const ValueId y = c_.out(0);
    const ValueId own =
        self_ ? b_.expr("x == y ? 1 : 0", {{"x", x_}, {"y", y}}, wide_, wide_) : b_.full(b_.shape(x_), 0, wide_);
    const ValueId from = b_.expr("s == y ? 1 : 0", {{"s", src_}, {"y", gather_at_index(y)}}, wide_, wide_);
    const ValueId count = joined(own, from, ScatterKind::sum);
    const ValueId each = b_.expr("n == 0 ? 0 : g / n", {{"g", g_}, {"n", count}}, wide_);
    if (c_.needs_gradient(0)) {
      // Unwritten elements have their own value.
      const ValueId saved = self_ ? b_.expr("m * e", {{"m", own}, {"e", each}}, wide_) : written(g_);
      c_.add_gradient(0, saved);
    }
    give_src(b_.expr("m * e", {{"m", from}, {"e", gather_at_index(each)}}, wide_));
  }

  ValueId cut(ValueId src) {
    if (b_.rank(src) == 0) return b_.expand(src, b_.shape(c_.in(1)));
    for (std::int64_t i = 0; i < b_.rank(src); ++i) src = b_.slice(src, i, 0, b_.size(c_.in(1), i));
    return src;
  }
  ValueId gather_at_index(ValueId v) { return b_.gather(v, index_, axis_); }
  /// v with zeros at written positions.
  ValueId written(ValueId v) {
    return b_.add(Op::scatter, {v, index_, b_.full({}, 0, b_.dtype(v))},
                  {attr(AttrKey::axis, axis_), attr(AttrKey::kind, Dim(static_cast<int>(ScatterKind::set)))});
  }
  ValueId joined(ValueId own, ValueId src, ScatterKind kind) {
    return b_.add(Op::scatter, {own, index_, src},
                  {attr(AttrKey::axis, axis_), attr(AttrKey::kind, Dim(static_cast<int>(kind)))});
  }
  /// Elements of src outside the index get no gradient.
  void give_src(ValueId g) {
    if (!c_.needs_gradient(2)) return;
    const ValueId src = c_.in(2);
    if (b_.rank(src) == 0) return c_.add_gradient(2, b_.reduce(g, "sum", b_.all_axes(g), false, b_.dtype(g)));
    Dims after;
    for (std::int64_t i = 0; i < b_.rank(src); ++i) after.push_back(b_.pool().sub(b_.size(src, i), b_.size(g, i)));
    const bool is_full = b_.shape(src) == b_.shape(g);
    c_.add_gradient(2, is_full ? g : b_.pad(g, Dims(after.size(), 0), after));
  }

  GradientCall& c_;
  Builder& b_;
  std::int64_t axis_;
  ValueId index_, src_, x_, g_;
  bool self_;
  DType wide_;
};

}  // namespace

void differentiate_scatter(GradientCall& c) {
  Scatter(c).run();
}

}  // namespace tern
