// Products run by the vendor's library in a session: their number and results.
#include <tern/graph.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes/convert.h"
#include "tests/gpu/libraries/library_test.h"
#include "tests/kernels/quantized_value.h"
#include "tests/runtime/quantized_constant.h"

namespace tern {
namespace {

using namespace testing;

TEST_F(LibraryTest, ALinearLayerIsOneProductWithItsBias) {
  EXPECT_EQ(run(linear(), linear_inputs()), 1u);
  EXPECT_EQ(result, kLinear);
}

/// linear() and an activation, as exported.
Model activated(const char* expression, bool is_read_twice) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2});
  const ValueId y = p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias});
  p.output(p.b().expr(expression, {{"self", y}}, DType::f32));
  if (is_read_twice) p.output(y);
  return p.model();
}
/// activated() with ReLU, with sums converted to the type in between.
Model rounded(DType between) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2});
  const ValueId y = p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias});
  p.output(p.b().expr("max(self, 0)", {{"self", p.b().cast(p.b().cast(y, between), DType::f32)}}, DType::f32));
  return p.model();
}
constexpr char kGelu[] = "0.5 * self * (1 + tanh(0.79788456080286535588 * (self + 0.044715 * (self * self * self))))";

TEST_F(LibraryTest, ActivationsAreParts) {
  const std::vector<Tensor> inputs = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({2, 3}, {1, 0, -1, 2, 1, 0}),
                                      floats({2}, {-1, 1})};  // results -3, 5, -3, 14
  for (const bool is_read_twice : {false, true}) {
    EXPECT_EQ(run(activated("max(self, 0)", is_read_twice), inputs), 1u);
    EXPECT_EQ(partition_count, is_read_twice ? 0u : 1u);
    EXPECT_EQ(result, (std::vector<float>{0, 5, 0, 14}));
    EXPECT_EQ(run(activated(kGelu, is_read_twice), inputs), 1u);
    EXPECT_EQ(partition_count, is_read_twice ? 0u : 1u);
    EXPECT_NEAR(result[0], -0.0036373, 1e-6);  // torch.nn.functional.gelu(-3, approximate="tanh")
    EXPECT_NEAR(result[1], 4.9999998, 1e-5);
  }
  // Steps of other types round, or count in whole numbers.
  for (const DType between : {DType::i64, DType::f16}) {
    EXPECT_EQ(run(rounded(between), {inputs[0], inputs[1], floats({2}, {-1, 1.0001220703125f})}), 1u);
    EXPECT_EQ(partition_count, 0u);
    EXPECT_EQ(result, (std::vector<float>{0, 5, 0, 14})) << "5 and 2^-13 in " << name_of(between);
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(run(activated("max(self, 0)", false), {inputs[0], inputs[1], floats({2}, {nan, 1})}), 1u);
  EXPECT_TRUE(std::isnan(result[0])) << "ReLU of a NaN";
  // The form of Hugging Face's models, over a product with joined rows.
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {3, 2});
  const ValueId y = p.b().reshape(p.b().matmul(x, w), {Dim(1), Dim(2), Dim(2)});
  p.output(
      p.b().expr("(0.5 * y) * (tanh((y + pow(y, 3) * 0.044715) * 0.7978845608028654) + 1)", {{"y", y}}, DType::f32));
  EXPECT_EQ(run(p.model(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 2}, {1, 0, 0, -1, -1, 1})}), 1u);
  EXPECT_EQ(partition_count, 1u);
  EXPECT_NEAR(result[0], -0.0454023, 1e-6);  // gelu(-2), tanh
  EXPECT_NEAR(result[1], 0.8411920, 1e-6);   // gelu(1)
  // GELU with erf is no epilogue.
  EXPECT_EQ(run(activated("0.5 * self * (1 + erf(self * 0.70710678118654752440))", false), inputs), 1u);
  EXPECT_EQ(partition_count, 0u);
  EXPECT_NEAR(result[0], -0.0040497, 1e-6);
}

TEST_F(LibraryTest, OneRowIsTernsOnCudaAndWhereItIsAskedFor) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2});
  p.output(p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias}));
  std::vector<Tensor> inputs = linear_inputs();
  inputs[0] = floats({1, 3}, {4, 5, 6});
  const bool is_cuda = std::string(device()) == "cuda";
  EXPECT_EQ(run(p.model(), inputs), is_cuda ? 0u : 1u);
  EXPECT_EQ(result, (std::vector<float>{8, 33}));
  for (const char* who : {"own", "library"}) {
    setenv(is_cuda ? "TERN_CUDA_ROWS" : "TERN_ROCM_ROWS", who, 1);
    EXPECT_EQ(run(p.model(), inputs), std::string(who) == "own" ? 0u : 1u) << who;
    EXPECT_EQ(result, (std::vector<float>{8, 33})) << who;
  }
}

