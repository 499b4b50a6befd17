// Lowerings of short-time Fourier transforms, shifts of spectra and their frequencies.
#include "exporter/lower/contraction.h"
#include "exporter/lower/fft.h"
#include "exporter/lower/reduction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

// Shifts and frequencies

ValueId rolled(Builder& b, ValueId x, std::int64_t axis, bool inverse) {
  ExprPool& p = b.pool();
  const Dim n = b.size(x, axis);
  if (n.is(0) || n.is(1)) return x;
  const Dim half_size = p.floordiv(n, 2), front = p.sub(n, half_size);  // halves, the second the smaller
  const Dim index = inverse ? half_size : front;
  return b.concat({b.slice(x, axis, index, p.sub(n, index)), b.slice(x, axis, 0, index)}, axis);
}
template <bool kInverse>
Values shift(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  if (b.rank(x) == 0) return {x};
  for (std::int64_t a : c.has_argument("dim") ? axes_arg(b, c, x) : b.all_axes(x)) x = rolled(b, x, a, kInverse);
  return {x};
}

Values fftfreq(Builder& b, const Call& c) {
  const Dim n = c.dim("n");
  const ValueId i = b.iota(n, DType::i64);
  const Dim half = b.pool().floordiv(b.pool().sub(n, 1), 2);
  const DType t = c.result_dtype();
  const ValueId signed_place =
      b.expr("i <= h ? i : i - n", {{"i", i}, size_arg(b, "h", half), size_arg(b, "n", n)}, DType::i64);
  return {b.expr("i * (1 / (n * d))", {{"i", signed_place}, size_arg(b, "n", n), {"d", c.number("d")}}, t)};
}
Values rfftfreq(Builder& b, const Call& c) {
  const Dim n = c.dim("n");
  const ValueId i = b.iota(b.pool().add(b.pool().floordiv(n, 2), 1), DType::i64);
  return {b.expr("i * (1 / (n * d))", {{"i", i}, size_arg(b, "n", n), {"d", c.number("d")}}, c.result_dtype())};
}

// Short-time transforms

/// Window of n elements centred in `size` zeros; defaults to ones.
ValueId window_of(Builder& b, const Call& c, Dim length, Dim size, DType real) {
  ValueId w = c.tensor_or_none("window");
  if (w == kNoValue) w = b.full({length}, 1, real);
  const Dim padding_before = b.pool().floordiv(b.pool().sub(size, length), 2);
  if (b.pool().proved_equal(length, size)) return w;
  return b.pad(w, {padding_before}, {b.pool().sub(b.pool().sub(size, length), padding_before)});
}

struct FrameSizes {
  std::int64_t size = 0, hop = 0, window = 0;
};
FrameSizes frames_of(const Call& c) {
  FrameSizes f;
  f.size = c.integer("n_fft");
  f.hop = c.integer_or("hop_length", f.size / 4);
  f.window = c.integer_or("win_length", f.size);
  if (f.size <= 0 || f.hop <= 0 || f.window <= 0 || f.window > f.size)
    c.unsupported("n_fft, hop_length and win_length must be positive, and win_length at most n_fft");
  return f;
}

/// x [batch, length] -> [batch, frequencies, frames].
Values stft_of(Builder& b, const Call& c, ValueId x, bool batched) {
  ExprPool& p = b.pool();
  const FrameSizes f = frames_of(c);
  if (c.flag_or("align_to_window", false)) c.unsupported("align_to_window is not supported");
  const bool complex_window = c.has_argument("window") && is_complex(b.dtype(c.tensor("window")));
  const bool complex = is_complex(b.dtype(x)) || complex_window;
  const bool is_onesided = c.flag_or("onesided", !complex);
  if (is_onesided && complex) c.unsupported("a complex signal or window needs onesided=False");
  const Dim length = b.size(x, 1), frames = p.add(p.floordiv(p.sub(length, f.size), f.hop), 1);
  const ValueId frames_view = b.as_strided(x, {b.size(x, 0), frames, f.size}, {length, f.hop, 1}, 0);
  const DType compute_dtype = complex ? b.dtype(as_complex(b, x)) : b.dtype(as_real(b, x));
  const DType real = compute_dtype == DType::f64 || compute_dtype == DType::c128 ? DType::f64 : DType::f32;
  ValueId weighted = frames_view;
  if (c.has_argument("window") || f.window != f.size)
    weighted = b.expr("x * w", {{"x", frames_view}, {"w", window_of(b, c, f.window, f.size, real)}}, compute_dtype);
  const FftNorm norm = c.flag_or("normalized", false) ? FftNorm::root_n : FftNorm::none;
  const Transform t{is_onesided ? FftKind::real_to_complex : FftKind::complex_to_complex, true, norm, {2}, 0};
  ValueId y = transform(b, is_onesided ? as_real(b, weighted) : as_complex(b, weighted), t);
  y = b.transpose(y, 1, 2);
  if (!batched) y = b.squeeze(y, 0);
  if (c.flag_or("return_complex", complex)) return {b.cast(y, c.result_dtype())};
  const ValueId re = b.expr("real(x)", {{"x", y}}, b.dtype(y), real);
  const ValueId im = b.expr("imag(x)", {{"x", y}}, b.dtype(y), real);
  return {b.concat({b.unsqueeze(re, -1), b.unsqueeze(im, -1)}, -1)};
}

