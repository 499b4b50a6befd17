// Products of 8-bit integers, by every method of this processor, against sums in 64 bits.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "kernels/cpu/products/int8/dot_microkernel.h"
#include "kernels/cpu/products/int8/driver.h"
#include "tests/kernels/products/tiles.h"
#include "threads/threads.h"

namespace tern::int8 {
namespace {

constexpr Signs kSigns[] = {{false, false}, {false, true}, {true, false}, {true, true}};

/// Random bytes, or only the largest numbers.
std::vector<std::byte> random_bytes(std::int64_t n, unsigned seed, bool extreme, bool with_sign) {
  std::mt19937 random(seed);
  std::vector<std::byte> v(static_cast<std::size_t>(n));
  for (std::byte& b : v) b = static_cast<std::byte>(extreme ? (with_sign ? 0x80 : 0xff) : random() & 0xff);
  return v;
}

std::int64_t value(std::byte b, bool with_sign) {
  return with_sign ? static_cast<std::int64_t>(static_cast<std::int8_t>(b)) : static_cast<std::int64_t>(b);
}

struct ProductSizes {
  std::int64_t m, n, k, x_gap = 0, column_gap = 0;
  bool is_row_tiled = false;  ///< the weight is stored as [k, n]
};

struct ProductOperands {
  std::vector<std::byte> x, weight;
  std::vector<std::int32_t> bias;
  WeightView view;
  std::vector<std::int64_t> expected;
};

ProductOperands make_operands(const ProductSizes& c, Signs signs, bool extreme) {
  ProductOperands made;
  const std::int64_t row = c.k + c.x_gap, line = (c.is_row_tiled ? c.n : c.k) + c.column_gap;
  made.x = random_bytes((c.m - 1) * row + c.k, 1, extreme, signs.x);
  made.weight =
      random_bytes(c.is_row_tiled ? (c.k - 1) * line + c.n : (c.n - 1) * line + c.k, 2, extreme, signs.weight);
  made.view = {made.weight.data(), c.n, c.k, c.is_row_tiled ? 1 : line, c.is_row_tiled ? line : 1};
  for (std::int64_t j = 0; j < c.n; ++j) made.bias.push_back(static_cast<std::int32_t>(j * 1234567 - 7654321));
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      std::int64_t sum = 0;
      for (std::int64_t k = 0; k < c.k; ++k) {
        sum += value(made.x[static_cast<std::size_t>(i * row + k)], signs.x) *
               value(made.view.data[j * made.view.column + k * made.view.element], signs.weight);
      }
      made.expected.push_back(sum);
    }
  }
  return made;
}

void check_product(const ProductSizes& c, const Method& method, Signs signs, bool extreme) {
  const ProductOperands made = make_operands(c, signs, extreme);
  const Int8Linear linear({c.m, c.n, c.k, signs}, method);
  auto packed = unaligned(static_cast<std::size_t>(linear.packed_bytes())), scratch = unaligned(linear.scratch());
  linear.pack(made.view, aligned_part(packed));
  for (const bool keeps : {true, false}) {
    std::vector<std::int32_t> y(static_cast<std::size_t>(c.m * c.n) + 1, 7);
    linear.run({.x = made.x.data(),
                .x_row = c.k + c.x_gap,
                .weight = aligned_part(packed),
                .bias = keeps ? made.bias.data() : nullptr,
                .y = reinterpret_cast<std::byte*>(y.data()),
                .stores_sums = keeps},
               aligned_part(scratch));
    ASSERT_EQ(y.back(), 7) << "written behind the result";
    for (std::size_t i = 0; i < made.expected.size(); ++i) {
      if (keeps) {
        const auto expected =
            static_cast<std::int32_t>(made.expected[i] + made.bias[i % static_cast<std::size_t>(c.n)]);
        ASSERT_EQ(y[i], expected) << method.name << " " << c.m << " " << c.n << " " << c.k << ", " << i;
      } else {
        ASSERT_EQ(std::bit_cast<float>(y[i]), static_cast<float>(made.expected[i]))
            << method.name << " " << c.m << " " << c.n << " " << c.k << ", " << i;
      }
    }
  }
}

