// MX matrices against torchao 0.18 (FLOOR scales, block 32) and against the formulas of OCP MX 1.0.
#include "dtypes/mx.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "dtypes/convert.h"
#include "tests/dtypes/golden.h"

namespace tern::test {
namespace {

constexpr DType kElements[] = {DType::f8_e4m3fn, DType::f8_e5m2, DType::f6_e2m3, DType::f6_e3m2, DType::f4_e2m1};

struct Case {
  Golden golden{"mx_quantize.safetensors"};
  std::vector<float> values = std::vector<float>(130 * 160);
  Case() {
    const auto in = golden.get<std::uint16_t>("in");
    convert(in.data(), DType::bf16, values.data(), DType::f32, static_cast<std::int64_t>(in.size()));
  }
};

bool has_nan(const float* v, int n) {
  for (int i = 0; i < n; ++i) {
    if (std::isnan(v[i])) return true;
  }
  return false;
}

TEST(Mx, QuantizesAsTorchao) {
  const Case c;
  for (const DType element : kElements) {
    const MxFormat f{element, 130, 160, 32, ScaleLayout::plain};
    check_mx(f);
    std::vector<std::uint8_t> elements(static_cast<std::size_t>(f.element_bytes()));
    std::vector<F8E8M0> scales(static_cast<std::size_t>(f.scales().size()));
    for (int r = 0; r < 130; ++r) quantize_mx_row(f, &c.values[r * 160], r, elements.data(), scales.data());
    const std::string name(name_of(element));
    const auto want_scales = c.golden.get<std::uint8_t>(name + ".scales");
    const auto want = c.golden.get<std::uint8_t>(name + ".elements");
    ASSERT_EQ(want_scales.size(), scales.size());
    ASSERT_EQ(want.size(), elements.size());
    const std::size_t bytes = 32 / elements_per_byte(element);
    for (std::size_t b = 0; b < scales.size(); ++b) {
      const bool nan = has_nan(&c.values[b * 32], 32);
      if (nan && element != DType::f8_e4m3fn && element != DType::f8_e5m2) continue;  // torchao refuses these
      EXPECT_EQ(scales[b].bits, want_scales[b]) << name << " block " << b;
      EXPECT_EQ(nan, scales[b].bits == 255) << name << " block " << b;
      EXPECT_EQ(std::memcmp(&elements[b * bytes], &want[b * bytes], bytes), 0) << name << " block " << b;
    }
  }
}

TEST(Mx, DecodesAsTorchao) {
  const Case c;
  for (const DType element : {DType::f8_e4m3fn, DType::f4_e2m1}) {
    const std::string name(name_of(element));
    const MxFormat f{element, 130, 160, 32, ScaleLayout::plain};
    const auto elements = c.golden.get<std::uint8_t>(name + ".elements");
    const auto scales = c.golden.get<F8E8M0>(name + ".scales");
    const auto want = c.golden.get<float>(name + ".decoded");
    ASSERT_EQ(want.size(), 8u * 160);
    std::vector<float> got(160);
    for (int r = 0; r < 8; ++r) {
      decode_mx_row(f, elements.data(), scales.data(), r, got.data());
      for (int i = 0; i < 160; ++i) {
        const float w = want[r * 160 + i];
        const float g = got[i];
        EXPECT_TRUE(std::isnan(w) ? std::isnan(g) : g == w && std::signbit(g) == std::signbit(w)) << r << ',' << i;
      }
    }
  }
}

TEST(Mx, SwizzlesAsTorchao) {
  const Case c;
  const MxFormat f{DType::f8_e4m3fn, 130, 160, 32, ScaleLayout::swizzled_32_4_4};
  const auto want = c.golden.get<std::uint8_t>("swizzled");
  ASSERT_EQ(static_cast<std::int64_t>(want.size()), f.scales().size());
  std::vector<std::uint8_t> elements(static_cast<std::size_t>(f.element_bytes()));
  std::vector<F8E8M0> scales(want.size(), F8E8M0::from_bits(0));
  std::vector<float> plain(160);
  std::vector<float> swizzled(160);
  for (int r = 0; r < 130; ++r) quantize_mx_row(f, &c.values[r * 160], r, elements.data(), scales.data());
  EXPECT_EQ(std::memcmp(scales.data(), want.data(), want.size()), 0);

  const auto plain_scales = c.golden.get<F8E8M0>("float8_e4m3fn.scales");
  const MxFormat p{DType::f8_e4m3fn, 130, 160, 32, ScaleLayout::plain};
  for (int r = 0; r < 130; ++r) {
    decode_mx_row(f, elements.data(), scales.data(), r, swizzled.data());
    decode_mx_row(p, elements.data(), plain_scales.data(), r, plain.data());
    for (int i = 0; i < 160; ++i) {
      EXPECT_EQ(std::bit_cast<std::uint32_t>(plain[i]), std::bit_cast<std::uint32_t>(swizzled[i])) << r << ',' << i;
    }
  }
}

TEST(Mx, SwizzledIndexIsPyTorchsFormulaAndInverts) {
  for (const auto& [rows, columns] : {std::pair{1, 1}, {32, 2}, {128, 4}, {130, 5}, {257, 9}, {300, 12}}) {
    const ScaleGrid grid{rows, columns, ScaleLayout::swizzled_32_4_4};
    const std::int64_t tile_columns = (columns + 3) / 4;
    EXPECT_EQ(grid.size(), (rows + 127) / 128 * 32 * tile_columns * 16);
    std::vector<int> hits(static_cast<std::size_t>(grid.size()));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        // view(rb, 128, cb, 4).permute(0, 2, 1, 3).reshape(-1, 4, 32, 4).transpose(1, 2).reshape(-1, 32, 16)
        const std::int64_t block = (r / 128) * tile_columns + c / 4;
        const std::int64_t group = r % 128 / 32;
        const std::int64_t want = ((block * 32 + r % 32) * 4 + group) * 4 + c % 4;
        ASSERT_EQ(grid.index(r, c), want);
        const auto back = grid.position(want);
        ASSERT_TRUE(back.row == r && back.column == c);
        ++hits[static_cast<std::size_t>(want)];
      }
    }
    std::int64_t inside = 0;
    for (std::int64_t i = 0; i < grid.size(); ++i) {
      const auto p = grid.position(i);
      EXPECT_EQ(grid.index(p.row, p.column), i);
      EXPECT_EQ(hits[static_cast<std::size_t>(i)], p.row < rows && p.column < columns ? 1 : 0);
      inside += hits[static_cast<std::size_t>(i)];
    }
    EXPECT_EQ(inside, rows * columns);
  }
  EXPECT_EQ((ScaleGrid{32, 2, ScaleLayout::swizzled_32_4_4}.size()), 512);
  const ScaleGrid plain{7, 3, ScaleLayout::plain};
  EXPECT_EQ(plain.index(2, 1), 7);
  EXPECT_EQ(plain.position(7).row, 2);
}

