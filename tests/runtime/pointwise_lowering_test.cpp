// Elementwise lowerings beyond the one-operator cases: windows, quantization, dropout, draws, bit shifts, casts.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "exporter/lower/lower.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Floats = std::vector<float>;

CallArgument number(double v) {
  CallArgument o;
  o.kind = CallArgument::Kind::number;
  o.number = v;
  return o;
}
CallArgument integer(std::int64_t v) {
  CallArgument o;
  o.kind = CallArgument::Kind::integer;
  o.integer = v;
  return o;
}
CallArgument boolean(bool v) {
  CallArgument o = integer(v ? 1 : 0);
  o.kind = CallArgument::Kind::boolean;
  return o;
}
CallArgument tensor(ValueId v) {
  CallArgument o;
  o.kind = CallArgument::Kind::tensor;
  o.value = v;
  return o;
}

/// Runs an operator on an optional input "x" and other arguments; results as floats.
struct Lowered {
  TestProgram p;
  Call call;

  explicit Lowered(std::string target, DType result = DType::f32) {
    call.target = std::move(target);
    call.torch_version = "2.12.0";
    call.builder = &p.b();
    call.declared = {{result, {}}, {result, {}}};
  }
  Lowered& in(std::string_view name, Dims shape, DType dtype = DType::f32) {
    call.args.push_back({name, tensor(p.input(dtype, std::move(shape)))});
    return *this;
  }
  Lowered& arg(std::string_view name, CallArgument o) {
    call.args.push_back({name, std::move(o)});
    return *this;
  }
  std::vector<Floats> run(const std::vector<Tensor>& inputs) {
    const LowerFn lower = find_lowering(call.target);
    if (lower == nullptr) throw std::runtime_error(call.target + " has no lowering");
    const std::vector<ValueId> results = lower(p.b(), call);
    for (ValueId v : results) p.output(p.b().cast(v, DType::f32));
    Session s(p.model().prepare());
    std::vector<Floats> values;
    const auto& out = s.run(inputs);
    for (std::size_t i = 0; i < results.size(); ++i) values.push_back(values_of(out[i]));
    return values;
  }
};

void expect_near(const Floats& got, const Floats& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6) << i;
}

TEST(PointwiseLowering, Windows) {
  // Published definitions: a symmetric Hann window of five points, a periodic window of four.
  expect_near(
      Lowered("aten.hann_window.periodic").arg("window_length", integer(5)).arg("periodic", boolean(false)).run({})[0],
      {0, 0.5, 1, 0.5, 0});
  expect_near(Lowered("aten.hann_window.default").arg("window_length", integer(4)).run({})[0], {0, 0.5, 1, 0.5});
  expect_near(Lowered("aten.hamming_window.periodic")
                  .arg("window_length", integer(3))
                  .arg("periodic", boolean(false))
                  .run({})[0],
              {0.08F, 1, 0.08F});
  expect_near(Lowered("aten.bartlett_window.periodic")
                  .arg("window_length", integer(5))
                  .arg("periodic", boolean(false))
                  .run({})[0],
              {0, 0.5, 1, 0.5, 0});
  expect_near(Lowered("aten.blackman_window.periodic")
                  .arg("window_length", integer(5))
                  .arg("periodic", boolean(false))
                  .run({})[0],
              {0, 0.34F, 1, 0.34F, 0});
  // I0(12 sqrt(3/4)) / I0(12) and 1 / I0(12)
  expect_near(Lowered("aten.kaiser_window.beta")
                  .arg("window_length", integer(5))
                  .arg("periodic", boolean(false))
                  .arg("beta", number(12))
                  .run({})[0],
              {5.27734413e-05F, 0.2156727F, 1, 0.2156727F, 5.27734413e-05F});
  EXPECT_EQ(Lowered("aten.hann_window.default").arg("window_length", integer(1)).run({})[0], Floats{1});
  EXPECT_EQ(Lowered("aten.hann_window.default").arg("window_length", integer(0)).run({})[0], Floats{});
}

TEST(PointwiseLowering, FakeQuantization) {
  Lowered r("aten.fake_quantize_per_tensor_affine_cachemask.default");
  r.in("self", {4}).arg("scale", number(0.5)).arg("zero_point", integer(1)).arg("quant_min", integer(0));
  r.arg("quant_max", integer(7));
  const auto out = r.run({floats({4}, {0.6F, -3, 100, 1.25F})});
  EXPECT_EQ(out[0], (Floats{0.5F, -0.5F, 3, 1}));  // 1.25 / 0.5 is halfway: to even
  EXPECT_EQ(out[1], (Floats{1, 0, 0, 1}));
}

