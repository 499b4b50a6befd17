// The product itself: two by two tiles of sums stay in registers while steps of k go by. The left operand is split one
// step ahead, between the instructions that multiply; its parts stay in the second cache for the next columns.
#include <algorithm>

#include "dtypes/small_float.h"
#include "kernels/cpu/scratch.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/tiles.h"

namespace tern::amx {
namespace {

/// Steps after which sums leave the registers: the left's parts are 192 KiB then.
constexpr std::int64_t depth(int parts) {
  return 96 / parts;
}
constexpr std::int64_t kGroup = 4;  // blocks of rows that share the right's parts of so many steps
constexpr std::int64_t kLeftPart = 2 * kTileBytes;
constexpr std::size_t kLeftSlot = 5, kSumsSlot = 6;

/// One step of 32 k of rows of the left operand.
template <class W>
struct LeftStep {
  const W* data = nullptr;  ///< element 0 of the step in row 0
  std::int64_t row = 0;
  std::int64_t rows = 0;  ///< that exist; others are zeros
  std::int64_t k = 0;     ///< elements that exist
};

/// The upper halves of `low` and `high` in one: pairs as a tile wants them.
inline __m512i pair(__m512i low, __m512i high, __m512i upper) {
  return _mm512_ternarylogic_epi32(high, upper, _mm512_srli_epi32(low, 16), 0xEA);  // (high & upper) | low >> 16
}

/// What is left of a float beyond its upper half: exact.
inline __m512i rest(__m512i x, __m512i upper) {
  return _mm512_castps_si512(_mm512_sub_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(_mm512_and_si512(x, upper))));
}

/// Splits rows [begin, end) into tiles at `to`. Cutting off is three times as fast as rounding, and as good where the
/// other operand is rounded: its errors have either sign. The only part is rounded.
template <int P>
inline void split(const LeftStep<float>& r, std::int64_t begin, std::int64_t end, std::byte* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  const auto mask = static_cast<std::uint32_t>(r.k >= kStep ? ~0u : (1u << r.k) - 1);
  for (std::int64_t i = begin; i < end; ++i) {
    std::byte* at = to + i / kTile * kTileBytes + i % kTile * 64;
    // The lines that the next step writes left the first cache a block ago: asked for now, they come in time.
    for (std::int64_t p = 0; p < P; ++p) __builtin_prefetch(at + (P + p) * kLeftPart, 1, 3);
    __m512i low = _mm512_setzero_si512(), high = low;
    if (i < r.rows) {
      low = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), r.data + i * r.row);
      high = _mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask >> 16), r.data + i * r.row + 16);
    }
    if constexpr (P == kRounded) {
      _mm512_store_si512(at, rounded_pairs(_mm512_castsi512_ps(low), _mm512_castsi512_ps(high)));
      continue;
    }
    for (std::int64_t p = 0; p < P; ++p) {
      _mm512_store_si512(at + p * kLeftPart, pair(low, high, upper));
      low = rest(low, upper);
      high = rest(high, upper);
    }
  }
}

/// 32 elements.
inline void widen(const std::int8_t* from, simd::Floats (&to)[2]) {
  for (int i = 0; i < 2; ++i) to[i] = simd::widen_int8(from + i * simd::kLanes);
}
inline void widen(const std::uint8_t* from, simd::Floats (&to)[2]) {
  for (int i = 0; i < 2; ++i) to[i] = simd::widen_uint8(from + i * simd::kLanes);
}
inline void widen(const F8E4M3FN* from, simd::Floats (&to)[2]) {
  simd::widen_two_float8_e4m3fn(from, to);
}
inline void widen(const F8E5M2* from, simd::Floats (&to)[2]) {
  simd::widen_two_float8_e5m2(from, to);
}