TEST_F(LibraryTest, SumsWithAResidualArePartOfTheProduct) {
  const std::vector<float> residual = {100, 200, 300, 400};
  for (const bool has_bias : {true, false}) {
    for (const bool is_first : {true, false}) {
      TestProgram p;
      const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2}),
                    r = p.input(DType::f32, {1, 2, 2});
      const ValueId y = has_bias ? p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias})
                                 : p.b().matmul(x, p.b().transpose(w, 0, 1));
      p.output(p.b().expr(is_first ? "r + y" : "y + r", {{"r", r}, {"y", p.b().reshape(y, {Dim(1), Dim(2), Dim(2)})}},
                          DType::f32));
      std::vector<Tensor> inputs = linear_inputs();
      inputs.push_back(floats({1, 2, 2}, residual));
      EXPECT_EQ(run(p.model(), inputs), 1u);
      EXPECT_EQ(partition_count, 1u);
      EXPECT_EQ(result, has_bias ? (std::vector<float>{108, 224, 308, 433}) : (std::vector<float>{98, 204, 298, 413}));
    }
  }
}

TEST_F(LibraryTest, OtherSumsAreNodes) {
  std::vector<Tensor> inputs = linear_inputs();
  inputs.push_back(floats({2}, {100, 200}));
  for (const char* expression : {"y + r", "y - x", "y + y"}) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {2, 3}), bias = p.input(DType::f32, {2}),
                  r = p.input(DType::f32, {2});
    const ValueId y = p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1), bias});
    // A vector, a difference, and the product with itself.
    const std::string text = expression;
    p.output(text == "y + r"   ? p.b().expr(text, {{"y", y}, {"r", r}}, DType::f32)
             : text == "y - x" ? p.b().expr(text, {{"y", y}, {"x", p.b().slice(x, 1, Dim(0), Dim(2))}}, DType::f32)
                               : p.b().expr(text, {{"y", y}}, DType::f32));
    EXPECT_EQ(run(p.model(), inputs), 1u) << text;
    EXPECT_EQ(partition_count, 0u) << text;
    EXPECT_EQ(result, text == "y + r"   ? (std::vector<float>{108, 224, 108, 233})
                      : text == "y - x" ? (std::vector<float>{7, 22, 4, 28})
                                        : (std::vector<float>{16, 48, 16, 66}))
        << text;
  }
}

TEST_F(LibraryTest, ReproducibleRunsTakeNone) {
  PrepareOptions options;
  options.reproducible = true;
  EXPECT_EQ(run(linear(), linear_inputs(), options), 0u);
  EXPECT_EQ(result, kLinear);
}

