// Rows of quantized tables, and products with several quantized matrices, against dequantize_row's values: native,
// definition and reproducible kernels.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/kernels/node_run.h"
#include "tests/kernels/quantized_value.h"

namespace tern::test {
namespace {

enum class Way { native, definition, reproducible };
constexpr Way kWays[] = {Way::native, Way::definition, Way::reproducible};

std::vector<Number> run(NodeRun& r, Way way) {
  if (way == Way::definition) r.select_device(&HostLauncher::instance());
  if (way == Way::reproducible) r.reproducible();
  return r.run().output();
}

TEST(QuantizedRows, SelectedRowsAreTheirNumbers) {
  constexpr std::int64_t kRows = 7, kColumns = 64;
  const std::vector<double> positions = {6, 0, 3, 3, 5, 1};
  std::uint32_t seed = 1;
  for (const Format& f : kFormats) {
    const QuantizedMatrix m = matrix_of(f, kRows, kColumns);
    const std::vector<std::byte> bytes = random_value(m, ++seed);
    const std::vector<float> numbers = numbers_of(m, bytes);
    for (const DType type : {DType::f32, DType::bf16, DType::f64}) {
      for (const Way way : kWays) {
        NodeRun r(Op::index_select);
        r.quantized_input(f.element, m.blocks, {kRows, kColumns}, bytes);
        r.input(seed % 2 == 0 ? DType::i64 : DType::i32, {2, 3}, positions);
        r.set(AttrKey::axis, 0);
        r.set(AttrKey::dtype, static_cast<std::int64_t>(type));
        const std::vector<Number> y = run(r, way);
        ASSERT_EQ(r.shape(), (std::vector<std::int64_t>{2, 3, kColumns}));
        for (std::size_t i = 0; i < positions.size(); ++i) {
          for (std::size_t k = 0; k < kColumns; ++k) {
            float expected = numbers[static_cast<std::size_t>(positions[i]) * kColumns + k];
            if (type == DType::bf16) {
              BFloat16 narrow;
              convert(&expected, DType::f32, &narrow, type, 1);
              convert(&narrow, type, &expected, DType::f32, 1);
            }
            ASSERT_EQ(y[i * kColumns + k].real(), static_cast<double>(expected)) << name_of(f.element) << ' ' << k;
          }
        }
      }
    }
  }
}

TEST(QuantizedRows, SlicesOfTheMiddleAxis) {
  const Format& f = kFormats[1];
  const QuantizedMatrix m = matrix_of(f, 2 * 5 * 3, 32);
  const std::vector<std::byte> bytes = random_value(m, 9);
  const std::vector<float> numbers = numbers_of(m, bytes);
  for (const Way way : kWays) {
    NodeRun r(Op::index_select);
    r.quantized_input(f.element, m.blocks, {2, 5, 3, 32}, bytes);
    r.input(DType::i64, {2}, std::vector<double>{4, 1});
    r.set(AttrKey::axis, 1);
    r.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
    const std::vector<Number> y = run(r, way);
    ASSERT_EQ(y.size(), 2u * 2 * 3 * 32);
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t k = i % 32, row = i / 32 % 3, at = i / 96 % 2 == 0 ? 4 : 1, outer = i / 192;
      ASSERT_EQ(y[i].real(), static_cast<double>(numbers[((outer * 5 + at) * 3 + row) * 32 + k]));
    }
  }
}

TEST(QuantizedRows, PositionsOutsideAreErrors) {
  const Format& f = kFormats[0];
  const QuantizedMatrix m = matrix_of(f, 4, 32);
  const std::vector<std::byte> bytes = random_value(m, 9);
  for (const double position : {-1.0, 4.0}) {
    NodeRun r(Op::index_select);
    r.quantized_input(f.element, m.blocks, {4, 32}, bytes);
    r.input(DType::i64, {1}, std::vector<double>{position});
    r.set(AttrKey::axis, 0);
    r.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
    EXPECT_THROW(r.run(), Error);
  }
}

/// Row `row` of x times row `column` of the weights, as a sum in double; *size: the sum of absolute terms.
double sum_of(const std::vector<double>& x, std::size_t row, const std::vector<float>& numbers, std::size_t column,
              std::size_t k, double* size) {
  double sum = 0;
  *size = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const double p = x[row * k + i] * static_cast<double>(numbers[column * k + i]);
    sum += p;
    *size += std::fabs(p);
  }
  return sum;
}

