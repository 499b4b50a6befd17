// Rows of integers by a packed weight with AVX-VNNI, on processors without AVX-512.
#include "kernels/cpu/products/epilogue/portable_row_store.h"
#include "kernels/cpu/products/int8/row_vector_microkernel.h"

namespace tern::integer {
namespace {

struct Vnni256 {
  using Vector = __m256i;
  static constexpr int kLanes = 8;
  static constexpr int kMostTogether = 3;  // rows; with four vectors of columns 12 registers of sums
  static Vector zero() { return _mm256_setzero_si256(); }
  static Vector load(const std::int32_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store(std::int32_t* to, Vector sums) { _mm256_store_si256(reinterpret_cast<__m256i*>(to), sums); }
  static Vector broadcast(std::int32_t group) { return _mm256_set1_epi32(group); }
  static Vector dot(Vector sums, Vector plain, Vector with_sign) {
    return _mm256_dpbusd_avx_epi32(sums, plain, with_sign);
  }
};

}  // namespace

void multiply_avxvnni(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results,
                      const Task& task) {
  PlainStore store(results, task);
  multiply_with_vnni<Vnni256>(rows, weight, blocks, results, task.signs, store);
}

}  // namespace tern::integer
