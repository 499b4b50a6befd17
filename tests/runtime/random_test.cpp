// Random numbers of a session: seed, stream across runs, and drawing operators.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/runtime/lowered_call.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::LoweredCall;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;
using Numbers = std::vector<double>;

/// Two random tensors of 3 elements.
std::unique_ptr<TestProgram> two_draws() {
  auto p = std::make_unique<TestProgram>();
  for (const char* kind : {"uniform", "normal"}) {
    p->output(p->b().add(Op::random, {},
                         {attr_text(AttrKey::kind, kind), attr(AttrKey::sizes, Dims{3}), attr_dtype(DType::f32)}));
  }
  return p;
}

Floats run(Session& s) {
  Floats all;
  for (const Tensor& t : s.run({})) {
    const Floats v = values_of(t);
    all.insert(all.end(), v.begin(), v.end());
  }
  return all;
}

TEST(SessionRandom, ASeedGivesOneStreamAndRunsGoOnInIt) {
  const auto program = two_draws();
  const auto prepared = program->model().prepare();
  Session a(prepared), b(prepared);
  a.set_seed(17);
  b.set_seed(17);
  const Floats first = run(a), second = run(a);
  EXPECT_EQ(run(b), first);
  EXPECT_EQ(run(b), second);
  EXPECT_NE(first, second);
  a.set_seed(17);
  EXPECT_EQ(run(a), first);
  a.set_seed(18);
  EXPECT_NE(run(a), first);
}

// torch.manual_seed(0) on a CUDA device: torch.rand(3), then numbers of the next block.
TEST(SessionRandom, ValuesArePyTorchsOnCuda) {
  const auto program = two_draws();
  Session s(program->model().prepare());
  s.set_seed(0);
  Floats v = run(s);
  EXPECT_NEAR(v[0], 0.3990, 6e-5);
  EXPECT_NEAR(v[1], 0.5167, 6e-5);
  EXPECT_NEAR(v[2], 0.0249, 6e-5);
  v = run(s);  // blocks 2 and 3
  Session other(program->model().prepare());
  other.set_seed(0);
  EXPECT_NE(run(other), v);
}

