#include "kernels/cpu/linalg/eig/small.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::cpu {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr int kMostIterations = 60;  // an eigenvalue usually takes three

struct Quotient {
  double re, im;
};
/// (a + b i) / (c + d i), without overflow of squares (Smith, 1962).
Quotient divide(double a, double b, double c, double d) {
  if (std::abs(c) > std::abs(d)) {
    const double r = d / c, divisor = c + r * d;
    return {(a + r * b) / divisor, (b - r * a) / divisor};
  }
  const double r = c / d, divisor = d + r * c;
  return {(r * a + b) / divisor, (r * b - a) / divisor};
}

}  // namespace

SmallEig::SmallEig(int n, bool vectors, double* scratch) : n_(n), vectors_(vectors) {
  const std::int64_t size = std::int64_t{n} * n;
  h_ = scratch, v_ = h_ + size, real_ = v_ + size, imaginary_ = real_ + n, scales_ = imaginary_ + n;
}

/// Makes squares of elements neither overflow nor vanish. Returns the exponent of the power of two.
int SmallEig::scale_to_ordinary_size() {
  double most = 0;
  for (std::int64_t i = 0; i < std::int64_t{n_} * n_; ++i) most = std::max(most, std::abs(h_[i]));
  if (most == 0 || (most > 1e-130 && most < 1e130)) return 0;
  const int exponent = std::ilogb(most);
  for (std::int64_t i = 0; i < std::int64_t{n_} * n_; ++i) h_[i] = std::ldexp(h_[i], -exponent);
  return exponent;
}

/// Makes the norms of row i and column i similar by powers of two.
void SmallEig::balance() {
  std::fill_n(scales_, n_, 1.0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < n_; ++i) {
      double row = 0, column = 0;
      for (int j = 0; j < n_; ++j) {
        if (j == i) continue;
        row += std::abs(h(i, j));
        column += std::abs(h(j, i));
      }
      if (row == 0 || column == 0) continue;
      double factor = 1, scaled = column;
      for (; scaled < row / 2 && factor < 0x1p200; scaled *= 4) factor *= 2;
      for (; scaled >= row * 2 && factor > 0x1p-200; scaled /= 4) factor /= 2;
      if ((scaled + row) / factor >= 0.95 * (column + row)) continue;
      changed = true;
      scales_[i] *= factor;
      for (int j = 0; j < n_; ++j) h(i, j) /= factor;
      for (int j = 0; j < n_; ++j) h(j, i) *= factor;
    }
  }
}

void SmallEig::reduce_to_hessenberg() {
  double* u = real_;  // the reflection's vector
  for (int k = 1; k + 1 < n_; ++k) {
    imaginary_[k] = 0;
    double below = 0;
    for (int r = k + 1; r < n_; ++r) below = std::max(below, std::abs(h(r, k - 1)));
    if (below == 0) continue;
    const double top = std::max(below, std::abs(h(k, k - 1)));
    double squares = 0;
    for (int r = k; r < n_; ++r) {
      u[r] = h(r, k - 1) / top;
      squares += u[r] * u[r];
    }
    const double length = u[k] > 0 ? -std::sqrt(squares) : std::sqrt(squares);
    const double factor = 1 / (squares - u[k] * length);
    u[k] -= length;
    // H = (1 - factor u u^T) H (1 - factor u u^T)
    double* sums = v_;  // free meanwhile
    std::fill(sums + k, sums + n_, 0.0);
    for (int r = k; r < n_; ++r) {
      for (int c = k; c < n_; ++c) sums[c] += u[r] * h(r, c);
    }
    for (int r = k; r < n_; ++r) {
      const double f = factor * u[r];
      for (int c = k; c < n_; ++c) h(r, c) -= f * sums[c];
    }
    for (int r = 0; r < n_; ++r) {
      double sum = 0;
      for (int c = k; c < n_; ++c) sum += h(r, c) * u[c];
      sum *= factor;
      for (int c = k; c < n_; ++c) h(r, c) -= sum * u[c];
    }
    h(k, k - 1) = top * length;
    const double root = std::sqrt(factor);  // the vector of 1 - u u^T stays for the product of reflections
    imaginary_[k] = u[k] * root;
    for (int r = k + 1; r < n_; ++r) h(r, k - 1) = u[r] * root;
  }
  if (vectors_) {
    std::fill_n(v_, std::int64_t{n_} * n_, 0.0);
    for (int i = 0; i < n_; ++i) v(i, i) = 1;
    for (int k = n_ - 2; k > 0; --k) {
      if (imaginary_[k] == 0) continue;
      u[k] = imaginary_[k];
      for (int r = k + 1; r < n_; ++r) u[r] = h(r, k - 1);
      for (int c = k; c < n_; ++c) {
        double sum = 0;
        for (int r = k; r < n_; ++r) sum += u[r] * v(r, c);
        for (int r = k; r < n_; ++r) v(r, c) -= sum * u[r];
      }
    }
  }
  for (int r = 2; r < n_; ++r) std::fill_n(h_ + std::int64_t{r} * n_, r - 1, 0.0);
}