TEST(PointwiseLowering, DropoutKeepsTheMean) {
  Lowered r("aten.native_dropout.default");
  r.in("input", {20000}).arg("p", number(0.25)).arg("train", boolean(true));
  const auto out = r.run({floats({20000}, Floats(20000, 3))});
  double sum = 0;
  int kept = 0;
  for (std::size_t i = 0; i < out[0].size(); ++i) {
    EXPECT_EQ(out[0][i], out[1][i] != 0 ? 4.0F : 0.0F);
    sum += out[0][i];
    kept += out[1][i] != 0 ? 1 : 0;
  }
  EXPECT_NEAR(sum / 20000, 3, 0.1);
  EXPECT_NEAR(kept, 15000, 300);
}

TEST(PointwiseLowering, DrawsByWeight) {
  // Class 1 has no weight, class 2 three quarters.
  for (bool replacement : {false, true}) {
    Lowered r("aten.multinomial.default", DType::i64);
    r.in("self", {4000, 3}).arg("num_samples", integer(2)).arg("replacement", boolean(replacement));
    Floats weights;
    for (int i = 0; i < 4000; ++i) weights.insert(weights.end(), {1, 0, 3});
    const Floats drawn = r.run({floats({4000, 3}, weights)})[0];
    ASSERT_EQ(drawn.size(), 8000U);
    int second = 0;
    for (std::size_t i = 0; i < 8000; i += 2) second += drawn[i] == 2 ? 1 : 0;
    EXPECT_NEAR(second, 3000, 150) << replacement;
    if (replacement) {
      for (float v : drawn) EXPECT_NE(v, 1);
    }
  }
}

TEST(PointwiseLowering, ShiftsByMoreThanTheWidthShiftEverythingOut) {
  const auto shifted = [](const char* target, std::int64_t by, DType t) {
    Lowered r(target, t);
    r.in("self", {3}, DType::i32).arg("other", integer(by));
    Tensor x(DType::i32, {3});
    std::copy_n((const std::int32_t[]){5, -5, 1 << 30}, 3, x.span<std::int32_t>().begin());
    return r.run({x})[0];
  };
  EXPECT_EQ(shifted("aten.__lshift__.Scalar", 2, DType::i32), (Floats{20, -20, 0}));
  EXPECT_EQ(shifted("aten.__lshift__.Scalar", 32, DType::i32), (Floats{0, 0, 0}));
  EXPECT_EQ(shifted("aten.__lshift__.Scalar", -1, DType::i32), (Floats{0, 0, 0}));
  EXPECT_EQ(shifted("aten.__rshift__.Scalar", 1, DType::i32), (Floats{2, -3, 1 << 29}));
  EXPECT_EQ(shifted("aten.__rshift__.Scalar", 40, DType::i32), (Floats{0, -1, 0}));
}

/// PyTorch before 2.15 turns values too large for float8_e4m3fn into NaN, later versions saturate.
TEST(PointwiseLowering, Float8OverflowFollowsTheVersion) {
  for (const char* version : {"2.9.1", "2.14.0", "2.15.0", "3.0.0"}) {
    Lowered r("aten.to.dtype", DType::f8_e4m3fn);
    r.call.torch_version = version;
    const float v = r.in("self", {1}).run({floats({1}, {1000})})[0][0];
    if (std::string(version) < "2.15" || version[2] == '9') {
      EXPECT_TRUE(std::isnan(v)) << version;
    } else {
      EXPECT_EQ(v, 448) << version;
    }
  }
}

TEST(PointwiseLowering, NumbersDoNotWidenTensors) {
  // An int32 tensor and 2.5 are compared as floats; a float16 tensor and 0.1 in float16, with 0.1 rounded.
  Lowered r("aten.gt.Scalar", DType::boolean);
  r.in("self", {2}, DType::i32).arg("other", number(2.5));
  Tensor x(DType::i32, {2});
  x.span<std::int32_t>()[0] = 2;
  x.span<std::int32_t>()[1] = 3;
  EXPECT_EQ(r.run({x})[0], (Floats{0, 1}));

  Lowered half("aten.eq.Scalar", DType::boolean);
  half.call.args.push_back({"self", tensor(half.p.b().cast(half.p.input(DType::f32, {1}), DType::f16))});
  half.arg("other", number(0.1));
  EXPECT_EQ(half.run({floats({1}, {0.1F})})[0], (Floats{1}));
}

}  // namespace
}  // namespace tern