TEST_F(LibraryTest, AFailedCallNamesTheLibrary) {
  PrepareOptions options;
  options.device = device();
  Session session(linear().prepare(options));
  EXPECT_EQ(values_of(session.run(linear_inputs())[0]), kLinear);
  const bool cuda = std::string(device()) == "cuda";
  emulator<void(const char*, std::uint64_t)>("tern_emulator_fail")(cuda ? "cuLaunchKernel" : "hipModuleLaunchKernel",
                                                                   1);
  try {
    session.run(linear_inputs());
    FAIL() << "the launch failed";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find(cuda ? "multiplying: cuBLASLt error" : "multiplying: hipBLASLt error"),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(values_of(session.run(linear_inputs())[0]), kLinear);
}

TEST_F(LibraryTest, OtherTypesAreTerns) {
  TestProgram p;
  const ValueId x = p.b().cast(p.input(DType::f32, {2, 3}), DType::i64);
  const ValueId y = p.b().cast(p.input(DType::f32, {3, 1}), DType::i64);
  p.output(p.b().cast(p.b().matmul(x, y), DType::f32));
  EXPECT_EQ(run(p.model(), {floats({2, 3}, {1, 2, 3, 4, 5, 6}), floats({3, 1}, {1, 1, 1})}), 0u);
  EXPECT_EQ(result, (std::vector<float>{6, 15}));
}

/// `rows` of whole numbers times the transpose of w [4, 12], from column `first` on, as int32.
Model integer_product(std::int64_t rows, std::int64_t depth, std::int64_t first, bool is_transposed) {
  TestProgram p;
  const ValueId x = p.b().cast(p.input(DType::f32, {Dim(rows), Dim(depth + first)}), DType::i8);
  const ValueId part = p.b().slice(x, 1, Dim(first), Dim(depth));
  ValueId w =
      p.b().cast(p.input(DType::f32, is_transposed ? Dims{Dim(4), Dim(depth)} : Dims{Dim(depth), Dim(4)}), DType::i8);
  if (is_transposed) w = p.b().transpose(w, 0, 1);
  const ValueId y = p.b().add(Op::matmul, {part, w}, {attr_dtype(DType::i32)});
  p.output(p.b().cast(y, DType::f32));
  return p.model();
}

TEST_F(LibraryTest, WholeNumbersOf8Bits) {
  const bool cuda = std::string(device()) == "cuda";
  struct Case {
    std::int64_t rows, depth, first;
    bool is_transposed, is_taken;
  };
  // NVIDIA's GPUs need rows and depth in multiples of four, and a transposed right operand.
  for (const Case c : {Case{3, 12, 0, true, true},
                       {3, 12, 4, true, true},
                       {3, 12, 1, true, !cuda},
                       {3, 10, 0, true, !cuda},
                       {3, 12, 0, false, !cuda}}) {
    std::vector<float> x(static_cast<std::size_t>(c.rows * (c.depth + c.first)), -128);
    std::vector<float> w(static_cast<std::size_t>(4 * c.depth), 127);
    x[static_cast<std::size_t>(c.first)] = 3;
    const std::vector<Tensor> inputs = {
        floats({c.rows, c.depth + c.first}, x),
        floats(c.is_transposed ? std::vector<std::int64_t>{4, c.depth} : std::vector<std::int64_t>{c.depth, 4}, w)};
    EXPECT_EQ(run(integer_product(c.rows, c.depth, c.first, c.is_transposed), inputs), c.is_taken ? 1u : 0u)
        << c.depth << c.first;
    EXPECT_EQ(result[0], static_cast<float>(127 * 3 - 127 * 128 * (c.depth - 1)));
    EXPECT_EQ(result[4], static_cast<float>(-127 * 128 * c.depth));
  }
}

TEST_F(LibraryTest, AGraphKeepsTheProduct) {
  PrepareOptions options;
  options.device = device();
  Session session(linear().prepare(options), Stream(device()));
  std::vector<Tensor> inputs = linear_inputs();
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(inputs);
  graph.capture_end();
  const std::uint64_t before = launches_of_libraries();
  for (int i = 0; i < 5; ++i) {
    inputs[2].span<float>()[0] = static_cast<float>(10 + i);
    graph.replay();
    session.stream().synchronize();
    EXPECT_EQ(values_of(outputs[0]),
              (std::vector<float>{8.0f + static_cast<float>(i), 24, 8.0f + static_cast<float>(i), 33}));
  }
  EXPECT_EQ(launches_of_libraries() - before, 5u);
}

TEST_F(LibraryTest, PrecisionRoundsTheOperands) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 1}), y = p.input(DType::f32, {1, 1});
  p.output(p.b().matmul(x, y));
  // 8 bits of bfloat16, 11 of TF32.
  const float eight = 1 + std::ldexp(1.0f, -8), eleven = 1 + std::ldexp(1.0f, -11);
  struct Case {
    Precision precision;
    float x, expected;
  };
  for (const Case c : {Case{Precision::exported, eleven, eleven},
                       {Precision::automatic, eight, eight},
                       {Precision::automatic, eleven, 1},
                       {Precision::bfloat16, eight, 1}}) {
    PrepareOptions options;
    options.precision = c.precision;
    EXPECT_EQ(run(p.model(), {floats({2, 1}, {c.x, c.x}), floats({1, 1}, {1})}, options), 1u);
    EXPECT_EQ(result, (std::vector<float>{c.expected, c.expected})) << static_cast<int>(c.precision);
  }
}

TEST_F(LibraryTest, PartsOfASumKeepTheirDigits) {
  TestProgram p;
  const ValueId x = p.b().cast(p.input(DType::f32, {2, 64}), DType::f16);
  const ValueId y = p.b().cast(p.input(DType::f32, {64, 1}), DType::f16);
  p.output(p.b().cast(p.b().matmul(x, y), DType::f32));
  std::vector<float> values(128);
  values[0] = values[64] = 2048;
  values[1] = values[40] = values[65] = values[104] = 1;  // 2049 is none of float16's numbers, 2050 is
  EXPECT_EQ(run(p.model(), {floats({2, 64}, values), floats({64, 1}, std::vector<float>(64, 1))}), 1u);
  EXPECT_EQ(result, (std::vector<float>{2050, 2050}));
}

