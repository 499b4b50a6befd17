// Moments of inputs: rows of products and convolutions against their results, and quantizing in several portions.
#include "tools/quantize/input_moments.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/random_floats.h"
#include "tests/tools/verify/support.h"
#include "tools/quantize/multiplied_rows.h"

namespace tern {
namespace {

using test::random_floats;
using test::set_module;
using testing::floats;
using testing::TestProgram;

// The rows times the weight are the convolution's result.
TEST(MultipliedRows, OfAConvolutionGiveItsResult) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 16, 9, 8});
  const ValueId w = p.state({12, 16, 3, 2}, random_floats(12 * 16 * 6, 2), false);
  const ValueId y = p.b().add(Op::convolution, {x, w},
                              {attr(AttrKey::strides, std::vector<std::int64_t>{2, 1}),
                               attr(AttrKey::dilations, std::vector<std::int64_t>{1, 2}),
                               attr(AttrKey::before, std::vector<std::int64_t>{1, 0}),
                               attr(AttrKey::after, std::vector<std::int64_t>{0, 2}), attr(AttrKey::groups, Dim(1))});
  const Node convolution = p.b().function().nodes.back();
  const ValueId rows = add_multiplied_rows(p.b(), convolution, 16 * 6);
  const ValueId product = p.b().matmul(rows, p.b().transpose(p.b().reshape(w, {12, 96}), 0, 1));
  p.output(p.b().reshape(p.b().move_axis(y, 1, -1), {p.b().size(rows, 0), 12}));
  p.output(product);
  Session session(p.model().prepare());
  const std::vector<Tensor>& results = session.run({floats({2, 16, 9, 8}, random_floats(2 * 16 * 72, 1))});
  const auto expected = testing::values_of(results[0].contiguous()),
             actual = testing::values_of(results[1].contiguous());
  ASSERT_EQ(expected.size(), actual.size());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(expected[i], actual[i], 1e-4);
}

constexpr std::int64_t kMomentWidth = 64;

/// Two products in a row.
struct MomentLayers {
  TestProgram p;
  MomentLayers() {
    ValueId v = p.input(DType::f32, {8, kMomentWidth});
    for (int i = 0; i < 2; ++i) {
      set_module(p, "layer" + std::to_string(i));
      const ValueId w = p.state({kMomentWidth, kMomentWidth},
                                random_floats(kMomentWidth * kMomentWidth, 2 + static_cast<unsigned>(i)), false);
      v = p.b().matmul(v, p.b().transpose(w, 0, 1));
    }
    p.output(v);
  }
  FloatProgram floats_of() const { return {p.model().program(), {}, ""}; }
  static Calls calls() {
    return {{floats({8, kMomentWidth}, random_floats(8 * kMomentWidth, 1))},
            {floats({8, kMomentWidth}, random_floats(8 * kMomentWidth, 9))}};
  }
};

TEST(InputMoments, ImportanceIsTheSumOfSquares) {
  const MomentLayers layers;
  const Calls calls = MomentLayers::calls();
  const std::map<WeightPart, std::vector<float>> importance = measure_importance(layers.floats_of(), calls);
  ASSERT_EQ(importance.size(), 2u);
  const std::vector<float>& first = importance.begin()->second;
  ASSERT_EQ(first.size(), static_cast<std::size_t>(kMomentWidth));
  for (std::size_t j = 0; j < first.size(); ++j) {
    double sum = 0;
    for (const std::vector<Tensor>& call : calls) {
      const auto x = call[0].span<const float>();
      for (std::size_t r = 0; r < 8; ++r)
        sum += static_cast<double>(x[r * first.size() + j]) * static_cast<double>(x[r * first.size() + j]);
    }
    EXPECT_NEAR(first[j], sum, sum * 1e-5);
  }
}

TEST(InputMoments, PortionsGiveTheSameElements) {
  const MomentLayers layers;
  const FloatProgram program = layers.floats_of();
  const Calls calls = MomentLayers::calls();
  const quantize::Format* const int4 = quantize::find_format("int4");
  const quantize::Recipe recipe{.format = int4, .block = int4->block, .rule = quantize::ScaleRule::gptq};
  const QuantizeChoices choices = choices_of(program.quantized_by({{recipe, {}}}));
  std::size_t last = 0, steps = 0;
  const auto on_step = [&](std::size_t done, std::size_t total) {
    last = done;
    steps = total;
  };
  const auto together = encode_with_feedback(program, choices, calls, on_step);
  EXPECT_EQ(last, steps);
  EXPECT_EQ(steps, 4u);  // two samples and two weights
  const auto apart = encode_with_feedback(program, choices, calls, on_step, 1);
  EXPECT_EQ(steps, 6u);
  ASSERT_EQ(together.size(), 2u);
  for (const auto& [part, encoded] : together) {
    const auto a = encoded.quantized.bytes.span(), b = apart.at(part).quantized.bytes.span();
    EXPECT_TRUE(std::ranges::equal(a, b)) << part.weight;
  }
}

}  // namespace
}  // namespace tern
