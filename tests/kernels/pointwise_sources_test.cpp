// Constants, sequences and random numbers.
#include <algorithm>
#include <cmath>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

void set_dtype(NodeRun& run, DType t) {
  run.set(AttrKey::dtype, static_cast<std::int64_t>(t));
}

TEST(PointwiseSources, Full) {
  NodeRun run(Op::full);
  run.set(AttrKey::sizes, {2, 3});
  run.set_number(AttrKey::value, {1.5, -2});
  set_dtype(run, DType::c64);
  EXPECT_EQ(run.run().output(), std::vector<Number>(6, Number(1.5, -2)));

  NodeRun integer(Op::full);
  integer.set(AttrKey::sizes, {2});
  integer.set(AttrKey::value, {300});
  set_dtype(integer, DType::u8);
  EXPECT_EQ(integer.run().output(), std::vector<Number>(2, Number(44)));
}

TEST(PointwiseSources, Iota) {
  NodeRun run(Op::iota);
  run.set(AttrKey::sizes, {1000});
  run.set(AttrKey::value, {7, -3});
  set_dtype(run, DType::i32);
  const auto got = run.run().output();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)].real(), 7 - 3 * i);

  NodeRun floats(Op::iota);
  floats.set(AttrKey::sizes, {3});
  floats.set_number(AttrKey::value, {0.1, 0.1});
  set_dtype(floats, DType::f64);
  EXPECT_EQ(floats.run().output()[2].real(), 0.1 + 2 * 0.1);
}

std::vector<Number> draw(const char* kind, std::int64_t n, DType t, std::vector<std::int64_t> range = {}) {
  NodeRun run(Op::random);
  run.node().set(AttrKey::kind, std::string(kind));
  run.set(AttrKey::sizes, {n});
  if (!range.empty()) run.set(AttrKey::range, range);
  set_dtype(run, t);
  return run.run().output();
}

struct SampleMoments {
  double mean = 0, variance = 0, minimum = INFINITY, maximum = -INFINITY;
};
SampleMoments moments(const std::vector<Number>& v) {
  SampleMoments m;
  for (const Number& x : v) {
    m.mean += x.real() / static_cast<double>(v.size());
    m.minimum = std::min(m.minimum, x.real());
    m.maximum = std::max(m.maximum, x.real());
  }
  for (const Number& x : v) m.variance += std::pow(x.real() - m.mean, 2) / static_cast<double>(v.size());
  return m;
}

TEST(PointwiseSources, RandomNumbersFollowTheirLaws) {
  for (DType t : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const SampleMoments u = moments(draw("uniform", 40001, t));
    EXPECT_NEAR(u.mean, 0.5, 0.01) << name_of(t);
    EXPECT_NEAR(u.variance, 1.0 / 12, 0.003) << name_of(t);
    EXPECT_GE(u.minimum, 0);
    EXPECT_LT(u.maximum, 1);
    const SampleMoments n = moments(draw("normal", 40001, t));
    EXPECT_NEAR(n.mean, 0, 0.02) << name_of(t);
    EXPECT_NEAR(n.variance, 1, 0.03) << name_of(t);
    const SampleMoments e = moments(draw("exponential", 40001, t));
    EXPECT_NEAR(e.mean, 1, 0.02) << name_of(t);
    EXPECT_NEAR(e.variance, 1, 0.06) << name_of(t);
  }
  const SampleMoments i = moments(draw("randint", 40001, DType::i64, {-3, 5}));
  EXPECT_EQ(i.minimum, -3);
  EXPECT_EQ(i.maximum, 4);
  EXPECT_NEAR(i.mean, 0.5, 0.05);
}

TEST(PointwiseSources, APermutationHasEveryNumberOnce) {
  const auto p = draw("randperm", 1000, DType::i64);
  std::vector<double> v;
  for (const Number& x : p) v.push_back(x.real());
  EXPECT_FALSE(std::is_sorted(v.begin(), v.end()));
  std::sort(v.begin(), v.end());
  for (std::size_t i = 0; i < v.size(); ++i) EXPECT_EQ(v[i], static_cast<double>(i));
}

}  // namespace
}  // namespace tern::test
