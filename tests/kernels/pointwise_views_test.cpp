// Pointwise nodes over operands of every shape and stride, against plain loops.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Index of the operand's element (size `sizes`) broadcast to element `i` of `out`, in row-major order.
std::int64_t source(const Sizes& out, const Sizes& sizes, std::int64_t i) {
  std::int64_t at = 0, step = 1;
  for (std::size_t d = out.size(); d-- > 0;) {
    const std::int64_t position = i % out[d];
    i /= out[d];
    const std::size_t skip = out.size() - sizes.size();
    if (d < skip) continue;
    if (sizes[d - skip] != 1) at += position * step;
    step *= sizes[d - skip];
  }
  return at;
}

struct PointwiseViewsShape {
  Sizes out, x, y;
  Sizes x_strides = {}, y_strides = {};
};

const PointwiseViewsShape kShapes[] = {
    {{}, {}, {}},
    {{1}, {1}, {1}},
    {{5000}, {5000}, {5000}},
    {{5000}, {5000}, {1}},
    {{5000}, {1}, {5000}},
    {{0, 3}, {0, 3}, {3}},
    {{7, 300}, {7, 300}, {300}},
    {{7, 300}, {7, 1}, {7, 300}},
    {{7, 300}, {7, 300}, {7, 300}, {1, 7}, {}},
    {{7, 300}, {7, 300}, {7, 300}, {600, 2}, {300, 1}},
    {{33, 3}, {33, 3}, {3}},
    {{33, 3}, {33, 1}, {1, 3}},
    {{3, 4, 5, 6}, {4, 1, 6}, {3, 1, 5, 1}},
    {{3, 4, 5, 6}, {3, 4, 5, 6}, {3, 4, 5, 6}, {120, 1, 24, 4}, {}},
    {{2, 3, 2500}, {2, 3, 2500}, {3, 1}, {}, {}},
    {{2, 3, 2049}, {2, 3, 2049}, {2049}, {3 * 4000, 4000, 1}, {}},
    {{300, 200}, {300, 200}, {300, 200}, {1, 300}, {}},
    {{4001, 3}, {4001, 3}, {3}},
    {{4001, 3}, {4001, 1}, {4001, 3}},
    {{3001, 5}, {3001, 1}, {5}},
    {{901, 9}, {901, 9}, {901, 1}, {1, 901}, {}},
    {{7, 401, 4}, {7, 401, 4}, {7, 1, 4}},
    {{7, 401, 4}, {7, 1, 4}, {401, 1}},
    {{900, 4, 3}, {900, 4, 3}, {4, 1}},
    {{900, 2, 257}, {900, 2, 257}, {257}},
    {{50, 70, 33}, {50, 70, 33}, {50, 1, 33}},
    {{50, 70, 33}, {50, 1, 33}, {70, 1}},
    {{2, 37, 131}, {2, 37, 131}, {2, 37, 131}, {37 * 131, 1, 37}, {40 * 140, 1, 40}},
};

class PointwiseViews : public testing::TestWithParam<DType> {};

