// Operators that PyTorch 2.12 cannot export (shapes depend on data), lowered and run. PyTorch computed the expected
// values.
#include <gtest/gtest.h>

#include <limits>

#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

using Numbers = LoweredCall::Numbers;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void expect_near(const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i])) {
      EXPECT_EQ(actual[i], expected[i]) << i;
    } else {
      EXPECT_NEAR(actual[i], expected[i], 1e-10) << i;
    }
  }
}

const Numbers kSamples = {0.75, 0.125, 0.125, -0.625, 0.0, -1.375, 0.375, 1.0, -1.375, 1.0, 0.5, 1.25};

LoweredCall covariance(double correction) {
  LoweredCall call("aten.cov.default");
  call.tensor("self", {3, 4}, kSamples).integer("correction", static_cast<std::int64_t>(correction));
  return call;
}

TEST(LoweredCovariance, OfRows) {
  expect_near(covariance(1).none("fweights").none("aweights").run().at(0),
              {0.31640625, -0.25, -0.584635416667, -0.25, 1.01041666667, 0.0208333333333, -0.584635416667,
               0.0208333333333, 1.41015625});
  expect_near(
      covariance(0).none("fweights").none("aweights").run().at(0),
      {0.2373046875, -0.1875, -0.4384765625, -0.1875, 0.7578125, 0.015625, -0.4384765625, 0.015625, 1.0576171875});
}

TEST(LoweredCovariance, Weighted) {
  const auto frequencies = [](LoweredCall c) {
    c.tensor("fweights", {4}, {1, 2, 3, 1}, DType::i64);
    return c;
  };
  const Numbers importance = {0.5, 1, 0.25, 2};
  expect_near(frequencies(covariance(1)).none("aweights").run().at(0),
              {0.158482142857, -0.126860119048, -0.28943452381, -0.126860119048, 0.857886904762, -0.106026785714,
               -0.28943452381, -0.106026785714, 0.762648809524});
  expect_near(
      covariance(1).none("fweights").tensor("aweights", {4}, importance).run().at(0),
      {0.4046875, -0.5453125, -0.5890625, -0.5453125, 1.6234375, 0.2609375, -0.5890625, 0.2609375, 1.21361607143});
  expect_near(frequencies(covariance(1)).tensor("aweights", {4}, importance).run().at(0),
              {0.26137204142, -0.39913091716, -0.33737056213, -0.39913091716, 1.45257026627, 0.0657359467456,
               -0.33737056213, 0.0657359467456, 0.72512943787});
}

TEST(LoweredCovariance, OfOneVariableIsANumber) {
  expect_near(LoweredCall("aten.cov.default")
                  .tensor("self", {4}, {0.75, 0.125, 0.125, -0.625})
                  .integer("correction", 1)
                  .none("fweights")
                  .none("aweights")
                  .run()
                  .at(0),
              {0.31640625});
}

TEST(LoweredCovariance, Correlation) {
  expect_near(LoweredCall("aten.corrcoef.default").tensor("self", {3, 4}, kSamples).run().at(0),
              {1.0, -0.442147558554, -0.875243664717, -0.442147558554, 1.0, 0.0174531931008, -0.875243664717,
               0.0174531931008, 1.0});
}

/// [5, 3, 4]: time, batch, classes.
const Numbers kLogProbabilities = {
    -0.625, -0.875, 2.5,  0.0,    -0.5,   1.125,  -2.25,  -0.5,   -0.875, -0.25,  0.75,   0.375, 0.125,  0.625,  1.0,
    -0.25,  0.5,    -1.5, -1.875, 0.25,   -0.125, -0.375, -0.375, -1.625, 1.125,  0.375,  0.125, -0.125, 0.0,    0.25,
    0.375,  -1.125, 0.0,  -0.625, -1.125, -0.125, -0.5,   -0.25,  -1.0,   -1.0,   -0.875, -0.75, 1.0,    -1.375, 0.375,
    2.125,  -1.625, 0.5,  1.25,   1.125,  0.0,    -0.125, -1.375, 1.875,  -2.125, -0.375, -0.5,  0.0,    0.125,  0.0};

LoweredCall ctc(const std::string& overload, LoweredCall::Sizes target_sizes, const Numbers& targets) {
  LoweredCall call("aten.ctc_loss." + overload);
  call.tensor("log_probs", {5, 3, 4}, kLogProbabilities)
      .tensor("targets", std::move(target_sizes), targets, DType::i64);
  return call;
}

TEST(LoweredCtcLoss, PaddedTargetsAndEveryReduction) {
  const std::vector<Numbers> expected = {{-2.32324210631, -0.628651860408, -0.25}, {-0.495466409726}, {-3.20189396672}};
  for (std::int64_t reduction = 0; reduction < 3; ++reduction) {
    expect_near(ctc("IntList", {3, 3}, {1, 2, 2, 3, 0, 0, 2, 1, 3})
                    .integers("input_lengths", {5, 4, 3})
                    .integers("target_lengths", {3, 1, 3})
                    .integer("blank", 0)
                    .integer("reduction", reduction)
                    .flag("zero_infinity", false)
                    .run()
                    .at(0),
                expected[static_cast<std::size_t>(reduction)]);
  }
}

TEST(LoweredCtcLoss, TargetsInOneListAndLengthsAsTensors) {
  for (const bool zero : {false, true}) {
    expect_near(ctc("Tensor", {7}, {1, 1, 1, 3, 1, 2, 2})
                    .tensor("input_lengths", {3}, {5, 4, 3}, DType::i64)
                    .tensor("target_lengths", {3}, {3, 0, 4}, DType::i64)
                    .integer("blank", 0)
                    .integer("reduction", 0)
                    .flag("zero_infinity", zero)
                    .run()
                    .at(0),
                {-0.25, 0.875, zero ? 0 : kInfinity});
  }
}

TEST(LoweredCtcLoss, AnotherBlank) {
  expect_near(ctc("IntList", {3, 2}, {0, 1, 1, 1, 2, 0})
                  .integers("input_lengths", {5, 4, 3})
                  .integers("target_lengths", {2, 2, 1})
                  .integer("blank", 3)
                  .integer("reduction", 0)
                  .flag("zero_infinity", false)
                  .run()
                  .at(0),
              {-4.28344165349, -1.48514031289, -1.23093657338});
}

TEST(LoweredCtcLoss, OneSequenceAlone) {
  Numbers first;  // first batch element
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t k = 0; k < 4; ++k) first.push_back(kLogProbabilities[t * 12 + k]);
  }
  expect_near(LoweredCall("aten.ctc_loss.Tensor")
                  .tensor("log_probs", {5, 4}, first)
                  .tensor("targets", {3}, {1, 2, 2}, DType::i64)
                  .tensor("input_lengths", {}, {5}, DType::i64)
                  .tensor("target_lengths", {}, {3}, DType::i64)
                  .integer("blank", 0)
                  .integer("reduction", 0)
                  .flag("zero_infinity", false)
                  .run()
                  .at(0),
              {-2.32324210631});
}

/// The norm of a column of numbers whose squares overflow, along the axis of size 1.
TEST(LoweredNorm, OfASingleElementIsItsMagnitude) {
  for (const double order : {0.5, 2.0, 3.0, -1.0}) {
    LoweredCall call("aten.linalg_vector_norm.default");
    call.tensor("self", {3, 1}, {1e200, -2, 1e-200}).number("ord", order).integers("dim", {1}).flag("keepdim", false);
    EXPECT_EQ(call.none("dtype").run().at(0), (Numbers{1e200, 2, 1e-200})) << order;
  }
}

}  // namespace
}  // namespace tern::testing