TEST_F(LibraryTest, RowsThatBeginAnywhere) {
  // The second row of x begins at 4 bytes times 3: no vectorised algorithm may be chosen.
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3, 3}), y = p.input(DType::f32, {3, 1});
  p.output(p.b().matmul(p.b().slice(x, 0, Dim(1), Dim(2)), y));
  EXPECT_EQ(run(p.model(), {floats({3, 3}, {1, 1, 1, 1, 2, 3, 4, 5, 6}), floats({3, 1}, {1, 1, 1})}), 1u);
  EXPECT_EQ(result, (std::vector<float>{6, 15}));
}

/// 96 columns of x [2, 112], from `first` on, times the transpose of w [16, 96], in float8.
Model bytes(DType dtype, std::int64_t first, DType result_dtype) {
  TestProgram p;
  const ValueId x = p.b().cast(p.input(DType::f32, {2, 112}), dtype);
  const ValueId w = p.b().cast(p.input(DType::f32, {16, 96}), dtype);
  const ValueId part = p.b().slice(x, 1, Dim(first), Dim(96));
  const ValueId y = p.b().add(Op::matmul, {part, p.b().transpose(w, 0, 1)}, {attr_dtype(result_dtype)});
  p.output(result_dtype == DType::f32 ? y : p.b().cast(y, DType::f32));
  return p.model();
}

TEST_F(LibraryTest, Float8WhereTheDeviceHasIt) {
  const bool cuda = std::string(device()) == "cuda";
  const DType own = cuda ? DType::f8_e4m3fn : DType::f8_e4m3fnuz;
  const DType other = cuda ? DType::f8_e4m3fnuz : DType::f8_e4m3fn;
  std::vector<float> x(2 * 112, 2);
  x[0] = x[1] = 240;
  const std::vector<Tensor> inputs = {floats({2, 112}, x), floats({16, 96}, std::vector<float>(16 * 96, 0.5f))};
  struct Case {
    DType result;
    Precision precision;
    std::uint64_t calls;
  };
  // Hopper's sums of float8 have too few digits for float32 unless rounding is permitted.
  for (const Case& c : {Case{DType::bf16, Precision::exported, 1},
                        {DType::f16, Precision::exported, 1},
                        {DType::f32, Precision::exported, cuda ? 0u : 1u},
                        {DType::f32, Precision::automatic, 1},
                        {DType::f32, Precision::bfloat16, 1}}) {
    PrepareOptions options;
    options.precision = c.precision;
    // The library needs addresses that are multiples of 16; Tern copies all others.
    for (const std::int64_t first : {0, 1, 16}) {
      EXPECT_EQ(run(bytes(own, first, c.result), inputs, options), c.calls) << first << name_of(c.result);
      ASSERT_EQ(result.size(), 32u);
      EXPECT_EQ(result[0], 96.0f + 119.0f * static_cast<float>(first == 0 ? 2 : first == 1 ? 1 : 0)) << first;
      EXPECT_EQ(result[31], 96) << first;
    }
    EXPECT_EQ(run(bytes(other, 0, c.result), inputs, options), 0u);
  }
}

/// x [16, 32] times the transpose of w [16, 32] in float8, with their scales and perhaps a bias, as aten._scaled_mm.
Model scaled(Dims x_scale, Dims w_scale, DType result, bool has_bias) {
  TestProgram p;
  const DType eight = std::string(device()) == "cuda" ? DType::f8_e4m3fn : DType::f8_e4m3fnuz;
  const ValueId x = p.b().cast(p.input(DType::f32, {16, 32}), eight),
                w = p.b().cast(p.input(DType::f32, {16, 32}), eight);
  const ValueId y = p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1)}, {attr_dtype(DType::f32)});
  std::vector<ExprArg> all = {{"p", y}, {"x", p.input(DType::f32, x_scale)}, {"w", p.input(DType::f32, w_scale)}};
  if (has_bias) all.push_back({"bias", p.b().cast(p.input(DType::f32, {16}), result)});
  p.output(p.b().expr(has_bias ? "p * x * w + bias" : "p * x * w", all, DType::f32, result));
  return p.model();
}

