// PrepareOptions::precision: the multiplication type of float32 products.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/cpu/machine.h"
#include "runtime/prepared.h"
#include "schema/node_precision.h"
#include "tests/bfloat16.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

constexpr std::int64_t kRows = 48, kProductPrecisionIn = 96, kProductPrecisionOut = 64;

double rounded_product_precision(float v) {
  return static_cast<double>(test::to_bfloat16(v));
}

PrepareOptions precision_options(Precision precision) {
  PrepareOptions options;
  options.precision = precision;
  options.weight_cache = "off";
  return options;
}

struct Layer {
  std::int64_t rows = kRows;
  std::vector<float> x = random_floats(kRows * kProductPrecisionIn, 1),
                     w = random_floats(kProductPrecisionOut * kProductPrecisionIn, 2);
  std::vector<float> run(const PrepareOptions& options) const {
    TestProgram p;
    const ValueId weight = p.state({kProductPrecisionOut, kProductPrecisionIn}, w, false);
    p.output(p.b().matmul(p.input(DType::f32, {rows, kProductPrecisionIn}), p.b().transpose(weight, 0, 1)));
    Session session(p.model().prepare(options));
    return values_of(
        session.run({floats({rows, kProductPrecisionIn}, {x.begin(), x.begin() + rows * kProductPrecisionIn})})[0]);
  }
  /// The largest difference from sums of products in double, with operands rounded by `of_x` and `of_w`.
  template <class OfX, class OfW>
  double error(const std::vector<float>& y, OfX of_x, OfW of_w) const {
    double worst = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(rows); ++i) {
      for (std::size_t j = 0; j < kProductPrecisionOut; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kProductPrecisionIn; ++k)
          sum += of_x(x[i * kProductPrecisionIn + k]) * of_w(w[j * kProductPrecisionIn + k]);
        worst = std::max(worst, std::abs(sum - static_cast<double>(y[i * kProductPrecisionOut + j])));
      }
    }
    return worst;
  }
};

TEST(ProductPrecision, OperandsAreRoundedWhereThatIsFaster) {
  const Layer layer;
  const auto as_it_is = [](float v) { return static_cast<double>(v); };
  const std::vector<float> exported = layer.run(precision_options(Precision::exported)),
                           narrow = layer.run(precision_options(Precision::bfloat16)),
                           automatic = layer.run(precision_options(Precision::automatic));
  EXPECT_LT(layer.error(exported, as_it_is, as_it_is), 2e-5);
  EXPECT_EQ(automatic, narrow);
  if (!cpu::rows_pay()) {
    EXPECT_EQ(narrow, exported);
    return;
  }
  EXPECT_LT(layer.error(narrow, rounded_product_precision, rounded_product_precision), 2e-5)
      << "each operand is rounded once, and sums are float32";
  EXPECT_GT(layer.error(narrow, as_it_is, as_it_is), 1e-3);
}

TEST(ProductPrecision, TheWeightOfOneRowIsRounded) {
  Layer layer;
  layer.rows = 1;
  const std::vector<float> narrow = layer.run(precision_options(Precision::bfloat16));
  const auto as_it_is = [](float v) { return static_cast<double>(v); };
  EXPECT_LT(layer.error(narrow, as_it_is, rounded_product_precision), 2e-5);
  EXPECT_GT(layer.error(narrow, as_it_is, as_it_is), 1e-4);
}

/// Rounds to 11 significant digits, ties to even: float16 by IEEE 754, for values within its range.
double rounded_to_float16(float v) {
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(v), &exponent);
  const int digits = std::min(11, exponent + 24);  // fewer below 2^-14
  return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
}

TEST(ProductPrecision, Float16IsOfWeightsThatItHolds) {
  Layer layer;
  layer.rows = 1;
  const auto as_it_is = [](float v) { return static_cast<double>(v); };
  const std::vector<float> narrow = layer.run(precision_options(Precision::float16));
  EXPECT_LT(layer.error(narrow, as_it_is, rounded_to_float16), 2e-5);
  EXPECT_GT(layer.error(narrow, as_it_is, as_it_is), 2e-5);
  layer.w[70] = 65519;
  EXPECT_LT(layer.error(layer.run(precision_options(Precision::float16)), as_it_is, rounded_to_float16), 0.05);
  layer.w[70] = 65520;  // would become infinite
  EXPECT_EQ(layer.run(precision_options(Precision::float16)), layer.run(precision_options(Precision::exported)));
}

