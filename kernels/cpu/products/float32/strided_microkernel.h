// The innermost loops of a float matrix product, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "dtypes/levels.h"

namespace tern::strided_product {

/// The treatment of a block's sums: c holds them, or has them added, or they begin with c, so that blocks of k make one
/// chain of fused multiply-adds.
enum class SumMode { stored, added, continued };

/// c [rows, columns] (rows `ldc` apart) and a [rows, k] b [k, columns], as `sums` says. Element (i, p) of a lies at
/// i * a_row + p * a_column; row p of b at p * b_row, with `StridedMicroKernels::columns` readable floats.
using Micro = void (*)(const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_column, const float* b,
                       std::ptrdiff_t b_row, std::ptrdiff_t k, float* c, std::ptrdiff_t ldc, int columns, SumMode sums);

/// Makes one or four sums over k of a[p] * b[p + j * b_column].
using Dots = void (*)(const float* a, const float* b, std::ptrdiff_t b_column, std::ptrdiff_t k, float* sums);

/// c[j] = the sum over p < depth of a[p * a_column] * b[p * b_row + j], plus what c held unless `is_first`; depth is at
/// most kCombined. Each sum is one chain in the order of p.
using Combine = void (*)(const float* a, std::ptrdiff_t a_column, const float* b, std::ptrdiff_t b_row,
                         std::ptrdiff_t depth, std::ptrdiff_t n, float* c, bool is_first);
constexpr std::ptrdiff_t kCombined = 8;

constexpr int kMostRows = 8, kMostColumns = 32;

/// The epilogue of a result in registers: min(max(result + bias + add, low), high).
struct RegisterEpilogue {
  const float* bias = nullptr;  ///< a number for each column, with room to read a whole register; null: none
  const float* add = nullptr;   ///< a number for each result, rows as far apart as those of the result; null: none
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// Products whose rows are windows of an image: c [rows, columns] = the sum over t and p of a[i * a_row + taps[t] + p]
/// * b[p * b_row + t * StridedMicroKernels::columns + j], plus what c held if `accumulate`.
struct WindowProduct {
  const float* a = nullptr;
  std::ptrdiff_t a_row = 0;
  const std::ptrdiff_t* taps = nullptr;
  std::ptrdiff_t tap_count = 0, depth = 0;
  const float* b = nullptr;
  std::ptrdiff_t b_row = 0;
  float* c = nullptr;
  std::ptrdiff_t ldc = 0;
  int columns = 0;
  bool accumulate = false;
  const RegisterEpilogue* finish = nullptr;  ///< null: more is to be added
  /// Lines of the cache that are asked for on the way, as many for every kBetweenLines products.
  const float* ahead = nullptr;
  std::ptrdiff_t ahead_lines = 0;
};
constexpr std::ptrdiff_t kLine = 16, kBetweenLines = 16;  // floats of a line of the cache; products
using WindowMicroKernel = void (*)(const WindowProduct& p);

// Constants of products and convolutions: the steps of k after which sums are added to c, so that a packed panel
// of b stays in the first cache; the multiplications that are worth a thread; the slot of thread_buffer for panels.
constexpr std::int64_t kDepth = 256, kWorthAThread = 1 << 18;
constexpr std::size_t kPackedSlot = 4;

struct StridedMicroKernels {
  int rows = 0, columns = 0;                  ///< the size of a full block
  Micro row_kernels[kMostRows]{};             ///< indexed by rows, 1 to `rows`
  WindowMicroKernel windows[2][kMostRows]{};  ///< indexed by columns (up to half, all), and by rows, 1 to `rows`
  /// Writes b [k, n] (n at most `columns`) as k rows of `columns` floats, with zeros behind the nth.
  void (*pack)(const float* b, std::ptrdiff_t b_row, std::ptrdiff_t b_column, std::ptrdiff_t k, int n, float* to);
  Dots dot = nullptr, four_dots = nullptr;
  Combine combine = nullptr;
};

/// The kernels for this processor.
const StridedMicroKernels& micro_kernels();

TERN_LEVEL_FUNCTIONS(vectors, set, StridedMicroKernels* kernels)

}  // namespace tern::strided_product
