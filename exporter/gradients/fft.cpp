// Rule of Fourier transforms. They are linear; the adjoint is the transform with the other sign and the same scale.
#include "exporter/gradients/rules.h"
#include "schema/linalg_kinds.h"

namespace tern {
namespace {

/// Scales `v` [..., half] along its last transformed axis: by `edge` the elements stored once in a half spectrum (at 0,
/// and in the middle of an even length), by `inner` the elements standing for two.
ValueId weigh(Builder& b, ValueId v, std::int64_t axis, Dim length, double edge, double inner) {
  Dims along(b.shape(v).size(), 1);
  along[static_cast<std::size_t>(axis)] = b.size(v, axis);
  const ValueId position = b.reshape(b.iota(b.size(v, axis), DType::i64), along);
  const ValueId once =
      b.expr("i == 0 || 2 * i == n", {{"i", position}, {"n", b.from_dim(length)}}, DType::i64, DType::boolean);
  return b.expr("o ? v * e : v * f", {{"o", once}, {"v", v}, {"e", edge}, {"f", inner}}, b.dtype(v));
}

}  // namespace

void differentiate_fft(GradientCall& c) {
  Builder& b = c.b;
  const ValueId x = c.operand(0), g = c.grad(0);
  const Dims axes = c.node.dims(AttrKey::axes);
  const auto kind = static_cast<FftKind>(c.node.integer(AttrKey::kind));
  const auto transform = [&](ValueId v, FftKind k, const Dim* length) {
    std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(static_cast<int>(k))), attr(AttrKey::axes, axes),
                               attr(AttrKey::forward, Dim(!c.flag(AttrKey::forward))),
                               attr(AttrKey::norm, Dim(c.node.integer(AttrKey::norm)))};
    if (length != nullptr) attrs.push_back(attr(AttrKey::length, *length));
    return b.add(Op::fft, {v}, std::move(attrs));
  };
  if (kind == FftKind::complex_to_complex) return c.add_gradient(0, transform(g, kind, nullptr));
  const std::int64_t last = b.normal_axis(x, axes.back().value());
  if (kind == FftKind::real_to_complex) {
    const Dim length = b.size(x, last);
    return c.add_gradient(0, transform(weigh(b, g, last, length, 1, 0.5), FftKind::complex_to_real, &length));
  }
  const Dim length = b.size(c.result(0), last);
  c.add_gradient(0, weigh(b, transform(g, FftKind::real_to_complex, nullptr), last, length, 1, 2));
}

}  // namespace tern
