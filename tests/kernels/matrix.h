// Reference matrices in extended precision with naive arithmetic, for tests of linear algebra.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <random>
#include <vector>

#include "tests/kernels/node_run.h"

namespace tern::test {

using Long = std::complex<long double>;

struct Matrix {
  std::int64_t rows = 0, columns = 0;
  std::vector<Long> values;

  Matrix() = default;
  Matrix(std::int64_t r, std::int64_t c) : rows(r), columns(c), values(static_cast<std::size_t>(r * c)) {}
  Long& at(std::int64_t r, std::int64_t c) { return values[static_cast<std::size_t>(r * columns + c)]; }
  const Long& at(std::int64_t r, std::int64_t c) const { return values[static_cast<std::size_t>(r * columns + c)]; }
};

inline Matrix identity(std::int64_t n) {
  Matrix m(n, n);
  for (std::int64_t i = 0; i < n; ++i) m.at(i, i) = 1;
  return m;
}
inline Matrix operator*(const Matrix& a, const Matrix& b) {
  Matrix m(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < b.columns; ++j) {
      for (std::int64_t k = 0; k < a.columns; ++k) m.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return m;
}
inline Matrix operator+(Matrix a, const Matrix& b) {
  for (std::size_t i = 0; i < a.values.size(); ++i) a.values[i] += b.values[i];
  return a;
}
inline Matrix transposed(const Matrix& a) {
  Matrix m(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i) {
    for (std::int64_t j = 0; j < a.columns; ++j) m.at(j, i) = a.at(i, j);
  }
  return m;
}
inline Matrix adjoint(const Matrix& a) {
  Matrix m = transposed(a);
  for (Long& v : m.values) v = std::conj(v);
  return m;
}
/// op 0: unchanged; 1: transposed; 2: adjoint.
inline Matrix apply_op(const Matrix& a, int op) {
  return op == 0 ? a : op == 1 ? transposed(a) : adjoint(a);
}
inline Matrix diagonal(const std::vector<Long>& d) {
  Matrix m(static_cast<std::int64_t>(d.size()), static_cast<std::int64_t>(d.size()));
  for (std::size_t i = 0; i < d.size(); ++i) m.at(static_cast<std::int64_t>(i), static_cast<std::int64_t>(i)) = d[i];
  return m;
}
inline long double largest(const Matrix& a) {
  long double m = 0;
  for (const Long& v : a.values) m = std::max(m, std::abs(v));
  return m;
}
inline long double difference(const Matrix& a, const Matrix& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.columns, b.columns);
  long double m = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const long double d = std::abs(a.values[i] - b.values[i]);
    if (!(d <= m)) m = d;  // NaN too
  }
  return m;
}

/// Quarters between -2 and 2, exact in every type.
inline Matrix random_matrix(std::int64_t rows, std::int64_t columns, bool complex, std::uint32_t seed) {
  Matrix m(rows, columns);
  const auto re = random_numbers(rows * columns, seed, 2, 4), im = random_numbers(rows * columns, seed + 1000, 2, 4);
  for (std::size_t i = 0; i < m.values.size(); ++i) m.values[i] = Long(re[i], complex ? im[i] : 0);
  return m;
}
inline Matrix random_hermitian(std::int64_t n, bool complex, std::uint32_t seed) {
  const Matrix a = random_matrix(n, n, complex, seed);
  return a + adjoint(a);
}

/// Concatenates the matrices of a batch.
inline std::vector<Number> numbers(const std::vector<Matrix>& batch) {
  std::vector<Number> v;
  for (const Matrix& m : batch) {
    for (const Long& x : m.values) v.emplace_back(static_cast<double>(x.real()), static_cast<double>(x.imag()));
  }
  return v;
}
/// Matrix i of an output.
inline Matrix matrix_of(const NodeRun& run, std::size_t output, std::size_t i = 0) {
  const std::vector<std::int64_t> shape = run.shape(output);
  Matrix m(shape[shape.size() - 2], shape.back());
  const std::vector<Number> all = run.output(output);
  for (std::size_t k = 0; k < m.values.size(); ++k) m.values[k] = all[i * m.values.size() + k];
  return m;
}
inline std::vector<Long> vector_of(const NodeRun& run, std::size_t output, std::size_t i = 0) {
  const std::vector<Number> all = run.output(output);
  const auto n = static_cast<std::size_t>(run.shape(output).back());
  return {all.begin() + static_cast<std::ptrdiff_t>(i * n), all.begin() + static_cast<std::ptrdiff_t>((i + 1) * n)};
}

/// The element types of linear algebra.
class LinalgTest : public ::testing::TestWithParam<DType> {
 protected:
  DType type() const { return GetParam(); }
  bool complex() const { return is_complex(type()); }
  DType real_type() const { return type() == DType::c64 ? DType::f32 : type() == DType::c128 ? DType::f64 : type(); }
  /// Some rounding errors of sums over n terms of size 1.
  long double tolerance(std::int64_t n, long double size = 1) const {
    return (real_type() == DType::f32 ? 6e-8L : 1.2e-16L) * 16 * static_cast<long double>(n) * std::max(size, 1.0L);
  }
  void input(NodeRun& run, const std::vector<Matrix>& batch) const {
    run.input(type(), {static_cast<std::int64_t>(batch.size()), batch[0].rows, batch[0].columns}, numbers(batch));
  }
};
inline const auto kLinalgTypes = ::testing::Values(DType::f32, DType::f64, DType::c64, DType::c128);
inline std::string type_name(const ::testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}

}  // namespace tern::test