/// Rows [begin, end) of elements that are bfloat16 as they are.
template <class W>
inline void split(const LeftStep<W>& r, std::int64_t begin, std::int64_t end, std::byte* to) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xFFFF0000u));
  for (std::int64_t i = begin; i < end; ++i) {
    std::byte* at = to + i / kTile * kTileBytes + i % kTile * 64;
    __builtin_prefetch(at + kLeftPart, 1, 3);
    if (i >= r.rows) {
      _mm512_store_si512(at, _mm512_setzero_si512());
      continue;
    }
    const W* row = r.data + i * r.row;
    alignas(32) W some[kStep];
    if (r.k < kStep) {
      const auto there = static_cast<__mmask32>((1u << r.k) - 1);
      _mm256_store_si256(reinterpret_cast<__m256i*>(some), _mm256_maskz_loadu_epi8(there, row));
      row = some;
    }
    simd::Floats both[2];
    widen(row, both);
    _mm512_store_si512(at, pair(reinterpret_cast<__m512i>(both[0]), reinterpret_cast<__m512i>(both[1]), upper));
  }
}

/// The rows of a block that will be read after this one.
template <class W>
struct Prefetch {
  const W* data = nullptr;
  std::int64_t rows = 0;
};

template <int L>
inline void load_left(const std::byte* at) {
  TERN_TILE_LOAD(4, at, 64);
  if constexpr (L == 2) TERN_TILE_LOAD(5, at + kTileBytes, 64);
}

template <int R>
inline void load_right(const std::byte* at, const Right& right) {
  TERN_TILE_LOAD(6, at, right.row);
  if constexpr (R == 2) TERN_TILE_LOAD(7, at + right.column_tile, right.row);
}

template <int L, int R>
inline void multiply_tiles() {
  TERN_TILE_MULTIPLY(0, 4, 6);
  if constexpr (R == 2) TERN_TILE_MULTIPLY(1, 4, 7);
  if constexpr (L == 2) TERN_TILE_MULTIPLY(2, 5, 6);
  if constexpr (L == 2 && R == 2) TERN_TILE_MULTIPLY(3, 5, 7);
}

/// Successive steps of k of one block of rows and one or two column tiles.
template <class W>
struct KSteps {
  std::byte* left;              ///< the left's parts
  LeftStep<W> first;            ///< where they come from
  std::int64_t step;            ///< elements from one step of them to the next
  bool split;                   ///< whether they are to be made
  const std::int64_t* offsets;  ///< of the right's steps
  const std::byte* right;       ///< its column tile
  std::int64_t count;
  Prefetch<W> prefetch;
};

/// L by R tiles of sums of rounded operands.
template <int L, int R>
void multiply_rounded(const KSteps<float>& s, const Right& right) {
  constexpr std::int64_t kRows = L * kTile;
  if (s.split) split<kRounded>(s.first, 0, kRows, s.left);
  for (std::int64_t i = 0; i < s.count; ++i) {
    std::byte* left = s.left + i * kLeftPart;
    load_left<L>(left);
    load_right<R>(s.right + s.offsets[i], right);
    multiply_tiles<L, R>();
    for (std::int64_t r = 0; r < s.prefetch.rows; ++r) {
      const float* line = s.prefetch.data + r * s.first.row + i * s.step;
      __builtin_prefetch(line, 0, 2);
      __builtin_prefetch(line + 16, 0, 2);
    }
    if (!s.split || i + 1 == s.count) continue;
    const LeftStep<float> next{s.first.data + (i + 1) * s.step, s.first.row, s.first.rows, s.first.k - (i + 1) * kStep};
    split<kRounded>(next, 0, kRows, left + kLeftPart);
  }
}

/// L by R tiles of sums. Of the parts' products the order is such that each differs from the one before in one operand.
template <int L, int R>
void multiply_steps(const KSteps<float>& s, const Right& right) {
  constexpr std::int64_t kRows = L * kTile, kLeftStep = kAllParts * kLeftPart;
  constexpr std::int64_t kCuts[] = {0, 6 * L / 2, 12 * L / 2, 18 * L / 2, 24 * L / 2, 28 * L / 2, kRows};
  if (s.split) split<kAllParts>(s.first, 0, kRows, s.left);
  for (std::int64_t i = 0; i < s.count; ++i) {
    std::byte* left = s.left + i * kLeftStep;
    const std::byte* at = s.right + s.offsets[i];
    const LeftStep<float> next{s.first.data + (i + 1) * s.step, s.first.row, s.first.rows, s.first.k - (i + 1) * kStep};
    const bool more = s.split && i + 1 < s.count;
    // Asking for lines one after the other would hold up what multiplies: there are few places for those under way.
    const auto between = [&](int part) {
      for (std::int64_t r = s.prefetch.rows * part / 6; r < s.prefetch.rows * (part + 1) / 6; ++r) {
        const float* line = s.prefetch.data + r * s.first.row + i * s.step;
        __builtin_prefetch(line, 0, 2);
        __builtin_prefetch(line + 16, 0, 2);
      }
      if (more) split<kAllParts>(next, kCuts[part], kCuts[part + 1], left + kLeftStep);
    };
    load_left<L>(left);
    load_right<R>(at + 2 * right.part, right);
    multiply_tiles<L, R>();
    between(0);
    load_right<R>(at + right.part, right);
    multiply_tiles<L, R>();
    between(1);
    load_left<L>(left + kLeftPart);
    multiply_tiles<L, R>();
    between(2);
    load_right<R>(at, right);
    multiply_tiles<L, R>();
    between(3);
    load_left<L>(left + 2 * kLeftPart);
    multiply_tiles<L, R>();
    between(4);
    load_left<L>(left);
    multiply_tiles<L, R>();
    between(5);
  }
}

