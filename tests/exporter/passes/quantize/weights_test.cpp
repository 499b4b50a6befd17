// Selects weights to quantize at export; checks their readers, and results against the dequantized weight.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "dtypes/convert.h"
#include "exporter/passes/passes.h"
#include "exporter/passes/quantize/matrix.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using Floats = std::vector<float>;

constexpr std::int64_t kQuantizeWeightsRows = 48, kQuantizeWeightsColumns = 96;

quantize::Recipe recipe_of_weights(std::string_view name) {
  const quantize::Format* const f = quantize::find_format(name);
  return {f, f->block};
}
QuantizeRule rule(std::string_view format, std::string pattern = {}) {
  return {recipe_of_weights(format), std::move(pattern)};
}

float rounded_to(DType t, float x) {
  std::byte narrow[4];
  convert(&x, DType::f32, narrow, t, 1);
  convert(narrow, t, &x, DType::f32, 1);
  return x;
}

/// Values rounded_to to a type, and their bytes in the type.
struct RoundedNumbers {
  Floats values;
  std::vector<std::byte> bytes;
  RoundedNumbers(DType t, std::int64_t count, unsigned seed) : values(test::random_floats(count, seed)) {
    for (float& v : values) v = rounded_to(t, v);
    bytes.resize(values.size() * static_cast<std::size_t>(element_size(t)));
    convert(values.data(), DType::f32, bytes.data(), t, count);
  }
};

Tensor tensor(DType t, std::vector<std::int64_t> sizes, const std::vector<std::byte>& bytes) {
  Tensor x(t, std::move(sizes));
  std::ranges::copy(bytes, static_cast<std::byte*>(x.data()));
  return x;
}

Floats numbers_of_weights(const Tensor& t) {
  const Tensor dense = t.contiguous();
  Floats f(static_cast<std::size_t>(dense.numel()));
  convert(dense.data(), dense.dtype(), f.data(), DType::f32, dense.numel());
  return f;
}

/// The weight's values in the format.
Floats quantized_numbers(const RoundedNumbers& w, DType t, std::string_view format) {
  const quantize::Recipe recipe = recipe_of_weights(format);
  const quantize::Quantized q = quantize::quantize(
      {w.bytes.data(), t, kQuantizeWeightsRows, kQuantizeWeightsColumns, kQuantizeWeightsColumns, 1}, recipe);
  const QuantizedMatrix m{recipe.format->element, kQuantizeWeightsRows, kQuantizeWeightsColumns, q.blocks};
  Floats y(w.values.size());
  for (std::int64_t r = 0; r < kQuantizeWeightsRows; ++r)
    dequantize_row(m, q.bytes.data(), r, 0, kQuantizeWeightsColumns, y.data() + r * kQuantizeWeightsColumns);
  return y;
}

/// x W^T with a weight [48, 96] shared with an embedding.
struct Tied {
  TestProgram p;
  DType type;
  RoundedNumbers weight, x;
  explicit Tied(DType t)
      : type(t), weight(t, kQuantizeWeightsRows * kQuantizeWeightsColumns, 1), x(t, 2 * kQuantizeWeightsColumns, 2) {
    const ValueId in = p.input(t, {2, kQuantizeWeightsColumns}), index = p.input(DType::i64, {3});
    const ValueId w = p.b().constant(t, {kQuantizeWeightsRows, kQuantizeWeightsColumns}, weight.bytes.data());
    p.program().states[0].name = "w";
    p.output(p.b().index_select(w, index, 0));
    p.output(p.b().matmul(in, p.b().transpose(w, 0, 1)));
  }
  std::vector<Floats> run() {
    Session s(p.model().prepare());
    Tensor index(DType::i64, {3});
    const std::int64_t rows[] = {47, 0, 5};
    std::ranges::copy(rows, index.span<std::int64_t>().begin());
    const auto out = s.run({tensor(type, {2, kQuantizeWeightsColumns}, x.bytes), index});
    return {numbers_of_weights(out[0]), numbers_of_weights(out[1])};
  }
};

