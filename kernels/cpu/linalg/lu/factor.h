// P L U of a real matrix of any size: panels of 16 columns; Tern's loops multiply panels while the matrix fits the
// second-level cache; above, halves with BLAS's products.
#pragma once

#include <algorithm>

#include "kernels/cpu/linalg/batch.h"
#include "kernels/cpu/linalg/lu/loops.h"
#include "kernels/cpu/linalg/triangle.h"

namespace tern::cpu::lu {

inline std::int64_t padded(std::int64_t n) {
  return (n + kPanel - 1) / kPanel * kPanel;
}

template <class T>
class Factor {
 public:
  Factor() = default;
  Factor(int rows, int columns) : m_(rows), n_(columns) {
    row_ = padded(columns);
    if (row_ * sizeof(T) % 1024 == 0) row_ += kPanel;  // otherwise all rows map to the same cache sets
    apart_ = padded(rows) + kPanel;
  }
  void allocate(ScratchArena& arena) {
    matrix_ = arena.allocate<T>(padded(m_) * row_);
    panel_ = arena.allocate<T>(kPanel * apart_);
  }
  const T* matrix() const { return matrix_; }
  int row() const { return static_cast<int>(row_); }  ///< elements between rows
  void read(const BatchOperand& a, std::int64_t i) {
    a.copy_rows(i, matrix_, row_);
    for (std::int64_t r = 0; r < m_; ++r) std::fill(matrix_ + r * row_ + n_, matrix_ + (r + 1) * row_, T(0));
    std::fill(matrix_ + m_ * row_, matrix_ + padded(m_) * row_, T(0));
  }
  void store(T* to) const {
    for (std::int64_t r = 0; r < m_; ++r) std::copy_n(matrix_ + r * row_, n_, to + r * n_);
  }
  /// Like LAPACK's getrf, with pivots from 1.
  int run(std::int32_t* pivots) {
    const int k = std::min(m_, n_);
    info_ = 0;
    if (k == 0) return 0;
    const int whole = k < n_ ? k / kPanel * kPanel : k;  // the last panel's padding holds no later columns
    if (whole > 0) columns(0, whole, pivots);
    if (whole > 0 && whole < n_) finish(0, whole, n_);
    if (whole < k) {
      panel(whole, k, k, pivots);
      finish(whole, k, n_);
    }
    return info_;
  }

 private:
  T* element(std::int64_t r, std::int64_t c) const { return matrix_ + r * row_ + c; }

  void columns(int begin, int end, std::int32_t* pivots) {
    const int n = end - begin;
    if (n <= loops_->max_columns) {
      for (int j = begin; j < end; j += kPanel) panel(j, std::min(j + kPanel, end), end, pivots);
      return;
    }
    const int middle = begin + static_cast<int>(padded(n / 2));
    columns(begin, middle, pivots);
    finish(begin, middle, end);
    columns(middle, end, pivots);
  }
  /// Updates columns `end` to `last` after the factorization of columns `begin` to `end`.
  void finish(int begin, int end, int last) {
    const int depth = end - begin, width = last - end;
    const BlasTriangle<T> lower = {element(begin, begin), row(), CblasLower, CblasNoTrans, CblasUnit};
    solve_triangle(CblasLeft, lower, depth, width, element(begin, end), row());
    if (end < m_) {
      lapack::subtract_product(CblasNoTrans, CblasNoTrans, m_ - end, width, depth, element(end, begin), row(),
                               element(begin, end), row(), element(end, end), row());
    }
  }
  void panel(int begin, int end, int last, std::int32_t* pivots) {
    const std::int64_t rows = padded(m_) - begin;
    transpose(element(begin, begin), rows, kPanel, row_, panel_, apart_);
    const int info = loops_->panel(panel_, apart_, m_ - begin, end - begin, pivots + begin);
    if (info != 0 && info_ == 0) info_ = begin + info;
    for (int j = begin; j < end; ++j) {
      pivots[j] += begin + 1;
      if (pivots[j] != j + 1) loops_->exchange(element(j, 0), element(pivots[j] - 1, 0), static_cast<int>(padded(n_)));
    }
    transpose(panel_, end - begin, rows, apart_, element(begin, begin), row_);
    if (end >= last || end - begin < kPanel) return;
    const int width = static_cast<int>(padded(last - end));
    loops_->solve(panel_, apart_, element(begin, end), row_, width);
    loops_->subtract(panel_ + kPanel, apart_, element(begin, end), element(end, end), row_,
                     static_cast<int>(rows) - kPanel, width);
  }

  const LuLoops<T>* loops_ = &loops<T>();
  int m_ = 0, n_ = 0, info_ = 0;
  std::int64_t row_ = 0, apart_ = 0;
  T *matrix_ = nullptr, *panel_ = nullptr;
};

}  // namespace tern::cpu::lu
