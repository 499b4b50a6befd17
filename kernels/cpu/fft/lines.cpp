#include "kernels/cpu/fft/lines.h"

#include <algorithm>
#include <utility>

namespace tern::cpu {

// Lines are transposed in blocks of elements, so that the interleaved part of a block stays in the first-level cache.
//
// Real lines of even size: elements 2j and 2j + 1 form a complex line of half the size; the spectra of even and odd
// elements follow from its spectrum. Odd sizes are transformed as complex numbers.

namespace {

/// Calls f(lane, range) for blocks of n elements and all lanes.
template <class F>
void for_each_block(std::int64_t n, std::int64_t lanes, F&& f) {
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t begin = 0; begin < n; begin += kBlock) {
    for (std::int64_t lane = 0; lane < lanes; ++lane) f(lane, begin, std::min(n, begin + kBlock));
  }
}

}  // namespace

template <class T, class W>
LineTransform<T, W>::LineTransform(Kind kind, std::int64_t size, bool forward, double scale)
    : kind_(kind),
      size_(size),
      forward_(forward),
      scale_(static_cast<W>(scale)),
      plan_(kind != Kind::complex && size % 2 == 0 ? size / 2 : size) {
  if (!halved()) return;
  for (std::int64_t k = 0; k <= size / 2; ++k) {
    double c, s;
    fft_root(k, size, &c, &s);
    roots_.push_back(static_cast<W>(c));
    roots_.push_back(static_cast<W>(-s));
  }
}

template <class T, class W>
void LineTransform<T, W>::read_spectrum(const Complex* from, std::int64_t step, std::int64_t lane, std::int64_t lanes,
                                        Range range, FftLines<W> x) const {
  const W sign = forward_ ? -1 : 1;  // the transform always has the positive exponent
  const std::int64_t half = size_ / 2;
  // A real line's spectrum has real ends.
  const auto re = [&](std::int64_t k) { return static_cast<W>(from[k * step].real()); };
  const auto im = [&](std::int64_t k) {
    return k == 0 || 2 * k == size_ ? W(0) : sign * static_cast<W>(from[k * step].imag());
  };
  if (halved()) {
    for (std::int64_t k = range.begin; k < range.end; ++k) {
      const std::int64_t mirrored = half - k;
      const W even_re = re(k) + re(mirrored), even_im = im(k) - im(mirrored);
      const W d_re = re(k) - re(mirrored), d_im = im(k) + im(mirrored);
      const W c = roots_[static_cast<std::size_t>(2 * k)], s = -roots_[static_cast<std::size_t>(2 * k + 1)];
      const W odd_re = d_re * c - d_im * s, odd_im = d_re * s + d_im * c;
      x.re[k * lanes + lane] = even_re - odd_im;
      x.im[k * lanes + lane] = even_im + odd_re;
    }
    return;
  }
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    x.re[k * lanes + lane] = re(k);
    x.im[k * lanes + lane] = im(k);
    if (k == 0) continue;
    x.re[(size_ - k) * lanes + lane] = re(k);
    x.im[(size_ - k) * lanes + lane] = -im(k);
  }
}

template <class T, class W>
void LineTransform<T, W>::write_spectrum(FftLines<W> x, std::int64_t lane, std::int64_t lanes, std::int64_t step,
                                         Range range, Complex* to) const {
  const W sign = forward_ ? scale_ : -scale_;
  const std::int64_t half = size_ / 2;
  const auto put = [&](std::int64_t k, W re, W im) {
    to[k * step] = Complex(static_cast<T>(re * scale_), static_cast<T>(im * sign));
  };
  if (!halved()) {
    for (std::int64_t k = range.begin; k < range.end; ++k)
      put(k, x.re[k * lanes + lane], k == 0 ? W(0) : x.im[k * lanes + lane]);
    return;
  }
  for (std::int64_t k = range.begin; k < range.end; ++k) {
    const std::int64_t a = (k == half ? 0 : k) * lanes + lane, b = (k == 0 ? 0 : half - k) * lanes + lane;
    const W even_re = (x.re[a] + x.re[b]) / 2, even_im = (x.im[a] - x.im[b]) / 2;
    const W odd_re = (x.im[a] + x.im[b]) / 2, odd_im = (x.re[b] - x.re[a]) / 2;
    const W c = roots_[static_cast<std::size_t>(2 * k)], s = roots_[static_cast<std::size_t>(2 * k + 1)];
    const bool end = k == 0 || k == half;
    put(k, even_re + odd_re * c - odd_im * s, end ? W(0) : even_im + odd_re * s + odd_im * c);
  }
}

