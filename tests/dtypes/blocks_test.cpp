#include "dtypes/blocks.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "tests/dtypes/golden.h"

namespace tern {
namespace {

std::vector<std::byte> bytes_of(const QuantizedMatrix& m, std::initializer_list<int> elements,
                                std::initializer_list<float> scales) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  std::size_t i = 0;
  for (const int e : elements) bytes[i++] = static_cast<std::byte>(e);
  std::memcpy(bytes.data() + m.scale_offset(), scales.begin(), scales.size() * sizeof(float));
  return bytes;
}

std::vector<float> row(const QuantizedMatrix& m, const std::vector<std::byte>& bytes, std::int64_t r) {
  std::vector<float> values(static_cast<std::size_t>(m.columns));
  dequantize_row(m, bytes.data(), r, 0, m.columns, values.data());
  return values;
}

TEST(Blocks, FourBitsLieTheEvenOneLow) {
  const QuantizedMatrix m{DType::i4, 1, 8, {.columns = 4, .scale = DType::f32}};
  EXPECT_EQ(m.bytes(), 4 + 8);
  const auto bytes = bytes_of(m, {0x10, 0x87, 0xfe, 0x29}, {1, 10});
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{0, 1, 7, -8, -20, -10, -70, 20}));
}

TEST(Blocks, TwoBitsLieFromTheLowestOn) {
  const QuantizedMatrix m{DType::i2, 1, 8, {.columns = 8, .scale = DType::f32}};
  const auto bytes = bytes_of(m, {0b11100100, 0b00011011}, {.5F});
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{0, .5F, -1, -.5F, -.5F, -1, .5F, 0}));
}

TEST(Blocks, TwoOfFourLieWithTheirPlacesBehindThem) {
  const QuantizedMatrix m{DType::f32, 2, 8, two_of_four()};
  check_quantized(m);
  EXPECT_EQ(m.place_offset(), 2 * 4 * 4);
  EXPECT_EQ(m.bytes(), 32 + 2);
  EXPECT_EQ((QuantizedMatrix{DType::bf16, 64, 128, two_of_four()}.bytes()) * 16, 64 * 128 * 2 * 9);
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  const float kept[] = {1, 2, 3, 4, 5, 6, 7, 8};
  std::memcpy(bytes.data(), kept, sizeof kept);
  bytes[32] = std::byte{0b11'10'01'00};  // 0, 1 of the first four; 2, 3 of the next
  // Any bits are valid: the second element may come first, and two elements at the same position are added.
  bytes[33] = std::byte{0b01'01'00'11};
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{1, 2, 0, 0, 0, 0, 3, 4}));
  EXPECT_EQ(row(m, bytes, 1), (std::vector<float>{6, 0, 0, 5, 0, 15, 0, 0}));
  std::vector<float> part(5);
  dequantize_row(m, bytes.data(), 1, 3, 5, part.data());
  EXPECT_EQ(part, (std::vector<float>{5, 0, 15, 0, 0}));
}

TEST(Blocks, TwoOfFourHaveNothingElse) {
  const auto wrong = [](DType element, auto edit) {
    Blocks b = two_of_four();
    edit(b);
    return wrong_blocks(element, b) != nullptr;
  };
  EXPECT_FALSE(wrong(DType::f16, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::f64, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.kept = 1; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.kept = 4; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.columns = 8; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.rows = 2; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.scale = DType::f32; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.zero_point = ZeroPoint::added, b.zero = DType::f32; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.layout = ScaleLayout::swizzled_32_4_4; }));
  EXPECT_TRUE(wrong(DType::f16, [](Blocks& b) { b.outer = true; }));
  EXPECT_THROW(check_quantized({DType::f16, 2, 12, two_of_four()}), Error) << "places end within a byte";
}

TEST(Blocks, EachPartBeginsAtAMultipleOfItsElements) {
  QuantizedMatrix m{DType::i8, 3, 3, {.columns = 3, .scale = DType::f32}};
  EXPECT_EQ(m.scale_offset(), 12);
  EXPECT_EQ(m.bytes(), 12 + 3 * 4);
  m.blocks.zero_point = ZeroPoint::subtracted;
  m.blocks.zero = DType::i8;
  EXPECT_EQ(m.zero_offset(), 24);
  EXPECT_EQ(m.bytes(), 27);
  m.blocks.outer = true;
  EXPECT_EQ(m.outer_offset(), 28);
  EXPECT_EQ(m.bytes(), 32);
}

