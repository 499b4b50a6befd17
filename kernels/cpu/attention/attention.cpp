// attention without a matrix of all scores: blocks of queries pass over blocks of keys with a running maximum and sum
// for each row (FlashAttention, Dao et al. 2022). gemm multiplies blocks; threads share batches, heads and blocks of
// queries.

#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "dtypes/convert.h"
#include "dtypes/storage.h"
#include "kernels/cpu/attention/shared_heads.h"
#include "kernels/cpu/contractions.h"
#include "kernels/cpu/dense.h"
#include "kernels/cpu/machine.h"
#include "kernels/cpu/products/gemm.h"
#include "kernels/cpu/products/packed_weight.h"
#include "kernels/cpu/products/tiles/key_block.h"
#include "kernels/cpu/products/tiles/split_division.h"
#include "kernels/cpu/reductions/softmax_row.h"
#include "kernels/cpu/scratch.h"
#include "schema/absent.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kQueries = 64, kKeys = 512;  // rows and columns of a block of scores: 128 KiB
constexpr std::int64_t kScores = kQueries * kKeys;
constexpr std::int64_t kManyQueries = 256;  // query block size on tiles; each block splits the keys again

/// Returns the matrix [rows, columns] of one head: rows from `begin` of the last two axes of `v`, at `offset` elements.
TensorView rows_of(const TensorView& v, std::int64_t offset, std::int64_t begin, std::int64_t count) {
  TensorView m = v;
  m.rank = 2;
  const int r = v.rank;
  m.sizes[0] = count;
  m.sizes[1] = v.size(r - 1);
  m.strides[0] = v.stride(r - 2);
  m.strides[1] = v.stride(r - 1);
  m.data = v.data + (offset + begin * m.strides[0]) * element_size(v.dtype);
  return m;
}

/// Returns `m` for gemm: in place if dtype and layout allow, else converted into `buffer`.
template <class T>
MatrixView<T> readable(const TensorView& m, T* buffer) {
  if (m.dtype == dtype_of_v<T> && gemm_layout(m.size(0), m.size(1), m.stride(0), m.stride(1))) {
    return {m.data_as<const T>(), m.stride(0), m.stride(1)};
  }
  to_dense(m, dtype_of_v<T>, buffer);
  return {buffer, m.size(1), 1};
}

struct AttentionShape {
  std::int64_t planes = 1, heads = 1, per_group = 1, queries = 0, keys = 0, width = 0, out_width = 0;
  bool causal = false;
};

/// Returns the offset in elements of plane `p` in `v`. Planes are the result's axes before the last two, in row-major
/// order; `per_group` heads of the result share a head of `v`.
std::int64_t plane_offset(const TensorView& v, const TensorView& out, std::int64_t p, std::int64_t per_group) {
  std::int64_t offset = 0;
  for (int i = out.rank - 3; i >= 0; --i) {
    const std::int64_t size = out.size(i);
    std::int64_t at = p % size;
    p /= size;
    if (i == out.rank - 3) at /= per_group;
    if (v.size(i) != 1) offset += at * v.stride(i);
  }
  return offset;
}

/// Returns row `row` of the mask for keys [begin, begin + n), to be added to the scores; null without a mask.
template <class T>
const T* mask_row(const TensorView& mask, std::int64_t offset, std::int64_t row, std::int64_t begin, std::int64_t n,
                  T* buffer) {
  const int r = mask.rank;
  const std::int64_t stride = mask.size(r - 1) == 1 ? 0 : mask.stride(r - 1);
  const std::int64_t at = offset + (mask.size(r - 2) == 1 ? 0 : row * mask.stride(r - 2)) + begin * stride;
  if (mask.dtype == DType::boolean) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr auto kHidden = std::bit_cast<Bits>(-std::numeric_limits<T>::infinity());
    const auto value = [](std::uint8_t seen) { return std::bit_cast<T>((Bits(seen) - 1) & kHidden); };
    const auto* m = mask.data_as<const std::uint8_t>() + at;
    if (stride == 1) {  // a loop for compilers to vectorize
      for (std::int64_t i = 0; i < n; ++i) buffer[i] = value(m[i]);
    } else {
      for (std::int64_t i = 0; i < n; ++i) buffer[i] = value(m[i * stride]);
    }
    return buffer;
  }
  if (stride == 1 && mask.dtype == dtype_of_v<T>) return mask.data_as<const T>() + at;
  TensorView v = mask;
  v.rank = 1;
  v.sizes[0] = n;
  v.strides[0] = stride;
  v.data = mask.data + at * element_size(mask.dtype);
  to_dense(v, dtype_of_v<T>, buffer);
  return buffer;
}

