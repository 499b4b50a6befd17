// The rules of linear algebra and transforms: shapes, and hostile attributes.
#include <gtest/gtest.h>

#include <limits>

#include "schema/linalg_kinds.h"
#include "tests/schema/rule.h"

namespace tern {
namespace {

constexpr std::int64_t kHugeSize = std::int64_t{1} << 62;
constexpr std::int64_t kMinInteger = std::numeric_limits<std::int64_t>::min();

using test::Rule;

constexpr Op kSquare[] = {Op::cholesky, Op::eigh, Op::eig, Op::ldl_factor, Op::matrix_exp};

TEST(LinalgRules, MatricesMustBeFloatingAndOfTwoAxes) {
  for (const Op op : {Op::cholesky, Op::eigh, Op::eig, Op::ldl_factor, Op::matrix_exp, Op::svd, Op::lu_factor}) {
    EXPECT_FALSE(Rule(op).in({2, 3, 3}, DType::c128).refused());
    EXPECT_TRUE(Rule(op).in({3}).refused());
    EXPECT_TRUE(Rule(op).in({}).refused());
    for (const DType t : {DType::f16, DType::i32, DType::boolean, DType::f8_e4m3fn, DType::f4_e2m1, DType::c32})
      EXPECT_TRUE(Rule(op).in({3, 3}, t).refused());
    EXPECT_TRUE(Rule(op).in({kHugeSize, kHugeSize}).refused());
    EXPECT_TRUE(Rule(op).in({1 << 24, 1 << 24}).refused());
  }
  for (const Op op : kSquare) EXPECT_TRUE(Rule(op).in({3, 4}).refused());
}

TEST(LinalgRules, Shapes) {
  EXPECT_EQ(Rule(Op::cholesky).in({5, 3, 3}).type(1), (TensorType{DType::i32, {5}}));
  EXPECT_EQ(Rule(Op::eigh).in({5, 3, 3}, DType::c64).type(0), (TensorType{DType::f32, {5, 3}}));
  EXPECT_EQ(Rule(Op::eig).in({3, 3}, DType::f64).type(1), (TensorType{DType::c128, {3, 3}}));
  EXPECT_EQ(Rule(Op::svd).in({5, 3}).set(AttrKey::full, {1}).shape(0), (Dims{5, 5}));
  EXPECT_EQ(Rule(Op::svd).in({5, 3}).shape(0), (Dims{5, 3}));
  EXPECT_EQ(Rule(Op::lu_factor).in({2, 5, 3}).type(1), (TensorType{DType::i32, {2, 3}}));
  EXPECT_EQ(Rule(Op::qr).in({5, 3}).set(AttrKey::mode, {1}).shape(1), (Dims{5, 3}));
  EXPECT_EQ(Rule(Op::qr).in({5, 3}).set(AttrKey::mode, {2}).shape(0), (Dims{0}));
  EXPECT_EQ(Rule(Op::qr).in({2, 3, 5}).set(AttrKey::mode, {3}).shape(1), (Dims{2, 3}));
}

TEST(LinalgRules, EnumerationsAreClosed) {
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{4}, kHugeSize, kMinInteger}) {
    EXPECT_TRUE(Rule(Op::qr).in({3, 3}).set(AttrKey::mode, {bad}).refused());
    EXPECT_TRUE(Rule(Op::eigh).in({3, 3}).set(AttrKey::upper, {bad}).refused());
    EXPECT_TRUE(Rule(Op::lstsq).in({3, 3}).in({3, 1}).set(AttrKey::mode, {bad}).refused());
    EXPECT_TRUE(Rule(Op::triangular_solve)
                    .in({3, 3})
                    .in({3, 1})
                    .set(AttrKey::left, {1})
                    .set(AttrKey::transpose, {bad})
                    .refused());
    EXPECT_TRUE(Rule(Op::householder).in({3, 3}).in({3}).set(AttrKey::kind, {bad}).refused());
    EXPECT_TRUE(Rule(Op::fft).in({3}, DType::c64).set(AttrKey::axes, {0}).set(AttrKey::kind, {bad}).refused());
  }
  EXPECT_TRUE(Rule(Op::qr).in({3, 3}).refused());
  EXPECT_TRUE(Rule(Op::householder).in({3, 3}).in({3}).refused());
}

TEST(LinalgRules, SolversCheckSizesAndTypes) {
  const auto solve = [] { return Rule(Op::triangular_solve).set(AttrKey::left, {1}); };
  EXPECT_EQ(solve().in({7, 1, 3, 3}).in({4, 3, 2}).shape(), (Dims{7, 4, 3, 2}));
  EXPECT_TRUE(solve().in({3, 3}).in({2, 3}).refused());
  EXPECT_TRUE(solve().in({3, 3}).in({3}).refused());
  EXPECT_TRUE(solve().in({3, 3}).in({3, 1}, DType::f64).refused());
  EXPECT_TRUE(solve().in({2, 3, 3}).in({4, 3, 1}).refused());
  EXPECT_FALSE(Rule(Op::triangular_solve).in({3, 3}).in({2, 3}).refused());
  const auto lu = [] { return Rule(Op::lu_solve).set(AttrKey::left, {1}).in({2, 3, 3}); };
  EXPECT_EQ(lu().in({2, 3}, DType::i32).in({3, 4}).shape(), (Dims{2, 3, 4}));
  EXPECT_TRUE(lu().in({2, 3}, DType::i64).in({3, 4}).refused());
  EXPECT_TRUE(lu().in({2, 2}, DType::i32).in({3, 4}).refused());
  EXPECT_TRUE(lu().in({3}, DType::i32).in({3, 4}).refused());
  EXPECT_TRUE(Rule(Op::ldl_solve).in({3, 3}).in({2}, DType::i32).in({3, 4}).refused());
}