TEST(Quantize, TiedWeightsAreStoredOnceAndReadInEachFormat) {
  for (const quantize::Format& f : quantize::formats()) {
    for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
      SCOPED_TRACE(std::string(f.name) + " " + std::string(name_of(type)));
      Tied m(type);
      const QuantizeReport report = quantize_weights(m.p.program(), {rule(f.name)}, {});
      ASSERT_EQ(report.weights.size(), 1u);
      EXPECT_EQ(report.weights[0].rows, kQuantizeWeightsRows);
      const Program& p = m.p.program();
      ASSERT_EQ(p.states.size(), 1u) << "no floats are left, and the embedding reads what the product reads";
      EXPECT_EQ(p.states[0].name, "w");
      EXPECT_TRUE(p.states[0].type.quantized());
      EXPECT_EQ(report.weights[0].bytes_after, p.storages[p.states[0].storage].size);
      EXPECT_EQ(p.functions[0].nodes.size(), 2u);

      const Floats numbers = quantized_numbers(m.weight, type, f.name);
      const std::vector<Floats> out = m.run();
      const Floats &rows = out[0], &y = out[1];
      const std::size_t chosen[] = {47, 0, 5};
      for (std::size_t r = 0; r < 3; ++r) {
        for (std::size_t c = 0; c < kQuantizeWeightsColumns; ++c)
          ASSERT_EQ(rows[r * kQuantizeWeightsColumns + c],
                    rounded_to(type, numbers[chosen[r] * kQuantizeWeightsColumns + c]))
              << r << ", " << c;
      }
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < kQuantizeWeightsRows; ++j) {
          double sum = 0, size = 0;
          for (std::size_t k = 0; k < kQuantizeWeightsColumns; ++k) {
            const double product = static_cast<double>(m.x.values[i * kQuantizeWeightsColumns + k]) *
                                   static_cast<double>(numbers[j * kQuantizeWeightsColumns + k]);
            sum += product;
            size += std::abs(product);
          }
          const double last_bit = type == DType::f32 ? 0 : type == DType::bf16 ? 0x1p-8 : 0x1p-11;
          ASSERT_NEAR(static_cast<double>(y[i * kQuantizeWeightsRows + j]), sum, size * 1e-6 + std::abs(sum) * last_bit)
              << i << ", " << j;
        }
      }
    }
  }
}

TEST(Quantize, WeightsByColumnsHaveTheSameBytes) {
  const RoundedNumbers w(DType::f32, kQuantizeWeightsRows * kQuantizeWeightsColumns, 1);
  Floats transposed(w.values.size());
  for (std::size_t r = 0; r < kQuantizeWeightsRows; ++r) {
    for (std::size_t c = 0; c < kQuantizeWeightsColumns; ++c)
      transposed[c * kQuantizeWeightsRows + r] = w.values[r * kQuantizeWeightsColumns + c];
  }
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, kQuantizeWeightsColumns});
  p.output(
      p.b().matmul(x, p.b().constant(DType::f32, {kQuantizeWeightsColumns, kQuantizeWeightsRows}, transposed.data())));
  ASSERT_EQ(quantize_weights(p.program(), {rule("int4")}, {}).weights.size(), 1u);
  ASSERT_EQ(p.program().states.size(), 1u);
  const State& s = p.program().states[0];
  EXPECT_EQ(s.type.shape, (Dims{kQuantizeWeightsRows, kQuantizeWeightsColumns}));
  const auto bytes = p.program().source->bytes(s.storage);
  const quantize::Quantized q = quantize::quantize(
      {w.bytes.data(), DType::f32, kQuantizeWeightsRows, kQuantizeWeightsColumns, kQuantizeWeightsColumns, 1},
      recipe_of_weights("int4"));
  EXPECT_TRUE(std::ranges::equal(bytes, q.bytes.span()));
}

