// Conversions of runs: every pair of types against PyTorch 2.12 on a CPU, element by element (its vectorised and scalar
// kernels disagree on out-of-range values).
#include "dtypes/convert.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "dtypes/cast.h"
#include "dtypes/packed_f4.h"
#include "dtypes/storage.h"
#include "tests/dtypes/golden.h"

namespace tern::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Equal bits, or both NaN (each part of a complex number by itself).
template <class T>
bool have_equal_bits(const std::uint8_t* a, const std::uint8_t* b) {
  if (std::memcmp(a, b, sizeof(T)) == 0) return true;
  if constexpr (is_small_float_v<T> || std::is_floating_point_v<T>) {
    T x;
    T y;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    return std::isnan(static_cast<double>(x)) && std::isnan(static_cast<double>(y));
  } else if constexpr (std::is_same_v<T, ComplexHalf>) {
    return have_equal_bits<Half>(a, b) && have_equal_bits<Half>(a + 2, b + 2);
  } else if constexpr (is_complex_v<T>) {
    using Component = typename T::value_type;
    return have_equal_bits<Component>(a, b) && have_equal_bits<Component>(a + sizeof(Component), b + sizeof(Component));
  } else {
    return false;
  }
}

/// The only NaN of these types is a constant in PyTorch's decoders, and its compiler folds the (undefined) conversion
/// of a constant NaN to an integer to 0; through float32 PyTorch agrees with Tern.
bool is_folded(DType from, std::uint8_t code, DType to) {
  const bool nan = from == DType::f8_e8m0 ? code == 0xff : code == 0x80;
  return nan && is_integral(to) && (from == DType::f8_e8m0 || from == DType::f8_e4m3fnuz || from == DType::f8_e5m2fnuz);
}

void expect_same(DType t, const Bytes& got, const Bytes& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  visit_dtype(t, [&]<class T>(std::type_identity<T>) {
    for (std::size_t i = 0; i < want.size(); i += sizeof(T)) {
      EXPECT_TRUE(have_equal_bits<T>(&got[i], &want[i])) << what << ", element " << i / sizeof(T);
    }
  });
}

TEST(Convert, EveryPairAsPyTorch) {
  const Golden golden("convert_pairs.safetensors");
  int pairs = 0;
  for (const auto& [name, bytes] : golden.tensors()) {
    const std::size_t split = name.find('>');
    if (split == std::string::npos) continue;
    const DType from = dtype_from_name(name.substr(0, split));
    const DType to = dtype_from_name(name.substr(split + 1));
    const Bytes in = golden.get<std::uint8_t>(name.substr(0, split));
    const auto n = static_cast<std::int64_t>(in.size()) / element_size(from);
    Bytes out(static_cast<std::size_t>(run_bytes(to, n)));
    convert(in.data(), from, out.data(), to, n, Overflow::to_nan);
    Bytes want = golden.get<std::uint8_t>(name);
    const auto size = static_cast<std::size_t>(element_size(to));
    for (std::size_t i = 0; i < want.size(); i += size) {
      if (is_folded(from, in[i / size * static_cast<std::size_t>(element_size(from))], to)) {
        std::copy_n(&out[i], size, &want[i]);
      }
    }
    expect_same(to, out, want, name);
    ++pairs;
  }
  EXPECT_EQ(pairs, 21 * 20);
}

TEST(Convert, LongRunsEqualTheirElements) {
  // Longer than a stage's buffer, and not a multiple.
  constexpr std::int64_t n = 2 * 512 + 77;
  for (int i = 1; i < kTensorDTypeCount; ++i) {
    for (int j = 1; j < kTensorDTypeCount; ++j) {
      const auto from = static_cast<DType>(i);
      const auto to = static_cast<DType>(j);
      if (from == DType::f4_e2m1 || to == DType::f4_e2m1) continue;
      visit_dtype(from, [&]<class From>(std::type_identity<From>) {
        visit_dtype(to, [&]<class To>(std::type_identity<To>) {
          std::vector<std::int64_t> seed(n);
          for (std::int64_t k = 0; k < n; ++k) seed[static_cast<std::size_t>(k)] = k * 37 % 301 - 150;
          auto in = std::make_unique<From[]>(n);
          auto out = std::make_unique<To[]>(n);
          convert(seed.data(), DType::i64, in.get(), from, n);
          convert(in.get(), from, out.get(), to, n);
          for (std::int64_t k = 0; k < n; ++k) {
            const To want = cast_to<To>(in[static_cast<std::size_t>(k)]);
            std::uint8_t a[sizeof(To)];
            std::uint8_t b[sizeof(To)];
            std::memcpy(a, &out[static_cast<std::size_t>(k)], sizeof(To));
            std::memcpy(b, &want, sizeof(To));
            ASSERT_TRUE(have_equal_bits<To>(a, b)) << name_of(from) << " to " << name_of(to) << ", element " << k;
          }
        });
      });
    }
  }
}

