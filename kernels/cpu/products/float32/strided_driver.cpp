#include "kernels/cpu/products/float32/strided_driver.h"

#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/scratch.h"
#include "threads/parallel.h"

namespace tern {
namespace strided_product {

const StridedMicroKernels& micro_kernels() {
  static const auto kernels = best_loops<StridedMicroKernels>(set_levels);
  return kernels;
}

}  // namespace strided_product

namespace {

using strided_product::kDepth;
using strided_product::kPackedSlot;
using strided_product::kWorthAThread;
using strided_product::SumMode;

// A block of a and the packed panels stay in the second cache.
constexpr std::int64_t kHeight = 240, kWidth = 1024;

constexpr std::int64_t kLongRow = 32;  // shorter rows of b are read by panels

struct StridedOperand {
  const float* data;
  std::int64_t row, column;
  const float* element(std::int64_t i, std::int64_t j) const { return data + i * row + j * column; }
};

/// Columns [0, width) of b in rows [0, depth), each panel packed unless it is read in place.
struct PackedPanels {
  const strided_product::StridedMicroKernels& kernels;
  StridedOperand b;
  std::int64_t width, depth;
  float* packed;
  bool in_place;

  void pack() const {
    for (std::int64_t j = 0; j < width; j += kernels.columns) {
      if (reads_in_place(j)) continue;
      kernels.pack(b.element(0, j), b.row, b.column, depth,
                   static_cast<int>(std::min<std::int64_t>(kernels.columns, width - j)), packed + j * depth);
    }
  }
  bool reads_in_place(std::int64_t j) const { return in_place && j + kernels.columns <= width; }
};

void multiply_block(const PackedPanels& p, const StridedOperand& a, std::int64_t m, float* c, std::int64_t ldc,
                    SumMode sums) {
  const strided_product::StridedMicroKernels& kernels = p.kernels;
  for (std::int64_t top = 0; top < m; top += kHeight) {
    const std::int64_t bottom = std::min(m, top + kHeight);
    for (std::int64_t j = 0; j < p.width; j += kernels.columns) {
      const int columns = static_cast<int>(std::min<std::int64_t>(kernels.columns, p.width - j));
      const bool direct = p.reads_in_place(j);
      const float* panel = direct ? p.b.element(0, j) : p.packed + j * p.depth;
      for (std::int64_t i = top; i < bottom; i += kernels.rows) {
        const auto rows = static_cast<std::size_t>(std::min<std::int64_t>(kernels.rows, bottom - i));
        kernels.row_kernels[rows - 1](a.element(i, 0), a.row, a.column, panel, direct ? p.b.row : kernels.columns,
                                      p.depth, c + i * ldc + j, ldc, columns, sums);
      }
    }
  }
}

/// Multiplies few rows of a by columns of b that lie in one piece each.
void multiply_by_dots(std::int64_t m, std::int64_t n, std::int64_t k, const StridedOperand& a, const StridedOperand& b,
                      float* c, std::int64_t ldc, bool accumulate) {
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  constexpr std::int64_t kTogether = 4;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t j = 0; j < n; j += kTogether) {
      float sums[kTogether];
      const std::int64_t count = std::min(kTogether, n - j);
      if (count == kTogether) {
        kernels.four_dots(a.element(i, 0), b.element(0, j), b.column, k, sums);
      } else {
        for (std::int64_t q = 0; q < count; ++q)
          kernels.dot(a.element(i, 0), b.element(0, j + q), b.column, k, sums + q);
      }
      float* to = c + i * ldc + j;
      for (std::int64_t q = 0; q < count; ++q) to[q] = accumulate ? to[q] + sums[q] : sums[q];
    }
  }
}