TEST(IntegerProducts, Shapes) {
  const ProductSizes cases[] = {{1, 1, 1},
                                {3, 5, 7},
                                {16, 32, 64},
                                {17, 33, 65},
                                {70, 40, 300},
                                {12, 16, 63},
                                {13, 17, 128},
                                {37, 100, 75},
                                {64, 64, 256, 8},
                                {33, 70, 1100, 4, 3},
                                {5, 31, 62, 3},
                                {2, 96, 100, 0, 0, true},
                                {40, 33, 130, 2, 5, true}};
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope{Threads(threads)};
    for (const Method& method : methods()) {
      for (const Signs signs : kSigns) {
        for (const ProductSizes& c : cases) {
          for (const bool extreme : {false, true}) ASSERT_NO_FATAL_FAILURE(check_product(c, method, signs, extreme));
        }
      }
    }
  }
}

TEST(IntegerProducts, AllDepthsAndRows) {
  const ThreadScope alone{Threads(1)};
  for (const Method& method : methods()) {
    for (const Signs signs : kSigns) {
      for (std::int64_t k = 1; k <= 300; k += k < 70 ? 1 : 13)
        ASSERT_NO_FATAL_FAILURE(check_product({5, 19, k}, method, signs, k % 2 == 0));
      for (std::int64_t m = 1; m <= 70; ++m) ASSERT_NO_FATAL_FAILURE(check_product({m, 35, 68}, method, signs, false));
    }
  }
}

void check_dots(void (*dots)(const DotBlock&), const ProductSizes& c, Signs signs) {
  const ProductOperands made = make_operands(c, signs, c.k % 2 == 0);
  std::vector<std::int64_t> steps;
  for (std::int64_t k = 0; k < c.k; k += kStep) steps.push_back(k);
  std::vector<std::int32_t> sums(static_cast<std::size_t>(c.m * c.n));
  dots({.x = made.x.data(),
        .x_row = c.k + c.x_gap,
        .rows = c.m,
        .steps = steps,
        .last = c.k - steps.back(),
        .weight = made.weight.data(),
        .weight_row = made.view.column,
        .columns = c.n,
        .signs = signs,
        .sums = sums.data(),
        .ld = c.n});
  for (std::size_t i = 0; i < sums.size(); ++i) ASSERT_EQ(sums[i], made.expected[i]) << c.m << " " << c.n << " " << c.k;
}

TEST(IntegerProducts, DotsAtAllLevels) {
  const auto check = [](auto* dots) {
    for (const Signs signs : kSigns) {
      for (std::int64_t k = 1; k <= 300; k += k < 140 ? 1 : 17) {
        ASSERT_NO_FATAL_FAILURE(check_dots(dots, {1 + k % 7, 1 + k % 11, k, k % 3, k % 5}, signs));
      }
    }
  };
  for_each_level(dots_levels, check);
}

TEST(IntegerProducts, DotProductsByRowsAtAllLevels) {
  for_each_level(multiply_by_dots_levels, [](auto* multiply) {
    const Method method{.name = "dots", .layout = PackedWeightLayout::rows, .step_cycles = 1, .multiply = multiply};
    for (const Signs signs : kSigns) ASSERT_NO_FATAL_FAILURE(check_product({150, 37, 70, 2}, method, signs, false));
  });
}

/// Sums wrap around in 32 bits, and keep their low bits.
TEST(IntegerProducts, LongSumsWrapAround) {
  for (const Method& method : methods()) {
    const ProductSizes c{3, 17, 70000};
    const Signs none{false, false};
    const ProductOperands made = make_operands(c, none, true);
    const Int8Linear linear({c.m, c.n, c.k, none}, method);
    auto packed = unaligned(static_cast<std::size_t>(linear.packed_bytes())), scratch = unaligned(linear.scratch());
    linear.pack(made.view, aligned_part(packed));
    std::vector<std::int32_t> y(static_cast<std::size_t>(c.m * c.n));
    linear.run({.x = made.x.data(),
                .x_row = c.k,
                .weight = aligned_part(packed),
                .y = reinterpret_cast<std::byte*>(y.data()),
                .stores_sums = true},
               aligned_part(scratch));
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], static_cast<std::int32_t>(made.expected[i])) << method.name;
  }
}

}  // namespace
}  // namespace tern::int8