/// Reduces H to a triangle with blocks of two rows for conjugate eigenvalues.
bool SmallEig::iterate() {
  norm_ = 0;
  for (int r = 0; r < n_; ++r) {
    for (int c = std::max(r - 1, 0); c < n_; ++c) norm_ += std::abs(h(r, c));
  }
  double shift = 0;  // subtracted from the diagonal so far
  int iteration = 0;
  for (int last = n_ - 1; last >= 0;) {
    int first = last;
    for (; first > 0; --first) {
      double near = std::abs(h(first - 1, first - 1)) + std::abs(h(first, first));
      if (near == 0) near = norm_;
      if (std::abs(h(first, first - 1)) <= kEpsilon * near) break;
    }
    if (first > 0) h(first, first - 1) = 0;
    if (first == last) {
      h(last, last) += shift;
      real_[last] = h(last, last);
      imaginary_[last] = 0;
      --last;
      iteration = 0;
      continue;
    }
    if (first == last - 1) {
      split_pair(last, shift);
      last -= 2;
      iteration = 0;
      continue;
    }
    if (iteration == kMostIterations) return false;
    double x = h(last, last), y = h(last - 1, last - 1), w = h(last, last - 1) * h(last - 1, last);
    if (iteration % 10 == 9) {  // exceptional shift
      shift += x;
      for (int i = 0; i <= last; ++i) h(i, i) -= x;
      const double s = std::abs(h(last, last - 1)) + std::abs(h(last - 1, last - 2));
      x = y = 0.75 * s;
      w = -0.4375 * s * s;
    }
    ++iteration;
    // Starts at two small elements below the diagonal.
    double p = 0, q = 0, r = 0;
    int start = last - 2;
    for (; start >= first; --start) {
      const double z = h(start, start), rest = x - z, other = y - z;
      p = (rest * other - w) / h(start + 1, start) + h(start, start + 1);
      q = h(start + 1, start + 1) - z - rest - other;
      r = h(start + 2, start + 1);
      const double sum = std::abs(p) + std::abs(q) + std::abs(r);
      p /= sum, q /= sum, r /= sum;
      if (start == first) break;
      const double beside = std::abs(h(start - 1, start - 1)) + std::abs(z) + std::abs(h(start + 1, start + 1));
      if (std::abs(h(start, start - 1)) * (std::abs(q) + std::abs(r)) < kEpsilon * std::abs(p) * beside) break;
    }
    double_step(first, start, last, p, q, r);
  }
  return true;
}

/// Eigenvalues of rows last - 1 and last; a real pair becomes triangular.
void SmallEig::split_pair(int last, double shift) {
  const int row = last - 1;
  const double w = h(last, row) * h(row, last);
  double p = (h(row, row) - h(last, last)) / 2, q = p * p + w;
  double z = std::sqrt(std::abs(q));
  h(last, last) += shift;
  h(row, row) += shift;
  const double x = h(last, last);
  if (q < 0) {
    real_[row] = real_[last] = x + p;
    imaginary_[row] = z;
    imaginary_[last] = -z;
    return;
  }
  z = p + (p >= 0 ? z : -z);
  real_[row] = real_[last] = x + z;
  if (z != 0) real_[last] = x - w / z;
  imaginary_[row] = imaginary_[last] = 0;
  const double below = h(last, row), sum = std::abs(below) + std::abs(z);
  p = below / sum, q = z / sum;
  const double length = std::sqrt(p * p + q * q);
  p /= length, q /= length;
  const auto rotate = [&](double& a, double& b) {
    const double first = a;
    a = q * first + p * b;
    b = q * b - p * first;
  };
  for (int c = row; c < n_; ++c) rotate(h(row, c), h(last, c));
  for (int r = 0; r <= last; ++r) rotate(h(r, row), h(r, last));
  for (int r = 0; vectors_ && r < n_; ++r) rotate(v(r, row), v(r, last));
  h(last, row) = 0;
}