TEST(Convert, PackedFloat4) {
  // OCP MX 1.0, table 5: the values by code; and the packing of torchao, where 1.0, 6.0 is the byte 0x72.
  const float values[16] = {0, .5, 1, 1.5, 2, 3, 4, 6, -0.f, -.5, -1, -1.5, -2, -3, -4, -6};
  std::uint8_t all[8];
  convert(values, DType::f32, all, DType::f4_e2m1, 16);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(all[i], (2 * i + 1) << 4 | 2 * i);
  float back[16];
  convert(all, DType::f4_e2m1, back, DType::f32, 16);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::bit_cast<std::uint32_t>(values[i])) << "code " << i;
  }

  const double odd[3] = {1.0, 6.0, 5.0};  // 5 is a tie between 4 and 6, and the code of 6 is odd
  std::uint8_t packed[3] = {0xff, 0xff, 0xff};
  convert(odd, DType::f64, packed, DType::f4_e2m1, 3);
  EXPECT_EQ(packed[0], 0x72);
  EXPECT_EQ(packed[1], 0x06);
  EXPECT_EQ(packed[2], 0xff);
  std::complex<double> wide[3];
  convert(packed, DType::f4_e2m1, wide, DType::c128, 3);
  EXPECT_EQ(wide[1], std::complex<double>(6.0, 0.0));
  EXPECT_EQ(wide[2], std::complex<double>(4.0, 0.0));
}

TEST(Convert, SingleFloat4ElementsLeaveTheirNeighbourAlone) {
  for (unsigned old = 0; old < 256; ++old) {
    for (unsigned code = 0; code < 16; ++code) {
      for (const std::int64_t i : {0, 1, 2, 3}) {
        std::uint8_t packed[2] = {static_cast<std::uint8_t>(old), static_cast<std::uint8_t>(~old)};
        const std::uint8_t other = load_f4(packed, i ^ 1).bits;
        store_f4(packed, i, F4E2M1::from_bits(static_cast<std::uint8_t>(code)));
        ASSERT_EQ(packed[i / 2], i % 2 == 0 ? (other << 4 | code) : (code << 4 | other));
        ASSERT_EQ(load_f4(packed, i).bits, code);
      }
    }
  }
}

TEST(Convert, PackedFloat4InLongRuns) {
  constexpr std::size_t n = 1501;
  std::vector<std::int8_t> in(n);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<std::int8_t>(static_cast<int>(i * 7 % 5) - 2);
  Bytes packed((n + 1) / 2);
  convert(in.data(), DType::i8, packed.data(), DType::f4_e2m1, n);
  std::vector<std::int8_t> back(n);
  convert(packed.data(), DType::f4_e2m1, back.data(), DType::i8, n);
  EXPECT_EQ(back, in);
}

TEST(Convert, ForeignBooleanBytesAreTrue) {
  const std::uint8_t in[4] = {0, 1, 2, 255};
  std::int32_t out[4];
  convert(in, DType::boolean, out, DType::i32, 4);
  EXPECT_EQ(std::vector<std::int32_t>(out, out + 4), (std::vector<std::int32_t>{0, 1, 1, 1}));
}

TEST(Convert, CopiesEqualTypesBitForBit) {
  const std::uint32_t in[2] = {0x7f800001u, 0xffc12345u};
  std::uint32_t out[2];
  convert(in, DType::f32, out, DType::f32, 2);
  EXPECT_EQ(std::memcmp(in, out, sizeof(in)), 0);
}

TEST(Convert, RefusesWhatItCannotDo) {
  float a = 0;
  float b = 1;
  EXPECT_THROW(convert(&a, DType::invalid, &b, DType::f32, 1), Error);
  EXPECT_THROW(convert(&a, DType::f32, &b, static_cast<DType>(99), 1), Error);
  EXPECT_THROW(convert(&a, DType::f32, &b, DType::f64, -1), Error);
  convert(nullptr, DType::f32, nullptr, DType::f64, 0);
  EXPECT_EQ(b, 1);
}

/// Runs converted by vectors, and runs with NaN or a number beyond int32, converted by scalars.
TEST(Convert, FloatsToBytesInRunsEqualTheirElements) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i * 37 % 700 - 350) / 2);
  for (const float odd : {3e9F, -3e9F, 2147483648.0F, -2147483648.0F, 1e30F, INFINITY, -INFINITY, NAN})
    values[static_cast<std::size_t>(std::fabs(odd) < 1e10F ? 100 : 500) + (std::signbit(odd) ? 7 : 0)] = odd;
  std::vector<std::uint8_t> u(values.size());
  std::vector<std::int8_t> s(values.size());
  convert(values.data(), DType::f32, u.data(), DType::u8, std::ssize(values));
  convert(values.data(), DType::f32, s.data(), DType::i8, std::ssize(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(u[i], cast_to<std::uint8_t>(values[i])) << values[i];
    EXPECT_EQ(s[i], cast_to<std::int8_t>(values[i])) << values[i];
  }
}

}  // namespace
}  // namespace tern::test