/// Multiplies few rows of a by rows of b that lie in one piece each: b is read once, in its order.
void multiply_by_rows(std::int64_t m, std::int64_t n, std::int64_t k, const StridedOperand& a, const StridedOperand& b,
                      float* c, std::int64_t ldc, bool accumulate) {
  constexpr std::int64_t kCached = 4096;  // columns whose sums stay in the first-level cache
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  for (std::int64_t j = 0; j < n; j += kCached) {
    for (std::int64_t p = 0; p < k; p += strided_product::kCombined) {
      for (std::int64_t i = 0; i < m; ++i) {
        kernels.combine(a.element(i, p), a.column, b.element(p, j), b.row, std::min(strided_product::kCombined, k - p),
                        std::min(kCached, n - j), c + i * ldc + j, p == 0 && !accumulate);
      }
    }
  }
}

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const StridedOperand& a, const StridedOperand& b,
              float* c, std::int64_t ldc, SumMode sums) {
  if (sums != SumMode::continued && m <= kFewRows && b.row == 1 && a.column == 1)
    return multiply_by_dots(m, n, k, a, b, c, ldc, sums == SumMode::added);
  if (m <= kFewRows && b.column == 1 && n >= kLongRow)
    return multiply_by_rows(m, n, k, a, b, c, ldc, sums == SumMode::added);
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  const std::int64_t width = std::min(kWidth, (n + kernels.columns - 1) / kernels.columns * kernels.columns);
  float* packed = thread_buffer<float>(static_cast<std::size_t>(width * std::min(kDepth, k)), kPackedSlot);
  // Packing pays where a panel is read more than twice.
  const bool in_place = b.column == 1 && m <= 2 * kernels.rows;
  for (std::int64_t j = 0; j < n; j += kWidth) {
    for (std::int64_t p = 0; p < k; p += kDepth) {
      const PackedPanels panels{
          kernels, {b.element(p, j), b.row, b.column}, std::min(kWidth, n - j), std::min(kDepth, k - p), packed,
          in_place};
      panels.pack();
      // The first block of k has nothing to continue.
      const SumMode here = sums == SumMode::continued ? (p > 0 ? sums : SumMode::stored)
                           : p > 0                    ? SumMode::added
                                                      : sums;
      multiply_block(panels, {a.element(0, p), a.row, a.column}, m, c + j, ldc, here);
    }
  }
}

void multiply_by_threads(std::int64_t m, std::int64_t n, std::int64_t k, const StridedOperand& left,
                         const StridedOperand& right, float* c, std::int64_t ldc, SumMode sums) {
  // A product by a vector is one of its transpose, whose row is the vector.
  if (n == 1 && m > 1 && ldc == 1) {
    return multiply_by_threads(1, m, k, {right.data, right.column, right.row}, {left.data, left.column, left.row}, c, m,
                               sums);
  }
  const strided_product::StridedMicroKernels& kernels = strided_product::micro_kernels();
  // Threads take columns where there are at least as many as rows: then none of b is packed twice.
  const bool by_columns = n >= m;
  const std::int64_t step = by_columns ? kernels.columns : kernels.rows, length = by_columns ? n : m,
                     other = by_columns ? m : n;
  const std::int64_t cost = std::max<std::int64_t>(1, step * other * k);
  parallel_for(
      (length + step - 1) / step, (kWorthAThread + cost - 1) / cost, [&](std::int64_t first, std::int64_t last) {
        const std::int64_t begin = first * step, count = std::min(length, last * step) - begin;
        if (by_columns) {
          multiply(m, count, k, left, {right.element(0, begin), right.row, right.column}, c + begin, ldc, sums);
        } else {
          multiply(count, n, k, {left.element(begin, 0), left.row, left.column}, right, c + begin * ldc, ldc, sums);
        }
      });
}

}  // namespace

void sgemm(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_row, std::int64_t a_column,
           const float* b, std::int64_t b_row, std::int64_t b_column, float* c, std::int64_t ldc, bool accumulate) {
  multiply_by_threads(m, n, k, {a, a_row, a_column}, {b, b_row, b_column}, c, ldc,
                      accumulate ? SumMode::added : SumMode::stored);
}

void sgemm_in_order(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_row,
                    std::int64_t a_column, const float* b, std::int64_t b_row, std::int64_t b_column, float* c,
                    std::int64_t ldc) {
  multiply_by_threads(m, n, k, {a, a_row, a_column}, {b, b_row, b_column}, c, ldc, SumMode::continued);
}

}  // namespace tern