/// L by R tiles of sums of a left operand of one part and a right one of P parts, the smallest first.
template <int L, int R, int P, class W>
void multiply_one_part(const KSteps<W>& s, const Right& right) {
  constexpr std::int64_t kRows = L * kTile;
  if (s.split) split(s.first, 0, kRows, s.left);
  for (std::int64_t i = 0; i < s.count; ++i) {
    std::byte* left = s.left + i * kLeftPart;
    const std::byte* at = s.right + s.offsets[i];
    const LeftStep<W> next{s.first.data + (i + 1) * s.step, s.first.row, s.first.rows, s.first.k - (i + 1) * kStep};
    const bool more = s.split && i + 1 < s.count;
    load_left<L>(left);
    for (std::int64_t p = 0; p < P; ++p) {
      load_right<R>(at + (P - 1 - p) * right.part, right);
      multiply_tiles<L, R>();
      for (std::int64_t r = s.prefetch.rows * p / P; r < s.prefetch.rows * (p + 1) / P; ++r)
        __builtin_prefetch(s.prefetch.data + r * s.first.row + i * s.step, 0, 2);
      if (more) split(next, kRows * p / P, kRows * (p + 1) / P, left + kLeftPart);
    }
  }
}

void start_sums(const float* sums, bool from_zero) {
  if (from_zero) {
    TERN_TILE_ZERO(0);
    TERN_TILE_ZERO(1);
    TERN_TILE_ZERO(2);
    TERN_TILE_ZERO(3);
  } else {
    TERN_TILE_LOAD(0, sums, 64);
    TERN_TILE_LOAD(1, sums + 256, 64);
    TERN_TILE_LOAD(2, sums + 512, 64);
    TERN_TILE_LOAD(3, sums + 768, 64);
  }
}

void store_sums(float* sums) {
  TERN_TILE_STORE(0, sums);
  TERN_TILE_STORE(1, sums + 256);
  TERN_TILE_STORE(2, sums + 512);
  TERN_TILE_STORE(3, sums + 768);
}

template <int P, class W>
class Multiplication {
  static constexpr std::int64_t kDepth = depth(P), kLeftParts = sizeof(W) == 1 ? 1 : P;

 public:
  Multiplication(const Left& left, const Right& right, Range blocks, Range tiles, Sink& sink, std::int64_t next)
      : left_(left),
        right_(right),
        blocks_(blocks),
        tiles_(tiles),
        sink_(sink),
        next_(next),
        steps_(static_cast<std::int64_t>(right.steps.size())),
        pairs_((tiles.end - tiles.begin + 1) / 2),
        in_one_(steps_ <= kDepth) {
    parts_ = thread_buffer<std::byte>(static_cast<std::size_t>((std::min(steps_, kDepth) + 1) * kLeftParts * kLeftPart),
                                      kLeftSlot);
    sums_ = thread_buffer<float>(static_cast<std::size_t>((in_one_ ? 1 : kGroup * pairs_) * kBlockFloats), kSumsSlot);
  }

  void run() {
    const TileScope scope;
    const std::int64_t group = in_one_ ? 1 : kGroup;
    for (std::int64_t g = blocks_.begin; g < blocks_.end; g += group) {
      group_end_ = std::min(blocks_.end, g + group);
      for (std::int64_t begin = 0; begin < steps_; begin += kDepth) {
        for (std::int64_t b = g; b < group_end_; ++b) multiply_block(g, b, begin, std::min(steps_, begin + kDepth));
      }
    }
  }

