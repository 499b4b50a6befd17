#include "kernels/cpu/fft/stage.h"

#include <algorithm>
#include <cstddef>

#include "kernels/cpu/fft/plan.h"

namespace tern::cpu {
namespace {

/// Cosines and sines of 2 pi k / R.
template <class W, int R>
struct Roots {
  Roots() {
    for (int k = 0; k < R; ++k) {
      double a, b;
      fft_root(k, R, &a, &b);
      c[k] = static_cast<W>(a);
      s[k] = static_cast<W>(b);
    }
  }
  W c[R], s[R];
};

/// The butterfly of an odd radix: conjugate roots share their products.
template <class W, int R>
struct Butterfly {
  static void apply(W (&re)[R], W (&im)[R], const Roots<W, R>& w) {
    constexpr int H = R / 2;
    W sum_re[H + 1], sum_im[H + 1], dif_re[H + 1], dif_im[H + 1];
    const W re0 = re[0], im0 = im[0];
    for (int k = 1; k <= H; ++k) {
      sum_re[k] = re[k] + re[R - k];
      sum_im[k] = im[k] + im[R - k];
      dif_re[k] = re[k] - re[R - k];
      dif_im[k] = im[k] - im[R - k];
      re[0] += sum_re[k];
      im[0] += sum_im[k];
    }
    for (int j = 1; j <= H; ++j) {
      W even_re = re0, even_im = im0, odd_re = 0, odd_im = 0;
      for (int k = 1; k <= H; ++k) {
        const W c = w.c[j * k % R], s = w.s[j * k % R];
        even_re += c * sum_re[k];
        even_im += c * sum_im[k];
        odd_re += s * dif_im[k];
        odd_im -= s * dif_re[k];
      }
      re[j] = even_re + odd_re;
      im[j] = even_im + odd_im;
      re[R - j] = even_re - odd_re;
      im[R - j] = even_im - odd_im;
    }
  }
};

template <class W>
struct Butterfly<W, 2> {
  static void apply(W (&re)[2], W (&im)[2], const Roots<W, 2>&) {
    const W r = re[0] - re[1], i = im[0] - im[1];
    re[0] += re[1];
    im[0] += im[1];
    re[1] = r;
    im[1] = i;
  }
};

template <class W>
struct Butterfly<W, 4> {
  static void apply(W (&re)[4], W (&im)[4], const Roots<W, 4>&) {
    const W a_re = re[0] + re[2], a_im = im[0] + im[2], b_re = re[0] - re[2], b_im = im[0] - im[2];
    const W c_re = re[1] + re[3], c_im = im[1] + im[3], d_re = re[1] - re[3], d_im = im[1] - im[3];
    re[0] = a_re + c_re;
    im[0] = a_im + c_im;
    re[1] = b_re + d_im;
    im[1] = b_im - d_re;
    re[2] = a_re - c_re;
    im[2] = a_im - c_im;
    re[3] = b_re - d_im;
    im[3] = b_im + d_re;
  }
};

template <class W, int R>
void stage(std::int64_t rest, std::int64_t stride, const W* t, const W* x_re, const W* x_im, W* y_re, W* y_im) {
  static const Roots<W, R> roots;
  const std::int64_t step = stride * rest;
  for (std::int64_t p = 0; p < rest; ++p, t += 2 * (R - 1)) {
    const W *xr = x_re + stride * p, *xi = x_im + stride * p;
    W *yr = y_re + stride * R * p, *yi = y_im + stride * R * p;
#pragma omp simd
    for (std::int64_t q = 0; q < stride; ++q) {
      W re[R], im[R];
      for (int k = 0; k < R; ++k) {
        re[k] = xr[q + step * k];
        im[k] = xi[q + step * k];
      }
      Butterfly<W, R>::apply(re, im, roots);
      yr[q] = re[0];
      yi[q] = im[0];
      for (int j = 1; j < R; ++j) {
        const W c = t[2 * (j - 1)], s = t[2 * (j - 1) + 1];
        yr[q + stride * j] = re[j] * c - im[j] * s;
        yi[q + stride * j] = re[j] * s + im[j] * c;
      }
    }
  }
}

}  // namespace

template <class W>
void fft_stage(int radix, std::int64_t rest, std::int64_t stride, const W* t, const W* x_re, const W* x_im, W* y_re,
               W* y_im) {
  switch (radix) {
    case 2: return stage<W, 2>(rest, stride, t, x_re, x_im, y_re, y_im);
    case 3: return stage<W, 3>(rest, stride, t, x_re, x_im, y_re, y_im);
    case 4: return stage<W, 4>(rest, stride, t, x_re, x_im, y_re, y_im);
    case 5: return stage<W, 5>(rest, stride, t, x_re, x_im, y_re, y_im);
    case 7: return stage<W, 7>(rest, stride, t, x_re, x_im, y_re, y_im);
    case 11: return stage<W, 11>(rest, stride, t, x_re, x_im, y_re, y_im);
    default: return stage<W, 13>(rest, stride, t, x_re, x_im, y_re, y_im);
  }
}

template void fft_stage<float>(int, std::int64_t, std::int64_t, const float*, const float*, const float*, float*,
                               float*);
template void fft_stage<double>(int, std::int64_t, std::int64_t, const double*, const double*, const double*, double*,
                                double*);

}  // namespace tern::cpu
