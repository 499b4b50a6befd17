// 2:4 sparse matrices: the loops of every instruction set, over all places, and rows that are no whole steps.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/products/block_quantized/sparse_microkernel.h"
#include "tests/kernels/quantized_value.h"
#include "tests/random_floats.h"

namespace tern::test {
namespace {

constexpr DType kSparseTypes[] = {DType::bf16, DType::f16, DType::f32};

/// All 256 position bytes, for elements from 1 on.
std::vector<std::byte> all_places(const QuantizedMatrix& m) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  std::vector<float> kept(static_cast<std::size_t>(m.columns / 2));
  for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = static_cast<float>(i % 127 + 1);
  convert(kept.data(), DType::f32, bytes.data(), m.element, std::ssize(kept));
  for (std::int64_t i = 0; i < m.place_row_bytes(); ++i)
    bytes[static_cast<std::size_t>(m.place_offset() + i)] = static_cast<std::byte>(i);
  return bytes;
}

block_quantized::SparseRow row_of(const QuantizedMatrix& m, const std::vector<std::byte>& bytes, std::int64_t columns) {
  const auto* const at = reinterpret_cast<const std::uint8_t*>(bytes.data());
  return {at, at + m.place_offset(), columns};
}

TEST(Sparse, NumbersOfAllPlacesInEveryInstructionSet) {
  for_each_level(block_quantized::set_sparse_loops_levels, [](auto set) {
    block_quantized::SparseLoops loops;
    set(&loops);
    for (const DType type : kSparseTypes) {
      const QuantizedMatrix m{type, 1, 256 * 8, two_of_four()};
      const std::vector<std::byte> bytes = all_places(m);
      const std::vector<float> expected = numbers_of(m, bytes);
      for (const std::int64_t columns : {m.columns, m.columns - 8, m.columns - 16, m.columns - 24, std::int64_t{8}}) {
        std::vector<float> got(static_cast<std::size_t>(columns));  // exact size: a sanitizer detects overruns
        loops.element_loops(type).numbers(row_of(m, bytes, columns), got.data());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], expected[i]) << name_of(type) << " " << i;
      }
    }
  });
}

TEST(Sparse, DotsOfUpToFourRowsInEveryInstructionSet) {
  for_each_level(block_quantized::set_sparse_loops_levels, [](auto set) {
    block_quantized::SparseLoops loops;
    set(&loops);
    for (const DType type : kSparseTypes) {
      for (const std::int64_t columns : {8, 24, 32, 72, 320}) {
        const QuantizedMatrix m{type, 1, columns, two_of_four()};
        const std::vector<std::byte> bytes = random_value(m, static_cast<std::uint32_t>(columns));
        const std::vector<float> w = numbers_of(m, bytes),
                                 x = random_floats(block_quantized::kMostSparseRows * columns, 5);
        for (int rows = 1; rows <= block_quantized::kMostSparseRows; ++rows) {
          float sums[block_quantized::kMostSparseRows];
          loops.element_loops(type).dots[rows - 1](row_of(m, bytes, columns), x.data(), columns, sums);
          for (int i = 0; i < rows; ++i) {
            double sum = 0, size = 0;
            for (std::size_t k = 0; k < w.size(); ++k) {
              const double p =
                  static_cast<double>(w[k]) * static_cast<double>(x[static_cast<std::size_t>(i) * w.size() + k]);
              sum += p;
              size += std::fabs(p);
            }
            ASSERT_NEAR(static_cast<double>(sums[i]), sum, size * 1e-6) << name_of(type) << " " << columns;
          }
        }
      }
    }
  });
}

TEST(Sparse, PartsOfARowAreThoseOfTheWhole) {
  const QuantizedMatrix m{DType::bf16, 3, 64, two_of_four()};
  const std::vector<std::byte> bytes = random_value(m, 4);
  const std::vector<float> expected = numbers_of(m, bytes);
  for (const auto& [begin, count] : {std::pair{0, 64}, {8, 40}, {4, 8}, {3, 5}, {63, 1}}) {
    std::vector<float> got(static_cast<std::size_t>(count));
    block_quantized::sparse_numbers(m, bytes.data(), 2, begin, count, got.data());
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_EQ(got[i], expected[static_cast<std::size_t>(2 * 64 + begin) + i]) << begin << " " << i;
  }
}

}  // namespace
}  // namespace tern::test
