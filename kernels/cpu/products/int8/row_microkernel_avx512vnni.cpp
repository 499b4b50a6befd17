// Rows of integers by a packed weight with AVX512_VNNI, and sums of a weight that is read where it lies.
#include "kernels/cpu/products/epilogue/integer_row_store.h"
#include "kernels/cpu/products/int8/dot_loops.h"
#include "kernels/cpu/products/int8/row_vector_microkernel.h"

namespace tern::integer {
namespace {

struct Vnni512 {
  using Vector = __m512i;
  static constexpr int kLanes = 16;
  static constexpr int kMostTogether = 12;  // rows; with two vectors of columns 24 registers of sums
  static Vector zero() { return _mm512_setzero_si512(); }
  static Vector load(const std::int32_t* from) { return _mm512_load_si512(from); }
  static void store(std::int32_t* to, Vector sums) { _mm512_store_si512(to, sums); }
  static Vector broadcast(std::int32_t group) { return _mm512_set1_epi32(group); }
  static Vector dot(Vector sums, Vector plain, Vector with_sign) { return _mm512_dpbusd_epi32(sums, plain, with_sign); }
};

template <bool kX, bool kWeight>
struct Words {
  using Sums = __m512i;
  using Bytes = __m512i;
  static constexpr bool kFlips = true;
  static constexpr std::int64_t kBytes = 64;
  static constexpr int kRows = 4;
  static Sums zero() { return _mm512_setzero_si512(); }
  static Bytes x(const std::byte* from) { return _mm512_loadu_si512(from); }
  static Bytes weight(const std::byte* from) {
    const __m512i bytes = _mm512_loadu_si512(from);
    return kX == kWeight ? _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(kFlip))) : bytes;
  }
  static Sums add(Sums sums, Bytes x, Bytes weight) {
    return kX ? _mm512_dpbusd_epi32(sums, weight, x) : _mm512_dpbusd_epi32(sums, x, weight);
  }
  static std::int32_t total(Sums sums) { return total_of(sums); }
};

}  // namespace

void multiply_avx512vnni(const TileRows& rows, const std::byte* weight, Range blocks, const RowResults& results,
                         const Task& task) {
  with_store<amx::SumsInRows>(results, task, [&](auto& store) {
    multiply_with_vnni<Vnni512>(rows, weight, blocks, results, task.signs, store);
  });
}

void dots_avx512vnni(const DotBlock& block) {
  all_dots<Words>(block);
}

}  // namespace tern::integer
