// Rows of bfloat16 by a packed weight with AVX512_BF16, where there are no tiles.
#include "kernels/cpu/products/epilogue/row_store.h"
#include "kernels/cpu/products/tiles/row_vector_microkernel.h"

namespace tern::amx {
namespace {

struct Bf16Products {
  using Element = float;
  using Sums = __m512;
  using Columns = __m512bh;
  static constexpr int kLanes = 16;
  static constexpr int kMostTogether = 12;  // rows; with two vectors of columns 24 registers of sums
  static Sums zero() { return _mm512_setzero_ps(); }
  static Sums load(const float* from) { return _mm512_load_ps(from); }
  static void store(float* to, Sums sums) { _mm512_store_ps(to, sums); }
  static Columns columns(const std::byte* from) { return reinterpret_cast<__m512bh>(_mm512_load_si512(from)); }
  static Sums add(Sums sums, Columns columns, std::int32_t pair) {
    return _mm512_dpbf16_ps(sums, columns, reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair)));
  }
};

}  // namespace

bool multiply_rows_on_vectors(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results) {
  RowStore<SumsInRows> store(results);
  multiply_rows_in_vectors<Bf16Products>(rows, weight, blocks, results, store);
  return store.finite();
}

}  // namespace tern::amx