TEST(Mx, EveryScaleCode) {
  const MxFormat f{DType::f4_e2m1, 1, 2, 2, ScaleLayout::plain};
  const std::uint8_t pair = 0xf2;  // 1, -6
  for (int code = 0; code < 256; ++code) {
    const F8E8M0 scale = F8E8M0::from_bits(static_cast<std::uint8_t>(code));
    float out[2];
    decode_mx_row(f, &pair, &scale, 0, out);
    if (code == 255) {
      EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
    } else {
      EXPECT_EQ(out[0], std::ldexp(1.0f, code - 127));
      EXPECT_EQ(out[1], std::ldexp(-6.0f, code - 127));  // infinity on overflow
    }
  }
}

TEST(Mx, FloorScaleIsTheFormula) {
  const int max_exponent[] = {8, 15, 2, 4, 2};
  for (std::size_t e = 0; e < std::size(kElements); ++e) {
    for (int p = -149; p < 128; ++p) {
      const int want = std::max(p - max_exponent[e], -127) + 127;
      EXPECT_EQ(mx_floor_scale(std::ldexp(1.0f, p), kElements[e]).bits, want) << p;
      if (p > -126) {
        EXPECT_EQ(mx_floor_scale(std::ldexp(1.999f, p), kElements[e]).bits, want) << p;
      }
    }
    EXPECT_EQ(mx_floor_scale(0.0f, kElements[e]).bits, 0);
    EXPECT_EQ(mx_floor_scale(NAN, kElements[e]).bits, 255);
  }
}

