// The comparison with golden tensors: against numpy.isclose, with the same rule as torch.isclose, and hand-made values.
#include "tools/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/tools/support.h"
#include "tools/element_text.h"
#include "tools/files/safetensors.h"

namespace tern {
namespace {

using namespace test;

constexpr double kInf = std::numeric_limits<double>::infinity();
const float kNan = std::nanf("");

HostTensor f32(std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return tensor_of(DType::f32, {n}, values);
}

HostTensor element(const HostTensor& tensor, std::size_t i) {
  const auto size = static_cast<std::size_t>(element_size(tensor.dtype));
  const auto begin = tensor.data.begin() + static_cast<std::ptrdiff_t>(i * size);
  return {tensor.dtype, {}, {begin, begin + static_cast<std::ptrdiff_t>(size)}};
}

TEST(Compare, AgreesWithNumPyOnEveryPair) {
  const NamedTensors file = read_safetensors(data_file("isclose.safetensors"));
  const Tolerance tolerances[] = {{1e-3, 1e-5}, {0, 0.5}};
  for (const std::string kind : {"real", "complex"}) {
    const HostTensor& a = *file.find(kind + ".a");
    const HostTensor& b = *file.find(kind + ".b");
    for (int t = 0; t < 2; ++t) {
      const HostTensor& close = *file.find(kind + ".close_" + std::to_string(t));
      std::int64_t apart = 0;
      for (std::size_t i = 0; i < close.data.size(); ++i) {
        const bool expected = close.data[i] == std::byte{1};
        EXPECT_EQ(compare(element(a, i), element(b, i), tolerances[t]).ok, expected)
            << element_text(a, static_cast<std::int64_t>(i)) << " and " << element_text(b, static_cast<std::int64_t>(i))
            << " with tolerance " << t;
        apart += expected ? 0 : 1;
      }
      EXPECT_EQ(compare(a, b, tolerances[t]).mismatches, apart);
    }
  }
}

TEST(Compare, DefaultsAreThoseOfAssertClose) {
  struct Case {
    DType dtype;
    double rtol;
    double atol;
  };
  for (const auto& [dtype, rtol, atol] : std::vector<Case>{{DType::f16, 1e-3, 1e-5},
                                                           {DType::bf16, 1.6e-2, 1e-5},
                                                           {DType::f32, 1.3e-6, 1e-5},
                                                           {DType::f64, 1e-7, 1e-7},
                                                           {DType::c32, 1e-3, 1e-5},
                                                           {DType::c64, 1.3e-6, 1e-5},
                                                           {DType::c128, 1e-7, 1e-7},
                                                           {DType::i64, 0, 0},
                                                           {DType::boolean, 0, 0},
                                                           {DType::f8_e4m3fn, 0, 0}}) {
    EXPECT_EQ(default_tolerance(dtype).rtol, rtol) << name_of(dtype);
    EXPECT_EQ(default_tolerance(dtype).atol, atol) << name_of(dtype);
  }
  EXPECT_TRUE(compare(f32({1.000001f}), f32({1})).ok);
  EXPECT_FALSE(compare(f32({1.00002f}), f32({1})).ok);
}

TEST(Compare, ZeroToleranceIsBitForBit) {
  const Tolerance exact{};
  EXPECT_TRUE(compare(f32({1, kNan, -0.0f}), f32({1, -kNan, -0.0f}), exact).ok) << "any NaN equals any other";
  const Comparison zeros = compare(f32({0.0f, 1}), f32({-0.0f, 1}), exact);
  EXPECT_EQ(zeros.mismatches, 1);
  EXPECT_EQ(zeros.first_mismatch, 0);
  EXPECT_EQ(zeros.absolute.index, -1) << "the values are equal";
  EXPECT_TRUE(compare(f32({0.0f}), f32({-0.0f})).ok);
  EXPECT_FALSE(compare(f32({std::nextafter(1.0f, 2.0f)}), f32({1}), exact).ok);
  EXPECT_FALSE(compare(f32({kNan}), f32({1}), exact).ok);

  const auto c64 = [](float re, float im) { return tensor_of<float>(DType::c64, {}, {re, im}); };
  EXPECT_TRUE(compare(c64(kNan, 1), c64(-kNan, 1), exact).ok);
  EXPECT_FALSE(compare(c64(kNan, 1), c64(kNan, 2), exact).ok);
  EXPECT_TRUE(compare(c64(kNan, 1), c64(kNan, 2)).ok) << "an element with a NaN part is NaN";
  EXPECT_FALSE(compare(c64(0, 0.0f), c64(0, -0.0f), exact).ok);
}

TEST(Compare, SmallFloatsAreExact) {
  const auto codes = [](DType dtype, std::vector<std::uint8_t> c) {
    return tensor_of(dtype, {static_cast<std::int64_t>(c.size()) * elements_per_byte(dtype)}, c);
  };
  // 0x7e is 448, 0x7d 416; 0x7f and 0xff are NaN.
  EXPECT_TRUE(compare(codes(DType::f8_e4m3fn, {0x7e, 0x7f}), codes(DType::f8_e4m3fn, {0x7e, 0xff})).ok);
  const Comparison c = compare(codes(DType::f8_e4m3fn, {0, 0x7d}), codes(DType::f8_e4m3fn, {0, 0x7e}));
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.absolute.error, 32);
  EXPECT_EQ(c.absolute.index, 1);
  EXPECT_EQ(c.worst_ulp, 1);
  EXPECT_FALSE(compare(codes(DType::f8_e4m3fn, {0x80}), codes(DType::f8_e4m3fn, {0})).ok);
  // e8m0: 127 is 1, 128 is 2, 255 is NaN.
  EXPECT_EQ(compare(codes(DType::f8_e8m0, {128, 255}), codes(DType::f8_e8m0, {127, 255})).absolute.error, 1);
  // 4-bit: the second element is the high nibble; 0x6 is 4, 0x7 is 6.
  const Comparison four = compare(codes(DType::f4_e2m1, {0x61}), codes(DType::f4_e2m1, {0x71}));
  EXPECT_EQ(four.first_mismatch, 1);
  EXPECT_EQ(four.absolute.error, 2);
}

TEST(Compare, SixtyFourBitIntegersLoseNothing) {
  const auto i64 = [](std::int64_t v) { return tensor_of<std::int64_t>(DType::i64, {}, {v}); };
  constexpr std::int64_t kBig = (std::int64_t{1} << 60) + 1;
  const Comparison c = compare(i64(kBig), i64(kBig - 1));
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.absolute.error, 1);
  EXPECT_EQ(compare(i64(INT64_MAX), i64(INT64_MIN)).absolute.error, 18446744073709551615.0);
  EXPECT_TRUE(compare(i64(kBig), i64(kBig - 1), Tolerance{0, 1}).ok);
  const auto u64 = [](std::uint64_t v) { return tensor_of<std::uint64_t>(DType::u64, {}, {v}); };
  EXPECT_EQ(compare(u64(UINT64_MAX), u64(UINT64_MAX - 2)).absolute.error, 2);
  EXPECT_EQ(compare(u64(0), u64(UINT64_MAX)).absolute.error, 18446744073709551615.0);
}