double mean(const Numbers& v) {
  return std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

TEST(RandomLowering, DropoutKeepsItsShareAndTheMean) {
  constexpr std::int64_t n = 40'000;
  const Numbers ones(n, 1.0);
  const auto results =
      LoweredCall("aten.native_dropout.default").tensor("input", {n}, ones).number("p", 0.3).flag("train", true).run();
  const Numbers &kept = results[0], &mask = results[1];
  EXPECT_NEAR(mean(mask), 0.7, 4 * std::sqrt(0.21 / n));
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_DOUBLE_EQ(kept[i], mask[i] / 0.7);
  for (const char* name : {"aten.dropout.default", "aten.alpha_dropout.default"}) {
    EXPECT_EQ(LoweredCall(name).tensor("input", {3}, {1, 2, 3}).number("p", 0.5).flag("train", false).run()[0],
              (Numbers{1, 2, 3}));
  }
  EXPECT_EQ(
      LoweredCall("aten.dropout.default").tensor("input", {2}, {1, 2}).number("p", 1).flag("train", true).run()[0],
      (Numbers{0, 0}));
}

TEST(RandomLowering, LawsWithParameters) {
  constexpr std::int64_t n = 40'000;
  const Numbers zeros(n);
  const auto self = [&](const char* name) { return std::move(LoweredCall(name).tensor("self", {n}, zeros)); };
  const double root = std::sqrt(static_cast<double>(n));

  const Numbers geometric = self("aten.geometric.default").number("p", 0.25).run()[0];
  EXPECT_NEAR(mean(geometric), 4, 4 * std::sqrt(12) / root);
  EXPECT_EQ(*std::min_element(geometric.begin(), geometric.end()), 1);

  Numbers logs = self("aten.log_normal.default").number("mean", 0.5).number("std", 0.25).run()[0];
  for (double& x : logs) x = std::log(x);
  EXPECT_NEAR(mean(logs), 0.5, 4 * 0.25 / root);

  // Half of Cauchy's distribution lies within sigma of the median.
  const Numbers cauchy = self("aten.cauchy.default").number("median", 3).number("sigma", 2).run()[0];
  const auto within = std::count_if(cauchy.begin(), cauchy.end(), [](double x) { return std::abs(x - 3) < 2; });
  EXPECT_NEAR(static_cast<double>(within), n / 2.0, 4 * root / 2);

  EXPECT_NEAR(mean(self("aten.exponential.default").number("lambd", 4).run()[0]), 0.25, 4 * 0.25 / root);
  EXPECT_NEAR(mean(self("aten.uniform.default").number("from", -3).number("to", 5).run()[0]), 1, 4 * 2.31 / root);
  EXPECT_NEAR(mean(self("aten.bernoulli.p").number("p", 0.125).run()[0]), 0.125, 4 * 0.331 / root);
}

TEST(RandomLowering, LawsOfEachElement) {
  constexpr std::int64_t n = 20'000;
  Numbers rates, counts;
  for (std::int64_t i = 0; i < n; ++i) {
    rates.push_back(i % 2 == 0 ? 2 : 50);
    counts.push_back(i % 2 == 0 ? 10 : 400);
  }
  Numbers even, odd;
  const auto split = [&](const Numbers& v) {
    even.clear();
    odd.clear();
    for (std::size_t i = 0; i < v.size(); ++i) (i % 2 == 0 ? even : odd).push_back(v[i]);
  };
  const double root = std::sqrt(n / 2.0);
  split(LoweredCall("aten.poisson.default").tensor("self", {n}, rates).none("generator").run()[0]);
  EXPECT_NEAR(mean(even), 2, 4 * std::sqrt(2) / root);
  EXPECT_NEAR(mean(odd), 50, 4 * std::sqrt(50) / root);
  split(LoweredCall("aten.binomial.default")
            .tensor("count", {n}, counts)
            .tensor("prob", {1}, {0.3})
            .none("generator")
            .run()[0]);
  EXPECT_NEAR(mean(even), 3, 4 * std::sqrt(2.1) / root);
  EXPECT_NEAR(mean(odd), 120, 4 * std::sqrt(84) / root);
  split(LoweredCall("aten._standard_gamma.default").tensor("self", {n}, rates).none("generator").run()[0]);
  EXPECT_NEAR(mean(even), 2, 4 * std::sqrt(2) / root);
  EXPECT_NEAR(mean(odd), 50, 4 * std::sqrt(50) / root);
  // Shares of 2 and 50 in 52.
  split(LoweredCall("aten._sample_dirichlet.default").tensor("self", {n / 2, 2}, rates).none("generator").run()[0]);
  EXPECT_NEAR(mean(even), 2.0 / 52, 4 * std::sqrt(100.0 / (52 * 52 * 53)) / root);
  for (std::size_t i = 0; i < even.size(); ++i) EXPECT_NEAR(even[i] + odd[i], 1, 1e-12);
}

TEST(RandomLowering, MultinomialDrawsByWeight) {
  constexpr std::int64_t n = 30'000;
  const Numbers drawn = LoweredCall("aten.multinomial.default")
                            .tensor("self", {4}, {1, 0, 2, 5})
                            .integer("num_samples", n)
                            .flag("replacement", true)
                            .run(DType::i64)[0];
  Numbers counts(4);
  for (double x : drawn) ++counts.at(static_cast<std::size_t>(x));
  EXPECT_EQ(counts[1], 0);
  for (std::size_t i : {0, 2, 3}) {
    const double p = i == 0 ? 0.125 : i == 2 ? 0.25 : 0.625;
    EXPECT_NEAR(counts[i], n * p, 4 * std::sqrt(n * p * (1 - p)));
  }
  // Draws without replacement never repeat a position, and never draw weight 0.
  Numbers without = LoweredCall("aten.multinomial.default")
                        .tensor("self", {4}, {1, 0, 2, 5})
                        .integer("num_samples", 3)
                        .flag("replacement", false)
                        .run(DType::i64)[0];
  std::sort(without.begin(), without.end());
  EXPECT_EQ(without, (Numbers{0, 2, 3}));
}

}  // namespace
}  // namespace tern
