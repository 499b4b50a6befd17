// Products with quantized matrices against sums in double of dequantize_row's values: native, definition and
// reproducible kernels.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/cpu/products/block_quantized/driver.h"
#include "kernels/cpu/products/block_quantized/microkernel.h"
#include "kernels/cpu/products/block_quantized/nibble_microkernel.h"
#include "tests/kernels/node_run.h"
#include "tests/kernels/quantized_value.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

struct Extent {
  std::int64_t m, n, k;
};
constexpr Extent kExtents[] = {{1, 5, 64}, {1, 130, 192}, {2, 9, 128}, {3, 17, 64},
                               {5, 4, 64}, {8, 33, 320},  {9, 40, 64}, {40, 70, 1088}};

std::vector<Number> product_of(int way, const Format& f, const Extent& e, const std::vector<std::byte>& bytes,
                               const std::vector<double>& x, DType x_type, const std::vector<double>& bias) {
  NodeRun r(Op::matmul);
  r.input(x_type, {e.m, e.k}, x);
  r.quantized_input(f.element, f.blocks, {e.n, e.k}, bytes);
  if (!bias.empty()) r.input(DType::f32, {e.n}, bias);
  r.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
  if (way == 1) r.select_device(&HostLauncher::instance());
  if (way == 2) r.reproducible();
  return r.run().output();
}

TEST(Quantized, ProductsAreSumsOfTheNumbers) {
  std::uint32_t seed = 1;
  for (Format f : kFormats) {
    for (const Extent& e : kExtents) {
      Format format = f;
      if (format.blocks.columns == kRow) format.blocks.columns = static_cast<std::int32_t>(e.k);
      const QuantizedMatrix m{format.element, e.n, e.k, format.blocks};
      check_quantized(m);
      const std::vector<std::byte> bytes = random_value(m, ++seed);
      const std::vector<double> x = random_numbers(e.m * e.k, ++seed, 2, 16);
      const std::vector<double> bias = e.n % 2 == 0 ? random_numbers(e.n, ++seed) : std::vector<double>{};
      std::vector<std::vector<float>> numbers(static_cast<std::size_t>(e.n),
                                              std::vector<float>(static_cast<std::size_t>(e.k)));
      for (std::int64_t j = 0; j < e.n; ++j)
        dequantize_row(m, bytes.data(), j, 0, e.k, numbers[static_cast<std::size_t>(j)].data());
      const DType x_type = seed % 3 == 0 ? DType::bf16 : DType::f32;  // exact in either type
      const auto native = product_of(0, format, e, bytes, x, x_type, bias),
                 definition = product_of(1, format, e, bytes, x, x_type, bias),
                 reproducible = product_of(2, format, e, bytes, x, x_type, bias);
      for (std::int64_t i = 0; i < e.m; ++i) {
        for (std::int64_t j = 0; j < e.n; ++j) {
          double sum = bias.empty() ? 0 : bias[static_cast<std::size_t>(j)], size = std::fabs(sum);
          for (std::int64_t k = 0; k < e.k; ++k) {
            const double p = x[static_cast<std::size_t>(i * e.k + k)] *
                             static_cast<double>(numbers[static_cast<std::size_t>(j)][static_cast<std::size_t>(k)]);
            sum += p;
            size += std::fabs(p);
          }
          const auto at = static_cast<std::size_t>(i * e.n + j);
          // Zero points are taken out of the whole sum, whose terms then are larger.
          // Many rows of bfloat16 meet a weight that is rounded to it, where that is faster.
          const double half_place = x_type == DType::bf16 && e.m > block_quantized::kFewRows ? 0x1p-9 : 0;
          const double bound =
              size * half_place + size * (format.blocks.zero_point == ZeroPoint::none ? 4e-6 : 4e-5) + 1e-6;
          ASSERT_NEAR(native[at].real(), sum, bound) << name_of(format.element) << ' ' << format.blocks.columns << ": "
                                                     << e.m << ' ' << e.n << ' ' << e.k << " at " << i << ' ' << j;
          ASSERT_NEAR(definition[at].real(), sum, size * 1e-4 + 1e-6);
          ASSERT_EQ(reproducible[at].real(), definition[at].real()) << name_of(format.element);
        }
      }
    }
  }
}