TEST(Blocks, ZeroPointsAreSubtractedBeforeOrAddedAfterTheScale) {
  QuantizedMatrix m{DType::u8, 1, 4, {.columns = 2, .scale = DType::f32}};
  m.blocks.zero_point = ZeroPoint::subtracted;
  m.blocks.zero = DType::i8;
  auto bytes = bytes_of(m, {0, 255, 3, 4}, {2, .25F});
  bytes[static_cast<std::size_t>(m.zero_offset())] = static_cast<std::byte>(100);
  bytes[static_cast<std::size_t>(m.zero_offset()) + 1] = static_cast<std::byte>(-5);
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{-200, 310, 2, 2.25F}));

  m.blocks.zero_point = ZeroPoint::added;
  m.blocks.zero = DType::f32;
  bytes = bytes_of(m, {0, 255, 3, 4}, {2, .25F});
  const float zeros[] = {-1, .5F};
  std::memcpy(bytes.data() + m.zero_offset(), zeros, sizeof zeros);
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{-1, 509, 1.25F, 1.5F}));
}

TEST(Blocks, RowsShareAScaleAndTheLastBlockMayBeLower) {
  const QuantizedMatrix m{DType::i8, 3, 4, {.columns = 2, .rows = 2, .scale = DType::f32}};
  EXPECT_EQ(m.scales().size(), 4);
  const auto bytes = bytes_of(m, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {1, 2, 3, 4});
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(row(m, bytes, 1), (std::vector<float>{1, 1, 2, 2}));
  EXPECT_EQ(row(m, bytes, 2), (std::vector<float>{3, 3, 4, 4}));
}

TEST(Blocks, TheOuterScaleMultipliesThoseOfTheBlocks) {
  const QuantizedMatrix m{DType::f4_e2m1, 1, 4, {.columns = 4, .scale = DType::f8_e4m3fn, .outer = true}};
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  bytes[0] = static_cast<std::byte>(0x72);  // 1, 6
  bytes[1] = static_cast<std::byte>(0x9f);  // -6, -0.5
  bytes[2] = static_cast<std::byte>(0x40);  // 2
  const float outer = .125F;
  std::memcpy(bytes.data() + m.outer_offset(), &outer, sizeof outer);
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{.25F, 1.5F, -1.5F, -.125F}));
}

TEST(Blocks, AScaleOfNaNMakesItsBlockNaN) {
  const QuantizedMatrix m{DType::f8_e4m3fn, 1, 4, {.columns = 2}};
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()), static_cast<std::byte>(0x38));  // 1
  bytes[4] = static_cast<std::byte>(255);
  bytes[5] = static_cast<std::byte>(128);
  const std::vector<float> values = row(m, bytes, 0);
  EXPECT_TRUE(std::isnan(values[0]) && std::isnan(values[1]));
  EXPECT_EQ(values[2], 2);
}

/// A matrix of 130 x 160 numbers in MX blocks with its elements and scales by torchao 0.18 (FLOOR).
struct Microscaled {
  QuantizedMatrix matrix;
  std::vector<std::byte> bytes;

  Microscaled(const test::Golden& golden, DType element, ScaleLayout layout)
      : matrix{element, 130, 160, {.columns = 32, .layout = layout}}, bytes(static_cast<std::size_t>(matrix.bytes())) {
    check_quantized(matrix);
    const std::string name(name_of(element));
    const auto elements = golden.get<std::byte>(name + ".elements");
    const auto scales =
        golden.get<std::byte>(layout == ScaleLayout::plain ? name + ".scales" : std::string("swizzled"));
    EXPECT_EQ(static_cast<std::int64_t>(elements.size()), matrix.element_bytes());
    EXPECT_EQ(static_cast<std::int64_t>(scales.size()), matrix.scales().size());
    std::ranges::copy(elements, bytes.begin());
    std::ranges::copy(scales, bytes.begin() + matrix.scale_offset());
  }
};