/// Turns scores into weights and returns their sum. 16-bit values need weights rounded to the same type, as in PyTorch;
/// the sum adds the unrounded weights.
template <class T>
T weigh(T* row, std::int64_t n, T max, DType values, T* buffer) {
  const T sum = exp_and_sum(row, n, max);
  if (values != dtype_of_v<T>) {
    convert(row, dtype_of_v<T>, buffer, values, n);
    convert(buffer, values, row, dtype_of_v<T>, n);
  }
  return sum;
}

template <class T>
struct QueryBlock {
  MatrixView<T> q;
  std::int64_t first = 0, rows = 0;  ///< queries
  T *scores, *sums, *max, *total, *buffer, *mask_buffer;
  tiles::KeyBlock* tiles = nullptr;  ///< float: products are made on matrix tiles
  const std::byte *split_keys = nullptr, *split_values = nullptr;
  std::int64_t split_count = 0;  ///< keys and values held by `tiles`
};

/// Loads these keys and values into the tiles. Returns false if gemm has to multiply.
template <class T>
bool pack_tiles(const TensorView& k, const TensorView& v, std::int64_t n, QueryBlock<T>& b) {
  if constexpr (std::is_same_v<T, float>) {
    if (b.tiles == nullptr) return false;
    const auto in_rows = [](const TensorView& m) {
      return (m.dtype == DType::f32 || m.dtype == DType::bf16) && (m.stride(1) == 1 || m.size(1) == 1);
    };
    if (!in_rows(k) || !in_rows(v) || b.q.column != 1) return false;
    if (b.split_keys == k.data && b.split_values == v.data && b.split_count == n) return true;
    b.split_keys = k.data;
    b.split_values = v.data;
    b.split_count = b.tiles->split(k, v, n) ? n : -1;
    return b.split_count == n;
  }
  return false;
}

/// Computes the block's scores against these keys, on tiles if `held`.
template <class T>
void score(const TensorView& k, std::int64_t width, std::int64_t n, bool held, QueryBlock<T>& b) {
  if constexpr (std::is_same_v<T, float>) {
    if (held && b.tiles->scores(b.q.data, b.q.row, b.rows, b.scores)) return;
  }
  const MatrixView<T> keys = readable(k, b.buffer);
  gemm<T>(b.rows, n, width, b.q, {keys.data, keys.column, keys.row}, b.scores, n, false);
}

/// Adds keys [begin, begin + n) to the block's sums.
template <class T>
void take_keys(const KernelCall& c, const AttentionShape& s, T scale, std::int64_t mask_offset, const TensorView& k,
               const TensorView& v, std::int64_t begin, std::int64_t n, QueryBlock<T>& b) {
  const bool held = pack_tiles(k, v, n, b);
  score(k, s.width, n, held, b);
  for (std::int64_t r = 0; r < b.rows; ++r) {
    T* row = b.scores + r * n;
    const std::int64_t query = b.first + r;
    const std::int64_t seen = s.causal ? std::clamp<std::int64_t>(query + 1 - begin, 0, n) : n;
    const T* mask = c.has_input(3) ? mask_row(c.in[3], mask_offset, query, begin, seen, b.mask_buffer) : nullptr;
    const T block_max = scale_and_max(row, seen, scale, mask);
    const T max = std::max(b.max[r], block_max);
    std::fill(row + seen, row + n, T(0));
    if (max == -std::numeric_limits<T>::infinity()) {  // every key is masked so far, unless the maximum is NaN
      T sum = 0;
      for (std::int64_t i = 0; i < seen; ++i) {
        row[i] = std::isnan(row[i]) ? row[i] : T(0);
        sum += row[i];
      }
      b.total[r] += sum;
      continue;
    }
    const T shrink = std::exp(b.max[r] - max);
    // Tiles round weights themselves.
    const DType values = held ? dtype_of_v<T> : v.dtype;
    b.total[r] = b.total[r] * shrink + weigh(row, seen, max, values, b.mask_buffer);
    b.max[r] = max;
    if (shrink != T(1)) {
      T* sums = b.sums + r * s.out_width;
      for (std::int64_t i = 0; i < s.out_width; ++i) sums[i] *= shrink;
    }
  }
  if constexpr (std::is_same_v<T, float>) {
    if (held) return b.tiles->add_values(b.scores, b.rows, b.sums);
  }
  gemm<T>(b.rows, s.out_width, n, {b.scores, n, 1}, readable(v, b.buffer), b.sums, s.out_width, true);
}