TEST(QuantizedRows, GroupsOfRowsMeetTheirMatrices) {
  std::uint32_t seed = 30;
  // Rows of each group: none, few, and enough for tiles. The last rows are in no group.
  const std::vector<double> ends = {0, 3, 40, 40, 41};
  constexpr std::size_t kRows = 43, kGroups = 5;
  for (const Format& f : kFormats) {
    for (const auto& [n, k] : {std::pair<std::size_t, std::size_t>{6, 64}, {72, 320}}) {
      const QuantizedMatrix m = matrix_of(f, static_cast<std::int64_t>(kGroups * n), static_cast<std::int64_t>(k));
      const std::vector<std::byte> bytes = random_value(m, ++seed);
      const std::vector<float> numbers = numbers_of(m, bytes);
      const std::vector<double> x = random_numbers(static_cast<std::int64_t>(kRows * k), ++seed, 2, 16);
      std::vector<Number> is_ordered;
      for (const Way way : {Way::definition, Way::reproducible, Way::native}) {
        NodeRun r(Op::grouped_matmul);
        r.input(seed % 3 == 0 ? DType::bf16 : DType::f32, {kRows, static_cast<std::int64_t>(k)}, x);
        r.quantized_input(f.element, m.blocks, {kGroups, static_cast<std::int64_t>(n), static_cast<std::int64_t>(k)},
                          bytes);
        r.input(DType::i32, {kGroups}, ends);
        r.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
        const std::vector<Number> y = run(r, way);
        if (way == Way::definition) is_ordered = y;
        if (way == Way::reproducible) {
          ASSERT_EQ(y, is_ordered) << name_of(f.element);
        }
        for (std::size_t i = 0; i < kRows; ++i) {
          const auto group =
              static_cast<std::size_t>(std::ranges::upper_bound(ends, static_cast<double>(i)) - ends.begin());
          for (std::size_t j = 0; j < n; ++j) {
            double size = 0;
            const double sum = group == kGroups ? 0 : sum_of(x, i, numbers, group * n + j, k, &size);
            ASSERT_NEAR(y[i * n + j].real(), sum, size * 1e-4 + 1e-6)
                << name_of(f.element) << ' ' << i << ' ' << j << " of " << n;
          }
        }
      }
    }
  }
}

TEST(QuantizedRows, PlanesMeetTheirMatrices) {
  struct Case {
    std::vector<std::int64_t> x, w, out;
  };
  // [.., m, k] times [.., n, k]: equal planes, repeated planes of either operand, and a matrix of a single column.
  const Case cases[] = {{{3, 2, 64}, {3, 5, 64}, {3, 2, 5}},
                        {{2, 3, 12, 64}, {3, 40, 64}, {2, 3, 12, 40}},
                        {{4, 64}, {2, 6, 64}, {2, 4, 6}},
                        {{2, 1, 4, 64}, {2, 3, 1, 64}, {2, 3, 4, 1}}};
  std::uint32_t seed = 90;
  for (const Format& f : kFormats) {
    for (const Case& c : cases) {
      const std::int64_t n = c.w[c.w.size() - 2], k = 64, rows = c.x[c.x.size() - 2];
      std::int64_t matrices = 1, planes = 1;
      for (std::size_t i = 0; i + 2 < c.w.size(); ++i) matrices *= c.w[i];
      for (std::size_t i = 0; i + 2 < c.out.size(); ++i) planes *= c.out[i];
      const QuantizedMatrix m = matrix_of(f, matrices * n, k);
      const std::vector<std::byte> bytes = random_value(m, ++seed);
      const std::vector<float> numbers = numbers_of(m, bytes);
      std::int64_t count = 1;
      for (const std::int64_t s : c.x) count *= s;
      const std::vector<double> x = random_numbers(count, ++seed, 2, 16);
      std::vector<Number> is_ordered;
      for (const Way way : {Way::definition, Way::reproducible, Way::native}) {
        NodeRun r(Op::matmul);
        r.input(DType::f32, c.x, x);
        r.quantized_input(f.element, m.blocks, c.w, bytes);
        if (seed % 2 == 0) r.input(DType::f32, {n}, random_numbers(n, 5));
        const std::vector<double> bias = seed % 2 == 0 ? random_numbers(n, 5) : std::vector<double>{};
        const std::vector<Number> y = run(r, way);
        ASSERT_EQ(r.shape(), c.out);
        if (way == Way::definition) is_ordered = y;
        if (way == Way::reproducible) {
          ASSERT_EQ(y, is_ordered);
        }
        for (std::int64_t p = 0; p < planes; ++p) {
          // Plane indices: the last axes of `out` broadcast shorter x and w.
          std::int64_t of_x = p, of_w = p % matrices;
          if (c.x.size() == 2) of_x = 0;
          if (c.x.size() == 4 && c.x[1] == 1) {
            of_x = p / c.out[1];
            of_w = p;
          }
          for (std::int64_t i = 0; i < rows; ++i) {
            for (std::int64_t j = 0; j < n; ++j) {
              double size = 0;
              double sum = sum_of(x, static_cast<std::size_t>(of_x * rows + i), numbers,
                                  static_cast<std::size_t>(of_w * n + j), static_cast<std::size_t>(k), &size);
              if (!bias.empty()) sum += bias[static_cast<std::size_t>(j)];
              ASSERT_NEAR(y[static_cast<std::size_t>((p * rows + i) * n + j)].real(), sum, size * 1e-4 + 1e-6)
                  << name_of(f.element) << ' ' << p << ' ' << i << ' ' << j;
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