TEST_F(LibraryTest, ScalesOfFloat8ArePartOfTheProduct) {
  const bool cuda = std::string(device()) == "cuda";
  std::vector<float> x, w, rows, columns, bias;
  for (int i = 0; i < 512; ++i) x.push_back(static_cast<float>(i % 5) - 2), w.push_back(static_cast<float>(i % 7) - 3);
  for (int i = 0; i < 16; ++i)
    rows.push_back(std::ldexp(1.0f, i % 3)), columns.push_back(std::ldexp(1.0f, -(i % 4))),
        bias.push_back(static_cast<float>(i));
  struct Case {
    Dims x, w;
    DType result;
    bool has_bias;
    std::uint64_t expected_parts;
  };
  const std::uint64_t on_cuda = cuda ? 1 : 0;
  for (const Precision precision : {Precision::exported, Precision::automatic})
    for (const Case& c : {Case{{}, {}, DType::bf16, false, 1},
                          {{1, 1}, {1}, DType::f32, false, 1},
                          {{}, {}, DType::f16, true, 1},
                          {{16, 1}, {1, 16}, DType::bf16, false, on_cuda},
                          {{16, 1}, {1, 16}, DType::f32, false, on_cuda},
                          {{16, 1}, {16}, DType::bf16, true, on_cuda},
                          {{16, 1}, {}, DType::bf16, false, 0},
                          {{}, {}, DType::f32, true, 0}}) {
      const auto scale = [](const Dims& shape, const std::vector<float>& all) {
        std::vector<std::int64_t> sizes;
        for (const Dim& d : shape) sizes.push_back(d.value());
        const bool is_one = std::ranges::all_of(sizes, [](std::int64_t n) { return n == 1; });
        return floats(sizes, is_one ? std::vector<float>{all[2]} : all);
      };
      std::vector<Tensor> inputs = {floats({16, 32}, x), floats({16, 32}, w)};
      inputs.push_back(scale(c.x, rows));
      inputs.push_back(scale(c.w, columns));
      const std::vector<float> x_scales = values_of(inputs[2]), w_scales = values_of(inputs[3]);
      if (c.has_bias) inputs.push_back(floats({16}, bias));
      PrepareOptions options;
      options.device = device();
      options.precision = precision;
      // A product with separate scales has a float32 result.
      const bool is_terns =
          cuda && precision == Precision::exported && (c.result == DType::f32 || c.expected_parts == 0);
      Session session(scaled(c.x, c.w, c.result, c.has_bias).prepare(options));
      session.run(inputs);
      const std::uint64_t before = launches_of_libraries();
      const Tensor& result = session.run(inputs)[0];
      std::vector<double> made(256);
      convert(result.data(), c.result, made.data(), DType::f64, 256);
      EXPECT_EQ(launches_of_libraries() - before, is_terns ? 0u : 1u);
      EXPECT_EQ(session.stats().partitions, is_terns ? 0u : c.expected_parts)
          << c.x.size() << c.w.size() << name_of(c.result) << c.has_bias;
      for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t j = 0; j < 16; ++j) {
          float sum = 0;
          for (std::size_t k = 0; k < 32; ++k) sum += x[i * 32 + k] * w[j * 32 + k];
          sum = sum * (x_scales.size() == 1 ? x_scales[0] : x_scales[i]) *
                    (w_scales.size() == 1 ? w_scales[0] : w_scales[j]) +
                (c.has_bias ? bias[j] : 0);
          EXPECT_NEAR(made[i * 16 + j], static_cast<double>(sum),
                      c.result == DType::bf16 ? std::abs(sum) / 128 : std::abs(sum) / 1024)
              << i << ' ' << j;
        }
    }
}