/// Stores sums to rows of the result. Rows may have gaps.
template <class T>
void store(const T* sums, const TensorView& to) {
  const std::int64_t n = to.size(1), together = to.stride(0) == n ? to.size(0) : 1;
  for (std::int64_t r = 0; r < to.size(0); r += together)
    convert(sums + r * n, dtype_of_v<T>, to.data + r * to.stride(0) * element_size(to.dtype), to.dtype, together * n);
}

/// Returns the number of queries per block. Every block packs its keys anew, so few large blocks are best while every
/// thread has some; large causal blocks would score masked keys.
std::int64_t queries_of_block(const AttentionShape& s, std::int64_t keys, bool by_tiles) {
  std::int64_t most = kQueries;
  if (by_tiles) {
    if (s.keys > kKeys) most = kManyQueries;
  } else if (!s.causal) {
    const std::int64_t for_each_thread = s.planes * s.queries / (3 * Threads::current().count());
    most = std::clamp(for_each_thread, kQueries, std::max(kQueries, kScores / keys));
  }
  const std::int64_t blocks = std::max<std::int64_t>(1, (s.queries + most - 1) / most);
  return by_tiles ? std::min(most, std::max<std::int64_t>(1, s.queries)) : (s.queries + blocks - 1) / blocks;
}

/// True if the node may round its operands to bfloat16 or has bfloat16 operands.
bool rounds_operands(const KernelCall& c) {
  const auto all = [&](DType t) { return c.in[0].dtype == t && c.in[1].dtype == t && c.in[2].dtype == t; };
  return c.precision == Precision::bfloat16 || all(DType::bf16);
}

/// True if tiles gain more than the split of both operands costs.
bool splits_pay(std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width) {
  constexpr double kNanoseconds = 1e9, kTile = 16, kGain = 1.25;
  const auto padded = [](std::int64_t n) { return std::ceil(static_cast<double>(n) / kTile) * kTile; };
  const auto rows = static_cast<double>(queries), columns = static_cast<double>(keys),
             both = static_cast<double>(width + out_width);
  const double tile_products =
                   padded(queries) * padded(keys) * (padded(width) + padded(out_width)) * tiles::kProductCost +
                   columns * both * tiles::kSplitCost +
                   rows * (static_cast<double>(width) + columns) * tiles::kLeftCost,
               on_vectors = rows * columns * both / machine(Precision::exported).products * kNanoseconds;
  return tile_products * kGain < on_vectors;
}

bool suits_tiles(int parts, std::int64_t queries, std::int64_t keys, std::int64_t width, std::int64_t out_width) {
  if (parts == tiles::kAllParts) {
    return tiles::KeyBlock::suits(queries, keys, width, out_width) && splits_pay(queries, keys, width, out_width);
  }
  return rows_pay() && tiles::RoundedKeys::suits(queries, keys, width, out_width);
}