TEST(Quantize, PartsOfOneWeightBecomeValuesOfTheirOwn) {
  const RoundedNumbers w(DType::f32, kQuantizeWeightsRows * kQuantizeWeightsColumns, 1);
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, kQuantizeWeightsColumns});
  const ValueId whole = p.b().constant(DType::f32, {kQuantizeWeightsRows, kQuantizeWeightsColumns}, w.bytes.data());
  for (const int part : {0, 1})
    p.output(p.b().matmul(x, p.b().transpose(p.b().slice(whole, 0, part * 16, 16 + part * 16), 0, 1)));
  const QuantizeReport report = quantize_weights(p.program(), {rule("int8")}, {});
  ASSERT_EQ(report.weights.size(), 2u);
  ASSERT_EQ(p.program().states.size(), 2u);
  EXPECT_TRUE(std::ranges::all_of(p.program().states, [](const State& s) { return s.type.quantized(); }));
  Session s(p.model().prepare());
  const Floats input = test::random_floats(2 * kQuantizeWeightsColumns, 2),
               numbers = quantized_numbers(w, DType::f32, "int8"),
               y = numbers_of_weights(s.run({floats({2, kQuantizeWeightsColumns}, input)})[1]);
  double sum = 0;  // last row and column
  for (std::size_t k = 0; k < kQuantizeWeightsColumns; ++k)
    sum += static_cast<double>(input[kQuantizeWeightsColumns + k]) *
           static_cast<double>(numbers[47 * kQuantizeWeightsColumns + k]);
  EXPECT_NEAR(static_cast<double>(y.back()), sum, 1e-4);
}

TEST(Quantize, ProductsOfIntegersHaveExactSums) {
  for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(std::string(name_of(type)));
    Tied m(type);
    QuantizeRule int8 = rule("int8");
    int8.recipe.activations = quantize::Activations::int8;
    ASSERT_EQ(quantize_weights(m.p.program(), {int8}, {}).weights.size(), 1u);
    const Program& p = m.p.program();
    const auto product = std::ranges::find(p.functions[0].nodes, Op::matmul, &Node::op);
    for (const ValueId v : product->inputs)
      EXPECT_EQ(p.functions[0].values[static_cast<std::size_t>(v)].type.dtype, DType::i8);
    for (const State& s : p.states) EXPECT_EQ(s.storage, p.states[0].storage) << "stored once";

    const Floats weight = quantized_numbers(m.weight, type, "int8"), y = m.run()[1];
    for (std::size_t i = 0; i < 2; ++i) {
      float largest = 0;
      for (std::size_t k = 0; k < kQuantizeWeightsColumns; ++k)
        largest = std::max(largest, std::abs(m.x.values[i * kQuantizeWeightsColumns + k]));
      const float scale = std::max(rounded_to(type, largest / 127.5F), 0x1p-23F);
      for (std::size_t j = 0; j < kQuantizeWeightsRows; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < kQuantizeWeightsColumns; ++k) {
          const float q =
              std::clamp(std::nearbyint(m.x.values[i * kQuantizeWeightsColumns + k] * (1 / scale)), -128.0F, 127.0F);
          sum += static_cast<double>(q * scale) * static_cast<double>(weight[j * kQuantizeWeightsColumns + k]);
        }
        const double last_bit = type == DType::f32 ? 0 : type == DType::bf16 ? 0x1p-8 : 0x1p-11;
        ASSERT_NEAR(static_cast<double>(y[i * kQuantizeWeightsRows + j]), sum, 1e-5 + std::abs(sum) * last_bit)
            << i << ", " << j;
      }
    }
  }
}

TEST(Quantize, NamesStayUnique) {
  Tied m(DType::f32);
  m.p.state({1}, {1.0F}, false);
  m.p.program().states.back().name = "w.scale";
  m.p.output(m.p.program().functions[0].inputs.back().value);
  QuantizeRule int8 = rule("int8");
  int8.recipe.activations = quantize::Activations::int8;
  ASSERT_EQ(quantize_weights(m.p.program(), {int8}, {}).weights.size(), 1u);
  std::set<std::string> names;
  for (const State& s : m.p.program().states) EXPECT_TRUE(names.insert(s.name).second) << s.name;
  EXPECT_EQ(names.size(), 4u);
}

TEST(Quantize, TheLastRuleThatMatchesHolds) {
  Tied m(DType::f32);
  EXPECT_EQ(quantize_weights(m.p.program(), {rule("int4"), rule("int8", "mat*")}, {}).weights[0].format, "int8");
  Tied other(DType::f32);
  EXPECT_EQ(quantize_weights(other.p.program(), {rule("int8", "mat*"), rule("nvfp4")}, {}).weights[0].format, "nvfp4");
}