 private:
  template <int L, int R>
  void multiply(const KSteps<W>& s) const {
    if constexpr (sizeof(W) == 1) {
      multiply_one_part<L, R, P>(s, right_);
    } else {
      P == kRounded ? multiply_rounded<L, R>(s, right_) : multiply_steps<L, R>(s, right_);
    }
  }

  const W* element(std::int64_t block, std::int64_t step) const {
    return static_cast<const W*>(left_.data) + (block - left_.first) * left_.block + step * left_.step;
  }

  /// What follows block `b` of a group in these steps, for the columns of `pair`.
  Prefetch<W> prefetch(std::int64_t g, std::int64_t b, std::int64_t end, std::int64_t pair, std::int64_t begin) const {
    const bool in_group = b + 1 < group_end_;
    const std::int64_t block = in_group ? b + 1 : end < steps_ ? g : group_end_, step = in_group ? begin : end % steps_;
    if (block >= std::max(blocks_.end, next_)) return {};
    const std::int64_t rows = std::min(kBlock, left_.rows - block * kBlock), first = rows * pair / pairs_;
    return {element(block, step) + first * left_.row, rows * (pair + 1) / pairs_ - first};
  }

  void multiply_block(std::int64_t g, std::int64_t b, std::int64_t begin, std::int64_t end) {
    const std::int64_t rows = std::min(kBlock, left_.rows - b * kBlock);
    for (std::int64_t pair = 0; pair < pairs_; ++pair) {
      const std::int64_t tile = tiles_.begin + 2 * pair;
      const int columns = tile + 1 < tiles_.end ? 2 : 1;
      float* sums = sums_ + (in_one_ ? 0 : (b - g) * pairs_ + pair) * kBlockFloats;
      const KSteps<W> s{parts_,
                        {element(b, begin), left_.row, rows, left_.k - begin * kStep},
                        left_.step,
                        pair == 0,
                        right_.steps.data() + begin,
                        right_.data + tile * right_.column_tile,
                        end - begin,
                        prefetch(g, b, end, pair, begin)};
      start_sums(sums, begin == 0);
      if (rows > kTile) {
        columns == 2 ? multiply<2, 2>(s) : multiply<2, 1>(s);
      } else {
        columns == 2 ? multiply<1, 2>(s) : multiply<1, 1>(s);
      }
      store_sums(sums);
      if (end == steps_) sink_.store(sums, b * kBlock, tile, columns);
    }
  }

  const Left& left_;
  const Right& right_;
  Range blocks_, tiles_;
  Sink& sink_;
  std::int64_t next_;
  std::int64_t steps_, pairs_;
  bool in_one_;  ///< all steps fit: sums stay in registers from the first to the last
  std::byte* parts_;
  float* sums_;
  std::int64_t group_end_ = 0;
};

template <class W>
void multiply_elements(const Left& left, const Right& right, Range blocks, Range tiles, Sink& sink, std::int64_t next) {
  if (right.parts == kRounded) return Multiplication<kRounded, W>(left, right, blocks, tiles, sink, next).run();
  Multiplication<kAllParts, W>(left, right, blocks, tiles, sink, next).run();
}

}  // namespace

std::int64_t blocks_together(std::int64_t k) {
  return steps_of(k) <= depth(kAllParts) ? 1 : kGroup;
}

void multiply(const Left& left, const Right& right, Range blocks, Range tiles, Sink& sink, std::int64_t next) {
  if (blocks.begin >= blocks.end || tiles.begin >= tiles.end) return;
  switch (left.type) {
    case DType::i8: return multiply_elements<std::int8_t>(left, right, blocks, tiles, sink, next);
    case DType::u8: return multiply_elements<std::uint8_t>(left, right, blocks, tiles, sink, next);
    case DType::f8_e4m3fn: return multiply_elements<F8E4M3FN>(left, right, blocks, tiles, sink, next);
    case DType::f8_e5m2: return multiply_elements<F8E5M2>(left, right, blocks, tiles, sink, next);
    default: return multiply_elements<float>(left, right, blocks, tiles, sink, next);
  }
}

}  // namespace tern::amx