TEST(LinalgRules, HouseholderKeepsInsideTheVectors) {
  const auto product = [] { return Rule(Op::householder).set(AttrKey::kind, {0}); };
  EXPECT_FALSE(product().in({5, 3}).in({3}).refused());
  EXPECT_FALSE(product().in({5, 3}).in({2}).refused());
  EXPECT_TRUE(product().in({5, 3}).in({4}).refused());
  EXPECT_TRUE(product().in({3, 5}).in({3}).refused());
  EXPECT_TRUE(product().in({2, 5, 3}).in({3}).refused());
  EXPECT_TRUE(product().in({5, 3}).in({3}, DType::f64).refused());
  EXPECT_TRUE(product().in({5, 3}).in({3}).in({5, 5}).refused());
  const auto multiply = [] { return Rule(Op::householder).set(AttrKey::kind, {1}).set(AttrKey::left, {1}); };
  EXPECT_FALSE(multiply().in({5, 3}).in({3}).in({5, 7}).refused());
  EXPECT_TRUE(multiply().in({5, 3}).in({3}).in({7, 5}).refused());
  const auto transposed = [&](DType t) {
    return multiply().set(AttrKey::transpose, {1}).in({5, 3}, t).in({3}, t).in({5, 7}, t).refused();
  };
  EXPECT_FALSE(transposed(DType::f64));
  EXPECT_TRUE(transposed(DType::c128));
  EXPECT_TRUE(multiply().in({2, 3}).in({3}).in({2, 7}).refused());
  EXPECT_TRUE(multiply().in({5, 3}).in({3}).refused());
}

TEST(LinalgRules, LeastSquares) {
  const auto rule = [](LstsqKind d) { return Rule(Op::lstsq).set(AttrKey::mode, {static_cast<int>(d)}); };
  EXPECT_EQ(rule(LstsqKind::gelsd).in({2, 5, 3}).in({2, 5, 4}).shape(0), (Dims{2, 3, 4}));
  EXPECT_EQ(rule(LstsqKind::gelsd).in({2, 5, 3}).in({2, 5, 4}).shape(1), (Dims{2, 4}));
  EXPECT_EQ(rule(LstsqKind::gelsy).in({2, 5, 3}).in({2, 5, 4}).shape(1), (Dims{0}));
  EXPECT_EQ(rule(LstsqKind::gels).in({2, 5, 3}).in({2, 5, 4}).shape(2), (Dims{0}));
  EXPECT_TRUE(rule(LstsqKind::gels).in({2, 5, 3}).in({2, 4, 4}).refused());
  EXPECT_TRUE(rule(LstsqKind::gels).in({2, 5, 3}).in({5, 4}).refused());
}

TEST(FftRules, ShapesAndTypes) {
  const auto rule = [](FftKind k, DType t, Dims shape) {
    return Rule(Op::fft).set(AttrKey::kind, {static_cast<int>(k)}).in(std::move(shape), t);
  };
  const FftKind c2c = FftKind::complex_to_complex, r2c = FftKind::real_to_complex, c2r = FftKind::complex_to_real;
  EXPECT_EQ(rule(c2c, DType::c64, {4, 5}).set(AttrKey::axes, {0, 1}).type(), (TensorType{DType::c64, {4, 5}}));
  EXPECT_EQ(rule(r2c, DType::f64, {4, 5}).set(AttrKey::axes, {1, 0}).type(), (TensorType{DType::c128, {3, 5}}));
  EXPECT_EQ(rule(c2r, DType::c64, {4, 5}).set(AttrKey::axes, {1}).set(AttrKey::length, {9}).type(),
            (TensorType{DType::f32, {4, 9}}));
  EXPECT_TRUE(rule(c2c, DType::f32, {4}).set(AttrKey::axes, {0}).refused());
  EXPECT_TRUE(rule(r2c, DType::c64, {4}).set(AttrKey::axes, {0}).refused());
  EXPECT_TRUE(rule(c2c, DType::c32, {4}).set(AttrKey::axes, {0}).refused());
  EXPECT_TRUE(rule(r2c, DType::f32, {4}).refused());
  for (const std::vector<std::int64_t>& axes :
       {std::vector<std::int64_t>{2}, {-3}, {0, 0}, {0, -2}, {kHugeSize}, {kMinInteger}})
    EXPECT_TRUE(rule(c2c, DType::c64, {4, 5}).set(AttrKey::axes, axes).refused());
  for (const std::int64_t bad :
       {std::int64_t{0}, std::int64_t{-9}, std::int64_t{7}, std::int64_t{10}, kHugeSize, kMinInteger})
    EXPECT_TRUE(rule(c2r, DType::c64, {4, 5}).set(AttrKey::axes, {1}).set(AttrKey::length, {bad}).refused());
  EXPECT_TRUE(rule(c2r, DType::c64, {4, 5}).set(AttrKey::axes, {1}).refused());
  EXPECT_TRUE(rule(c2r, DType::c64, {4, 5}).set(AttrKey::axes, {1}).set(AttrKey::length, {9, 9}).refused());
  EXPECT_TRUE(rule(c2c, DType::c64, {4, 0}).set(AttrKey::axes, {1}).refused());
  EXPECT_TRUE(rule(c2c, DType::c64, {4}).set(AttrKey::axes, {0}).set(AttrKey::norm, {3}).refused());
}

TEST(FftRules, SymbolicSizes) {
  Rule r(Op::fft);
  const Dim n = r.pool().symbol("n", 1);
  r.in({n}).set(AttrKey::kind, {1}).set(AttrKey::axes, {0});
  EXPECT_EQ(r.shape()[0], r.pool().add(r.pool().floordiv(n, 2), 1));
}

}  // namespace
}  // namespace tern