template <class T, class W>
void LineTransform<T, W>::read(const void* from, const LineLayout& at, std::int64_t line, std::int64_t lanes,
                               FftLines<W> x) const {
  const std::int64_t step = at.inner;
  if (kind_ == Kind::to_real) {
    for_each_block(halved() ? size_ / 2 : size_ / 2 + 1, lanes,
                   [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
                     read_spectrum(static_cast<const Complex*>(from) + at.begin(line + l, size_ / 2 + 1), step, l,
                                   lanes, {begin, end}, x);
                   });
    return;
  }
  if (kind_ == Kind::from_real) {
    const bool is_halved = halved();
    for_each_block(plan_.size(), lanes, [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
      const T* row = static_cast<const T*>(from) + at.begin(line + l, size_);
      for (std::int64_t j = begin; j < end; ++j) {
        x.re[j * lanes + l] = static_cast<W>(row[(is_halved ? 2 * j : j) * step]);
        x.im[j * lanes + l] = is_halved ? static_cast<W>(row[(2 * j + 1) * step]) : W(0);
      }
    });
    return;
  }
  const auto* data = static_cast<const Complex*>(from);
  if (step >= lanes && at.begin(line + lanes - 1, size_) == at.begin(line, size_) + lanes - 1) {
    data += at.begin(line, size_);
    for (std::int64_t j = 0; j < size_; ++j) {
      for (std::int64_t l = 0; l < lanes; ++l) {
        x.re[j * lanes + l] = static_cast<W>(data[j * step + l].real());
        x.im[j * lanes + l] = static_cast<W>(data[j * step + l].imag());
      }
    }
    return;
  }
  for_each_block(size_, lanes, [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
    const Complex* row = data + at.begin(line + l, size_);
    for (std::int64_t j = begin; j < end; ++j) {
      x.re[j * lanes + l] = static_cast<W>(row[j * step].real());
      x.im[j * lanes + l] = static_cast<W>(row[j * step].imag());
    }
  });
}

template <class T, class W>
void LineTransform<T, W>::write(FftLines<W> x, const LineLayout& at, std::int64_t line, std::int64_t lanes,
                                void* to) const {
  const std::int64_t step = at.inner;
  if (kind_ == Kind::from_real) {
    for_each_block(size_ / 2 + 1, lanes, [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
      write_spectrum(x, l, lanes, step, {begin, end}, static_cast<Complex*>(to) + at.begin(line + l, size_ / 2 + 1));
    });
    return;
  }
  if (kind_ == Kind::to_real) {
    const bool is_halved = halved();
    for_each_block(plan_.size(), lanes, [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
      T* row = static_cast<T*>(to) + at.begin(line + l, size_);
      for (std::int64_t j = begin; j < end; ++j) {
        if (is_halved) {
          row[2 * j * step] = static_cast<T>(x.re[j * lanes + l] * scale_);
          row[(2 * j + 1) * step] = static_cast<T>(x.im[j * lanes + l] * scale_);
        } else {
          row[j * step] = static_cast<T>(x.re[j * lanes + l] * scale_);
        }
      }
    });
    return;
  }
  auto* data = static_cast<Complex*>(to);
  const auto element = [&](std::int64_t k) {
    return Complex(static_cast<T>(x.re[k] * scale_), static_cast<T>(x.im[k] * scale_));
  };
  if (step >= lanes && at.begin(line + lanes - 1, size_) == at.begin(line, size_) + lanes - 1) {
    data += at.begin(line, size_);
    for (std::int64_t j = 0; j < size_; ++j) {
      for (std::int64_t l = 0; l < lanes; ++l) data[j * step + l] = element(j * lanes + l);
    }
    return;
  }
  for_each_block(size_, lanes, [&](std::int64_t l, std::int64_t begin, std::int64_t end) {
    Complex* row = data + at.begin(line + l, size_);
    for (std::int64_t j = begin; j < end; ++j) row[j * step] = element(j * lanes + l);
  });
}

template <class T, class W>
void LineTransform<T, W>::run(const void* from, void* to, const LineLayout& layout, std::int64_t begin,
                              std::int64_t end, W* work) const {
  const std::int64_t most = lanes(end - begin), part = plan_.room() * most;
  // Transforms to real numbers always have the positive exponent: forward transforms read the conjugate.
  const bool inverse = kind_ == Kind::to_real || (kind_ == Kind::complex && !forward_);
  for (std::int64_t line = begin; line < end; line += most) {
    const std::int64_t count = std::min(most, end - line);
    FftLines<W> x{work, work + part}, other{work + 2 * part, work + 3 * part};
    read(from, layout, line, count, x);
    if (inverse) {
      std::swap(x.re, x.im);
      std::swap(other.re, other.im);
    }
    plan_.run(x, other, count);
    if (inverse) std::swap(x.re, x.im);
    write(x, layout, line, count, to);
  }
}

template class LineTransform<float, float>;
template class LineTransform<float, double>;
template class LineTransform<double, double>;

}  // namespace tern::cpu
