// attention without a matrix of all scores: blocks of queries pass over blocks of keys with a running maximum and sum
// for each row (FlashAttention, Dao et al. 2022). gemm multiplies blocks; threads share batches, heads and blocks of
// queries. Blocks of keys that a mask or a score function hides from all queries of a block are skipped.

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "dtypes/convert.h"
#include "dtypes/storage.h"
#include "kernels/cpu/attention/mask_visibility.h"
#include "kernels/cpu/attention/score_function.h"
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
#include "schema/epilogue.h"
#include "threads/parallel.h"

namespace tern::cpu {
namespace {

constexpr std::int64_t kQueries = 64, kKeys = 512;  // rows and columns of a block of scores: 128 KiB
constexpr std::int64_t kScores = kQueries * kKeys;
constexpr std::int64_t kManyQueries = 256;      // query block size on tiles; each block splits the keys again
constexpr std::int64_t kSmallMask = 512 * 512;  // a mask of all heads with fewer elements is computed once
constexpr std::int64_t kMaskedKeys = ConditionBounds::kBlockKeys;  // keys that are skipped or masked together

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
  T* addends = nullptr;  ///< [rows, kKeys]: 0 or -infinity for each key, by the score function
  std::int64_t plane = 0;
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

/// Neighbouring keys. `is_masked`: a mask or a score function hides some of them.
struct KeyRun {
  std::int64_t begin = 0, count = 0;
  bool is_masked = false;
};

/// Replaces the block's scores by their function, and hides keys.
void apply_function(const ScoreFunction::Run& function, const KeyRun& run, float scale, QueryBlock<float>& b) {
  const std::int64_t n = run.count;
  if (scale != 1) {
    for (std::int64_t i = 0; i < b.rows * n; ++i) b.scores[i] *= scale;
  }
  function.apply({b.plane, b.first, b.rows, run.begin, n}, b.scores, n);
  if (!run.is_masked) return;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    float* row = b.scores + r * n;
    const float* addend = b.addends + r * kKeys;
    for (std::int64_t i = 0; i < n; ++i) row[i] = addend[i] == 0 ? row[i] : addend[i];
  }
}

/// Adds these keys to the block's sums.
template <class T>
void take_keys(const KernelCall& c, const AttentionShape& s, T scale, std::int64_t mask_offset, const TensorView& k,
               const TensorView& v, const KeyRun& run, const ScoreFunction::Run* function, QueryBlock<T>& b) {
  const std::int64_t begin = run.begin, n = run.count;
  const bool held = pack_tiles(k, v, n, b);
  score(k, s.width, n, held, b);
  const T* addends = run.is_masked ? b.addends : nullptr;
  if constexpr (std::is_same_v<T, float>) {
    if (function != nullptr && !function->is_identity()) {
      apply_function(*function, run, scale, b);
      scale = 1;
      addends = nullptr;
    }
  }
  for (std::int64_t r = 0; r < b.rows; ++r) {
    T* row = b.scores + r * n;
    const std::int64_t query = b.first + r;
    const std::int64_t seen = s.causal ? std::clamp<std::int64_t>(query + 1 - begin, 0, n) : n;
    const T* mask = addends != nullptr ? addends + r * kKeys : nullptr;
    if (function == nullptr && run.is_masked) mask = mask_row(c.in[3], mask_offset, query, begin, seen, b.mask_buffer);
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

/// Passes over the keys before `last` that the block's queries may see, in runs of at most kKeys.
template <class T, class Take>
class KeyPass {
 public:
  KeyPass(const KernelCall& c, std::int64_t mask_offset, const ScoreFunction::Run* function, QueryBlock<T>& b,
          const Take& take)
      : c_(c), mask_offset_(mask_offset), function_(function), b_(b), take_(take) {}

  void run(std::int64_t last) {
    for (std::int64_t key = 0; key < last; key += kKeys) {
      const std::int64_t n = std::min(kKeys, last - key);
      const Visibility of_all = is_masked() ? visibility_by_bounds(key, n) : Visibility::all;
      if (of_all == Visibility::none) continue;
      if (of_all == Visibility::all) {
        add(key, n, Visibility::all);
        continue;
      }
      for (std::int64_t at = key; at < key + n; at += kMaskedKeys) {
        const std::int64_t count = std::min(kMaskedKeys, key + n - at);
        const Visibility v = visibility(at, count);
        if (v != Visibility::none) add(at, count, v);
      }
    }
    flush();
  }

 private:
  bool is_masked() const { return function_ != nullptr ? function_->has_condition() : c_.has_input(3); }
  ScoreBlock block(std::int64_t key, std::int64_t n) const { return {b_.plane, b_.first, b_.rows, key, n}; }

  Visibility visibility_by_bounds(std::int64_t key, std::int64_t n) const {
    return function_ != nullptr ? function_->visibility(block(key, n)) : Visibility::mixed;
  }
  Visibility visibility(std::int64_t key, std::int64_t n) const {
    return function_ != nullptr ? function_->visibility(block(key, n))
                                : mask_visibility(c_.in[3], mask_offset_, block(key, n));
  }

  void add(std::int64_t key, std::int64_t n, Visibility v) {
    if (run_.begin + run_.count != key || run_.count + n > kKeys) flush();
    if (run_.count == 0) run_.begin = key;
    if constexpr (std::is_same_v<T, float>) {
      if (v == Visibility::mixed && function_ != nullptr)
        v = function_->hide(block(key, n), b_.addends + run_.count, kKeys);
      if (v == Visibility::none) return;
      if (v == Visibility::all && function_ != nullptr && function_->has_condition()) {
        for (std::int64_t r = 0; r < b_.rows; ++r) std::fill_n(b_.addends + r * kKeys + run_.count, n, 0.0F);
      }
    }
    run_.count += n;
    run_.is_masked = run_.is_masked || v == Visibility::mixed;
  }
  void flush() {
    if (run_.count > 0) take_(run_);
    run_ = {};
  }

  const KernelCall& c_;
  std::int64_t mask_offset_;
  const ScoreFunction::Run* function_;
  QueryBlock<T>& b_;
  const Take& take_;
  KeyRun run_;
};

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

/// Stores the largest scores and the sums of exponentials, results 1 and 2, as reductions give them for infinite and
/// undefined scores.
void store_sums(const KernelCall& c, const AttentionShape& s, const QueryBlock<float>& b) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::int64_t at = b.plane * s.queries + b.first;
  for (std::int64_t r = 0; r < b.rows; ++r) {
    const bool is_infinite = b.max[r] == kInfinity;
    if (c.wants_output(1))
      c.out[1].data_as<float>()[at + r] = std::isnan(b.total[r]) && !is_infinite ? b.total[r] : b.max[r];
    if (c.wants_output(2)) c.out[2].data_as<float>()[at + r] = is_infinite ? kInfinity : b.total[r];
  }
}

template <class T>
void attend(KernelCall& c, const AttentionShape& s, T scale, const ScoreFunction::Run* function) {
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
      if (function != nullptr && function->has_condition()) b.addends = parts.allocate<T>(queries * kKeys);
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
      b.plane = plane;
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
      const auto take = [&](const KeyRun& run) {
        take_keys(c, s, scale, at_mask, rows_of(c.in[1], at_k, run.begin, run.count),
                  rows_of(c.in[2], at_v, run.begin, run.count), run, function, b);
      };
      KeyPass<T, decltype(take)>(c, at_mask, function, b, take).run(last);
      if constexpr (std::is_same_v<T, float>) {
        if (function != nullptr) store_sums(c, s, b);
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

std::unique_ptr<KernelState> prepare(const KernelCall& c) {
  return c.node->expr.code.empty() || c.out[0].numel() == 0 ? nullptr : std::make_unique<ScoreFunction>(c);
}

/// Scratch of a score function.
struct FunctionScratch {
  FunctionScratch(const KernelCall& c, ScratchArena& arena)
      : function(static_cast<const ScoreFunction&>(*c.state), c, arena) {
    const TensorView &out = c.out[0], &k = c.in[1];
    queries = out.size(out.rank - 2);
    keys = k.size(k.rank - 2);
    const bool is_mask = function.has_condition() && function.is_identity() && !c.wants_output(1) && !c.wants_output(2);
    if (is_mask && function.is_shared() && queries * keys <= kSmallMask) mask = arena.allocate<float>(queries * keys);
  }
  /// Writes the mask of all heads.
  void write_mask() const {
    parallel_for(queries, grain_for(keys), [&](std::int64_t begin, std::int64_t end) {
      function.hide({0, begin, end - begin, 0, keys}, mask + begin * keys, keys);
    });
  }
  ScoreFunction::Run function;
  std::int64_t queries, keys;
  float* mask = nullptr;  ///< [queries, keys]; null if each block evaluates the function
};

std::size_t scratch(const KernelCall& c) {
  if (c.state == nullptr) return 0;
  ScratchArena counted;
  const FunctionScratch made(c, counted);
  return counted.used();
}

void run_function(KernelCall& c, const AttentionShape& s, float scale) {
  const Scratch own(c, scratch(c));
  ScratchArena arena(own.data());
  const FunctionScratch made(c, arena);
  if (made.mask == nullptr) return attend<float>(c, s, scale, &made.function);
  made.write_mask();
  std::array<TensorView, kAttentionOperands> in;
  std::copy_n(c.in.begin(), 3, in.begin());
  TensorView& mask = in[3];
  mask.data = reinterpret_cast<std::byte*>(made.mask);
  mask.dtype = DType::f32;
  mask.rank = 2;
  mask.sizes = {made.queries, made.keys};
  make_contiguous(mask);
  KernelCall masked = c;
  masked.in = in;
  attend<float>(masked, s, scale, nullptr);
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
  if (c.state != nullptr) {
    run_function(c, s, static_cast<float>(scale));
  } else if (q.dtype == DType::f64) {
    attend<double>(c, s, scale, nullptr);
  } else {
    attend<float>(c, s, static_cast<float>(scale), nullptr);
  }
}

void run(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  std::optional<SharedHeads> shared;
  if (c.state == nullptr) shared = share_heads(c, Threads::current().count());
  if (!shared) return run_heads(c);
  KernelCall of_shared = c;
  of_shared.in = std::span(shared->in).first(c.in.size());
  of_shared.out = {&shared->out, 1};
  run_heads(of_shared);
}

}  // namespace

Kernel attention_kernel() {
  return {.run = run,
          .scratch = scratch,
          .prepare = prepare,
          .strided = kAllStrided,
          .rounds = [](const KernelCall& c, std::size_t k) { return k < 3 && multiplies_rounded(c); },
          .stores_rounded = multiplies_rounded,
          .result_strided = true};
}

}  // namespace tern::cpu
