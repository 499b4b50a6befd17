// Gradients of data movement.
#include <gtest/gtest.h>

#include "exporter/microscaling/round.h"
#include "tests/exporter/gradients/check.h"

namespace tern {
namespace {

using testing::expect_gradients;
using testing::noise;
using Values = std::vector<ValueId>;

/// Squares the result of `move`, so that each position has a different gradient.
void expect_moves(std::vector<std::vector<std::int64_t>> sizes,
                  const std::function<ValueId(Builder&, const Values&)>& move, DType dtype = DType::f64) {
  std::vector<Tensor> inputs;
  for (const auto& s : sizes) inputs.push_back(noise(s, static_cast<int>(inputs.size()) + 1, -1, 1, dtype));
  expect_gradients(inputs, [&](Builder& b, const Values& in) -> Values {
    const ValueId y = move(b, in);
    return {b.expr("y * y", {{"y", y}}, b.dtype(y))};
  });
}

TEST(MovementGradients, Views) {
  expect_moves({{2, 6}}, [](Builder& b, const Values& in) { return b.reshape(in[0], {3, 4}); });
  expect_moves({{2, 3, 4}}, [](Builder& b, const Values& in) { return b.permute(in[0], {2, 0, 1}); });
  expect_moves({{3, 7}}, [](Builder& b, const Values& in) { return b.slice(in[0], 1, 2, 3); });
  expect_moves({{3, 7}}, [](Builder& b, const Values& in) { return b.slice(in[0], 1, 5, 3, -2); });
  expect_moves({{3, 1}}, [](Builder& b, const Values& in) { return b.expand(in[0], {2, 3, 4}); });
  expect_moves({{12}}, [](Builder& b, const Values& in) { return b.as_strided(in[0], {3, 4}, {1, 2}, 1); });
}

TEST(MovementGradients, ComplexAsRealAndBack) {
  const auto cast = [](DType to) {
    return [to](Builder& b, const Values& in) {
      return b.add(Op::bitcast, {in[0]}, {attr_dtype(to), attr(AttrKey::k, 1)});
    };
  };
  expect_moves({{3}}, cast(DType::f64), DType::c128);
  expect_moves({{3, 2}}, cast(DType::c128));
}

TEST(MovementGradients, Joined) {
  expect_moves({{2, 3}, {2, 1}, {2, 2}}, [](Builder& b, const Values& in) { return b.concat(in, 1); });
}

TEST(MovementGradients, PadInAllModes) {
  expect_moves({{3, 4}}, [](Builder& b, const Values& in) { return b.pad(in[0], {1, -1}, {0, 2}, 0.5); });
  for (std::int64_t mode : {1, 2, 3}) {
    expect_moves({{4, 3}}, [&](Builder& b, const Values& in) {
      return b.add(Op::pad, {in[0]},
                   {attr(AttrKey::before, Dims{2, 1}), attr(AttrKey::after, Dims{3, 0}), attr(AttrKey::mode, mode)});
    });
  }
}

TEST(MovementGradients, WritesIntoAPart) {
  expect_moves({{3, 5}, {3, 2}}, [](Builder& b, const Values& in) {
    return b.add(Op::slice_scatter, in,
                 {attr(AttrKey::axis, 1), attr(AttrKey::start, 1), attr(AttrKey::length, 2), attr(AttrKey::step, 2)});
  });
  expect_moves({{10}, {2, 2}}, [](Builder& b, const Values& in) {
    return b.add(Op::as_strided_scatter, in, {attr(AttrKey::strides, Dims{4, 1}), attr(AttrKey::offset, 1)});
  });
}

/// Activations beside MX weights: PyTorch takes the gradient of the unrounded product, even for saturated elements
/// (1.99 is 510 times 2^-8; float8_e4m3fn ends at 448) and between representable numbers.
TEST(MovementGradients, RoundedActivations) {
  for (const DType element : {DType::f8_e4m3fn, DType::f8_e5m2, DType::f6_e2m3, DType::f4_e2m1}) {
    Tensor x = noise({2, 3, 64});
    x.span<double>()[5] = 1.99;
    const auto build = [&](bool rounds) {
      return [rounds, element](Builder& b, const Values& in) -> Values {
        ValueId y = b.cast(in[0], DType::f32);
        if (rounds)
          y = microscaling::round_to_mx_with_gradient(b, y, *microscaling::find_narrow_float(element), 32, "floor");
        return {b.cast(y, DType::f64)};
      };
    };
    const std::vector<double> found = testing::gradients_of({x}, build(true)).at(0);
    EXPECT_EQ(found, testing::gradients_of({x}, build(false)).at(0)) << name_of(element);
    EXPECT_NE(found, std::vector<double>(found.size())) << name_of(element);
  }
}

}  // namespace
}  // namespace tern