TEST_F(LibraryTest, ScalesOfRowsMayLieAnywhere) {
  if (std::string(device()) != "cuda") GTEST_SKIP() << "it is cuBLASLt's";
  TestProgram p;
  const ValueId x = p.b().cast(p.input(DType::f32, {16, 32}), DType::f8_e4m3fn),
                w = p.b().cast(p.input(DType::f32, {16, 32}), DType::f8_e4m3fn);
  const ValueId y = p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1)}, {attr_dtype(DType::f32)});
  const ValueId both = p.input(DType::f32, {33});
  const ValueId rows = p.b().reshape(p.b().slice(both, 0, Dim(1), Dim(16)), {16, 1});
  const ValueId columns = p.b().slice(both, 0, Dim(17), Dim(16));
  p.output(p.b().expr("p * x * w", {{"p", y}, {"x", rows}, {"w", columns}}, DType::f32, DType::f32));
  std::vector<float> scales = {100};
  for (int i = 0; i < 32; ++i) scales.push_back(std::ldexp(1.0f, i % 5));
  const std::vector<Tensor> inputs = {floats({16, 32}, std::vector<float>(512, 1)),
                                      floats({16, 32}, std::vector<float>(512, 2)), floats({33}, scales)};
  PrepareOptions options;
  options.precision = Precision::automatic;
  EXPECT_EQ(run(p.model(), inputs, options), 1u);
  EXPECT_EQ(partition_count, 1u);
  for (std::size_t i = 0; i < 256; ++i) EXPECT_EQ(result[i], 64 * scales[1 + i / 16] * scales[17 + i % 16]) << i;
}

/// Elements around zero, exact in float8, and codes of scales around 1.
std::vector<float> small_numbers(std::int64_t count, int seed) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(static_cast<float>((i * 7 + seed) % 13 - 6) / 2);
  return all;
}
Tensor codes(std::int64_t rows, std::int64_t blocks, int seed) {
  Tensor t(DType::u8, {rows, blocks});
  for (std::int64_t i = 0; i < rows * blocks; ++i)
    t.span<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(124 + (i * 5 + seed) % 7);
  return t;
}

/// A matrix [rows, k] in blocks of 32 with scales as a separate value.
ValueId blocked_matrix(TestProgram& p, std::int64_t rows, std::int64_t k, DType numbers,
                       DType element = DType::f8_e4m3fn) {
  const ValueId elements = p.b().cast(p.input(DType::f32, {Dim(rows), Dim(k)}), element),
                scales = p.input(DType::u8, {Dim(rows), Dim(k / 32)});
  const std::vector<Attr> format = {attr(AttrKey::block, Dim(32)), attr(AttrKey::layout, Dim(0))};
  const ValueId packed = p.b().add(Op::mx_pack, {elements, scales}, format);
  return p.b().add(Op::dequantize, {packed}, {attr_dtype(numbers)});
}

/// True if the emulated device multiplies scaled blocks.
bool has_blocks() {
  const char* capability = std::getenv("TERN_EMULATOR_CAPABILITY");
  return std::string(device()) == "cuda" && capability != nullptr && std::atoi(capability) >= 10;
}

/// [160, 160] times the transposes of matrices [48, 160] and [16, 160]: the tiles of scales are not full.
TEST_F(LibraryTest, MicroscaledProducts) {
  constexpr std::int64_t kRows = 160, kDepth = 160, kColumns[] = {48, 16};
  for (const DType type : {DType::bf16, DType::f32}) {
    SCOPED_TRACE(std::string(name_of(type)));
    TestProgram p;
    std::vector<Tensor> inputs;
    for (const std::int64_t columns : kColumns) {
      const ValueId x = blocked_matrix(p, kRows, kDepth, type), w = blocked_matrix(p, columns, kDepth, type);
      inputs.push_back(floats({kRows, kDepth}, small_numbers(kRows * kDepth, 0)));
      inputs.push_back(codes(kRows, kDepth / 32, 1));
      inputs.push_back(floats({columns, kDepth}, small_numbers(columns * kDepth, 2)));
      inputs.push_back(codes(columns, kDepth / 32, static_cast<int>(columns)));
      std::vector<ValueId> operands = {x, p.b().transpose(w, 0, 1)};
      if (type == DType::bf16 && columns == 16) {
        operands.push_back(p.b().cast(p.input(DType::f32, {Dim(columns)}), type));
        inputs.push_back(floats({columns}, small_numbers(columns, 3)));
      }
      p.output(p.b().cast(p.b().add(Op::matmul, operands, {attr_dtype(type)}), DType::f32));
    }
    PrepareOptions here;
    here.reproducible = true;
    Session definition(p.model().prepare(here));
    const std::vector<Tensor> expected = definition.run(inputs);
    PrepareOptions options;
    options.device = device();
    Session session(p.model().prepare(options));
    session.run(inputs);
    const std::uint64_t before = launches_of_libraries();
    const std::vector<Tensor> found = session.run(inputs);
    EXPECT_EQ(launches_of_libraries() - before, 2u);  // else products of the widened values
    EXPECT_EQ(session.stats().partitions, has_blocks() ? 2u : 0u);
    for (std::size_t k = 0; k < 2; ++k) {
      const std::vector<float> a = values_of(expected[k]), b = values_of(found[k]);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], std::fabs(a[i]) * (type == DType::bf16 ? 0x1p-7 : 0x1p-18) + 1e-3) << k << ' ' << i;
    }
  }
}

