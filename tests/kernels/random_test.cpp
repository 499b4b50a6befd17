// Random numbers: PyTorch's values on CUDA devices, and statistical distributions.
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "kernels/cpu/philox.h"
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

constexpr std::int64_t kSampleCount = 1'000'000;

struct Draw {
  std::string kind;
  DType dtype = DType::f32;
  std::vector<std::int64_t> range = {};
};

std::vector<double> draw(const Draw& d, std::int64_t n, std::uint64_t seed = 42, std::uint64_t offset = 0) {
  NodeRun run(Op::random);
  run.seed(seed, offset);
  run.node().set(AttrKey::kind, d.kind);
  run.set(AttrKey::sizes, n);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(d.dtype));
  if (!d.range.empty()) run.set(AttrKey::range, d.range);
  std::vector<double> v;
  for (const Number& x : run.run().output()) v.push_back(x.real());
  return v;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance) {
  ASSERT_GE(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[i], expected[i], tolerance) << "element " << i;
}

// Known answers of the Random123 distribution (kat_vectors).
TEST(Random, PhiloxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (PhiloxWords{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const std::uint32_t f = 0xffffffff;
  EXPECT_EQ(philox({f, f, f, f}, {f, f}), (PhiloxWords{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxWords{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// torch.rand(10, device="cuda") after torch.manual_seed(0), called twice.
TEST(Random, UniformNumbersArePyTorchsOnCuda) {
  expect_near(draw({"uniform"}, 10, 0, 0),
              {0.3990, 0.5167, 0.0249, 0.9401, 0.9459, 0.7967, 0.4150, 0.8203, 0.2290, 0.9096}, 6e-5);
  expect_near(draw({"uniform"}, 10, 0, 1),
              {0.9722, 0.7910, 0.4690, 0.3300, 0.3345, 0.3783, 0.7640, 0.6405, 0.1103, 0.3594}, 6e-5);
}

// torch.randn(3, 4, device="cuda") after torch.manual_seed(0).
TEST(Random, NormalNumbersArePyTorchsOnCuda) {
  expect_near(draw({"normal"}, 12, 0, 0),
              {-0.92466259, -0.42534415, -2.6438457, 0.14518388, -0.12086647, -0.57972564, -0.62285122, -0.32838709,
               -1.07454231, -0.36314407, -1.67105067, 2.26550497},
              1e-6);
}

// The order in which 132 multiprocessors share a large tensor, following PyTorch's kernel: a loop over drawing threads
// rather than elements.
TEST(Random, LargeTensorsAreSharedByTheThreadsOfTheDevice) {
  const std::int64_t n = 1'300'001, grid = 132 * 8 * 256;
  std::vector<double> uniform(n), normal(n);
  std::uint64_t blocks = 0;
  for (std::int64_t thread = 0; thread < grid; ++thread) {
    std::uint64_t block = 7;
    for (std::int64_t at = thread; at < n; at += 4 * grid) {
      const PhiloxWords w = philox_block(5, static_cast<std::uint64_t>(thread), block++);
      for (std::int64_t u = 0; u < 4 && at + grid * u < n; ++u) {
        const auto i = static_cast<std::size_t>(at + grid * u);
        uniform[i] = (w[static_cast<std::size_t>(u)] + 0.5) * 0x1p-32;
        // PyTorch rounds to float32: close to 1 the logarithm is coarse.
        const double x = static_cast<float>((w[static_cast<std::size_t>(u & 2)] + 0.5) * 0x1p-32);
        const double y = (w[static_cast<std::size_t>(u | 1)] + 0.5) * 0x1p-32;
        const double angle = 2 * std::numbers::pi * y;
        normal[i] = std::sqrt(-2 * std::log(x)) * (u % 2 == 0 ? std::sin(angle) : std::cos(angle));
      }
      blocks = std::max(blocks, block - 7);
    }
  }
  EXPECT_EQ(blocks, 2U);
  expect_near(draw({"uniform"}, n, 5, 7), uniform, 6e-8);
  expect_near(draw({"normal"}, n, 5, 7), normal, 6e-6);
}

TEST(Random, DropoutTakesRunsOfElements) {
  for (std::int64_t n : {1000, 1002, 1001}) {
    const std::int64_t run = n % 4 == 0 ? 4 : n % 2 == 0 ? 2 : 1;
    std::vector<double> expected;
    for (std::int64_t i = 0; i < n; ++i) {
      const PhiloxWords w = philox_block(9, static_cast<std::uint64_t>(i / run), 3);
      expected.push_back((w[static_cast<std::size_t>(i % run)] + 0.5) * 0x1p-32);
    }
    expect_near(draw({"dropout"}, n, 9, 3), expected, 6e-8);
  }
}

TEST(Random, SeedsAndPlacesInTheStream) {
  for (const Draw& d : {Draw{"uniform"}, Draw{"dropout"}, Draw{"normal", DType::f64}, Draw{"exponential"},
                        Draw{"randint", DType::i64, {0, 1 << 20}}, Draw{"randint", DType::i64, {0, INT64_MAX}},
                        Draw{"randperm", DType::i64}}) {
    const std::vector<double> first = draw(d, 1000, 1);
    EXPECT_EQ(draw(d, 1000, 1), first) << d.kind;
    EXPECT_NE(draw(d, 1000, 2), first) << d.kind;
    EXPECT_NE(draw(d, 1000, std::uint64_t{1} << 32 | 1), first) << d.kind << ": the upper half of the seed counts";
    EXPECT_NE(draw(d, 1000, 1, 1), first) << d.kind;
  }
}

/// The largest distance between the empirical distribution and `below`.
double kolmogorov_smirnov(std::vector<double> v, const std::function<double(double)>& below) {
  std::sort(v.begin(), v.end());
  const auto n = static_cast<double>(v.size());
  double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double p = below(v[i]);
    most = std::max({most, (static_cast<double>(i) + 1) / n - p, p - static_cast<double>(i) / n});
  }
  return most;
}

/// Exceeded by one sample in 10,000 drawn from the distribution.
double critical(std::int64_t n) {
  return 2.23 / std::sqrt(static_cast<double>(n));
}

double moment(const std::vector<double>& v, double about, int power) {
  double sum = 0;
  for (double x : v) sum += std::pow(x - about, power);
  return sum / static_cast<double>(v.size());
}

/// Moments about `about` of orders 1, 2 ...: each within 4 standard errors, which follow from higher moments.
void expect_moments(const std::vector<double>& v, double about, const std::vector<double>& expected) {
  for (std::size_t k = 1; 2 * k <= expected.size(); ++k) {
    const double error =
        std::sqrt((expected[2 * k - 1] - expected[k - 1] * expected[k - 1]) / static_cast<double>(v.size()));
    EXPECT_NEAR(moment(v, about, static_cast<int>(k)), expected[k - 1], 4 * error) << "moment " << k;
  }
}

TEST(Random, UniformLaw) {
  for (const Draw& d : {Draw{"uniform"}, Draw{"uniform", DType::f64}, Draw{"dropout"}}) {
    const std::vector<double> v = draw(d, kSampleCount);
    EXPECT_LT(kolmogorov_smirnov(v, [](double x) { return x; }), critical(kSampleCount)) << d.kind;
    expect_moments(v, 0.5, {0, 1.0 / 12, 0, 1.0 / 80, 0, 1.0 / 448, 0, 1.0 / 2304});
    const auto [least, most] = std::ranges::minmax(v);
    EXPECT_GE(least, 0);
    EXPECT_LE(most, 1);
    EXPECT_TRUE(most < 1 || d.kind == "dropout") << most;
  }
}

TEST(Random, NormalLaw) {
  for (DType t : {DType::f32, DType::f64}) {
    const std::vector<double> v = draw({"normal", t}, kSampleCount);
    const auto below = [](double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); };
    EXPECT_LT(kolmogorov_smirnov(v, below), critical(kSampleCount)) << name_of(t);
    expect_moments(v, 0, {0, 1, 0, 3, 0, 15, 0, 105});
  }
}

TEST(Random, ExponentialLaw) {
  for (DType t : {DType::f32, DType::f64}) {
    const std::vector<double> v = draw({"exponential", t}, kSampleCount);
    EXPECT_LT(kolmogorov_smirnov(v, [](double x) { return -std::expm1(-x); }), critical(kSampleCount)) << name_of(t);
    expect_moments(v, 0, {1, 2, 6, 24, 120, 720});
    EXPECT_GT(std::ranges::min(v), 0);
  }
}

/// Chi-squared over equally likely integers low .. high - 1, in standard deviations.
double chi_squared(const std::vector<double>& v, std::int64_t low, std::int64_t high) {
  std::vector<double> counts(static_cast<std::size_t>(high - low));
  for (double x : v) ++counts.at(static_cast<std::size_t>(x - static_cast<double>(low)));
  const double expected = static_cast<double>(v.size()) / static_cast<double>(counts.size());
  double sum = 0;
  for (double c : counts) sum += (c - expected) * (c - expected) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(Random, IntegersAreEquallyFrequent) {
  EXPECT_LT(std::abs(chi_squared(draw({"randint", DType::i64, {-300, 700}}, kSampleCount), -300, 700)), 4);
  EXPECT_LT(std::abs(chi_squared(draw({"randint", DType::i32, {0, 7}}, kSampleCount), 0, 7)), 4);
  // Draws of 64 bits: tests the upper bits.
  std::vector<double> wide = draw({"randint", DType::i64, {0, std::int64_t{1} << 40}}, kSampleCount);
  for (double& x : wide) x = std::floor(x * 0x1p-32);
  EXPECT_LT(std::abs(chi_squared(wide, 0, 256)), 4);
}

TEST(Random, NeighboursAreIndependent) {
  for (const char* kind : {"uniform", "normal", "dropout"}) {
    const std::vector<double> v = draw({kind}, kSampleCount), next = draw({kind}, kSampleCount, 42, 1);
    const double mean = moment(v, 0, 1), variance = moment(v, mean, 2);
    for (std::size_t lag : {1, 2, 4, 256, 270336}) {
      double sum = 0;
      for (std::size_t i = lag; i < v.size(); ++i) sum += (v[i] - mean) * (v[i - lag] - mean);
      EXPECT_LT(std::abs(sum / variance), 4 * std::sqrt(static_cast<double>(v.size() - lag))) << kind << ", " << lag;
    }
    double sum = 0;
    for (std::size_t i = 0; i < 200'000; ++i) sum += (v[i] - mean) * (next[i] - mean);
    EXPECT_LT(std::abs(sum / variance), 4 * std::sqrt(200'000.0)) << kind << ", next tensor";
  }
}

std::vector<double> sampled(const std::string& kind, const std::vector<double>& parameters, std::int64_t n,
                            DType t = DType::f64) {
  NodeRun run(Op::random);
  run.node().set(AttrKey::kind, kind);
  run.set(AttrKey::sizes, n);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(t));
  for (double p : parameters) run.input(t, {n}, std::vector<double>(static_cast<std::size_t>(n), p));
  std::vector<double> v;
  for (const Number& x : run.run().output()) v.push_back(x.real());
  return v;
}

/// Chi-squared of integers against their probabilities, in standard deviations; numbers with an expected count below 20
/// share a bin.
double chi_squared(const std::vector<double>& v, const std::function<double(double)>& probability) {
  const auto n = static_cast<double>(v.size());
  std::vector<double> counts(static_cast<std::size_t>(std::ranges::max(v)) + 1);
  for (double x : v) ++counts.at(static_cast<std::size_t>(x));
  double sum = 0, freedom = 0, seen = 0, expected_of_seen = 0;
  for (std::size_t k = 0; k < counts.size(); ++k) {
    const double expected = n * probability(static_cast<double>(k));
    if (expected < 20) continue;
    sum += (counts[k] - expected) * (counts[k] - expected) / expected;
    seen += counts[k];
    expected_of_seen += expected;
    ++freedom;
  }
  const double rest = n - expected_of_seen;
  if (rest > 5) sum += (n - seen - rest) * (n - seen - rest) / rest;
  return (sum - freedom) / std::sqrt(2 * freedom);
}

TEST(Random, PoissonLaw) {
  constexpr std::int64_t n = 200'000;
  for (double rate : {0.3, 4.0, 9.9, 10.1, 37.5, 2500.0}) {
    const std::vector<double> v = sampled("poisson", {rate}, n);
    const auto probability = [&](double k) { return std::exp(k * std::log(rate) - rate - std::lgamma(k + 1)); };
    EXPECT_LT(std::abs(chi_squared(v, probability)), 4) << rate;
    EXPECT_NEAR(moment(v, 0, 1), rate, 4 * std::sqrt(rate / n));
    EXPECT_NEAR(moment(v, rate, 2), rate, 4 * std::sqrt((rate + 2 * rate * rate) / n));
  }
  EXPECT_EQ(sampled("poisson", {0}, 3), (std::vector<double>{0, 0, 0}));
  const double large = 0x1p50, root = 0x1p25;
  EXPECT_NEAR(moment(sampled("poisson", {large}, 10'000), large, 1), 0, 4 * root / 100);
  EXPECT_TRUE(std::isnan(sampled("poisson", {NAN}, 1)[0]));
  EXPECT_EQ(sampled("poisson", {INFINITY}, 1)[0], INFINITY);
  EXPECT_THROW(sampled("poisson", {-1}, 1), Error);
}

TEST(Random, BinomialLaw) {
  constexpr std::int64_t n = 200'000;
  struct Trials {
    double count, p;
  };
  for (const Trials& t : {Trials{1, 0.3}, Trials{20, 0.01}, Trials{20, 0.5}, Trials{25, 0.41}, Trials{100, 0.97},
                          Trials{1000, 0.25}, Trials{40, 0.75}}) {
    const double count = t.count, p = t.p;
    const std::vector<double> v = sampled("binomial", {count, p}, n);
    const auto probability = [&](double k) {
      const double ways = std::lgamma(count + 1) - std::lgamma(k + 1) - std::lgamma(count - k + 1);
      return k > count ? 0 : std::exp(ways + k * std::log(p) + (count - k) * std::log1p(-p));
    };
    EXPECT_LT(std::abs(chi_squared(v, probability)), 4.5) << count << ", " << p;
    EXPECT_NEAR(moment(v, 0, 1), count * p, 4 * std::sqrt(count * p * (1 - p) / n));
    EXPECT_LE(std::ranges::max(v), count);
  }
  EXPECT_EQ(sampled("binomial", {7, 0}, 2), (std::vector<double>{0, 0}));
  EXPECT_EQ(sampled("binomial", {7, 1}, 2), (std::vector<double>{7, 7}));
  EXPECT_TRUE(std::isnan(sampled("binomial", {7, NAN}, 1)[0]));
  EXPECT_THROW(sampled("binomial", {7, 1.5}, 1), Error);
  EXPECT_THROW(sampled("binomial", {-7, 0.5}, 1), Error);
}

TEST(Random, GammaLaw) {
  for (double shape : {0.2, 1.0, 3.5, 40.0}) {
    // Moments about 0 of the orders 1 to 6: shape (shape + 1) (shape + 2) ...
    std::vector<double> moments(6, shape);
    for (std::size_t k = 1; k < 6; ++k) moments[k] = moments[k - 1] * (shape + static_cast<double>(k));
    expect_moments(sampled("gamma", {shape}, 200'000), 0, moments);
  }
  // Shape 1 is the exponential law, shape 1/2 half the square of a normal number.
  const std::vector<double> one = sampled("gamma", {1}, 200'000), half = sampled("gamma", {0.5}, 200'000);
  EXPECT_LT(kolmogorov_smirnov(one, [](double x) { return -std::expm1(-x); }), critical(200'000));
  EXPECT_LT(kolmogorov_smirnov(half, [](double x) { return std::erf(std::sqrt(x)); }), critical(200'000));
  EXPECT_THROW(sampled("gamma", {-1}, 1), Error);
}

TEST(Random, PermutationsAreEquallyFrequent) {
  std::vector<double> counts(24);
  for (std::uint64_t seed = 0; seed < 12'000; ++seed) {
    const std::vector<double> p = draw({"randperm", DType::i64}, 4, seed);
    std::size_t index = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto smaller =
          std::count_if(p.begin() + static_cast<std::ptrdiff_t>(i) + 1, p.end(), [&](double x) { return x < p[i]; });
      index = index * (4 - i) + static_cast<std::size_t>(smaller);
    }
    ++counts.at(index);
  }
  double sum = 0;
  for (double c : counts) sum += (c - 500) * (c - 500) / 500;
  EXPECT_LT(sum, 58.6);  // 23 degrees of freedom: exceeded once in 20,000
}

}  // namespace
}  // namespace tern::test