TEST_P(PointwiseViews, BroadcastAndStrides) {
  const DType t = GetParam();
  for (const PointwiseViewsShape& s : kShapes) {
    const auto x = random_numbers(product(s.x), 1, t == DType::boolean ? 1 : 5);
    const auto y = random_numbers(product(s.y), 2, 4);
    const auto as = [&](double v) {
      if (t == DType::boolean) return v != 0 ? 1.0 : 0.0;
      return t == DType::u8 || t == DType::u16 || t == DType::u32 || t == DType::u64 ? std::abs(v) : v;
    };
    std::vector<double> a = x, b = y;
    for (double& v : a) v = as(v);
    for (double& v : b) v = as(v);
    NodeRun run(Op::pointwise);
    run.input(t, s.x, a, s.x_strides);
    run.input(t, s.y, b, s.y_strides);
    Code code;
    const DType c = compute_type(t);
    const auto p = code.operand(0, t), q = code.operand(1, t);
    std::uint16_t r = code.push(Scalar::add, c, code.push(Scalar::mul, c, p, q), p);
    if (c != t) r = code.push(Scalar::convert, t, r);
    run.node().expr = code.expr;
    const auto got = run.run().output();
    ASSERT_EQ(run.shape(), s.out);
    for (std::int64_t i = 0; i < product(s.out); ++i) {
      const double u = a[static_cast<std::size_t>(source(s.out, s.x, i))];
      const double v = b[static_cast<std::size_t>(source(s.out, s.y, i))];
      ASSERT_EQ(got[static_cast<std::size_t>(i)].real(), as(u * v + u)) << "element " << i << " of " << name_of(t);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PointwiseViews,
                         testing::Values(DType::boolean, DType::u8, DType::i8, DType::i16, DType::i32, DType::i64,
                                         DType::u16, DType::u32, DType::u64, DType::f16, DType::bf16, DType::f32,
                                         DType::f64, DType::c32, DType::c64, DType::c128),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Operations of floats whose operand has an element per row, or rows in another order.
TEST(PointwiseViewsOf, RowsOfOneOperation) {
  struct Operation {
    Scalar op;
    double (*expected)(double, double);
  };
  const Operation operations[] = {{Scalar::add, [](double u, double v) { return u + v; }},
                                  {Scalar::sub, [](double u, double v) { return u - v; }},
                                  {Scalar::mul, [](double u, double v) { return u * v; }},
                                  {Scalar::div, [](double u, double v) { return u / v; }},
                                  {Scalar::max, [](double u, double v) { return u > v || std::isnan(u) ? u : v; }},
                                  {Scalar::min, [](double u, double v) { return u < v || std::isnan(u) ? u : v; }}};
  for (const std::int64_t width : {15, 16, 17, 60, 100, 128, 300, 2048, 2050}) {
    const Sizes out{3, 4, width}, sides[] = {out, {4, 1}, {3, 1, 1}, {4, width}, {3, 1, width}, {width}, {1}};
    for (const Sizes& left : sides) {
      for (const Sizes& right : sides) {
        const auto size = [](const Sizes& side, std::size_t d) {
          const std::size_t skip = 3 - side.size();
          return d < skip ? 1 : side[d - skip];
        };
        const bool fills_output = std::max(size(left, 0), size(right, 0)) == out[0] &&
                                  std::max(size(left, 1), size(right, 1)) == out[1] &&
                                  std::max(size(left, 2), size(right, 2)) == out[2];
        if (!fills_output) continue;
        auto x = random_numbers(product(left), 3, 8), y = random_numbers(product(right), 4, 8);
        for (double& v : y) v = v == 0 ? 1 : v;
        x[x.size() / 2] = std::numeric_limits<double>::quiet_NaN();
        for (const Operation& o : operations) {
          NodeRun run(Op::pointwise);
          run.input(DType::f32, left, x);
          run.input(DType::f32, right, y);
          Code code;
          const auto p = code.operand(0, DType::f32), q = code.operand(1, DType::f32);
          code.push(o.op, DType::f32, p, q);
          run.node().expr = code.expr;
          const auto got = run.run().output();
          ASSERT_EQ(run.shape(), out);
          for (std::int64_t i = 0; i < product(out); ++i) {
            const double expected = o.expected(x[static_cast<std::size_t>(source(out, left, i))],
                                               y[static_cast<std::size_t>(source(out, right, i))]);
            const double value = got[static_cast<std::size_t>(i)].real();
            if (std::isnan(expected)) {
              ASSERT_TRUE(std::isnan(value)) << "element " << i << " of rows of " << width;
            } else {
              ASSERT_EQ(value, static_cast<double>(static_cast<float>(expected)))
                  << "element " << i << " of rows of " << width;
            }
          }
        }
      }
    }
  }
}

TEST(PointwiseViewsOf, ACopyIsOfTheWholeOperand) {
  for (const PointwiseViewsShape& s : kShapes) {
    if (s.x != s.out) continue;
    for (DType to : {DType::f32, DType::i64}) {
      NodeRun run(Op::pointwise);
      const auto x = random_numbers(product(s.x), 3, 100);
      run.input(DType::f32, s.x, x, s.x_strides);
      Code code;
      const auto p = code.load(0, DType::f32);
      if (to != DType::f32) code.push(Scalar::convert, to, p);
      run.node().expr = code.expr;
      const auto got = run.run().output();
      for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i].real(), x[i]);
    }
  }
}

TEST(PointwiseViewsOf, PositionsAlongAxes) {
  for (const Sizes& out : {Sizes{3, 5}, Sizes{2, 700}, Sizes{4, 3, 1100}, Sizes{5000}}) {
    for (std::size_t axis = 0; axis < out.size(); ++axis) {
      NodeRun run(Op::pointwise);
      run.set(AttrKey::sizes, out);
      Code code;
      code.push(Scalar::index, DType::i64);
      code.expr.code.back().integer = static_cast<std::int64_t>(axis);
      run.node().expr = code.expr;
      const auto got = run.run().output();
      std::int64_t inner = 1;
      for (std::size_t d = axis + 1; d < out.size(); ++d) inner *= out[d];
      for (std::int64_t i = 0; i < product(out); ++i) {
        ASSERT_EQ(got[static_cast<std::size_t>(i)].real(), static_cast<double>(i / inner % out[axis]));
      }
    }
  }
}

TEST(PointwiseViewsOf, ResultsThatAreTheSameEverywhere) {
  NodeRun run(Op::pointwise);
  run.set(AttrKey::sizes, Sizes{3, 1000});
  run.input(DType::f16, {1}, std::vector<double>{0.25});
  Code code;
  const auto x = code.operand(0, DType::f16);
  code.push(Scalar::mul, DType::f32, x, code.constant(DType::f32, 3));
  run.node().expr = code.expr;
  const auto got = run.run().output();
  ASSERT_EQ(got.size(), 3000U);
  for (const Number& v : got) ASSERT_EQ(v.real(), 0.75);
}

/// A long chain needs more buffers than fit the cache, and reuses free buffers.
TEST(PointwiseViewsOf, ManyInstructions) {
  NodeRun run(Op::pointwise);
  const auto x = random_numbers(3000, 4, 3);
  run.input(DType::f32, {3000}, x);
  Code code;
  const auto a = code.load(0, DType::f32);
  std::vector<std::uint16_t> terms;
  for (int k = 1; k <= 60; ++k) terms.push_back(code.push(Scalar::mul, DType::f32, a, code.constant(DType::f32, k)));
  std::uint16_t sum = terms[0];
  for (std::size_t k = 1; k < terms.size(); ++k) sum = code.push(Scalar::add, DType::f32, terms[k], sum);
  run.node().expr = code.expr;
  const auto got = run.run().output();
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(got[i].real(), x[i] * (60 * 61 / 2));
}

TEST(PointwiseViewsOf, BitsAsAnotherType) {
  NodeRun run(Op::pointwise);
  run.input(DType::f32, {3}, std::vector<double>{1, -2, 0});
  Code code;
  code.push(Scalar::bitcast, DType::i32, code.load(0, DType::f32));
  run.node().expr = code.expr;
  EXPECT_EQ(run.run().output(), (std::vector<Number>{0x3f800000, -0x40000000, 0}));
}

}  // namespace
}  // namespace tern::test
