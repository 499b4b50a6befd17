// addcdiv and lerp, bit for bit: GPUs round as PyTorch's eager CUDA kernels, other devices as its CPU kernels; both in
// plain C++.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "runtime/devices/device.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using Floats = std::vector<float>;

constexpr std::int64_t kNumbers = 500;
constexpr float kFactor = -0.37F;

class RoundingTest : public ::testing::TestWithParam<std::string> {
 protected:
  bool is_gpu() const { return Device::open(GetParam()).traits().groups; }
  /// Three operands, with special values at their beginning.
  static std::vector<Floats> operands() {
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    std::vector<Floats> all = {{inf, nan, -0.0F, 0, 1}, {1, 1, -0.0F, -0.0F, inf}, {2, 0.25F, 0.5F, -0.0F, 0.75F}};
    std::mt19937 engine(11);
    std::normal_distribution<float> normal;
    for (Floats& f : all)
      while (f.size() < static_cast<std::size_t>(kNumbers)) f.push_back(normal(engine));
    return all;
  }
  Floats run(const char* formula) const {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {kNumbers}), y = p.input(DType::f32, {kNumbers}),
                  w = p.input(DType::f32, {kNumbers});
    p.output(p.b().expr(formula, {{"x", x}, {"value", double{kFactor}}, {"y", y}, {"w", w}}, DType::f32));
    Session s(p.model().prepare(options_on(GetParam())));
    const std::vector<Floats> o = operands();
    return values_of(s.run({floats({kNumbers}, o[0]), floats({kNumbers}, o[1]), floats({kNumbers}, o[2])})[0]);
  }
  void compare(const char* formula, float (*on_gpu)(float, float, float), float (*on_cpu)(float, float, float)) const {
    const std::vector<Floats> o = operands();
    const Floats made = run(formula);
    int differences = 0;
    for (std::size_t i = 0; i < made.size(); ++i) {
      const float gpu = on_gpu(o[0][i], o[1][i], o[2][i]), cpu = on_cpu(o[0][i], o[1][i], o[2][i]);
      const float expected = is_gpu() ? gpu : cpu;
      differences += gpu == cpu || std::isnan(gpu) ? 0 : 1;
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(made[i])) << i;
      } else {
        EXPECT_EQ(made[i], expected) << i;
        EXPECT_EQ(std::signbit(made[i]), std::signbit(expected)) << i;
      }
    }
    EXPECT_GT(differences, 20) << "the operands do not tell the two from each other";
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, RoundingTest, ::testing::ValuesIn(all_devices()), name_of_case);

TEST_P(RoundingTest, Addcdiv) {
  compare(
      "x + value * y / w", [](float x, float y, float w) { return std::fma(kFactor, y / w, x); },
      [](float x, float y, float w) { return x + kFactor * y / w; });
}

TEST_P(RoundingTest, LerpByATensor) {
  compare(
      "abs(w) < 0.5 ? x + w * (y - x) : y - (y - x) * (1 - w)",
      [](float x, float y, float w) {
        return std::fabs(w) < 0.5F ? std::fma(w, y - x, x) : std::fma(-(y - x), 1 - w, y);
      },
      [](float x, float y, float w) { return std::fabs(w) < 0.5F ? x + w * (y - x) : y - (y - x) * (1 - w); });
}

TEST_P(RoundingTest, LerpByANumber) {
  compare(
      "abs(value) < 0.5 ? x + value * (y - x) : y - (y - x) * (1 - value)",
      [](float x, float y, float) { return std::fma(kFactor, y - x, x); },
      [](float x, float y, float) { return x + kFactor * (y - x); });
}

// Each operator of a program rounds for itself.
TEST_P(RoundingTest, ProductsAndSumsOfTheProgramRoundTwice) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kNumbers}), y = p.input(DType::f32, {kNumbers}),
                w = p.input(DType::f32, {kNumbers});
  const ValueId d = p.b().expr("y - x", {{"y", y}, {"x", x}}, DType::f32);
  const ValueId m = p.b().expr("w * d", {{"w", w}, {"d", d}}, DType::f32);
  p.output(p.b().expr("x + m", {{"x", x}, {"m", m}}, DType::f32));
  Session s(p.model().prepare(options_on(GetParam())));
  const std::vector<Floats> o = operands();
  const Floats made =
      values_of(s.run({floats({kNumbers}, o[0]), floats({kNumbers}, o[1]), floats({kNumbers}, o[2])})[0]);
  for (std::size_t i = 5; i < made.size(); ++i) EXPECT_EQ(made[i], o[0][i] + o[2][i] * (o[1][i] - o[0][i])) << i;
}

}  // namespace
}  // namespace tern
