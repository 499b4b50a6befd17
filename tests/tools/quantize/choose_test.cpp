// Formats for a target: measured errors, weights without samples, and unreachable targets.
#include "tools/quantize/choose.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/random_floats.h"
#include "tests/tools/verify/support.h"
#include "tools/quantize/samples.h"

namespace tern {
namespace {

using test::random_floats;
using test::set_module;
using testing::floats;
using testing::TestProgram;

constexpr std::int64_t kChooseWidth = 64;

/// Successive products of rows with square weights.
struct ChooseLayers {
  TestProgram p;
  explicit ChooseLayers(int count) {
    ValueId v = p.input(DType::f32, {4, kChooseWidth});
    for (int i = 0; i < count; ++i) {
      set_module(p, "layer" + std::to_string(i));
      v = product(v, 2 + static_cast<unsigned>(i));
    }
    p.output(v);
  }
  ValueId product(ValueId v, unsigned seed) {
    return p.b().matmul(
        v, p.b().transpose(
               p.state({kChooseWidth, kChooseWidth}, random_floats(kChooseWidth * kChooseWidth, seed), false), 0, 1));
  }
  FloatProgram floats_of() const { return {p.model().program(), {}, ""}; }
  static Calls calls() { return {{floats({4, kChooseWidth}, random_floats(4 * kChooseWidth, 1))}}; }
};

std::vector<FormatLadder> ladder(const std::vector<std::string>& names) {
  QuantizeArguments a;
  a.target = 0;
  a.calibrate = {"x"};
  std::string list;
  for (const std::string& n : names) list += (list.empty() ? "" : ",") + n;
  a.formats = {list};
  return parse_quantize(a);
}

struct Measured {
  FloatProgram program;
  Calls calls;
  OutputErrors outputs;
  Ladders ladders;
  std::vector<WeightEffect> effects;

  Measured(const ChooseLayers& layers, const std::vector<std::string>& formats)
      : program(layers.floats_of()),
        calls(ChooseLayers::calls()),
        outputs(program.reference(), calls),
        ladders(ladders_of(program, ladder(formats))),
        effects(weight_effects(program, ladders, outputs, calls, [](std::size_t, std::size_t) {})) {}
  ChosenFormats choose(double target) const {
    return choose_formats(program, ladders, outputs, effects, target, [](std::size_t, std::size_t) {});
  }
};

std::string format_of(const ChosenFormats& chosen, const std::string& weight) {
  const quantize::Format* const f = chosen.choices.at(weight).recipe.format;
  return f == nullptr ? "floats" : std::string(f->name);
}

TEST(ChooseFormats, ReachesTheTarget) {
  const Measured run(ChooseLayers(4), {"mxfp4", "int4", "int8"});
  double bytes = 0;
  for (const double target : {10.0, 15.0, 20.0, 30.0, 38.0, 45.0}) {
    const ChosenFormats chosen = run.choose(target);
    EXPECT_TRUE(chosen.met) << target;
    EXPECT_GE(chosen.sqnr, target);
    EXPECT_EQ(chosen.sqnr, worst_sqnr(run.outputs.measure(run.program.exported(chosen.choices))));
    double now = 0;
    for (const WeightLadder& l : run.ladders.weights) {
      const int number = format_number(l, chosen.choices.at(l.source).recipe);
      now += static_cast<double>(number < 0 ? l.floats : l.formats[static_cast<std::size_t>(number)].bytes);
    }
    EXPECT_GE(now, bytes) << target;
    bytes = now;
  }
}

TEST(ChooseFormats, TheSmallestFormatWhereAnythingDoes) {
  const Measured run(ChooseLayers(2), {"int8", "mxfp4"});
  const ChosenFormats chosen = run.choose(-100);
  EXPECT_EQ(chosen.trials, 1u);
  for (const auto& [weight, choice] : chosen.choices) EXPECT_EQ(format_of(chosen, weight), "mxfp4") << weight;
}

TEST(ChooseFormats, NothingIsExactEnough) {
  const Measured run(ChooseLayers(2), {"mxfp4"});
  const ChosenFormats chosen = run.choose(100);
  EXPECT_FALSE(chosen.met);
  EXPECT_LT(chosen.sqnr, 40);
  EXPECT_GT(chosen.sqnr, 10) << "the closest has one quantized weight";
  EXPECT_EQ(std::ranges::count_if(chosen.choices, [](const auto& c) { return c.second.recipe.format != nullptr; }), 1);
}

TEST(ChooseFormats, WeightsOutOfReachGetTheirMostExactFormat) {
  ChooseLayers layers(2);
  // Another entry function without samples.
  const std::uint32_t other = layers.p.add_body();
  Program& program = layers.p.program();
  program.functions[other].name = "other";
  program.functions[other].entry = true;
  const ValueId x = layers.p.input(DType::f32, {4, kChooseWidth}, other);
  Builder b(program, other);
  const std::vector<float> numbers = random_floats(kChooseWidth * kChooseWidth, 9);
  const ValueId w = b.constant(DType::f32, {kChooseWidth, kChooseWidth}, numbers.data());
  program.states.back().name = "unreached";
  layers.p.output(b.matmul(x, b.transpose(w, 0, 1)), other);
  const Measured run(layers, {"mxfp4", "int8", "int4"});
  ASSERT_EQ(run.ladders.weights.size(), 3u);
  const ChosenFormats chosen = run.choose(-100);
  EXPECT_EQ(format_of(chosen, "unreached"), "int8");
  EXPECT_EQ(format_of(chosen, "state0"), "mxfp4");
}

TEST(ChooseFormats, MeasuringLeavesTheProgramAsItIs) {
  const ChooseLayers layers(2);
  const std::shared_ptr<const Program> before = layers.p.model().program();
  const auto states = before->states.size(), storages = before->storages.size();
  const auto first = before->source->bytes(0).front();
  (void)Measured(layers, {"mxfp4", "int8"}).choose(30);
  EXPECT_EQ(before->states.size(), states);
  EXPECT_EQ(before->storages.size(), storages);
  EXPECT_EQ(before->source->bytes(0).front(), first);
  for (const State& s : before->states) EXPECT_FALSE(s.type.quantized());
}

}  // namespace
}  // namespace tern
