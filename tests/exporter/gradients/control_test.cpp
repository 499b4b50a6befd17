// Gradients through branches and loops.
#include <gtest/gtest.h>

#include <cmath>

#include "exporter/gradients/differentiate.h"
#include "tests/exporter/gradients/check.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::doubles;
using testing::expect_gradients;
using testing::gradients_of;
using testing::integers;
using testing::noise;
using testing::TestProgram;
using Values = std::vector<ValueId>;
using Shapes = std::vector<Dims>;

constexpr DType kBodyType = DType::f64;

/// A function with inputs of these sizes.
std::uint32_t body(Program& program, const Shapes& inputs,
                   const std::function<Values(Builder&, const Values&)>& build) {
  program.functions.emplace_back();
  const auto number = static_cast<std::uint32_t>(program.functions.size() - 1);
  program.functions[number].name = "body" + std::to_string(number);
  Builder b(program, number);
  Values values;
  for (const Dims& sizes : inputs) {
    values.push_back(b.add_value({kBodyType, sizes}));
    FunctionInput in;
    in.value = values.back();
    b.function().inputs.push_back(in);
  }
  for (ValueId v : build(b, values)) {
    FunctionOutput out;
    out.value = v;
    b.function().outputs.push_back(out);
  }
  return number;
}

Values control(Builder& b, Op op, Values inputs, std::vector<std::uint32_t> functions, std::vector<Attr> attrs = {}) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.functions = std::move(functions);
  n.attrs = std::move(attrs);
  return b.add(std::move(n));
}

TEST(ControlGradients, EachBranchOfACond) {
  for (double sign : {-1.0, 1.0}) {
    expect_gradients({doubles({1}, {sign}), noise({3}), noise({3}, 2)}, [](Builder& b, const Values& in) -> Values {
      const auto yes = body(b.program(), {{3}, {3}}, [](Builder& f, const Values& v) -> Values {
        return {f.expr("sin(x) * y", {{"x", v[0]}, {"y", v[1]}}, kBodyType), v[0]};
      });
      const auto no = body(b.program(), {{3}, {3}}, [](Builder& f, const Values& v) -> Values {
        return {f.expr("exp(x)", {{"x", v[0]}}, kBodyType), f.expr("x * x", {{"x", v[0]}}, kBodyType)};
      });
      const ValueId positive = b.expr("x > 0", {{"x", b.reshape(in[0], {})}}, kBodyType, DType::boolean);
      return control(b, Op::cond, {positive, in[1], in[2]}, {yes, no});
    });
  }
}

TEST(ControlGradients, ACallTwice) {
  expect_gradients({noise({2, 2}), noise({2, 2}, 2)}, [](Builder& b, const Values& in) -> Values {
    const auto f = body(b.program(), {{2, 2}, {2, 2}}, [](Builder& g, const Values& v) -> Values {
      return {g.expr("tanh(x)", {{"x", g.matmul(v[0], v[1])}}, kBodyType)};
    });
    const Values once = control(b, Op::call, in, {f});
    return control(b, Op::call, {once[0], in[1]}, {f});
  });
}

/// h' = tanh(h w + x), y = h' h'.
Values recurrence(Builder& b, const Values& in) {
  const auto f = body(b.program(), {{1, 3}, {1, 3}, {3, 3}}, [](Builder& g, const Values& v) -> Values {
    const ValueId h = g.expr("tanh(a + x)", {{"a", g.matmul(v[0], v[2])}, {"x", v[1]}}, kBodyType);
    return {h, g.expr("h * h", {{"h", h}}, kBodyType)};
  });
  return control(b, Op::scan_loop, in, {f}, {attr(AttrKey::carried, 1), attr(AttrKey::mapped, 1)});
}

/// Each body calls its predecessor twice: 2^20 paths, but a single backward function for each body.
TEST(ControlGradients, SharedBodiesShareTheirBackwardFunctions) {
  constexpr std::size_t kDepth = 20;
  TestProgram p;
  const ValueId x = p.input(kBodyType, {2});
  std::uint32_t function = body(p.program(), {{2}}, [](Builder& f, const Values& v) -> Values {
    return {f.expr("sin(x)", {{"x", v[0]}}, kBodyType)};
  });
  for (std::size_t i = 1; i < kDepth; ++i) {
    function = body(p.program(), {{2}}, [&](Builder& f, const Values& v) -> Values {
      return control(f, Op::call, control(f, Op::call, v, {function}), {function});
    });
  }
  const ValueId y = control(p.b(), Op::call, {x}, {function})[0];
  const std::vector<ValueId> g =
      differentiate(p.b(), std::vector<GradientSeed>{{y, p.b().full({2}, 1, kBodyType)}}, std::vector<ValueId>{x});
  EXPECT_NE(g[0], kNoValue);
  EXPECT_EQ(p.program().functions.size(), 1 + 2 * kDepth);
}

