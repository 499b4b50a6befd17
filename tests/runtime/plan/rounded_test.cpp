// Values stored as bfloat16 because all of their readers round: no other result may change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "dtypes/convert.h"
#include "exporter/rewrite.h"
#include "kernels/cpu/machine.h"
#include "runtime/prepared.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;

/// Storage types of the results of products, convolutions and attention.
struct RoundedSeen : PlanObserver {
  void prepared(std::uint32_t, std::uint32_t, const Kernel&, const KernelCall& call, AlgorithmChoice) override {
    stored.push_back(call.out[0].dtype);
  }
  std::vector<DType> stored;
};

struct RoundedResult {
  std::vector<std::vector<float>> values;
  std::vector<DType> stored;
};

/// Runs the program of `make`, which returns the values between its layers and its results. `kept` also outputs the
/// former, so they must stay float32.
template <class Make>
RoundedResult run(const std::vector<std::int64_t>& sizes, const std::vector<float>& x, const Make& make, bool kept) {
  TestProgram p;
  std::vector<ValueId> between;
  const std::vector<ValueId> results = make(p, p.input(DType::f32, Dims(sizes.begin(), sizes.end())), &between);
  for (ValueId v : results) p.output(v);
  if (kept) {
    for (ValueId v : between) p.output(v);
  }
  RoundedSeen seen;
  PrepareOptions options;
  options.precision = Precision::bfloat16;
  options.weight_cache = "off";
  const auto prepared = prepare_program(p.model().program(), options, {.listeners = {.observer = &seen}});
  Session session((PreparedModel(prepared)));
  RoundedResult r;
  const std::vector<Tensor>& out = session.run({floats(sizes, x)});
  for (std::size_t i = 0; i < results.size(); ++i) r.values.push_back(values_of(out[i]));
  r.stored = seen.stored;
  return r;
}

template <class Make>
RoundedResult same_bits(const std::vector<std::int64_t>& sizes, const std::vector<float>& x, const Make& make) {
  const RoundedResult plain = run(sizes, x, make, true);
  RoundedResult rounded = run(sizes, x, make, false);
  EXPECT_EQ(rounded.values, plain.values);
  for (DType t : plain.stored) EXPECT_EQ(t, DType::f32);
  return rounded;
}

ValueId convolution(TestProgram& p, ValueId x, std::int64_t in, std::int64_t out, std::int64_t kernel) {
  const auto weight = random_floats(out * in * kernel * kernel, static_cast<unsigned>(in + kernel));
  const Dims around{kernel / 2, kernel / 2};
  return p.b().add(Op::convolution, {x, p.state({out, in, kernel, kernel}, weight, false)},
                   {{AttrKey::before, around}, {AttrKey::after, around}});
}

std::vector<ValueId> convolutions(TestProgram& p, ValueId x, std::vector<ValueId>* between) {
  const auto relu = [&](ValueId v) { return p.b().expr("max(v, 0)", {{"v", v}}, DType::f32); };
  const ValueId first = relu(convolution(p, x, 32, 64, 3)), second = relu(convolution(p, first, 64, 64, 3)),
                third = convolution(p, second, 64, 32, 1);
  between->assign({first, second});
  return {p.b().expr("a + b", {{"a", third}, {"b", x}}, DType::f32)};
}

TEST(Rounded, ImagesBetweenConvolutions) {
  const RoundedResult r = same_bits({2, 32, 9, 7}, random_floats(2 * 32 * 63, 1), convolutions);
  if (!cpu::rows_pay()) GTEST_SKIP() << "bfloat16 is no faster here";
  EXPECT_EQ(r.stored, (std::vector{DType::bf16, DType::bf16, DType::f32}));
}

TEST(Rounded, WhatIsNotFiniteIsComputedAgainFromIt) {
  for (const float strange : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    std::vector<float> x = random_floats(2 * 32 * 63, 1);
    x[700] = strange;
    const std::vector<float> y = run({2, 32, 9, 7}, x, convolutions, false).values[0],
                             want = run({2, 32, 9, 7}, x, convolutions, true).values[0];
    std::size_t finite = 0;
    float largest = 0;
    for (float v : want) largest = std::isfinite(v) ? std::max(largest, std::abs(v)) : largest;
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(std::isfinite(y[i]), std::isfinite(want[i])) << i;
      if (!std::isfinite(y[i])) continue;
      ++finite;
      ASSERT_NEAR(y[i], want[i], 0.02 * largest);
    }
    EXPECT_GT(finite, y.size() / 2) << "it spreads over the windows that see it, and no further";
  }
}

ValueId linear(TestProgram& p, ValueId x, std::int64_t in, std::int64_t out, unsigned seed) {
  return p.b().matmul(x, p.b().transpose(p.state({out, in}, random_floats(out * in, seed), false), 0, 1));
}

