#include "runtime/matrices/schur_form.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "kernels/cpu/linalg/large.h"

namespace tern::matrices {
namespace {

constexpr double kUlp = std::numeric_limits<double>::epsilon();
constexpr std::int64_t kSmall = 48;         // LAPACK's blocks are faster above
constexpr int kIterationsPerRow = 30;       // an eigenvalue usually takes three
constexpr int kExceptionalIterations = 10;  // iterations before a shift breaks a cycle

/// H = Q^H A Q by reflections, Z = Q.
template <class T>
void reduce_to_hessenberg(MatrixRef<T> a, MatrixRef<T> z) {
  const std::int64_t n = a.rows;
  std::fill_n(z.data, n * n, T(0));
  for (std::int64_t i = 0; i < n; ++i) z(i, i) = T(1);
  std::vector<T> u(static_cast<std::size_t>(n)), sums(static_cast<std::size_t>(n));
  for (std::int64_t k = 0; k + 2 < n; ++k) {
    double below = 0, squares = 0;
    for (std::int64_t r = k + 2; r < n; ++r) below = std::max(below, size_of(a(r, k)));
    if (below == 0) continue;
    const double most = std::max(below, size_of(a(k + 1, k)));
    T* const v = u.data();
    for (std::int64_t r = k + 1; r < n; ++r) {
      v[r] = a(r, k) / most;
      squares += std::norm(v[r]);
    }
    const double length = std::sqrt(squares), first = std::abs(v[k + 1]);
    const T sign = first == 0 ? T(1) : v[k + 1] / first;
    v[k + 1] += sign * length;
    const double factor = 1 / (squares + first * length);  // 2 / |v|^2
    std::fill(sums.begin() + k, sums.end(), T(0));
    for (std::int64_t r = k + 1; r < n; ++r) {
      for (std::int64_t c = k; c < n; ++c) sums[static_cast<std::size_t>(c)] += conjugate(v[r]) * a(r, c);
    }
    for (std::int64_t r = k + 1; r < n; ++r) {
      const T f = factor * v[r];
      for (std::int64_t c = k; c < n; ++c) a(r, c) -= f * sums[static_cast<std::size_t>(c)];
    }
    const auto from_right = [&](MatrixRef<T> m) {
      for (std::int64_t r = 0; r < n; ++r) {
        T* const row = m.row(r);
        T sum = T(0);
        for (std::int64_t c = k + 1; c < n; ++c) sum += row[c] * v[c];
        sum *= factor;
        for (std::int64_t c = k + 1; c < n; ++c) row[c] -= sum * conjugate(v[c]);
      }
    };
    from_right(a);
    from_right(z);
    for (std::int64_t r = k + 2; r < n; ++r) a(r, k) = T(0);
  }
}

/// Row with a negligible element before it, searched from `last` down to `first` (Ahues and Tisseur, 1997).
template <class T>
std::int64_t find_deflation(MatrixRef<T> h, std::int64_t first, std::int64_t last, double smallest) {
  std::int64_t k = last;
  for (; k > first; --k) {
    const double below = size_of(h(k, k - 1));
    if (below <= smallest) break;
    double near = size_of(h(k - 1, k - 1)) + size_of(h(k, k));
    if (near == 0) {
      if (k >= 2) near += size_of(h(k - 1, k - 2));
      if (k + 1 < h.rows) near += size_of(h(k + 1, k));
    }
    if (below > kUlp * near) continue;
    const double above = size_of(h(k - 1, k)), ab = std::max(below, above), ba = std::min(below, above);
    const double gap = size_of(h(k - 1, k - 1) - h(k, k)), own = size_of(h(k, k));
    const double aa = std::max(own, gap), bb = std::min(own, gap), s = aa + ab;
    if (ba * (ab / s) <= std::max(smallest, kUlp * (bb * (aa / s)))) break;
  }
  return k;
}

struct Rotation {
  double cosine, sine;
};

/// Makes [a b; c d] triangular, or gives it equal diagonal elements and b c < 0: LAPACK's lanv2.
Rotation standardize(double& a, double& b, double& c, double& d) {
  const auto opposite = [](double x, double y) { return std::signbit(x) != std::signbit(y); };
  if (c == 0) return {1, 0};
  if (b == 0) {
    std::swap(a, d);
    b = -c, c = 0;
    return {0, 1};
  }
  if (a - d == 0 && opposite(b, c)) return {1, 0};
  double difference = a - d, p = difference / 2;
  const double most = std::max(std::abs(b), std::abs(c));
  const double least = std::min(std::abs(b), std::abs(c)) * (opposite(b, c) ? -1 : 1);
  const double scale = std::max(std::abs(p), most);
  double z = p / scale * p + most / scale * least;
  if (z >= 4 * kUlp) {  // real eigenvalues
    z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
    a = d + z;
    d -= most / z * least;
    const double length = std::hypot(c, z);
    const Rotation turn{z / length, c / length};
    b -= c, c = 0;
    return turn;
  }
  const double sigma = b + c, length = std::hypot(sigma, difference);
  double cosine = std::sqrt((1 + std::abs(sigma) / length) / 2);
  double sine = -(p / (length * cosine)) * (std::signbit(sigma) ? -1 : 1);
  const double aa = a * cosine + b * sine, bb = b * cosine - a * sine;
  const double cc = c * cosine + d * sine, dd = d * cosine - c * sine;
  a = aa * cosine + cc * sine, b = bb * cosine + dd * sine;
  c = cc * cosine - aa * sine, d = dd * cosine - bb * sine;
  const double middle = (a + d) / 2;
  a = d = middle;
  if (c == 0) return {cosine, sine};
  if (b == 0) {
    b = -c, c = 0;
    return {-sine, cosine};
  }
  if (opposite(b, c)) return {cosine, sine};
  const double root_b = std::sqrt(std::abs(b)), root_c = std::sqrt(std::abs(c));
  p = std::copysign(root_b * root_c, c);
  const double inverse = 1 / std::sqrt(std::abs(b + c));
  a = middle + p, d = middle - p;
  b -= c, c = 0;
  const double other_cosine = root_b * inverse, other_sine = root_c * inverse;
  difference = cosine * other_cosine - sine * other_sine;
  sine = cosine * other_sine + sine * other_cosine;
  return {difference, sine};
}

struct Shifts {
  double re[2], im[2];
};
/// Eigenvalues of [a b; c d]; of real ones, the nearer to d twice.
Shifts shifts_of(double a, double b, double c, double d) {
  const double s = std::abs(a) + std::abs(b) + std::abs(c) + std::abs(d);
  if (s == 0) return {};
  a /= s, b /= s, c /= s, d /= s;
  const double middle = (a + d) / 2, determinant = (a - middle) * (d - middle) - b * c;
  const double root = std::sqrt(std::abs(determinant));
  if (determinant >= 0) return {{middle * s, middle * s}, {root * s, -root * s}};
  const double x = middle + root, y = middle - root, nearer = (std::abs(x - d) <= std::abs(y - d) ? x : y) * s;
  return {{nearer, nearer}, {0, 0}};
}

/// Turns v into a multiple of its first unit vector by 1 - t [1 w] [1 w]^T; v becomes (length, w). Returns t.
double reflect(double* v, std::int64_t n) {
  const double rest = n == 3 ? std::hypot(v[1], v[2]) : std::abs(v[1]);
  if (rest == 0) return 0;
  const double length = -std::copysign(std::hypot(v[0], rest), v[0]), t = (length - v[0]) / length;
  for (std::int64_t i = 1; i < n; ++i) v[i] /= v[0] - length;
  v[0] = length;
  return t;
}

/// Francis's double step on the block of rows first .. last.
void double_step(MatrixRef<double> h, MatrixRef<double> z, std::int64_t first, std::int64_t last, const Shifts& s) {
  const std::int64_t n = h.rows;
  double v[3] = {};
  std::int64_t start = last - 2;
  for (;; --start) {  // two small elements below the diagonal
    const double own = h(start, start), next = h(start + 1, start + 1);
    const double size = std::abs(own - s.re[1]) + std::abs(s.im[1]) + std::abs(h(start + 1, start));
    const double below = h(start + 1, start) / size;
    v[0] = below * h(start, start + 1) + (own - s.re[0]) * ((own - s.re[1]) / size) - s.im[0] * (s.im[1] / size);
    v[1] = below * (own + next - s.re[0] - s.re[1]);
    v[2] = below * h(start + 2, start + 1);
    const double sum = std::abs(v[0]) + std::abs(v[1]) + std::abs(v[2]);
    for (double& x : v) x /= sum;
    if (start == first) break;
    const double beside = std::abs(h(start - 1, start - 1)) + std::abs(own) + std::abs(next);
    if (std::abs(h(start, start - 1)) * (std::abs(v[1]) + std::abs(v[2])) <= kUlp * std::abs(v[0]) * beside) break;
  }
  for (std::int64_t k = start; k < last; ++k) {
    const std::int64_t rows = std::min<std::int64_t>(3, last - k + 1);
    if (k > start) {
      for (std::int64_t i = 0; i < rows; ++i) v[i] = h(k + i, k - 1);
    }
    const double t = reflect(v, rows);
    if (k > start) {
      h(k, k - 1) = v[0];
      for (std::int64_t i = 1; i < rows; ++i) h(k + i, k - 1) = 0;
    } else if (start > first) {
      h(k, k - 1) *= 1 - t;
    }
    const double w1 = v[1], w2 = rows == 3 ? v[2] : 0, t1 = t * w1, t2 = t * w2;
    if (rows == 3) {
      double *x = h.row(k), *y = h.row(k + 1), *third = h.row(k + 2);
      for (std::int64_t c = k; c < n; ++c) {
        const double sum = x[c] + w1 * y[c] + w2 * third[c];
        x[c] -= sum * t, y[c] -= sum * t1, third[c] -= sum * t2;
      }
    } else {
      double *x = h.row(k), *y = h.row(k + 1);
      for (std::int64_t c = k; c < n; ++c) {
        const double sum = x[c] + w1 * y[c];
        x[c] -= sum * t, y[c] -= sum * t1;
      }
    }
    const auto from_right = [&](MatrixRef<double> m, std::int64_t end) {
      for (std::int64_t r = 0; r < end; ++r) {
        double* const x = m.row(r) + k;
        const double sum = rows == 3 ? x[0] + w1 * x[1] + w2 * x[2] : x[0] + w1 * x[1];
        x[0] -= sum * t, x[1] -= sum * t1;
        if (rows == 3) x[2] -= sum * t2;
      }
    };
    from_right(h, std::min(k + 3, last) + 1);
    from_right(z, n);
  }
}

/// Reduces H to quasi-triangular form.
bool iterate(MatrixRef<double> h, MatrixRef<double> z, double smallest) {
  const std::int64_t n = h.rows;
  std::int64_t remaining_iterations = kIterationsPerRow * std::max<std::int64_t>(10, n);
  int since_deflation = 0;
  for (std::int64_t last = n - 1; last >= 0;) {
    const std::int64_t first = find_deflation(h, 0, last, smallest);
    if (first > 0) h(first, first - 1) = 0;
    if (first + 1 < last) {
      if (remaining_iterations-- == 0) return false;
      ++since_deflation;
      double a = h(last - 1, last - 1), b = h(last - 1, last), c = h(last, last - 1), d = h(last, last);
      if (since_deflation % kExceptionalIterations == 0) {
        const bool at_end = since_deflation % (2 * kExceptionalIterations) == 0;
        const std::int64_t at = at_end ? last : first;
        const double s = at_end ? std::abs(h(last, last - 1)) + std::abs(h(last - 1, last - 2))
                                : std::abs(h(first + 1, first)) + std::abs(h(first + 2, first + 1));
        a = d = 0.75 * s + h(at, at), b = -0.4375 * s, c = s;
      }
      double_step(h, z, first, last, shifts_of(a, b, c, d));
      continue;
    }
    if (first + 1 == last) {
      const auto [cosine, sine] = standardize(h(first, first), h(first, last), h(last, first), h(last, last));
      const auto rotate = [cosine = cosine, sine = sine](double& x, double& y) {
        const double before = x;
        x = cosine * x + sine * y;
        y = cosine * y - sine * before;
      };
      for (std::int64_t c = last + 1; c < n; ++c) rotate(h(first, c), h(last, c));
      for (std::int64_t r = 0; r < first; ++r) rotate(h(r, first), h(r, last));
      for (std::int64_t r = 0; r < n; ++r) rotate(z(r, first), z(r, last));
    }
    since_deflation = 0;
    last = first - 1;
  }
  return true;
}

/// Eigenvalue of [a b; c d] nearer to d.
Complex nearer_eigenvalue(Complex a, Complex b, Complex c, Complex d) {
  const double s = size_of(a) + size_of(b) + size_of(c) + size_of(d);
  if (s == 0) return 0;
  const Complex product = b / s * (c / s);
  if (product == Complex(0)) return d;
  const Complex half = (a - d) / s / 2.0, root = std::sqrt(half * half + product);
  const Complex far = half.real() * root.real() + half.imag() * root.imag() < 0 ? half - root : half + root;
  return d - product / far * s;
}

/// Reduces H to triangular form by steps with one shift.
bool iterate(MatrixRef<Complex> h, MatrixRef<Complex> z, double smallest) {
  const std::int64_t n = h.rows;
  std::int64_t remaining_iterations = kIterationsPerRow * std::max<std::int64_t>(10, n);
  int since_deflation = 0;
  for (std::int64_t last = n - 1; last >= 0;) {
    const std::int64_t first = find_deflation(h, 0, last, smallest);
    if (first > 0) h(first, first - 1) = 0;
    if (first == last) {
      since_deflation = 0;
      --last;
      continue;
    }
    if (remaining_iterations-- == 0) return false;
    Complex shift = nearer_eigenvalue(h(last - 1, last - 1), h(last - 1, last), h(last, last - 1), h(last, last));
    if (++since_deflation % kExceptionalIterations == 0) shift = h(last, last) + 0.75 * size_of(h(last, last - 1));
    Complex x = h(first, first) - shift, y = h(first + 1, first);
    for (std::int64_t k = first; k < last; ++k) {
      if (k > first) x = h(k, k - 1), y = h(k + 1, k - 1);
      const double x_size = std::abs(x), length = std::hypot(x_size, std::abs(y));
      if (length == 0) continue;
      const double cosine = x_size / length;
      const Complex sine = x_size == 0 ? Complex(1) : x / x_size * std::conj(y) / length;
      Complex *above = h.row(k), *below = h.row(k + 1);
      for (std::int64_t c = std::max(k - 1, first); c < n; ++c) {
        const Complex before = above[c];
        above[c] = cosine * before + sine * below[c];
        below[c] = cosine * below[c] - std::conj(sine) * before;
      }
      if (k > first) h(k + 1, k - 1) = 0;
      const auto from_right = [&](MatrixRef<Complex> m, std::int64_t end) {
        for (std::int64_t r = 0; r < end; ++r) {
          Complex* const e = m.row(r) + k;
          const Complex before = e[0];
          e[0] = before * cosine + e[1] * std::conj(sine);
          e[1] = e[1] * cosine - before * sine;
        }
      };
      from_right(h, std::min(k + 2, last) + 1);
      from_right(z, n);
    }
  }
  return true;
}

template <class T>
bool reduce(MatrixRef<T> a, MatrixRef<T> z) {
  const std::int64_t n = a.rows;
  if (n > kSmall) {
    if (const std::optional<bool> found = cpu::lapack_schur(n, a.data, z.data)) return *found;
  }
  reduce_to_hessenberg(a, z);
  if (!iterate(a, z, std::numeric_limits<double>::min() * (static_cast<double>(n) / kUlp))) return false;
  const std::int64_t under = std::is_same_v<T, double> ? 2 : 1;  // a real T keeps its blocks
  for (std::int64_t r = under; r < n; ++r) std::fill_n(a.row(r), r - under + 1, T(0));
  return true;
}

}  // namespace

template <class T>
bool to_schur_form(MatrixRef<T> a, MatrixRef<T> z) {
  const std::int64_t count = a.rows * a.rows;
  const int exponent = unusual(exponent_of(a.data, count));
  scale_by_power(a.data, count, -exponent);
  const bool found = reduce(a, z);
  scale_by_power(a.data, count, exponent);
  return found;
}

void to_triangular(MatrixRef<Complex> t, MatrixRef<Complex> z) {
  const std::int64_t n = t.rows;
  const int exponent = unusual(exponent_of(t.data, n * n));
  scale_by_power(t.data, n * n, -exponent);
  for (std::int64_t k = n - 1; k > 0; --k) {
    const double below = t(k, k - 1).real(), above = t(k - 1, k).real();
    if (below == 0) continue;
    const Complex value(0, std::sqrt(std::abs(above)) * std::sqrt(std::abs(below)));  // less the diagonal element
    const double length = std::hypot(std::abs(value), below), sine = below / length;
    const Complex cosine = value / length;
    for (std::int64_t c = k - 1; c < n; ++c) {
      const Complex x = t(k - 1, c), y = t(k, c);
      t(k - 1, c) = std::conj(cosine) * x + sine * y;
      t(k, c) = cosine * y - sine * x;
    }
    const auto from_right = [&](MatrixRef<Complex> m, std::int64_t end) {
      for (std::int64_t r = 0; r < end; ++r) {
        const Complex x = m(r, k - 1), y = m(r, k);
        m(r, k - 1) = x * cosine + y * sine;
        m(r, k) = y * std::conj(cosine) - x * sine;
      }
    };
    from_right(t, k + 1);
    from_right(z, n);
    t(k, k - 1) = 0;
  }
  scale_by_power(t.data, n * n, exponent);
}

template bool to_schur_form(MatrixRef<double>, MatrixRef<double>);
template bool to_schur_form(MatrixRef<Complex>, MatrixRef<Complex>);

}  // namespace tern::matrices
