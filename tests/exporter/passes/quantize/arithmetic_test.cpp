// Weights quantized to torchao's bits: checksums of torchao's elements and scales for the same inputs.
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "exporter/passes/quantize/matrix.h"
#include "tests/bfloat16.h"
#include "tests/exporter/passes/quantize/goldens.h"
#include "tests/exporter/passes/quantize/numbers.h"

namespace tern::quantize {
namespace {

using namespace testing;

/// NaN has a single code, as in make.py: in scales of 16 and 32 bits, and in elements beside such scales.
void one_nan(std::byte* address, std::int64_t count, DType t) {
  const GoldenBits b = golden_bits(t);
  const auto size = static_cast<std::size_t>(element_size(t));
  for (std::int64_t i = 0; i < count; ++i) {
    std::byte* const number = address + static_cast<std::size_t>(i) * size;
    std::uint32_t bits = 0;
    std::memcpy(&bits, number, size);
    if ((bits & ~b.sign) > b.infinity) std::memcpy(number, &b.quiet, size);
  }
}

std::uint32_t crc_of(Quantized& q, const QuantizedMatrix& m) {
  const auto wide = [](DType t) { return t == DType::f32 || t == DType::bf16 || t == DType::f16; };
  if (wide(m.blocks.scale)) one_nan(q.bytes.data() + m.scale_offset(), m.scales().size(), m.blocks.scale);
  if (m.blocks.outer) one_nan(q.bytes.data() + m.outer_offset(), 1, DType::f32);
  if (m.blocks.scale == DType::f32 && m.element == DType::f8_e4m3fn) {
    std::replace(q.bytes.data(), q.bytes.data() + m.element_bytes(), std::byte{0xff}, std::byte{0x7f});
  }
  uLong crc = 0;
  const auto add = [&](std::int64_t offset, std::int64_t size) {
    crc = crc32(crc, reinterpret_cast<const Bytef*>(q.bytes.data() + offset), static_cast<uInt>(size));
  };
  add(0, m.element_bytes());
  add(m.scale_offset(), m.scales().size() * element_size(m.blocks.scale));
  if (m.blocks.outer) add(m.outer_offset(), 4);
  return static_cast<std::uint32_t>(crc);
}

MxScales mode_of_arithmetic(std::string_view name) {
  return name == "even" ? MxScales::even : name == "ceil" ? MxScales::ceil : MxScales::floor;
}

constexpr std::string_view kArithmeticSets[] = {"near", "spread", "codes", "ties", "tiny", "zeros", "nan", "infinite"};

class QuantizeGoldens : public ::testing::TestWithParam<std::string_view> {};

TEST_P(QuantizeGoldens, BitsOfTorchao) {
  const std::string_view set = GetParam();
#if !defined(__x86_64__)
  // The sign of the NaN of infinity times zero is the processor's.
  if (set == "infinite") GTEST_SKIP();
#endif
  std::map<DType, std::vector<std::byte>> numbers;
  int tested = 0;
  for (const QuantizeGolden& g : kQuantizeGoldens) {
    if (set != g.set) continue;
    const DType type = dtype_from_name(g.type);
    const auto number =
        static_cast<std::uint64_t>(std::ranges::find(kArithmeticSets, set) - std::begin(kArithmeticSets));
    if (!numbers.contains(type)) numbers[type] = golden_numbers(type, set, number);
    const Format* const format = find_format(g.format);
    ASSERT_NE(format, nullptr) << g.format;
    const FloatMatrix matrix{numbers[type].data(), type, kGoldenRows, kGoldenColumns, kGoldenColumns, 1};
    Quantized q = quantize(matrix, {.format = format,
                                    .block = format->block,
                                    .mx_scales = mode_of_arithmetic(g.mode),
                                    .rule = ScaleRule::torchao});
    const QuantizedMatrix m{format->element, kGoldenRows, kGoldenColumns, q.blocks};
    EXPECT_EQ(crc_of(q, m), g.crc) << g.format << " " << g.mode << " " << g.type;
    ++tested;
  }
  EXPECT_GE(tested, 37);
}

INSTANTIATE_TEST_SUITE_P(Sets, QuantizeGoldens, ::testing::ValuesIn(kArithmeticSets),
                         [](const auto& i) { return std::string(i.param); });

std::vector<float> random_weight(std::int64_t count) {
  std::vector<float> x;
  for (std::int64_t i = 0; i < count; ++i)
    x.push_back(static_cast<float>(static_cast<std::int32_t>(random_bits(99, static_cast<std::uint64_t>(i)))) *
                0x1p-31F);
  return x;
}

std::vector<std::byte> stored_as(DType type, const std::vector<float>& x) {
  std::vector<std::byte> bytes(x.size() * static_cast<std::size_t>(element_size(type)));
  convert(x.data(), DType::f32, bytes.data(), type, static_cast<std::int64_t>(x.size()));
  return bytes;
}

TEST(QuantizeMatrix, TheErrorIsThatOfTheStoredBytes) {
  constexpr std::int64_t kRows = 37;
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    for (const Format& f : formats()) {
      // A row with a single scale need not be a multiple of the vector width.
      const std::int64_t columns = f.block == 0 ? 1174 : 1184;
      const std::vector<std::byte> bytes = stored_as(type, random_weight(kRows * columns));
      std::vector<float> x(static_cast<std::size_t>(kRows * columns));
      convert(bytes.data(), type, x.data(), DType::f32, kRows * columns);
      const Quantized q = quantize({bytes.data(), type, kRows, columns, columns, 1}, {&f, f.block});
      const QuantizedMatrix m{f.element, kRows, columns, q.blocks};
      ASSERT_EQ(static_cast<std::int64_t>(q.bytes.size()), m.bytes());
      double xx = 0, yy = 0, xy = 0, noise = 0;
      std::vector<float> y(static_cast<std::size_t>(columns));
      for (std::int64_t r = 0; r < kRows; ++r) {
        dequantize_row(m, q.bytes.data(), r, 0, columns, y.data());
        for (std::int64_t c = 0; c < columns; ++c) {
          const double a = x[static_cast<std::size_t>(r * columns + c)], b = y[static_cast<std::size_t>(c)];
          xx += a * a;
          yy += b * b;
          xy += a * b;
          noise += (a - b) * (a - b);
        }
      }
      EXPECT_NEAR(q.error.sqnr(), 10 * std::log10(xx / noise), 1e-3) << f.name << " " << name_of(type);
      EXPECT_NEAR(q.error.cosine(), xy / std::sqrt(xx * yy), 1e-6) << f.name << " " << name_of(type);
      EXPECT_GT(q.error.sqnr(), elements_per_byte(f.element) == 2 ? 15 : 24) << f.name << " " << name_of(type);
    }
  }
}

// Rows of all magnitudes against the formula: some are multiplied by a reciprocal, some divided.
TEST(QuantizeMatrix, RowsOfFloat8AreQuotients) {
  constexpr std::int64_t kRows = 250, kColumns = 1111;
  const Format* const float8 = find_format("float8");
  std::vector<float> x = random_weight(kRows * kColumns);
  for (std::int64_t i = 0; i < kRows * kColumns; ++i)
    x[static_cast<std::size_t>(i)] = std::ldexp(x[static_cast<std::size_t>(i)], static_cast<int>(i / kColumns) - 125);
  const Quantized q =
      quantize({reinterpret_cast<const std::byte*>(x.data()), DType::f32, kRows, kColumns, kColumns, 1}, {float8, 0});
  const QuantizedMatrix m{float8->element, kRows, kColumns, q.blocks};
  int wrong = 0;
  for (std::int64_t r = 0; r < kRows; ++r) {
    const float* const row = x.data() + r * kColumns;
    float largest = 0, scale = 0;
    for (std::int64_t c = 0; c < kColumns; ++c) largest = std::max(largest, std::abs(row[c]));
    std::memcpy(&scale, q.bytes.data() + m.scale_offset() + r * 4, sizeof scale);
    ASSERT_EQ(scale, largest / 448) << r;
    for (std::int64_t c = 0; c < kColumns; ++c) {
      const float v = row[c] / scale;
      std::uint8_t code = 0;
      convert(&v, DType::f32, &code, DType::f8_e4m3fn, 1);
      wrong += static_cast<std::uint8_t>(q.bytes.data()[r * kColumns + c]) != code ? 1 : 0;
    }
  }
  EXPECT_EQ(wrong, 0);
}

TEST(QuantizeMatrix, ScalesOfGroupsMayBeBfloat16) {
  constexpr std::int64_t kRows = 5, kColumns = 96, kGroup = 32;
  const std::vector<float> x = random_weight(kRows * kColumns);
  const Format* const int4 = find_format("int4");
  const auto quantized = [&](bool narrow) {
    return quantize({reinterpret_cast<const std::byte*>(x.data()), DType::f32, kRows, kColumns, kColumns, 1},
                    {.format = int4, .block = kGroup, .bfloat16_scales = narrow, .rule = ScaleRule::torchao});
  };
  const Quantized wide = quantized(false), narrow = quantized(true);
  EXPECT_EQ(narrow.blocks.scale, DType::bf16);
  EXPECT_LT(narrow.bytes.size(), wide.bytes.size());
  EXPECT_NEAR(narrow.error.sqnr(), wide.error.sqnr(), 0.2);
  const QuantizedMatrix m{DType::i4, kRows, kColumns, narrow.blocks};
  std::vector<float> y(kColumns);
  for (std::int64_t r = 0; r < kRows; ++r) {
    dequantize_row(m, narrow.bytes.data(), r, 0, kColumns, y.data());
    for (std::int64_t g = 0; g < kColumns; g += kGroup) {
      const float* const group = x.data() + r * kColumns + g;
      float largest = 0;
      for (std::int64_t i = 0; i < kGroup; ++i) largest = std::max(largest, std::abs(group[i]));
      const float scale = test::to_bfloat16(largest / 7.5F);
      for (std::int64_t i = 0; i < kGroup; ++i) {
        const float whole = std::clamp(std::nearbyint(group[i] * (1 / scale)), -8.0F, 7.0F);
        EXPECT_EQ(y[static_cast<std::size_t>(g + i)], whole * scale) << r << ", " << g + i;
      }
    }
  }
}

TEST(QuantizeMatrix, StridesMakeNoDifference) {
  constexpr std::int64_t kRows = 45, kColumns = 96;
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    const std::vector<float> wide = random_weight(kRows * kColumns);
    const auto size = static_cast<std::size_t>(element_size(type));
    std::vector<std::byte> x(wide.size() * size), transposed(x.size());
    convert(wide.data(), DType::f32, x.data(), type, kRows * kColumns);
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t c = 0; c < kColumns; ++c)
        std::memcpy(&transposed[(c * kRows + r) * size], &x[(r * kColumns + c) * size], size);
    }
    for (const Format& f : formats()) {
      const Recipe recipe{&f, f.block};
      const Quantized a = quantize({x.data(), type, kRows, kColumns, kColumns, 1}, recipe),
                      b = quantize({transposed.data(), type, kRows, kColumns, 1, kRows}, recipe);
      EXPECT_TRUE(std::ranges::equal(a.bytes.span(), b.bytes.span())) << f.name << " " << name_of(type);
    }
  }
}

TEST(QuantizeMatrix, ZerosStayZeros) {
  constexpr std::int64_t kRows = 3, kColumns = 64;
  std::vector<float> x(kRows * kColumns);
  for (const bool all : {true, false}) {
    if (!all) x[5] = 3;  // only row 0
    for (const Format& f : formats()) {
      const Quantized q = quantize(
          {reinterpret_cast<const std::byte*>(x.data()), DType::f32, kRows, kColumns, kColumns, 1}, {&f, f.block});
      std::vector<float> y(kColumns);
      for (std::int64_t r = all ? 0 : 1; r < kRows; ++r) {
        dequantize_row({f.element, kRows, kColumns, q.blocks}, q.bytes.data(), r, 0, kColumns, y.data());
        for (const float v : y) EXPECT_EQ(v, 0) << f.name;
      }
      EXPECT_EQ(all ? q.error.cosine() : 1, 1) << f.name;
    }
  }
}

}  // namespace
}  // namespace tern::quantize