TEST(Quantize, AChoiceGoesBeforeTheRules) {
  Tied m(DType::f32);
  const QuantizeReport report = quantize_weights(m.p.program(), {rule("int4")}, {},
                                                 {{"w", {recipe_of_weights("mxfp8_e4m3"), {}}}, {"other", {{}, "?"}}});
  ASSERT_EQ(report.weights.size(), 1u);
  const QuantizedWeight& w = report.weights[0];
  EXPECT_EQ(w.format, "mxfp8_e4m3");
  EXPECT_EQ(w.recipe.format, quantize::find_format("mxfp8_e4m3"));
  EXPECT_EQ(w.source, "w");
  Tied stays(DType::f32);
  const QuantizeReport none = quantize_weights(stays.p.program(), {rule("int4")}, {}, {{"w", {{}, "it is needed"}}});
  ASSERT_EQ(none.unquantized.size(), 1u);
  EXPECT_EQ(none.unquantized[0].reason, "it is needed");
  Tied untold(DType::f32);
  EXPECT_EQ(quantize_weights(untold.p.program(), {rule("int4")}, {}, {{"w", {}}}).unquantized.size(), 1u);
}

TEST(Quantize, ReportsWhatReadsAWeight) {
  Tied m(DType::f32);
  const std::vector<Node> before = m.p.program().functions[0].nodes;
  const QuantizeReport report = quantize_weights(m.p.program(), {rule("int4")}, {});
  ASSERT_EQ(report.weights.size(), 1u);
  ASSERT_EQ(report.weights[0].readers.size(), 2u);
  std::set<Op> ops;
  for (const WeightReader& r : report.weights[0].readers) ops.insert(before[r.node].op);
  EXPECT_EQ(ops, (std::set<Op>{Op::index_select, Op::matmul}));
}

/// The reason why the program's only weight stays.
std::string reason(TestProgram& p, const std::vector<QuantizeRule>& rules, const std::vector<std::string>& keep = {}) {
  const std::size_t states = p.program().states.size();
  for (State& s : p.program().states) s.kind = State::Kind::parameter;
  const QuantizeReport report = quantize_weights(p.program(), rules, keep);
  EXPECT_TRUE(report.weights.empty());
  EXPECT_EQ(p.program().states.size(), states);
  return report.unquantized.empty() ? "" : report.unquantized[0].reason;
}

TEST(Quantize, WhatStaysIsListedWithTheReason) {
  Tied retained(DType::f32);
  EXPECT_EQ(reason(retained.p, {rule("int8")}, {"index_select"}), "'index_select' keeps it");
  Tied other(DType::f32);
  EXPECT_EQ(reason(other.p, {rule("int8", "index_*"), rule("int8", "matmul")}, {"matmul"}), "'matmul' keeps it");
  const RoundedNumbers w(DType::f32, 3200, 3);
  {
    TestProgram p;
    p.output(p.b().matmul(p.input(DType::f32, {2, 40}), p.b().constant(DType::f32, {40, 80}, w.bytes.data())));
    EXPECT_EQ(reason(p, {rule("mxfp4")}), "its rows of 40 elements are not divisible by blocks of 32");
  }
  {
    TestProgram p;
    p.output(p.b().matmul(p.b().constant(DType::f32, {40, 80}, w.bytes.data()), p.input(DType::f32, {80, 2})));
    EXPECT_EQ(reason(p, {rule("int8")}), "it is operand 0 of matmul");
  }
  {
    TestProgram p;
    const ValueId both = p.b().constant(DType::f32, {40, 80}, w.bytes.data());
    p.output(p.b().matmul(p.input(DType::f32, {2, 40}), both));
    p.output(both);
    EXPECT_EQ(reason(p, {rule("int8")}), "it is an output");
  }
  {
    TestProgram p;
    p.output(p.b().matmul(p.input(DType::f32, {3200, 1}), p.b().constant(DType::f32, {1, 3200}, w.bytes.data())));
    EXPECT_EQ(reason(p, {rule("int8")}), "it would not become smaller");
  }
}

TEST(Quantize, RefusesPatternsThatMatchNothing) {
  for (const bool keep : {false, true}) {
    Tied m(DType::f32);
    try {
      quantize_weights(m.p.program(), {rule("int8", keep ? "" : "lm_hed")},
                       keep ? std::vector<std::string>{"lm_hed"} : std::vector<std::string>{});
      FAIL() << "no error";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("lm_hed"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace tern
