// The innermost loops of y = x w^T, compiled once for each instruction set. A block of y is made as its transpose: each
// element of w is repeated for all lanes of a register, which hold neighbouring rows of x. So w is read where it lies.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dtypes/levels.h"
#include "dtypes/small_float.h"

namespace tern::in_place_product {

constexpr int kMostRows = 12;       // rows of w in a strip
constexpr int kMostWidth = 32;      // rows of x in a panel
constexpr int kMostDotRows = 4;     // rows of x whose dot products are made at once
constexpr int kStripsTogether = 8;  // strips whose results fill whole cache lines of y
/// Floats between rows of a block of results, which is stored when its strips are done: rows of y may share few lines
/// of the first cache.
constexpr int kBlockRow = kStripsTogether * kMostRows + 16;

/// tile [rows, width] = w [rows, k] (rows `w_row` apart) times panel [k, width]. Sums are of at most 256 products, and
/// added up then.
using Micro = void (*)(const float* w, std::ptrdiff_t w_row, const float* panel, std::ptrdiff_t k, float* tile);

/// sums[i * 4 + j] = row i of x (rows `x_row` apart) times row j of w (rows `w_row` apart) for four rows of w.
template <class W>
using FourDots = void (*)(const float* x, std::ptrdiff_t x_row, const W* w, std::ptrdiff_t w_row, std::ptrdiff_t k,
                          float* sums);

/// Dot products by a weight in no near cache: sums[j] = x times row j of w, sums[2 + j] = x times row j of `other`, for
/// two rows of each. Lines are asked for `ahead` bytes before they are used.
template <class W>
using TwoStreams = void (*)(const float* x, const W* w, const W* other, std::ptrdiff_t w_row, std::ptrdiff_t k,
                            std::ptrdiff_t ahead, float* sums);

/// `count` elements of w, widened.
template <class W>
using Widen = void (*)(const W* w, std::ptrdiff_t count, float* to);

/// The loops that read a weight of one type. `widen` is null where dtypes/convert.h is as fast.
template <class W>
struct WeightLoops {
  using Element = W;
  FourDots<W> dots[kMostDotRows]{};  ///< indexed by rows of x, 1 to `dot_rows`
  TwoStreams<W> streams = nullptr;
  Widen<W> widen = nullptr;
};

struct MicroKernels {
  int rows = 0;                ///< rows of a full strip
  int widths[3]{};             ///< widths of panels, descending; 0: no more
  Micro tile[3][kMostRows]{};  ///< indexed by width, and by rows, 1 to `rows`
  int dot_rows = 0;
  WeightLoops<float> f32;
  WeightLoops<Half> f16;
  WeightLoops<BFloat16> bf16;
  WeightLoops<std::int8_t> i8;
  WeightLoops<std::uint8_t> u8;
  WeightLoops<F8E4M3FN> f8_e4m3fn;
  WeightLoops<F8E5M2> f8_e5m2;
  /// x [count, k] (rows `x_row` apart) as a panel [k, width], with zeros where it has no row.
  void (*pack)(const float* x, std::ptrdiff_t x_row, int count, std::ptrdiff_t k, int width, float* panel);
  /// block [width, rows] (rows kBlockRow apart) = the tile's transpose.
  void (*transpose)(const float* tile, int width, int rows, float* block);
  /// y [rows, columns] (rows `y_row` apart) = the block plus `bias`; plus y itself if that is null.
  void (*store)(const float* block, int rows, std::ptrdiff_t columns, const float* bias, float* y,
                std::ptrdiff_t y_row);
};

/// The kernels for this processor.
const MicroKernels& micro_kernels();
/// The kernels for products of bfloat16: a "float" of w, x and the panel is a pair of neighbours in k, and `k` counts
/// pairs. Weights of other types have no loops. Null: the processor has no such instruction.
const MicroKernels* pair_kernels();

TERN_LEVEL_FUNCTIONS(vectors, set, MicroKernels* kernels)
TERN_LEVEL_FUNCTIONS(bfloat16_vectors, set_pairs, MicroKernels* kernels)

}  // namespace tern::in_place_product
