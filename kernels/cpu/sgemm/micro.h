// The innermost loops of a float matrix product, compiled once for each instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tern::sgemm_micro {

/// c [rows, columns] (rows `ldc` apart) = a [rows, k] b [k, columns], plus what c held if `accumulate`. Element (i, p)
/// of a lies at i * a_row + p * a_column; row p of b at p * b_row, with `MicroKernels::columns` readable floats.
using Micro = void (*)(const float* a, std::ptrdiff_t a_row, std::ptrdiff_t a_column, const float* b,
                       std::ptrdiff_t b_row, std::ptrdiff_t k, float* c, std::ptrdiff_t ldc, int columns,
                       bool accumulate);

/// One or four sums over k of a[p] * b[p + j * b_column].
using Dots = void (*)(const float* a, const float* b, std::ptrdiff_t b_column, std::ptrdiff_t k, float* sums);

constexpr int kMostRows = 12, kMostColumns = 32;

// What products and convolutions have in common: the steps of k after which sums are added to c, so that a packed panel
// of b stays in the first cache; the multiplications that are worth a thread; the slot of thread_buffer for panels.
constexpr std::int64_t kDepth = 256, kWorthAThread = 1 << 18;
constexpr std::size_t kPackedSlot = 4;

struct MicroKernels {
  int rows = 0, columns = 0;   ///< the size of a full block
  Micro of_rows[kMostRows]{};  ///< for 1 to `rows` rows
  /// Writes b [k, n] (n at most `columns`) as k rows of `columns` floats, with zeros behind the nth.
  void (*pack)(const float* b, std::ptrdiff_t b_row, std::ptrdiff_t b_column, std::ptrdiff_t k, int n, float* to);
  Dots dot = nullptr, four_dots = nullptr;
};

/// The kernels for this processor.
const MicroKernels& micro_kernels();

void set_baseline(MicroKernels* kernels);
void set_avx2(MicroKernels* kernels);
void set_avx512(MicroKernels* kernels);

}  // namespace tern::sgemm_micro