TEST(Blocks, MxNumbersAreTorchaos) {
  const test::Golden golden("mx_quantize.safetensors");
  for (const DType element : {DType::f8_e4m3fn, DType::f4_e2m1}) {
    const Microscaled m(golden, element, ScaleLayout::plain);
    const auto want = golden.get<float>(std::string(name_of(element)) + ".decoded");
    ASSERT_EQ(want.size(), 8U * 160);
    for (std::int64_t r = 0; r < 8; ++r) {
      const std::vector<float> got = row(m.matrix, m.bytes, r);
      for (std::size_t i = 0; i < 160; ++i) {
        const float w = want[static_cast<std::size_t>(r) * 160 + i], g = got[i];
        EXPECT_TRUE(std::isnan(w) ? std::isnan(g) : g == w && std::signbit(g) == std::signbit(w)) << r << ',' << i;
      }
    }
  }
}

TEST(Blocks, ScalesInTilesGiveTheSameNumbers) {
  const test::Golden golden("mx_quantize.safetensors");
  const Microscaled plain(golden, DType::f8_e4m3fn, ScaleLayout::plain),
      tiles(golden, DType::f8_e4m3fn, ScaleLayout::swizzled_32_4_4);
  for (std::int64_t r = 0; r < 130; ++r) {
    const std::vector<float> a = row(plain.matrix, plain.bytes, r), b = row(tiles.matrix, tiles.bytes, r);
    EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << r;
  }
}

TEST(Blocks, EveryCodeOfPowersOfTwo) {
  const QuantizedMatrix m{DType::f4_e2m1, 1, 2, {.columns = 2}};
  for (int code = 0; code < 256; ++code) {
    const std::vector<std::byte> bytes = {std::byte{0xf2}, static_cast<std::byte>(code)};  // 1, -6
    const std::vector<float> out = row(m, bytes, 0);
    if (code == 255) {
      EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
    } else {
      EXPECT_EQ(out[0], std::ldexp(1.0f, code - 127));
      EXPECT_EQ(out[1], std::ldexp(-6.0f, code - 127));  // infinity where it overflows
    }
  }
}

TEST(Blocks, PlanesLieBehindTheLowBitsOfTheirRow) {
  const QuantizedMatrix m{DType::u8, 2, 8, {.columns = 8, .scale = DType::f32, .bits = 6}};
  check_quantized(m);
  EXPECT_EQ(m.row_bytes(), 6);
  EXPECT_EQ(m.scale_offset(), 12);
  // Codes 0x10, 0x21, 0x32, 0x3f, 0, 1, 2, 3; the second row is the first one with other planes.
  const auto bytes =
      bytes_of(m, {0x10, 0xf2, 0x10, 0x32, 0b1101, 0b1110, 0x10, 0xf2, 0x10, 0x32, 0b0000, 0b10000000}, {1, 2});
  EXPECT_EQ(row(m, bytes, 0), (std::vector<float>{0x10, 0x21, 0x32, 0x3f, 0, 1, 2, 3}));
  EXPECT_EQ(row(m, bytes, 1), (std::vector<float>{0, 2, 4, 30, 0, 2, 4, 70}));
  std::vector<float> part(4);
  dequantize_row(m, bytes.data(), 0, 2, 4, part.data());
  EXPECT_EQ(part, (std::vector<float>{0x32, 0x3f, 0, 1}));
  const QuantizedMatrix with_sign{DType::i8, 2, 8, {.columns = 8, .scale = DType::f32, .bits = 6}};
  EXPECT_EQ(row(with_sign, bytes, 0), (std::vector<float>{16, 0x21 - 64, 0x32 - 64, -1, 0, 1, 2, 3}));
}

TEST(Blocks, ScalesOfSuperBlocksAreMultiplesOfUnits) {
  const QuantizedMatrix m{DType::u8,
                          1,
                          32,
                          {.columns = 8,
                           .scale = DType::u8,
                           .zero_point = ZeroPoint::added,
                           .zero = DType::i8,
                           .bits = 4,
                           .super_columns = 16}};
  check_quantized(m);
  EXPECT_EQ(m.row_units(), 2);
  EXPECT_EQ(m.scale_unit_offset(), 16 + 4 + 4);
  EXPECT_EQ(m.bytes(), 24 + 4 + 4);
  std::vector<std::byte> bytes(static_cast<std::size_t>(m.bytes()));
  for (std::size_t i = 0; i < 16; ++i) bytes[i] = std::byte{0x21};
  const std::uint8_t scales[] = {1, 200, 3, 4}, zeros[] = {0, 1, 2, 0xff};
  std::memcpy(bytes.data() + m.scale_offset(), scales, sizeof scales);
  std::memcpy(bytes.data() + m.zero_offset(), zeros, sizeof zeros);
  const std::uint16_t scale_units[] = {0x3800, 0x4000}, zero_units[] = {0xbc00, 0x4900};  // 0.5, 2; -1, 10
  std::memcpy(bytes.data() + m.scale_unit_offset(), scale_units, sizeof scale_units);
  std::memcpy(bytes.data() + m.zero_unit_offset(), zero_units, sizeof zero_units);
  const std::vector<float> numbers = row(m, bytes, 0);
  EXPECT_EQ((std::vector<float>{numbers[0], numbers[1], numbers[8], numbers[9], numbers[16], numbers[17], numbers[24],
                                numbers[25]}),
            (std::vector<float>{.5F, 1, 99, 199, 26, 32, -2, 6}));
}