/// Francis's double step on rows start .. last of the block from `first`; p, q, r begin the first reflection.
void SmallEig::double_step(int first, int start, int last, double p, double q, double r) {
  for (int i = start + 2; i <= last; ++i) {
    h(i, i - 2) = 0;
    if (i > start + 2) h(i, i - 3) = 0;
  }
  for (int k = start; k < last; ++k) {
    const bool three = k != last - 1;
    double size = 0;
    if (k != start) {
      p = h(k, k - 1), q = h(k + 1, k - 1), r = three ? h(k + 2, k - 1) : 0;
      size = std::abs(p) + std::abs(q) + std::abs(r);
      if (size == 0) continue;
      p /= size, q /= size, r /= size;
    }
    double length = std::sqrt(p * p + q * q + r * r);
    if (length == 0) continue;
    if (p < 0) length = -length;
    if (k != start) {
      h(k, k - 1) = -length * size;
    } else if (first != start) {
      h(k, k - 1) = -h(k, k - 1);
    }
    p += length;
    const double x = p / length, y = q / length, z = r / length;
    q /= p, r /= p;
    const int columns = vectors_ ? n_ : last + 1, begin = vectors_ ? 0 : first;
    double *a = &h(k, 0), *b = &h(k + 1, 0);
    if (three) {
      double* c = &h(k + 2, 0);
      for (int j = k; j < columns; ++j) {
        const double sum = a[j] + q * b[j] + r * c[j];
        a[j] -= sum * x, b[j] -= sum * y, c[j] -= sum * z;
      }
      for (int i = begin; i <= std::min(last, k + 3); ++i) {
        double* row = &h(i, k);
        const double sum = x * row[0] + y * row[1] + z * row[2];
        row[0] -= sum, row[1] -= sum * q, row[2] -= sum * r;
      }
      double *v0 = &v(0, k), *v1 = &v(0, k + 1), *v2 = &v(0, k + 2);
      for (int i = 0; vectors_ && i < n_; ++i) {
        const double sum = x * v0[i] + y * v1[i] + z * v2[i];
        v0[i] -= sum, v1[i] -= sum * q, v2[i] -= sum * r;
      }
      continue;
    }
    for (int j = k; j < columns; ++j) {
      const double sum = a[j] + q * b[j];
      a[j] -= sum * x, b[j] -= sum * y;
    }
    for (int i = begin; i <= last; ++i) {
      double* row = &h(i, k);
      const double sum = x * row[0] + y * row[1];
      row[0] -= sum, row[1] -= sum * q;
    }
    double *v0 = &v(0, k), *v1 = &v(0, k + 1);
    for (int i = 0; vectors_ && i < n_; ++i) {
      const double sum = x * v0[i] + y * v1[i];
      v0[i] -= sum, v1[i] -= sum * q;
    }
  }
}

/// Divides rows `row` .. `to` of columns `from` .. `to` by a size whose square would overflow.
void SmallEig::divide_columns(int row, int from, int to, double size) {
  if (kEpsilon * size * size <= 1) return;
  for (int r = row; r <= to; ++r) {
    for (int c = from; c <= to; ++c) h(r, c) /= size;
  }
}

/// The vector of eigenvalue k of the triangle, in column k of H.
void SmallEig::solve_for_real(int k) {
  const double p = real_[k];
  int begin = k;
  double z = 0, s = 0;
  h(k, k) = 1;
  for (int i = k - 1; i >= 0; --i) {
    const double w = h(i, i) - p;
    double sum = 0;
    for (int j = begin; j <= k; ++j) sum += h(i, j) * h(j, k);
    if (imaginary_[i] < 0) {  // the second row of a block waits for the first
      z = w, s = sum;
      continue;
    }
    begin = i;
    if (imaginary_[i] == 0) {
      h(i, k) = -sum / (std::abs(w) > kEpsilon * kEpsilon * norm_ ? w : kEpsilon * norm_);
    } else {
      const double x = h(i, i + 1), y = h(i + 1, i), gap = real_[i] - p;
      const double t = (x * s - z * sum) / (gap * gap + imaginary_[i] * imaginary_[i]);
      h(i, k) = t;
      h(i + 1, k) = std::abs(x) > std::abs(z) ? (-sum - w * t) / x : (-s - y * t) / z;
    }
    divide_columns(i, k, k, std::abs(h(i, k)));
  }
}