TEST(Quantized, DequantizeIsTheNumbersInEveryWay) {
  for (const Format& f : kFormats) {
    Format format = f;
    if (format.blocks.columns == kRow) format.blocks.columns = 64;
    const QuantizedMatrix m{format.element, 6, 64, format.blocks};
    const std::vector<std::byte> bytes = random_value(m, 7);
    for (const bool portable : {false, true}) {
      NodeRun r(Op::dequantize);
      r.quantized_input(format.element, format.blocks, {2, 3, 64}, bytes);
      r.set(AttrKey::dtype, static_cast<std::int64_t>(DType::f32));
      if (portable) r.select_device(&HostLauncher::instance());
      const std::vector<Number> y = r.run().output();
      std::vector<float> row(64);
      for (std::int64_t i = 0; i < 6; ++i) {
        dequantize_row(m, bytes.data(), i, 0, 64, row.data());
        for (std::size_t k = 0; k < 64; ++k) EXPECT_EQ(y[static_cast<std::size_t>(i) * 64 + k].real(), row[k]);
      }
    }
  }
}

TEST(Quantized, EveryCodeOfEveryInstructionSet) {
  for_each_level(block_quantized::set_loops_levels, [](auto set) {
    block_quantized::BlockQuantizedLoops loops;
    set(&loops);
    for (const DType type : {DType::i8, DType::u8, DType::i4, DType::i2, DType::f8_e4m3fn, DType::f8_e5m2,
                             DType::f6_e2m3, DType::f6_e3m2, DType::f4_e2m1}) {
      std::uint8_t codes[256];
      const int count = type == DType::f6_e2m3 || type == DType::f6_e3m2 ? 64 : 256, per = elements_per_byte(type);
      for (int i = 0; i < 256; ++i) codes[i] = static_cast<std::uint8_t>(i % count);
      const QuantizedMatrix m{type, 1, 256 * per, {.columns = 256 * per}};
      std::vector<float> expected(static_cast<std::size_t>(256 * per)), actual(expected.size());
      decode_elements(m, reinterpret_cast<const std::byte*>(codes), 0, 0, 256 * per, expected.data());
      // Not a whole number of steps, too.
      for (const int n : {256 * per, 256 * per - 3 * per}) {
        loops.element_loops(m)->numbers(codes, n, actual.data());
        for (int i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          EXPECT_TRUE(actual[at] == expected[at] || (std::isnan(actual[at]) && std::isnan(expected[at])))
              << name_of(type) << " code " << i << ": " << actual[at] << ", not " << expected[at];
        }
      }
    }
  });
}

/// Rows decoded together do not change each other's results: up to eight rows of 4-bit elements, non-finite rows too.
TEST(Quantized, RowsDoNotChangeEachOthersBits) {
  if (block_quantized::nibble_loops() == nullptr) GTEST_SKIP() << "no loops for nibbles here";
  for (const Format& f : kFormats) {
    if (elements_per_byte(f.element) != 2 || f.blocks.columns != 32 || f.blocks.sparse()) continue;
    const Extent all{8, 301, 256}, one{1, 301, 256};
    const std::vector<std::byte> bytes = random_value({f.element, all.n, all.k, f.blocks}, 3);
    std::vector<double> x = random_numbers(all.m * all.k, 5, 2, 16);
    for (const bool finite : {true, false}) {
      if (!finite) x[static_cast<std::size_t>(3 * all.k + 40)] = std::numeric_limits<double>::infinity();
      const std::vector<Number> y = product_of(0, f, all, bytes, x, DType::f32, {});
      for (std::int64_t i = 0; i < all.m; ++i) {
        if (!finite && i == 3) continue;
        const std::vector<double> row(x.begin() + i * all.k, x.begin() + (i + 1) * all.k);
        const std::vector<Number> alone = product_of(0, f, one, bytes, row, DType::f32, {});
        EXPECT_EQ(alone, std::vector<Number>(y.begin() + i * all.n, y.begin() + (i + 1) * all.n)) << i << ' ' << finite;
      }
    }
  }
}

TEST(Quantized, ThreadsDoNotChangeBits) {
  const Format f = kFormats[0];
  const Extent e{2, 301, 256};
  const std::vector<std::byte> bytes = random_value({f.element, e.n, e.k, f.blocks}, 3);
  const std::vector<double> x = random_numbers(e.m * e.k, 5, 2, 16);
  std::vector<Number> first;
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope(Threads::chosen(threads));
    const std::vector<Number> y = product_of(0, f, e, bytes, x, DType::f32, {});
    if (first.empty()) first = y;
    EXPECT_EQ(y, first) << threads;
  }
}

}  // namespace
}  // namespace tern::test