template <class T>
void attend(KernelCall& c, const AttentionShape& s, T scale) {
  const TensorView& out = c.out[0];
  const int parts_of_floats = rounds_operands(c) ? tiles::kRounded : tiles::kAllParts;
  const bool by_tiles =
      std::is_same_v<T, float> && suits_tiles(parts_of_floats, s.queries, s.keys, s.width, s.out_width);
  const std::int64_t keys = std::min(kKeys, std::max<std::int64_t>(1, s.keys)),
                     queries = queries_of_block(s, keys, by_tiles);
  const std::int64_t blocks = (s.queries + queries - 1) / queries;
  TensorView mask_view;
  if (c.has_input(3)) {
    mask_view = unsqueeze_to_rank(c.in[3], std::max(2, out.rank));
    c.in[3] = mask_view;
  }
  parallel_for(s.planes * blocks, grain_for(queries * s.keys * s.width), [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t widest = std::max(s.width, s.out_width);
    ScratchArena count;
    const auto cut = [&](ScratchArena& parts, QueryBlock<T>& b, T** q) {
      b.scores = parts.allocate<T>(queries * keys);
      b.sums = parts.allocate<T>(queries * s.out_width);
      b.max = parts.allocate<T>(queries);
      b.total = parts.allocate<T>(queries);
      b.buffer = parts.allocate<T>(keys * widest);
      b.mask_buffer = parts.allocate<T>(keys);
      *q = parts.allocate<T>(queries * s.width);
    };
    QueryBlock<T> b;
    T* q_buffer = nullptr;
    cut(count, b, &q_buffer);
    ScratchArena parts(thread_buffer<std::byte>(count.used(), 3));
    cut(parts, b, &q_buffer);
    std::optional<tiles::KeyBlock> tiles;
    if (by_tiles) b.tiles = &tiles.emplace(keys, s.width, s.out_width, parts_of_floats);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t plane = i / blocks;
      b.first = i % blocks * queries;
      b.rows = std::min(queries, s.queries - b.first);
      const std::int64_t at_k = plane_offset(c.in[1], out, plane, s.per_group),
                         at_v = plane_offset(c.in[2], out, plane, s.per_group);
      const std::int64_t at_mask = c.has_input(3) ? plane_offset(c.in[3], out, plane, 1) : 0;
      b.q = readable(rows_of(c.in[0], plane_offset(c.in[0], out, plane, 1), b.first, b.rows), q_buffer);
      std::fill_n(b.sums, b.rows * s.out_width, T(0));
      std::fill_n(b.max, b.rows, -std::numeric_limits<T>::infinity());
      std::fill_n(b.total, b.rows, T(0));
      const std::int64_t last = s.causal ? std::min(s.keys, b.first + b.rows) : s.keys;
      for (std::int64_t key = 0; key < last; key += keys) {
        const std::int64_t n = std::min(keys, last - key);
        take_keys(c, s, scale, at_mask, rows_of(c.in[1], at_k, key, n), rows_of(c.in[2], at_v, key, n), key, n, b);
      }
      for (std::int64_t r = 0; r < b.rows; ++r) {
        T* sums = b.sums + r * s.out_width;
        const T factor = b.total[r] == T(0) ? T(0) : T(1) / b.total[r];
        for (std::int64_t j = 0; j < s.out_width; ++j) sums[j] *= factor;
      }
      store(b.sums, rows_of(out, plane_offset(out, out, plane, 1), b.first, b.rows));
    }
  });
}

/// True if tiles multiply operands rounded to bfloat16, head by head.
bool multiplies_rounded(const KernelCall& c) {
  const TensorView &q = c.in[0], &k = c.in[1], &out = c.out[0];
  const auto floats = [&](std::size_t i) { return c.in[i].dtype == DType::f32; };
  return c.precision == Precision::bfloat16 && floats(0) && floats(1) && floats(2) && out.numel() != 0 &&
         suits_tiles(tiles::kRounded, out.size(out.rank - 2), k.size(k.rank - 2), q.size(q.rank - 1),
                     out.size(out.rank - 1));
}

void run_heads(KernelCall& c) {
  const TensorView &out = c.out[0], &q = c.in[0], &k = c.in[1];
  AttentionShape s;
  const int r = out.rank;
  s.queries = out.size(r - 2);
  s.planes = out.numel() / (s.queries * out.size(r - 1));
  s.keys = k.size(r - 2);
  s.width = q.size(r - 1);
  s.out_width = out.size(r - 1);
  if (r >= 3 && k.size(r - 3) > 0) s.per_group = q.size(r - 3) / k.size(r - 3);
  s.causal = c.node->integer(AttrKey::causal) != 0;
  const double scale = attention_scale(*c.node, s.width);
  if (q.dtype == DType::f64) {
    attend<double>(c, s, scale);
  } else {
    attend<float>(c, s, static_cast<float>(scale));
  }
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  std::optional<SharedHeads> shared = share_heads(c, Threads::current().count());
  if (!shared) return run_heads(c);
  KernelCall of_shared = c;
  of_shared.in = std::span(shared->in).first(c.in.size());
  of_shared.out = {&shared->out, 1};
  run_heads(of_shared);
}

}  // namespace

Kernel attention_kernel() {
  return {.run = run,
          .strided = kAllStrided,
          .rounds = [](const KernelCall& c, std::size_t k) { return k < 3 && multiplies_rounded(c); },
          .stores_rounded = multiplies_rounded,
          .result_strided = true};
}

}  // namespace tern::cpu
