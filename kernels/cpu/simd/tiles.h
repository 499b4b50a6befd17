// The instructions of matrix tiles. GCC's own intrinsics do not say that they read and write memory.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define TERN_TILE_LOAD(tile, at, stride) \
  asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(at), "r"(static_cast<std::int64_t>(stride)) : "memory")
#define TERN_TILE_STORE(tile, at) \
  asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(at), "r"(static_cast<std::int64_t>(64)) : "memory")
#define TERN_TILE_ZERO(tile) asm volatile("tilezero %%tmm" #tile ::)
#define TERN_TILE_MULTIPLY(sums, left, right) asm volatile("tdpbf16ps %%tmm" #right ", %%tmm" #left ", %%tmm" #sums ::)

namespace tern::tiles {

struct TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14]{};
  std::uint16_t row_bytes[16]{64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16]{16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
alignas(64) inline constexpr TileConfig kTileConfig;

/// Eight tiles of 16 rows of 64 bytes, for the calling thread while this lives.
class TileScope {
 public:
  TileScope() { asm volatile("ldtilecfg %0" ::"m"(kTileConfig) : "memory"); }
  ~TileScope() { asm volatile("tilerelease" ::); }
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;
};

/// Pairs of bfloat16, rounded to nearest, ties to even: the low halves are a's. NaN stays NaN.
inline __m512i rounded_pairs(__m512 a, __m512 b) {
  const auto halves = [](__m512 v) { return _mm512_cvtepu16_epi32(reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(v))); };
  return _mm512_or_si512(halves(a), _mm512_slli_epi32(halves(b), 16));
}

/// Exchanges rows and columns of 16 x 16 numbers of 32 bits.
inline void transpose(__m512i* r) {
  __m512i t[16];
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
    t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
  }
  for (int i = 0; i < 4; ++i) {
    r[4 * i] = _mm512_unpacklo_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 1] = _mm512_unpackhi_epi64(t[4 * i], t[4 * i + 2]);
    r[4 * i + 2] = _mm512_unpacklo_epi64(t[4 * i + 1], t[4 * i + 3]);
    r[4 * i + 3] = _mm512_unpackhi_epi64(t[4 * i + 1], t[4 * i + 3]);
  }
  for (int i = 0; i < 4; ++i) {
    t[i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0x88);
    t[4 + i] = _mm512_shuffle_i32x4(r[i], r[4 + i], 0xdd);
    t[8 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0x88);
    t[12 + i] = _mm512_shuffle_i32x4(r[8 + i], r[12 + i], 0xdd);
  }
  for (int i = 0; i < 4; ++i) {
    r[i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0x88);
    r[4 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0x88);
    r[8 + i] = _mm512_shuffle_i32x4(t[i], t[8 + i], 0xdd);
    r[12 + i] = _mm512_shuffle_i32x4(t[4 + i], t[12 + i], 0xdd);
  }
}

}  // namespace tern::tiles