TEST(ControlGradients, AScanCarriesGradientsBack) {
  expect_gradients({noise({1, 3}), noise({4, 1, 3}, 2), noise({3, 3}, 3)}, recurrence);
}

TEST(ControlGradients, OnlyTheStackedResultOfAScan) {
  expect_gradients({noise({1, 3}), noise({4, 1, 3}, 2), noise({3, 3}, 3)},
                   [](Builder& b, const Values& in) -> Values { return {recurrence(b, in)[1]}; });
}

TEST(ControlGradients, AMap) {
  expect_gradients({noise({4, 2}), noise({2}, 2)}, [](Builder& b, const Values& in) -> Values {
    const auto f = body(b.program(), {{2}, {2}}, [](Builder& g, const Values& v) -> Values {
      return {g.expr("exp(x) * y", {{"x", v[0]}, {"y", v[1]}}, kBodyType)};
    });
    return control(b, Op::map_loop, in, {f}, {attr(AttrKey::mapped, 1)});
  });
}

TEST(ControlGradients, ACondInAScan) {
  expect_gradients({noise({2}), noise({5, 2}, 2)}, [](Builder& b, const Values& in) -> Values {
    const auto yes = body(b.program(), {{2}}, [](Builder& g, const Values& v) -> Values {
      return {g.expr("sin(x)", {{"x", v[0]}}, kBodyType)};
    });
    const auto no = body(b.program(), {{2}}, [](Builder& g, const Values& v) -> Values {
      return {g.expr("x * 0.5", {{"x", v[0]}}, kBodyType)};
    });
    const auto f = body(b.program(), {{2}, {2}}, [&](Builder& g, const Values& v) -> Values {
      const ValueId sum = g.expr("h + x", {{"h", v[0]}, {"x", v[1]}}, kBodyType);
      const ValueId positive =
          g.expr("x > 0", {{"x", g.reduce(v[1], "sum", {}, false, kBodyType)}}, kBodyType, DType::boolean);
      const Values r = control(g, Op::cond, {positive, sum}, {yes, no});
      return {r[0], r[0]};
    });
    return control(b, Op::scan_loop, in, {f}, {attr(AttrKey::carried, 1), attr(AttrKey::mapped, 1)});
  });
}

/// The backward pass reuses the random numbers of the forward run: the gradient of sum(x u) is u = y / x.
TEST(ControlGradients, RandomNumbersAreNotDrawnTwice) {
  const auto dropped = [](Builder& g, const Values& v) -> Values {
    const ValueId u = g.add(
        Op::random, {}, {attr_text(AttrKey::kind, "uniform"), attr(AttrKey::sizes, Dims{6}), attr_dtype(kBodyType)});
    return {g.expr("x * u", {{"x", v[0]}, {"u", u}}, kBodyType)};
  };
  for (Op op : {Op::call, Op::cond, Op::map_loop}) {
    const auto build = [&](Builder& b, const Values& in) -> Values {
      const auto f = body(b.program(), {{6}}, dropped);
      ValueId y = kNoValue;
      if (op == Op::call) y = control(b, op, {in[0]}, {f})[0];
      if (op == Op::cond) {
        const ValueId yes = b.full({}, 1, DType::boolean);
        y = control(b, op, {yes, in[0]}, {f, body(b.program(), {{6}}, dropped)})[0];
      }
      if (op == Op::map_loop) {
        y = b.squeeze(control(b, op, {b.unsqueeze(in[0], 0)}, {f}, {attr(AttrKey::mapped, 1)})[0], 0);
      }
      // The gradient of `second` is y, so a single run gives both sides of the comparison.
      return {y, b.expr("s * y", {{"s", in[1]}, {"y", y}}, kBodyType)};
    };
    const Tensor x = noise({6}, 1, 1, 2);
    const auto g = gradients_of({x, doubles({6}, {0, 0, 0, 0, 0, 0})}, build);
    for (std::size_t k = 0; k < 6; ++k) {
      const double weight = std::cos(static_cast<double>(k)), y = g[1][k] / weight;
      EXPECT_NEAR(g[0][k], weight * y / x.span<const double>()[k], 1e-12) << op_name(op);
      EXPECT_GT(std::abs(y), 0);
    }
  }
}

}  // namespace
}  // namespace tern