/// The vector of the conjugate pair k - 1, k of the triangle, in columns k - 1 and k of H.
void SmallEig::solve_for_pair(int k) {
  const double p = real_[k], q = imaginary_[k];
  int begin = k - 1;
  if (std::abs(h(k, k - 1)) > std::abs(h(k - 1, k))) {
    const double below = h(k, k - 1);
    h(k - 1, k - 1) = q / below;
    h(k - 1, k) = -(h(k, k) - p) / below;
  } else {
    const Quotient found = divide(0, -h(k - 1, k), h(k - 1, k - 1) - p, q);
    h(k - 1, k - 1) = found.re;
    h(k - 1, k) = found.im;
  }
  h(k, k - 1) = 0;
  h(k, k) = 1;
  double z = 0, r = 0, s = 0;
  for (int i = k - 2; i >= 0; --i) {
    double re = 0, im = 0;
    for (int j = begin; j <= k; ++j) {
      re += h(i, j) * h(j, k - 1);
      im += h(i, j) * h(j, k);
    }
    const double w = h(i, i) - p;
    if (imaginary_[i] < 0) {
      z = w, r = re, s = im;
      continue;
    }
    begin = i;
    if (imaginary_[i] == 0) {
      const Quotient found = divide(-re, -im, w, q);
      h(i, k - 1) = found.re;
      h(i, k) = found.im;
    } else {
      const double x = h(i, i + 1), y = h(i + 1, i), gap = real_[i] - p;
      double divisor = gap * gap + imaginary_[i] * imaginary_[i] - q * q;
      const double other = gap * 2 * q;
      if (divisor == 0 && other == 0)
        divisor = kEpsilon * norm_ * (std::abs(w) + std::abs(q) + std::abs(x) + std::abs(y) + std::abs(z));
      const Quotient found = divide(x * r - z * re + q * im, x * s - z * im - q * re, divisor, other);
      h(i, k - 1) = found.re;
      h(i, k) = found.im;
      if (std::abs(x) > std::abs(z) + std::abs(q)) {
        h(i + 1, k - 1) = (-re - w * found.re + q * found.im) / x;
        h(i + 1, k) = (-im - w * found.im - q * found.re) / x;
      } else {
        const Quotient next = divide(-r - y * found.re, -s - y * found.im, z, q);
        h(i + 1, k - 1) = next.re;
        h(i + 1, k) = next.im;
      }
    }
    divide_columns(i, k - 1, k, std::max(std::abs(h(i, k - 1)), std::abs(h(i, k))));
  }
}

void SmallEig::solve_triangle() {
  for (int k = n_ - 1; k >= 0; --k) {
    if (imaginary_[k] == 0) {
      solve_for_real(k);
    } else {
      solve_for_pair(k);
      --k;
    }
  }
}

/// V = scales V T, with the vectors T of the triangle in H.
void SmallEig::transform_vectors() {
  for (int c = n_ - 1; c >= 0; --c) {
    double* to = scales_ + n_;
    std::fill_n(to, n_, 0.0);
    for (int k = 0; k <= c; ++k) {
      const double factor = h(k, c);
      const double* from = vector(k);
      for (int r = 0; r < n_; ++r) to[r] += factor * from[r];
    }
    std::copy_n(to, n_, &v(0, c));
  }
}

void SmallEig::normalize_vectors() {
  for (int c = 0; c < n_; ++c) {
    double* re = &v(0, c);
    for (int r = 0; r < n_; ++r) re[r] *= scales_[r];
    double most = 0, squares = 0;
    if (imaginary_[c] == 0) {
      for (int r = 0; r < n_; ++r) most = std::max(most, std::abs(re[r]));
      for (int r = 0; r < n_; ++r) squares += re[r] / most * (re[r] / most);
      const double length = most * std::sqrt(squares);
      for (int r = 0; r < n_; ++r) re[r] /= length;
      continue;
    }
    double* im = &v(0, c + 1);
    int longest = 0;
    for (int r = 0; r < n_; ++r) {
      im[r] *= scales_[r];
      most = std::max({most, std::abs(re[r]), std::abs(im[r])});
    }
    double largest = -1;
    for (int r = 0; r < n_; ++r) {
      const double x = re[r] / most, y = im[r] / most, size = x * x + y * y;
      squares += size;
      if (size > largest) largest = size, longest = r;
    }
    // The largest element becomes real.
    const double length = most * std::sqrt(squares), own = most * std::sqrt(largest);
    const double cosine = re[longest] / own / length, sine = im[longest] / own / length;
    for (int r = 0; r < n_; ++r) {
      const double x = re[r], y = im[r];
      re[r] = cosine * x + sine * y;
      im[r] = cosine * y - sine * x;
    }
    im[longest] = 0;
    ++c;
  }
}

bool SmallEig::run() {
  const int exponent = scale_to_ordinary_size();
  balance();
  reduce_to_hessenberg();
  if (!iterate()) return false;
  if (vectors_) {
    if (norm_ != 0) {
      solve_triangle();
      transform_vectors();
    }
    normalize_vectors();
  }
  for (int k = 0; exponent != 0 && k < n_; ++k) {
    real_[k] = std::ldexp(real_[k], exponent);
    imaginary_[k] = nonzero_imaginary<double>(imaginary_[k], std::ldexp(imaginary_[k], exponent));
  }
  return true;
}

}  // namespace tern::cpu