/// A constant weight is read in the archive's layout, its scales in tiles; the activations have three axes.
TEST_F(LibraryTest, MicroscaledWeights) {
  constexpr std::int64_t kColumns = 32, kDepth = 96;
  TestProgram p;
  const ValueId elements = p.b().cast(p.input(DType::f32, {2, 8, Dim(kDepth)}), DType::f8_e5m2),
                scales = p.input(DType::u8, {2, 8, Dim(kDepth / 32)});
  const std::vector<Attr> rows = {attr(AttrKey::block, Dim(32)), attr(AttrKey::layout, Dim(0))},
                          tiles = {attr(AttrKey::block, Dim(32)), attr(AttrKey::layout, Dim(1))};
  const ValueId x =
      p.b().add(Op::dequantize, {p.b().add(Op::mx_pack, {elements, scales}, rows)}, {attr_dtype(DType::bf16)});
  std::vector<std::uint8_t> weight, of_tiles;
  for (std::int64_t i = 0; i < kColumns * kDepth; ++i) weight.push_back(static_cast<std::uint8_t>(i * 11 % 112));
  for (int i = 0; i < 512; ++i) of_tiles.push_back(static_cast<std::uint8_t>(125 + i % 4));
  std::vector<Attr> packed = tiles;
  packed.push_back(attr_dtype(DType::f8_e4m3fn));
  const ValueId w = p.b().add(
      Op::mx_pack,
      {p.b().constant(DType::u8, {kColumns, kDepth}, weight.data()), p.b().constant(DType::u8, {512}, of_tiles.data())},
      packed);
  p.output(p.b().add(Op::matmul, {x, w}, {attr_dtype(DType::f32)}));
  const std::vector<Tensor> inputs = {floats({2, 8, kDepth}, small_numbers(16 * kDepth, 5)), [] {
                                        Tensor t = codes(16, kDepth / 32, 2);
                                        Tensor shaped(DType::u8, {2, 8, kDepth / 32});
                                        std::ranges::copy(t.span<const std::uint8_t>(),
                                                          shaped.span<std::uint8_t>().begin());
                                        return shaped;
                                      }()};
  PrepareOptions here;
  here.reproducible = true;
  Session definition(p.model().prepare(here));
  const std::vector<float> expected = values_of(definition.run(inputs)[0]);
  EXPECT_EQ(run(p.model(), inputs), 1u);  // else the dequantized weight
  EXPECT_EQ(partition_count, has_blocks() ? 1u : 0u);
  ASSERT_EQ(result.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(result[i], expected[i], std::fabs(expected[i]) * 0x1p-16 + 0.05) << i;
}

/// Products of many rows by an int8 weight: Tern dequantizes the weight into scratch memory for the library, 32 MiB at
/// a time.
TEST_F(LibraryTest, QuantizedWeights) {
  struct Case {
    std::int64_t rows, columns, depth;
    Precision precision;
    std::uint64_t calls;
  };
  for (const Case& c : {Case{8, 80, 96, Precision::exported, 0}, Case{9, 80, 96, Precision::exported, 1},
                        Case{9, 80, 96, Precision::bfloat16, 1}, Case{9, 8650, 1000, Precision::exported, 2}}) {
    SCOPED_TRACE(std::to_string(c.rows) + " rows, " + std::to_string(c.columns) + " columns");
    TestProgram p;
    const QuantizedMatrix m{DType::i8, c.columns, c.depth, {.columns = 8, .scale = DType::f32}};
    const ValueId x = p.input(DType::f32, {Dim(c.rows), Dim(c.depth)}), bias = p.input(DType::f32, {Dim(c.columns)}),
                  w = quantized_constant(p, m, {c.columns, c.depth}, test::random_value(m, 3));
    p.output(p.b().add(Op::matmul, {x, w, bias}, {attr_dtype(DType::f32)}));
    const std::vector<Tensor> inputs = {floats({c.rows, c.depth}, small_numbers(c.rows * c.depth, 1)),
                                        floats({c.columns}, small_numbers(c.columns, 2))};
    PrepareOptions definition, options;
    definition.reproducible = true;
    options.precision = c.precision;
    const std::vector<float> expected = values_of(Session(p.model().prepare(definition)).run(inputs)[0]);
    EXPECT_EQ(run(p.model(), inputs, options), c.calls);
    ASSERT_EQ(result.size(), expected.size());
    // Rounding both operands to 8 bits changes a product of at most 3 * 254 by 3.
    const double error = c.precision == Precision::bfloat16 ? 3.0 * static_cast<double>(c.depth) : 0.5;
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(result[i], expected[i], error) << i;
  }
}

/// Products of float32 by 16 bits: the weight is widened, or the rows are rounded if the precision permits.
TEST_F(LibraryTest, SixteenBitWeightsBesideFloat32) {
  constexpr std::int64_t kRows = 9, kColumns = 64, kDepth = 80;
  for (const DType type : {DType::bf16, DType::f16}) {
    for (const Precision precision : {Precision::exported, Precision::bfloat16, Precision::automatic}) {
      SCOPED_TRACE(std::string(name_of(type)));
      TestProgram p;
      const ValueId x = p.input(DType::f32, {kRows, kDepth}), w = p.input(type, {kColumns, kDepth});
      p.output(p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1)}, {attr_dtype(DType::f32)}));
      // 1 + 2^-12 is exact only in float32.
      Tensor weight(type, {kColumns, kDepth});
      std::ranges::fill(weight.span<std::uint16_t>(), type == DType::bf16 ? 0x3f80 : 0x3c00);
      PrepareOptions options;
      options.precision = precision;
      const float number = 1 + 0x1p-12F;
      EXPECT_EQ(run(p.model(), {floats({kRows, kDepth}, std::vector<float>(kRows * kDepth, number)), weight}, options),
                1u);
      const float expected = static_cast<float>(kDepth) * (precision == Precision::exported ? number : 1);
      for (const float y : result) ASSERT_EQ(y, expected);
    }
  }
}