TEST(Mx, TinyBlocksKeepTheirValues) {
  // The scale is 2^-127, the smallest scale.
  const MxFormat f{DType::f8_e4m3fn, 1, 4, 4, ScaleLayout::plain};
  const float in[4] = {0x1p-120f, -0x1.8p-121f, 0x1p-133f, 0.0f};
  std::uint8_t elements[4];
  F8E8M0 scale;
  float out[4];
  quantize_mx_row(f, in, 0, elements, &scale);
  EXPECT_EQ(scale.bits, 0);
  decode_mx_row(f, elements, &scale, 0, out);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(out[i], in[i]);
}

TEST(Mx, BlocksOfAnySize) {
  for (const std::int64_t block : {2, 16, 512, 1026}) {
    const MxFormat f{DType::f4_e2m1, 2, 2 * block, block, ScaleLayout::plain};
    check_mx(f);
    std::vector<float> in(static_cast<std::size_t>(f.columns));
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = i % 2 == 0 ? 6.0f : -0.5f;
    std::vector<std::uint8_t> elements(static_cast<std::size_t>(f.element_bytes()));
    std::vector<F8E8M0> scales(static_cast<std::size_t>(f.scales().size()), F8E8M0::from_bits(0));
    std::vector<float> out(in.size());
    quantize_mx_row(f, in.data(), 1, elements.data(), scales.data());
    decode_mx_row(f, elements.data(), scales.data(), 1, out.data());
    EXPECT_EQ(out, in) << block;
    EXPECT_EQ(elements[0], 0) << "row 0 is not the one asked for";
  }
}

TEST(Mx, RefusesBadFormats) {
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  const MxFormat bad[] = {
      {DType::f32, 1, 32, 32, ScaleLayout::plain},
      {DType::f8_e4m3fnuz, 1, 32, 32, ScaleLayout::plain},
      {DType::f8_e4m3fn, 1, 33, 32, ScaleLayout::plain},
      {DType::f8_e4m3fn, 1, 32, 0, ScaleLayout::plain},
      {DType::f8_e4m3fn, 1, 32, -32, ScaleLayout::plain},
      {DType::f4_e2m1, 1, 33, 33, ScaleLayout::plain},
      {DType::f8_e4m3fn, -1, 32, 32, ScaleLayout::plain},
      {DType::f8_e4m3fn, 1, -32, 32, ScaleLayout::plain},
      {DType::f8_e4m3fn, huge, 32, 32, ScaleLayout::plain},
      {DType::f8_e4m3fn, huge, 1, 1, ScaleLayout::swizzled_32_4_4},
      {DType::f8_e4m3fn, 1, 32, 32, ScaleLayout{7}},
      {DType::f8_e4m3fn, 1, huge, 1, ScaleLayout::swizzled_32_4_4},
  };
  for (const MxFormat& f : bad) {
    try {
      check_mx(f);
      ADD_FAILURE() << name_of(f.element) << ' ' << f.rows << ' ' << f.columns << ' ' << f.block;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    }
  }
  check_mx({DType::f8_e4m3fn, 0, 0, 32, ScaleLayout::swizzled_32_4_4});
}

}  // namespace
}  // namespace tern::test