/// Norm, attention of two heads, norm, two layers with an activation.
std::vector<ValueId> transformer(TestProgram& p, ValueId x, std::vector<ValueId>* between) {
  Builder& b = p.b();
  const auto norm = [&](ValueId v) {
    return b.add(Op::layer_norm, {v}, {attr(AttrKey::k, Dim(1)), attr_numbers(AttrKey::epsilon, {1e-5})});
  };
  const ValueId first = norm(x);
  const auto heads = [&](unsigned seed) {
    const ValueId all = linear(p, first, 64, 64, seed);
    between->push_back(all);
    return b.permute(b.reshape(all, {1, 40, 2, 32}), {0, 2, 1, 3});
  };
  const ValueId q = heads(1), k = heads(2), v = heads(3);
  const ValueId seen = b.add(Op::attention, {q, k, v});
  const ValueId joined = b.reshape(b.permute(seen, {0, 2, 1, 3}), {1, 40, 64});
  const ValueId after = b.expr("a + b", {{"a", linear(p, joined, 64, 64, 4)}, {"b", x}}, DType::f32);
  const ValueId second = norm(after);
  const ValueId wide = linear(p, second, 64, 128, 5), active = b.expr("x * sigmoid(x)", {{"x", wide}}, DType::f32);
  between->insert(between->end(), {first, seen, after, second, active});
  return {b.expr("a + b", {{"a", linear(p, active, 128, 64, 6)}, {"b", after}}, DType::f32)};
}

TEST(Rounded, ValuesBetweenTheLayersOfATransformer) {
  const RoundedResult r = same_bits({1, 40, 64}, random_floats(40 * 64, 1), transformer);
  if (!cpu::rows_pay()) GTEST_SKIP() << "bfloat16 is no faster here";
  // Queries, keys, values; the attention's result; the wide layer; the last layer.
  EXPECT_EQ(r.stored, (std::vector{DType::bf16, DType::bf16, DType::bf16, DType::f32, DType::bf16, DType::f32}));
}

TEST(Rounded, ASecondReaderGetsAllDigits) {
  const auto make = [](TestProgram& p, ValueId x, std::vector<ValueId>* between) {
    const ValueId y = linear(p, x, 64, 64, 1);
    between->push_back(y);
    return std::vector<ValueId>{linear(p, y, 64, 32, 2), p.b().expr("exp(y)", {{"y", y}}, DType::f32)};
  };
  for (DType t : same_bits({40, 64}, random_floats(40 * 64, 1), make).stored) EXPECT_EQ(t, DType::f32);
}

TEST(Rounded, UnreadInputsAndUnusedViewsMakeNoDifference) {
  const auto make = [](TestProgram& p, ValueId x, std::vector<ValueId>* between) {
    FunctionInput unread;
    unread.kind = FunctionInput::Kind::none;
    unread.name = "mask";
    Function& f = p.program().functions[0];
    f.inputs.insert(f.inputs.begin(), unread);
    const ValueId y = linear(p, x, 64, 64, 1);
    between->push_back(y);
    p.b().reshape(y, {64, 40});
    f.nodes.back().outputs[0] = kNoValue;
    return std::vector<ValueId>{linear(p, y, 64, 32, 2)};
  };
  const std::vector<DType> stored = same_bits({40, 64}, random_floats(40 * 64, 1), make).stored;
  if (!cpu::rows_pay()) GTEST_SKIP() << "bfloat16 is no faster here";
  EXPECT_EQ(stored, (std::vector{DType::bf16, DType::f32}));
}

/// Result types of two layers with bfloat16 weights; `shared`: another function multiplies by the same weights.
std::vector<DType> stored_by_layers(bool shared) {
  TestProgram p;
  const std::vector<float> numbers = random_floats(64 * 64, 1);
  std::vector<std::byte> weight(numbers.size() * 2);
  convert(numbers.data(), DType::f32, weight.data(), DType::bf16, 64 * 64);
  const auto layers = [](Builder& b, ValueId x, ValueId first, ValueId second) {
    return b.matmul(b.matmul(x, b.transpose(first, 0, 1)), b.transpose(second, 0, 1));
  };
  const ValueId first = p.b().constant(DType::bf16, {64, 64}, weight.data());
  std::ranges::reverse(weight);  // other numbers
  const ValueId second = p.b().constant(DType::bf16, {64, 64}, weight.data());
  p.output(layers(p.b(), p.input(DType::f32, {40, 64}), first, second));
  if (shared) {
    const std::uint32_t decode = p.add_body();
    Function& f = p.program().functions[decode];
    f.name = "decode";
    f.entry = true;
    const ValueId x = p.input(DType::f32, {1, 64}, decode),
                  again[] = {value_of_state(p.program(), f, 0), value_of_state(p.program(), f, 1)};
    Builder b(p.program(), decode);
    p.output(layers(b, x, again[0], again[1]), decode);
  }
  RoundedSeen seen;
  PrepareOptions options;
  options.precision = Precision::bfloat16;
  options.weight_cache = "off";
  const auto prepared = prepare_program(p.model().program(), options, {.listeners = {.observer = &seen}});
  const Tensor x = floats({40, 64}, random_floats(40 * 64, 2));
  Session((PreparedModel(prepared))).run("forward", std::span<const Tensor>(&x, 1));
  return seen.stored;
}

TEST(Rounded, WeightsThatFunctionsShareMakeNoDifference) {
  if (!cpu::rows_pay()) GTEST_SKIP() << "bfloat16 is no faster here";
  for (const bool shared : {false, true})
    EXPECT_EQ(stored_by_layers(shared), (std::vector{DType::bf16, DType::f32})) << shared;
}

}  // namespace
}  // namespace tern
