// Batches of matrices in complex128, for residuals of results of tern/linalg.h.
#pragma once

#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/tensor.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <random>
#include <string>
#include <vector>

namespace tern::linalg_test {

using Number = std::complex<double>;

/// One matrix.
struct Dense {
  std::size_t rows = 0, columns = 0;
  std::vector<Number> x;

  Dense(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), x(row_count * column_count) {}
  Number& operator()(std::size_t r, std::size_t c) { return x[r * columns + c]; }
  Number operator()(std::size_t r, std::size_t c) const { return x[r * columns + c]; }
};

inline Dense identity(std::size_t n) {
  Dense one(n, n);
  for (std::size_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}
inline Dense operator*(const Dense& a, const Dense& b) {
  Dense y(a.rows, b.columns);
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t k = 0; k < a.columns; ++k) {
      for (std::size_t c = 0; c < b.columns; ++c) y(r, c) += a(r, k) * b(k, c);
    }
  }
  return y;
}
inline Dense operator+(Dense a, const Dense& b) {
  for (std::size_t i = 0; i < a.x.size(); ++i) a.x[i] += b.x[i];
  return a;
}
inline Dense operator-(Dense a, const Dense& b) {
  for (std::size_t i = 0; i < a.x.size(); ++i) a.x[i] -= b.x[i];
  return a;
}
inline Dense adjoint(const Dense& a) {
  Dense y(a.columns, a.rows);
  for (std::size_t r = 0; r < a.rows; ++r) {
    for (std::size_t c = 0; c < a.columns; ++c) y(c, r) = std::conj(a(r, c));
  }
  return y;
}
/// Frobenius norm.
inline double norm(const Dense& a) {
  double sum = 0;
  for (const Number e : a.x) sum += std::norm(e);
  return std::sqrt(sum);
}

/// Calls f(T()) with the element type.
template <class F>
void dispatch_type(DType t, F f) {
  switch (t) {
    case DType::f32: return f(float());
    case DType::f64: return f(double());
    case DType::c64: return f(std::complex<float>());
    default: return f(std::complex<double>());
  }
}

/// Matrix i of a batch [..., rows, columns].
inline Dense matrix(const Tensor& t, std::size_t i) {
  const auto& sizes = t.sizes();
  Dense m(static_cast<std::size_t>(sizes[sizes.size() - 2]), static_cast<std::size_t>(sizes.back()));
  dispatch_type(t.dtype(), [&](auto tag) {
    const auto x = t.span<decltype(tag)>();
    for (std::size_t k = 0; k < m.x.size(); ++k) m.x[k] = Number(x[i * m.x.size() + k]);
  });
  return m;
}

inline double epsilon(DType t) {
  return t == DType::f32 || t == DType::c64 ? 1.2e-7 : 2.3e-16;
}
inline bool is_complex_type(DType t) {
  return t == DType::c64 || t == DType::c128;
}

/// A batch of normally distributed numbers.
inline Tensor random_tensor(DType t, std::vector<std::int64_t> sizes, unsigned seed) {
  Tensor result(t, std::move(sizes));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  dispatch_type(t, [&](auto tag) {
    using T = decltype(tag);
    for (T& e : result.span<T>()) {
      const double re = normal(random);
      if constexpr (std::is_floating_point_v<T>) {
        e = static_cast<T>(re);
      } else {
        using R = typename T::value_type;
        e = T(static_cast<R>(re), static_cast<R>(normal(random)));
      }
    }
  });
  return result;
}
/// Stores matrix i of a batch.
inline void store(Tensor& t, std::size_t i, const Dense& m) {
  dispatch_type(t.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto x = t.span<T>();
    for (std::size_t k = 0; k < m.x.size(); ++k) {
      if constexpr (std::is_floating_point_v<T>) {
        x[i * m.x.size() + k] = static_cast<T>(m.x[k].real());
      } else {
        x[i * m.x.size() + k] = T(m.x[k]);
      }
    }
  });
}

/// The message of the error that f throws.
template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

inline constexpr DType kTypes[] = {DType::f32, DType::f64, DType::c64, DType::c128};

}  // namespace tern::linalg_test