TEST(Compare, FindsTheWorstElements) {
  // Rows of three; more elements than a chunk, with the worst elements in the last rows.
  constexpr std::int64_t kRows = 3000;
  std::vector<float> golden(kRows * 3, 4.0f);
  std::vector<float> actual = golden;
  golden[8990] = actual[8990] = 1024;
  actual[8991] = 4.5f;   // absolute 0.5, relative 0.125
  golden[8995] = 0.25f;  // row 2998
  actual[8995] = 0.5f;   // absolute 0.25, relative 1
  const HostTensor a = tensor_of(DType::f32, {kRows, 3}, actual);
  const HostTensor g = tensor_of(DType::f32, {kRows, 3}, golden);
  const Comparison c = compare(a, g);
  EXPECT_EQ(c.elements, 9000);
  EXPECT_EQ(c.mismatches, 2);
  EXPECT_EQ(c.first_mismatch, 8991);
  EXPECT_EQ(c.absolute.error, 0.5);
  EXPECT_EQ(c.absolute.index, 8991);
  EXPECT_EQ(c.relative.error, 1);
  EXPECT_EQ(c.relative.index, 8995);
  EXPECT_EQ(c.worst_ulp, 0.5 / std::ldexp(1.0, 2 - 23));  // row 2997 holds only 4s
  const std::string text = describe(c, a, g);
  EXPECT_NE(text.find("2 of 9000 elements differ, the first at [2997, 0]: 4.5, expected 4.0"), std::string::npos)
      << text;
  EXPECT_NE(text.find("largest relative error 1 at [2998, 1]: 0.5, expected 0.25"), std::string::npos) << text;
  EXPECT_NE(text.find("(rtol 1.3e-06, atol 1e-05)"), std::string::npos) << text;
}

