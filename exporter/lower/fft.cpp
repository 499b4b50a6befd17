// Lowerings of Fourier transforms.
#include "exporter/lower/fft.h"

#include <algorithm>

#include "exporter/lower/contraction.h"

namespace tern {

ValueId as_complex(Builder& b, ValueId x) {
  return b.cast(x, b.dtype(x) == DType::f64 || b.dtype(x) == DType::c128 ? DType::c128 : DType::c64);
}
ValueId as_real(Builder& b, ValueId x) {
  return b.cast(x, b.dtype(x) == DType::f64 ? DType::f64 : DType::f32);
}

ValueId resized(Builder& b, ValueId x, std::int64_t axis, Dim size) {
  axis = b.normal_axis(x, axis);
  const Dim old_size = b.size(x, axis);
  if (b.pool().proved_equal(old_size, size)) return x;
  if (old_size.is_const() && size.is_const() && size.value() < old_size.value()) return b.slice(x, axis, 0, size);
  Dims padding_before(b.shape(x).size(), 0), padding_after(b.shape(x).size(), 0);
  padding_after[static_cast<std::size_t>(axis)] = b.pool().sub(size, old_size);
  return b.pad(x, padding_before, padding_after);
}

ValueId transform(Builder& b, ValueId x, const Transform& t) {
  std::vector<Attr> attrs = {attr(AttrKey::kind, Dim(static_cast<int>(t.kind))), attr(AttrKey::forward, Dim(t.forward)),
                             attr(AttrKey::norm, Dim(static_cast<int>(t.norm))), attr(AttrKey::axes, t.axes)};
  if (t.kind == FftKind::complex_to_real) attrs.push_back(attr(AttrKey::length, t.length));
  return b.add(Op::fft, {x}, std::move(attrs));
}

namespace {

using Values = std::vector<ValueId>;
using Axes = std::vector<std::int64_t>;

FftNorm norm_of(const Call& c, bool forward) {
  const std::string text = c.text_or("norm", "backward");
  if (text == "ortho") return FftNorm::root_n;
  if (text != "forward" && text != "backward") c.unsupported("unsupported norm '" + text + "'");
  return (text == "forward") == forward ? FftNorm::n : FftNorm::none;
}

/// Normalization of the _fft_ operators.
FftNorm norm_number(const Call& c) {
  const std::int64_t n = c.integer("normalization");
  if (n < 0 || n >= kFftNorms) c.unsupported("unsupported normalization");
  return static_cast<FftNorm>(n);
}

/// Axes of a transform, and the sizes given by the call (else -1).
struct FftAxes {
  Axes axes;
  Dims sizes;
};

FftAxes one_axis(Builder& b, const Call& c, ValueId x) {
  return {{b.normal_axis(x, c.integer("dim"))}, {c.has_argument("n") ? c.dim("n") : Dim(-1)}};
}
/// Default axes: the last `s.size()` axes, or all axes.
FftAxes many_axes(Builder& b, const Call& c, ValueId x) {
  FftAxes s;
  if (c.has_argument("s")) s.sizes = c.dims("s");
  if (c.has_argument("dim")) {
    for (std::int64_t a : c.integers("dim")) s.axes.push_back(b.normal_axis(x, a));
  } else {
    const int first = c.has_argument("s") ? b.rank(x) - static_cast<int>(s.sizes.size()) : 0;
    if (first < 0) c.unsupported("there are more sizes than axes");
    for (int i = first; i < b.rank(x); ++i) s.axes.push_back(i);
  }
  if (!c.has_argument("s")) s.sizes.assign(s.axes.size(), -1);
  if (s.sizes.size() != s.axes.size()) c.unsupported("the lists of axes and sizes differ in length");
  return s;
}

/// Resizes x to the transform's sizes; `half`: the last axis holds half a spectrum.
ValueId fitted(Builder& b, ValueId x, const FftAxes& s, bool half, Dim length) {
  for (std::size_t i = 0; i < s.axes.size(); ++i) {
    if (half && i + 1 == s.axes.size()) {
      x = resized(b, x, s.axes[i], b.pool().add(b.pool().floordiv(length, 2), 1));
    } else if (!s.sizes[i].is(-1)) {
      x = resized(b, x, s.axes[i], s.sizes[i]);
    }
  }
  return x;
}

Values transformed(Builder& b, const Call& c, FftKind kind, bool forward, const FftAxes& s) {
  ValueId x = c.tensor("self");
  const bool to_real = kind == FftKind::complex_to_real;
  Transform t{kind, forward, norm_of(c, forward), s.axes, 0};
  if (s.axes.empty()) {
    if (kind != FftKind::complex_to_complex) c.unsupported("the list of axes is empty");
    return {b.cast(as_complex(b, x), c.result_dtype())};
  }
  if (to_real) {
    t.length = s.sizes.back();
    if (t.length.is(-1)) t.length = b.pool().mul(2, b.pool().sub(b.size(x, s.axes.back()), 1));
  }
  x = kind == FftKind::real_to_complex ? as_real(b, x) : as_complex(b, x);
  return {b.cast(transform(b, fitted(b, x, s, to_real, t.length), t), c.result_dtype())};
}

template <FftKind kKind, bool kForward>
Values fft_one(Builder& b, const Call& c) {
  return transformed(b, c, kKind, kForward, one_axis(b, c, c.tensor("self")));
}
template <FftKind kKind, bool kForward>
Values fft_many(Builder& b, const Call& c) {
  return transformed(b, c, kKind, kForward, many_axes(b, c, c.tensor("self")));
}

// Decomposed forms of the operators above.

Axes axes_of(Builder& b, const Call& c, ValueId x) {
  Axes axes = c.integers("dim");
  for (std::int64_t& a : axes) a = b.normal_axis(x, a);
  return axes;
}
Values raw(Builder& b, const Call& c, ValueId x, Transform t) {
  return {b.cast(transform(b, x, t), c.result_dtype())};
}
ValueId spectrum_of_real(Builder& b, const Call& c, ValueId x, FftNorm norm) {
  const bool half = c.flag("onesided");
  const Transform t{half ? FftKind::real_to_complex : FftKind::complex_to_complex, true, norm, axes_of(b, c, x), 0};
  return b.cast(transform(b, half ? as_real(b, x) : as_complex(b, x), t), c.result_dtype());
}

Values fft_c2c(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return raw(b, c, as_complex(b, x),
             {FftKind::complex_to_complex, c.flag("forward"), norm_number(c), axes_of(b, c, x), 0});
}
Values fft_r2c(Builder& b, const Call& c) {
  return {spectrum_of_real(b, c, c.tensor("self"), norm_number(c))};
}
Values fft_c2r(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return raw(b, c, as_complex(b, x),
             {FftKind::complex_to_real, false, norm_number(c), axes_of(b, c, x), c.dim("last_dim_size")});
}
Values prims_c2c(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return raw(b, c, as_complex(b, x),
             {FftKind::complex_to_complex, c.flag("forward"), FftNorm::none, axes_of(b, c, x), 0});
}
Values prims_r2c(Builder& b, const Call& c) {
  return {spectrum_of_real(b, c, c.tensor("self"), FftNorm::none)};
}
Values prims_c2r(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return raw(b, c, as_complex(b, x),
             {FftKind::complex_to_real, false, FftNorm::none, axes_of(b, c, x), c.dim("last_dim_size")});
}

constexpr FftKind kComplex = FftKind::complex_to_complex, kFromReal = FftKind::real_to_complex,
                  kToReal = FftKind::complex_to_real;

constexpr Lowering kFftLowerings[] = {
    {"aten.fft_fft.default", fft_one<kComplex, true>},
    {"aten.fft_ifft.default", fft_one<kComplex, false>},
    {"aten.fft_rfft.default", fft_one<kFromReal, true>},
    {"aten.fft_ihfft.default", fft_one<kFromReal, false>},
    {"aten.fft_irfft.default", fft_one<kToReal, false>},
    {"aten.fft_hfft.default", fft_one<kToReal, true>},
    {"aten.fft_fft2.default", fft_many<kComplex, true>},
    {"aten.fft_ifft2.default", fft_many<kComplex, false>},
    {"aten.fft_rfft2.default", fft_many<kFromReal, true>},
    {"aten.fft_ihfft2.default", fft_many<kFromReal, false>},
    {"aten.fft_irfft2.default", fft_many<kToReal, false>},
    {"aten.fft_hfft2.default", fft_many<kToReal, true>},
    {"aten.fft_fftn.default", fft_many<kComplex, true>},
    {"aten.fft_ifftn.default", fft_many<kComplex, false>},
    {"aten.fft_rfftn.default", fft_many<kFromReal, true>},
    {"aten.fft_ihfftn.default", fft_many<kFromReal, false>},
    {"aten.fft_irfftn.default", fft_many<kToReal, false>},
    {"aten.fft_hfftn.default", fft_many<kToReal, true>},
    {"aten._fft_c2c.default", fft_c2c},
    {"aten._fft_r2c.default", fft_r2c},
    {"aten._fft_c2r.default", fft_c2r},
    {"prims.fft_c2c.default", prims_c2c},
    {"prims.fft_r2c.default", prims_r2c},
    {"prims.fft_c2r.default", prims_c2r},
};

}  // namespace

std::span<const Lowering> transform_lowerings() {
  return kFftLowerings;
}

std::span<const Lowering> fft_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (const auto table : {transform_lowerings(), signal_lowerings()}) v.insert(v.end(), table.begin(), table.end());
    return v;
  }();
  return lowerings;
}

}  // namespace tern