TEST(Blocks, RulesOfPlanesAndSuperBlocks) {
  const Blocks good{.columns = 16, .scale = DType::i8, .bits = 6, .super_columns = 64};
  EXPECT_EQ(wrong_blocks(DType::i8, good), nullptr);
  const auto wrong = [&](DType element, auto change) {
    Blocks b = good;
    change(b);
    return wrong_blocks(element, b) != nullptr;
  };
  EXPECT_TRUE(wrong(DType::i4, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::f8_e4m3fn, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.bits = 4; }));
  EXPECT_TRUE(wrong(DType::u8, [](Blocks& b) { b.bits = 7; }));
  EXPECT_TRUE(wrong(DType::u8, [](Blocks& b) { b.bits = 1; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.columns = 4; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.super_columns = 24; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.super_columns = 8; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.super_columns = -64; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.super_columns = 0; })) << "int8 scales need super-blocks";
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.scale = DType::f16; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero = DType::i8; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero_point = ZeroPoint::subtracted, b.zero = DType::i8; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero_point = ZeroPoint::added, b.zero = DType::f16; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.outer = true; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.rows = 2; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.layout = ScaleLayout::swizzled_32_4_4; }));
  EXPECT_THROW(check_quantized({DType::i8, 2, 32, good}), Error) << "half a super-block";
}

TEST(Blocks, Rules) {
  const Blocks good{.columns = 32};
  EXPECT_EQ(wrong_blocks(DType::f4_e2m1, good), nullptr);
  const auto wrong = [&](DType element, auto change) {
    Blocks b = good;
    change(b);
    return wrong_blocks(element, b) != nullptr;
  };
  EXPECT_TRUE(wrong(DType::f32, [](Blocks&) {}));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.columns = -1; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.rows = 0; }));
  EXPECT_TRUE(wrong(DType::i4, [](Blocks& b) { b.columns = 33; }));
  EXPECT_TRUE(wrong(DType::i2, [](Blocks& b) { b.columns = 34; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.scale = DType::f64; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero_point = ZeroPoint::added; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero = DType::i8; }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.zero_point = static_cast<ZeroPoint>(3); }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) { b.layout = static_cast<ScaleLayout>(2); }));
  EXPECT_TRUE(wrong(DType::i8, [](Blocks& b) {
    b.layout = ScaleLayout::swizzled_32_4_4;
    b.scale = DType::f32;
  }));
  EXPECT_THROW(check_quantized({DType::i8, 2, 33, good}), Error);
  EXPECT_THROW(check_quantized({DType::i8, std::int64_t{1} << 60, 32, good}), Error);
  EXPECT_THROW(check_quantized({DType::f8_e4m3fn, -1, 32, good}), Error);
  EXPECT_THROW(check_quantized({DType::f8_e4m3fn, 1, -32, good}), Error);
  EXPECT_THROW(check_quantized({DType::f8_e4m3fnuz, 1, 32, good}), Error);
  const Blocks tiles{.columns = 1, .layout = ScaleLayout::swizzled_32_4_4};
  EXPECT_THROW(check_quantized({DType::f8_e4m3fn, std::int64_t{1} << 58, 1, tiles}), Error);
  EXPECT_THROW(check_quantized({DType::f8_e4m3fn, 1, std::int64_t{1} << 58, tiles}), Error);
  check_quantized({DType::f8_e4m3fn, 0, 0, tiles});
}

}  // namespace
}  // namespace tern