/// Other readers need the widened operand, and the library has no blocks of 16.
TEST_F(LibraryTest, OtherMicroscaledProductsAreTerns) {
  TestProgram p;
  const ValueId x = blocked_matrix(p, 16, 32, DType::f32), w = blocked_matrix(p, 16, 32, DType::f32);
  p.output(p.b().add(Op::matmul, {x, p.b().transpose(w, 0, 1)}, {attr_dtype(DType::f32)}));
  p.output(p.b().expr("x + 1", {{"x", x}}, DType::f32));
  const std::vector<Tensor> inputs = {floats({16, 32}, small_numbers(512, 0)), codes(16, 1, 0),
                                      floats({16, 32}, small_numbers(512, 4)), codes(16, 1, 3)};
  run(p.model(), inputs);
  EXPECT_EQ(partition_count, 0u);
  PrepareOptions here;
  here.reproducible = true;
  Session definition(p.model().prepare(here));
  const std::vector<float> expected = values_of(definition.run(inputs)[0]);
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(result[i], expected[i], 1e-3) << i;
}

TEST_F(LibraryTest, EveryFunctionOfProductsMayFail) {
  const Model model = scaled({}, {}, DType::f32, false);
  const std::vector<Tensor> inputs = {floats({16, 32}, std::vector<float>(512, 1)),
                                      floats({16, 32}, std::vector<float>(512, 2)), floats({}, {0.5f}),
                                      floats({}, {4})};
  const std::vector<float> expected(256, 128);
  PrepareOptions options;
  options.device = device();
  options.precision = Precision::automatic;
  EXPECT_EQ(run(model, inputs, options), 1u);
  EXPECT_EQ(result, expected);
  EXPECT_EQ(partition_count, 1u);
  for (const char* function :
       {"LtMatrixLayoutCreate", "LtMatrixLayoutSetAttribute", "LtMatmulDescCreate", "LtMatmulDescSetAttribute",
        "LtMatmulPreferenceCreate", "LtMatmulPreferenceSetAttribute", "LtMatmulAlgoGetHeuristic"}) {
    setenv("TERN_STAND_IN_FAILS", function, 1);
    EXPECT_EQ(run(model, inputs, options), 0u) << function;
    unsetenv("TERN_STAND_IN_FAILS");
    EXPECT_EQ(result, expected) << function;
  }
  Session session(model.prepare(options));
  EXPECT_EQ(values_of(session.run(inputs)[0]), expected);
  expect_failures(session, inputs, expected, {"LtMatmulDescSetAttribute", "LtMatmul("}, "BLASLt error");
}

}  // namespace
}  // namespace tern