TEST(ProductPrecision, AttentionIsWithinTheRoundingOfItsOperands) {
  constexpr std::int64_t kHeads = 2, kLength = 64, kWidth = 32, kCount = kHeads * kLength * kWidth;
  TestProgram p;
  const Dims shape{1, kHeads, kLength, kWidth};
  const ValueId q = p.input(DType::f32, shape), k = p.input(DType::f32, shape), v = p.input(DType::f32, shape);
  p.output(p.b().add(Op::attention, {q, k, v}));
  const auto run = [&](Precision precision) {
    Session session(p.model().prepare(precision_options(precision)));
    std::vector<Tensor> inputs;
    for (unsigned i = 0; i < 3; ++i)
      inputs.push_back(floats({1, kHeads, kLength, kWidth}, random_floats(kCount, 10 + i)));
    return values_of(session.run(inputs)[0]);
  };
  const std::vector<float> exported = run(Precision::exported), narrow = run(Precision::bfloat16);
  double worst = 0;
  for (std::size_t i = 0; i < exported.size(); ++i)
    worst = std::max(worst, std::abs(static_cast<double>(exported[i]) - static_cast<double>(narrow[i])));
  EXPECT_LT(worst, 0.02) << "a few times 2^-9 of values up to 1";
  EXPECT_EQ(worst > 1e-5, cpu::rows_pay());
}

/// Two layers of the same input, in modules "body" and "head".
struct TwoLayers {
  Layer layer;
  std::vector<std::vector<float>> run(const PrepareOptions& options, bool noted = false,
                                      const std::vector<std::string>& kept_at_export = {}) const {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {kRows, kProductPrecisionIn});
    for (const char* module : {"body", "head"}) {
      const ValueId w = p.b().transpose(p.state({kProductPrecisionOut, kProductPrecisionIn}, layer.w, false), 0, 1);
      p.program().origins.push_back({"aten.linear.default", module, ""});
      p.b().set_origin(static_cast<std::int32_t>(p.program().origins.size()) - 1, {});
      p.output(p.b().matmul(x, w));
    }
    const std::size_t count = noted ? note_precision(p.program(), Precision::bfloat16, kept_at_export) : 0;
    EXPECT_EQ(count, noted ? 2 - kept_at_export.size() : 0);
    const PreparedModel prepared = p.model().prepare(options);
    EXPECT_EQ(prepared.precision(), options.reproducible || (!noted && options.precision == Precision::exported)
                                        ? Precision::exported
                                        : Precision::bfloat16);
    Session session(prepared);
    const std::vector<Tensor>& results = session.run({floats({kRows, kProductPrecisionIn}, layer.x)});
    return {values_of(results[0]), values_of(results[1])};
  }
};

TEST(ProductPrecision, KeptNodesHaveAllDigits) {
  const TwoLayers two;
  PrepareOptions options = precision_options(Precision::bfloat16);
  options.float32_nodes = {"he*"};
  const auto results = two.run(options);
  const auto as_it_is = [](float v) { return static_cast<double>(v); };
  EXPECT_LT(two.layer.error(results[1], as_it_is, as_it_is), 2e-5);
  EXPECT_EQ(two.layer.error(results[0], as_it_is, as_it_is) > 1e-3, cpu::rows_pay());
  options.float32_nodes = {"tail"};
  EXPECT_THROW(two.run(options), Error);
}

TEST(ProductPrecision, AnArchiveSaysIt) {
  const TwoLayers two;
  const auto plain = two.run(precision_options(Precision::exported)),
             rounded_product_precision = two.run(precision_options(Precision::bfloat16));
  EXPECT_EQ(two.run(precision_options(Precision::exported), true), rounded_product_precision);
  EXPECT_EQ(two.run(precision_options(Precision::exported), true, {"head"}),
            (std::vector{rounded_product_precision[0], plain[1]}));
  EXPECT_EQ(two.run(precision_options(Precision::bfloat16), true, {"head"})[1], plain[1]) << "kept nodes stay so";
  PrepareOptions reproducible = precision_options(Precision::exported);
  reproducible.reproducible = true;
  EXPECT_EQ(two.run(reproducible, true), two.run(reproducible)) << "the same bits everywhere";
}

TEST(ProductPrecision, IsResolvedWhenPrepared) {
  TestProgram p;
  p.output(p.b().cast(p.input(DType::f32, {2}), DType::f64));
  const PreparedModel prepared = p.model().prepare(precision_options(Precision::automatic));
  EXPECT_NE(prepared.precision(), Precision::automatic);
  EXPECT_EQ(p.model().prepare(precision_options(Precision::exported)).precision(), Precision::exported);
}

TEST(ProductPrecision, DoesNotGoWithReproducible) {
  TestProgram p;
  p.output(p.b().cast(p.input(DType::f32, {2}), DType::f64));
  PrepareOptions options = precision_options(Precision::bfloat16);
  options.reproducible = true;
  try {
    p.model().prepare(options);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(e.what()).find("precision"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tern
