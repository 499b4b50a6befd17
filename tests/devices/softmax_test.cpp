// Softmax of long rows, on every device, without `reproducible`: devices with groups join parts of a row, each read
// once. Compared with double precision, with empty parts, infinities and NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class SoftmaxTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxTest, ::testing::ValuesIn(all_devices()), name_of_case);

constexpr double kSoftmaxInfinity = std::numeric_limits<double>::infinity();

/// Row 1 begins with a part of only -inf, row 2 is all -inf; row 3 has a NaN, row 4 infinity; row 5 has elements that
/// make all others underflow.
Tensor rows_of(const Sizes& sizes) {
  Tensor x = numbers(DType::f32, sizes, 3);
  const std::span<float> all = x.span<float>();
  const auto length = static_cast<std::size_t>(sizes[1]);
  for (std::size_t row = 0; row < static_cast<std::size_t>(sizes[0]); ++row) {
    const std::span<float> v = all.subspan(row * length, length);
    if (row == 1) std::fill_n(v.begin(), 1024, static_cast<float>(-kSoftmaxInfinity));
    if (row == 2) std::ranges::fill(v, static_cast<float>(-kSoftmaxInfinity));
    if (row == 3) v[length - 3] = std::numeric_limits<float>::quiet_NaN();
    if (row == 4) v[2000] = static_cast<float>(kSoftmaxInfinity);
    if (row == 5) v[3000] = 300;
  }
  return x;
}

void expect_softmax(std::span<const float> x, std::span<const float> y, std::span<const float> log_y) {
  double top = -kSoftmaxInfinity, sum = 0;
  bool number = true;
  for (const float v : x) number = number && !std::isnan(v) && v != kSoftmaxInfinity;
  for (const float v : x) top = std::max(top, static_cast<double>(v));
  for (const float v : x) sum += std::exp(static_cast<double>(v) - top);
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!number || top == -kSoftmaxInfinity) {
      ASSERT_TRUE(std::isnan(y[k])) << k;
      ASSERT_TRUE(std::isnan(log_y[k])) << k;
      continue;
    }
    const double expected = std::exp(x[k] - top) / sum, shifted = x[k] - top - std::log(sum);
    ASSERT_NEAR(y[k], expected, expected * 1e-5 + 1e-37) << k;
    if (x[k] == -kSoftmaxInfinity) {
      ASSERT_EQ(log_y[k], -kSoftmaxInfinity) << k;
    } else {
      ASSERT_NEAR(log_y[k], shifted, std::fabs(shifted) * 1e-6) << k;
    }
  }
}

TEST_P(SoftmaxTest, OfLongRows) {
  // Parts of 512, of 1024; rows cached by a group; a large number of rows.
  const Sizes all[] = {{7, 9001}, {2, 140001}, {33, 5000}, {40, 9000}};
  for (const Sizes& sizes : some_of<Sizes>(all, 3)) {
    SCOPED_TRACE(std::to_string(sizes[0]) + " of " + std::to_string(sizes[1]));
    TestProgram p;
    const ValueId x = p.input(DType::f32, Dims(sizes.begin(), sizes.end()));
    for (const std::int64_t log : {0, 1})
      p.output(p.b().add(Op::softmax, {x}, {attr(AttrKey::axis, Dim(1)), attr(AttrKey::log, Dim(log))}));
    const std::vector<Tensor> inputs{rows_of(sizes)};
    Session s(p.model().prepare(options_on(GetParam())));
    const std::vector<Tensor> found = s.run(inputs);
    const auto length = static_cast<std::size_t>(sizes[1]);
    for (std::size_t row = 0; row < static_cast<std::size_t>(sizes[0]); ++row) {
      SCOPED_TRACE("row " + std::to_string(row));
      const auto of = [&](const Tensor& t) { return t.span<const float>().subspan(row * length, length); };
      expect_softmax(of(inputs[0]), of(found[0]), of(found[1]));
    }
  }
}

}  // namespace
}  // namespace tern
