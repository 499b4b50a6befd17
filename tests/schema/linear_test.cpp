// Sums of sizes: canonical forms, limits of terms and factors, checked arithmetic, counted work.
#include "schema/linear.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>

#include "schema/work.h"

namespace tern {
namespace {

constexpr std::int64_t kLowest = std::numeric_limits<std::int64_t>::min();

Dims symbols(ExprPool& pool, std::size_t count) {
  Dims result;
  for (std::size_t i = 0; i < count; ++i) result.push_back(pool.symbol("s" + std::to_string(i), 1, 1000));
  return result;
}

std::int64_t value(const ExprPool& pool, Dim d, std::int64_t each) {
  std::vector<std::int64_t> values(pool.nodes().size());
  evaluate(pool.nodes(), std::vector<std::int64_t>(pool.symbols().size(), each), values);
  return values[d.index()];
}

TEST(LinearSum, OneSumWhateverTheOrder) {
  ExprPool pool;
  Dims terms = symbols(pool, 50);
  Dim one_by_one = 3;
  for (Dim t : terms) one_by_one = pool.add(t, one_by_one);
  terms.emplace_back(3);
  EXPECT_EQ(sum(pool, terms), one_by_one);
  std::ranges::reverse(terms);
  EXPECT_EQ(sum(pool, terms), one_by_one);
  EXPECT_TRUE(pool.sub(one_by_one, sum(pool, terms)).is(0));
}

TEST(LinearSum, LongSumsAreLinearWork) {
  ExprPool pool;
  const Dims terms = symbols(pool, 10000);
  const std::size_t before = pool.nodes().size();
  const WorkBudget budget(10'000'000);
  const Dim total = sum(pool, terms);
  EXPECT_LT(pool.nodes().size() - before, 2 * terms.size());
  EXPECT_EQ(value(pool, total, 7), 70000);
  Dim one_by_one = 0;
  for (Dim t : terms) one_by_one = pool.add(one_by_one, t);
  EXPECT_EQ(value(pool, one_by_one, 7), 70000);
  EXPECT_EQ(value(pool, pool.sub(one_by_one, total), 7), 0);
}

TEST(LinearSum, LongProductsAreLinearWork) {
  ExprPool pool;
  const Dims factors = symbols(pool, 2000);
  const WorkBudget budget(10'000'000);
  EXPECT_EQ(value(pool, pool.product(factors), 1), 1);
}

TEST(LinearSum, DifferenceMakesNoNode) {
  ExprPool pool;
  const Dims s = symbols(pool, 2);
  const Dim a = pool.add(s[0], pool.mul(s[1], 2)), b = pool.add(s[0], 5);
  const std::size_t before = pool.nodes().size();
  const Interval d = difference(pool, a, b);
  EXPECT_EQ(d.min, -3);
  EXPECT_EQ(d.max, 1995);
  EXPECT_EQ(pool.nodes().size(), before);
}

TEST(LinearSum, LowestNumberIsDividedSafely) {
  ExprPool pool;
  const Dim s = symbols(pool, 1)[0], lowest = pool.mul(s, kLowest), minus = pool.mul(s, -1);
  EXPECT_NO_THROW(pool.mod(lowest, minus));
  EXPECT_NO_THROW(pool.floordiv(lowest, minus));
  EXPECT_NO_THROW(pool.mod(lowest, -1));
  EXPECT_NO_THROW(pool.floordiv(pool.add(lowest, kLowest), -1));
  EXPECT_THROW(pool.floordiv(kLowest, -1), Error);
  EXPECT_THROW(pool.neg(lowest), Error);
  EXPECT_EQ(difference(pool, kLowest, 1).min, kLowest + 1);
}

TEST(Work, IsCountedUntilItIsDone) {
  ExprPool pool;
  const Dims terms = symbols(pool, 100);
  const WorkBudget outer(1'000'000);
  {
    const WorkBudget inner(500);
    EXPECT_THROW(sum(pool, terms), WorkExceeded);
    EXPECT_THROW(charge_work(1), WorkExceeded);
  }
  EXPECT_NO_THROW(sum(pool, terms));
}

TEST(Work, TextsOfSizesAreShort) {
  ExprPool pool;
  Dim total = 0;
  for (int i = 0; i < 100; ++i) total = pool.add(total, pool.symbol(std::string(250, 'n') + std::to_string(i)));
  EXPECT_LT(pool.text(total).size(), 2000u);
}

}  // namespace
}  // namespace tern