TEST(Compare, UnitsOfTheLastPlaceAreThoseOfTheRow) {
  // A row with 1024: an error of 2^-13 is a unit in the last place, even at small elements.
  const auto row = [](float last) { return tensor_of<float>(DType::f32, {1, 2}, {1024, last}); };
  EXPECT_EQ(compare(row(1 + std::ldexp(1.0f, -13)), row(1)).worst_ulp, 1);
  const auto single = [](float v) { return tensor_of<float>(DType::f32, {}, {v}); };
  EXPECT_EQ(compare(single(1 + std::ldexp(1.0f, -13)), single(1)).worst_ulp, 1024);
  EXPECT_EQ(compare(single(std::ldexp(1.0f, -149)), single(0)).worst_ulp, 1);
  EXPECT_EQ(compare(single(kNan), single(1)).worst_ulp, kInf);
}

TEST(Compare, SaysHowDtypeAndShapeDiffer) {
  const Comparison c =
      compare(tensor_of<float>(DType::f32, {2, 1}, {1, 2}), tensor_of<std::int32_t>(DType::i32, {2}, {1, 2}));
  EXPECT_FALSE(c.ok);
  EXPECT_EQ(c.mismatch, "dtype float32 instead of int32, shape [2, 1] instead of [2]");
  EXPECT_TRUE(compare(f32({}), f32({})).ok);
  const HostTensor wrong{DType::f32, {3}, std::vector<std::byte>(8)};
  EXPECT_NE(error_of([&] { compare(wrong, f32({1, 2, 3})); }), "no error");
  EXPECT_NE(error_of([&] { compare(f32({1}), f32({1}), Tolerance{-1, 0}); }, ErrorCode::invalid_argument), "no error");
  EXPECT_NE(error_of(
                [&] {
                  compare(f32({1}), f32({1}), Tolerance{0, kNan});
                },
                ErrorCode::invalid_argument),
            "no error");
}

TEST(Compare, DescribesErrorsTooSmallToDivide) {
  const auto f64 = [](double v) { return tensor_of<double>(DType::f64, {}, {v}); };
  const double big = 1e308;
  const HostTensor a = f64(std::nextafter(0.0, 1.0));
  EXPECT_NE(describe(compare(a, f64(0)), a, f64(0)).find("within the tolerance"), std::string::npos);
  EXPECT_EQ(describe(compare(f64(big), f64(big)), f64(big), f64(big)), "equal");
}

TEST(ElementText, IsShortAndExact) {
  EXPECT_EQ(element_text(f32({0.1f}), 0), "0.1");
  EXPECT_EQ(element_text(f32({-0.0f, kNan, 1e30f}), 0), "-0.0");
  EXPECT_EQ(element_text(f32({-0.0f, kNan, 1e30f}), 1), "nan");
  EXPECT_EQ(element_text(f32({-0.0f, kNan, 1e30f}), 2), "1e+30");
  EXPECT_EQ(element_text(counting(DType::c64), 1), "-2.0+0.5j");
  EXPECT_EQ(element_text(tensor_of<std::uint64_t>(DType::u64, {}, {UINT64_MAX}), 0), "18446744073709551615");
  EXPECT_EQ(element_text(counting(DType::i8), 0), "-3");
  EXPECT_EQ(element_text(counting(DType::boolean), 3), "true");
  EXPECT_EQ(element_text(tensor_of<std::uint8_t>(DType::f4_e2m1, {2}, {0x70}), 1), "6.0");
  EXPECT_EQ(index_text(counting(DType::f32), 5), "[1, 2]");
  EXPECT_EQ(index_text(tensor_of<float>(DType::f32, {}, {1}), 0), "[]");
}

}  // namespace
}  // namespace tern