ValueId rows_of(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  if (b.rank(x) != 1 && b.rank(x) != 2) c.unsupported("the signal must have one or two axes");
  return b.rank(x) == 1 ? b.unsqueeze(x, 0) : x;
}
Values stft(Builder& b, const Call& c) {
  return stft_of(b, c, rows_of(b, c), b.rank(c.tensor("self")) == 2);
}
Values stft_center(Builder& b, const Call& c) {
  ValueId x = rows_of(b, c);
  if (c.flag("center")) {
    const std::int64_t half = c.integer("n_fft") / 2;
    const std::string mode = c.text("pad_mode");
    const int number = mode == "constant"    ? 0
                       : mode == "reflect"   ? 1
                       : mode == "replicate" ? 2
                       : mode == "circular"  ? 3
                                             : -1;
    if (number < 0) c.unsupported("unsupported pad_mode '" + mode + "'");
    x = b.add(Op::pad, {x},
              {attr(AttrKey::before, Dims{0, half}), attr(AttrKey::after, Dims{0, half}),
               attr_number(AttrKey::value, 0), attr(AttrKey::mode, Dim(number))});
  }
  return stft_of(b, c, x, b.rank(c.tensor("self")) == 2);
}

/// Adds windows [batch, size, frames] at their original positions.
ValueId overlapped(Builder& b, ValueId x, const FrameSizes& f, Dim length) {
  return b.reshape(
      b.add(Op::fold, {x},
            {attr(AttrKey::sizes, Dims{length}), attr(AttrKey::kernel, Dim(f.size)), attr(AttrKey::dilations, Dim(1)),
             attr(AttrKey::before, Dim(0)), attr(AttrKey::strides, Dim(f.hop))}),
      {b.size(x, 0), length});
}

/// Adds up each frame's signal times the window, and divides by the sum of the squared windows.
Values istft(Builder& b, const Call& c) {
  ExprPool& p = b.pool();
  ValueId x = c.tensor("self");
  if (!is_complex(b.dtype(x))) c.unsupported("the spectrum must be complex");
  const bool batched = b.rank(x) == 3;
  if (!batched) x = b.unsqueeze(x, 0);
  if (b.rank(x) != 3) c.unsupported("the spectrum must have two or three axes");
  const FrameSizes f = frames_of(c);
  x = as_complex(b, x);
  const DType real = b.dtype(x) == DType::c128 ? DType::f64 : DType::f32;
  const bool complex = c.flag_or("return_complex", false);
  const bool is_onesided = c.flag_or("onesided", !p.proved_equal(b.size(x, 1), f.size));
  if (is_onesided && complex) c.unsupported("return_complex needs onesided=False");
  const Dim frames = b.size(x, 2), length = p.add(p.mul(p.sub(frames, 1), f.hop), f.size);
  x = b.transpose(x, 1, 2);
  Transform t{complex ? FftKind::complex_to_complex : FftKind::complex_to_real,
              false,
              c.flag("normalized") ? FftNorm::root_n : FftNorm::n,
              {2},
              f.size};
  if (!complex) x = resized(b, x, 2, f.size / 2 + 1);
  const ValueId signal = transform(b, x, t);
  const ValueId window = window_of(b, c, f.window, f.size, real);
  const ValueId weighted = b.expr("x * w", {{"x", signal}, {"w", window}}, b.dtype(signal));
  ValueId y = overlapped(b, b.transpose(weighted, 1, 2), f, length);
  const ValueId squares = b.expr("w * w", {{"w", window}}, b.dtype(window));
  ValueId weights = overlapped(b, b.expand(b.reshape(squares, {1, f.size, 1}), {1, f.size, frames}), f, length);
  const Dim start = c.flag("center") ? Dim(f.size / 2) : Dim(0);
  const Dim requested = c.has_argument("length") ? c.dim("length") : p.sub(p.sub(length, start), start);
  // Zeros follow the last window.
  const Dim retained = p.min(requested, p.sub(length, start));
  y = b.slice(y, 1, start, retained);
  weights = b.slice(weights, 1, start, retained);
  y = b.expr("y / w", {{"y", y}, {"w", weights}}, c.result_dtype());
  y = resized(b, y, 1, requested);
  return {batched ? y : b.squeeze(y, 0)};
}

constexpr Lowering kStftLowerings[] = {
    {"aten.fft_fftshift.default", shift<false>},
    {"aten.fft_ifftshift.default", shift<true>},
    {"aten.fft_fftfreq.default", fftfreq},
    {"aten.fft_rfftfreq.default", rfftfreq},
    {"aten.stft.default", stft},
    {"aten.stft.center", stft_center},
    {"aten.istft.default", istft},
};

}  // namespace

std::span<const Lowering> signal_lowerings() {
  return kStftLowerings;
}

}  // namespace tern
