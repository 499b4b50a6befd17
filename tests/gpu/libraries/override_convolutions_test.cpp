// Convolutions run by the vendor's library in a session: their number and results.
#include <tern/graph.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "dtypes/convert.h"
#include "tests/gpu/libraries/library_test.h"

namespace tern {
namespace {

using namespace testing;

/// Launches of Tern's kernel for bias and ReLU so far.
std::uint64_t launches_of_ends() {
  static auto* const launches = emulator<std::uint64_t(const char*)>("tern_emulator_launches");
  return launches == nullptr ? 0 : launches("tern_end");
}

/// A channel of 3 x 3, a 2 x 2 window with a row of padding before, and a bias.
Model convolution(bool has_relu) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1, 1, 3, 3}), w = p.input(DType::f32, {1, 1, 2, 2}),
                b = p.input(DType::f32, {1});
  const ValueId y = p.b().add(Op::convolution, {x, w, b}, {attr(AttrKey::before, Dims{1, 0})});
  p.output(has_relu ? p.b().expr("max(y, 0)", {{"y", y}}, DType::f32) : y);
  return p.model();
}
std::vector<Tensor> images(float last, float bias) {
  return {floats({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, last}), floats({1, 1, 2, 2}, {0, 0, 1, 1}),
          floats({1}, {bias})};
}

TEST_F(LibraryTest, ConvolutionsAreTheLibrarys) {
  const bool cuda = std::string(device()) == "cuda";
  const float eleven = 1 + std::ldexp(1.0f, -11);  // 11 bits of the fraction: TF32 has 10
  // MIOpen pads both ends equally, so it cannot pad only before the image.
  EXPECT_EQ(run(convolution(false), images(eleven, 10)), cuda ? 1u : 0u);
  EXPECT_EQ(result, (std::vector<float>{13, 15, 19, 21, 25, 18 + eleven}));
  PrepareOptions options;
  options.precision = Precision::automatic;
  EXPECT_EQ(run(convolution(false), images(eleven, 10), options), cuda ? 1u : 0u);
  EXPECT_EQ(result.back(), cuda ? 19 : 18 + eleven);
}

TEST_F(LibraryTest, ConvolutionsEndInRelu) {
  const std::uint64_t calls = std::string(device()) == "cuda" ? 1 : 0;
  EXPECT_EQ(run(convolution(true), images(9, -10)), calls);
  EXPECT_EQ(partition_count, calls);
  EXPECT_EQ(result, (std::vector<float>{0, 0, 0, 1, 5, 7}));
  EXPECT_EQ(run(convolution(true), images(std::numeric_limits<float>::quiet_NaN(), -10)), calls);
  EXPECT_TRUE(std::isnan(result.back())) << "ReLU of a NaN";
}

/// Two images of 4 channels of 3 x 3 in 2 groups, a 2 x 2 window, padding of one on all sides, stride 2.
enum class Images { packed, channels_last, parts_of_wider_ones };
Model groups(DType dtype, bool has_bias, bool has_relu, Images images = Images::packed) {
  TestProgram p;
  const Dims shapes[] = {{2, 4, 3, 3}, {2, 3, 3, 4}, {2, 4, 3, 5}};
  ValueId x = p.b().cast(p.input(DType::f32, shapes[static_cast<int>(images)]), dtype);
  if (images == Images::channels_last) x = p.b().permute(x, {0, 3, 1, 2});
  if (images == Images::parts_of_wider_ones) x = p.b().slice(x, 3, Dim(1), Dim(3));
  std::vector<ValueId> inputs = {x, p.b().cast(p.input(DType::f32, {2, 2, 2, 2}), dtype)};
  if (has_bias) inputs.push_back(p.b().cast(p.input(DType::f32, {2}), dtype));
  ValueId y = p.b().add(Op::convolution, inputs,
                        {attr(AttrKey::before, Dims{1, 1}), attr(AttrKey::after, Dims{1, 1}),
                         attr(AttrKey::strides, Dims{2, 2}), attr(AttrKey::groups, Dim(2))});
  if (has_relu) y = p.b().expr("max(y, 0)", {{"y", y}}, dtype);
  p.output(p.b().cast(y, DType::f32));
  return p.model();
}

TEST_F(LibraryTest, ConvolutionsInGroups) {
  std::vector<float> pixels, weights;
  for (int i = 0; i < 72; ++i) pixels.push_back(static_cast<float>(i % 7) - 3);
  for (int i = 0; i < 16; ++i) weights.push_back(static_cast<float>(i % 5) - 2);
  const float bias[] = {-2, 3};
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (int kind = 0; kind < 4; ++kind) {
      const bool has_bias = (kind & 1) != 0, has_relu = (kind & 2) != 0;
      std::vector<Tensor> inputs = {floats({2, 4, 3, 3}, pixels), floats({2, 2, 2, 2}, weights)};
      if (has_bias) inputs.push_back(floats({2}, {bias[0], bias[1]}));
      EXPECT_EQ(run(groups(dtype, has_bias, has_relu), inputs), 1u) << name_of(dtype) << kind;
      EXPECT_EQ(partition_count, has_relu && dtype == DType::f32 ? 1u : 0u)
          << "ReLU of 16 bits is one node with its cast";
      std::vector<float> expected;
      for (int n = 0; n < 2; ++n)
        for (int g = 0; g < 2; ++g)
          for (int r = 0; r < 2; ++r)
            for (int c = 0; c < 2; ++c) {
              float sum = has_bias ? bias[g] : 0;
              for (int d = 0; d < 2; ++d)
                for (int i = 0; i < 2; ++i)
                  for (int j = 0; j < 2; ++j) {
                    const int row = 2 * r - 1 + i, column = 2 * c - 1 + j;
                    if (row < 0 || column < 0 || row > 2 || column > 2) continue;
                    sum += pixels[static_cast<std::size_t>(((n * 4 + g * 2 + d) * 3 + row) * 3 + column)] *
                           weights[static_cast<std::size_t>(((g * 2 + d) * 2 + i) * 2 + j)];
                  }
              expected.push_back(has_relu ? std::max(sum, 0.0f) : sum);
            }
      EXPECT_EQ(result, expected) << name_of(dtype) << kind;
      // Integers, exact in each type.
      std::vector<float> last;
      for (std::size_t n = 0; n < 2; ++n)
        for (std::size_t at = 0; at < 9; ++at)
          for (std::size_t c = 0; c < 4; ++c) last.push_back(pixels[(n * 4 + c) * 9 + at]);
      inputs[0] = floats({2, 3, 3, 4}, last);
      // MIOpen gets packed images only, since it ignores strides.
      const std::uint64_t calls = std::string(device()) == "cuda" ? 1 : 0;
      EXPECT_EQ(run(groups(dtype, has_bias, has_relu, Images::channels_last), inputs), calls);
      EXPECT_EQ(result, expected) << "channels last";
      std::vector<float> wider;
      for (std::size_t row = 0; row < 24; ++row)
        for (std::size_t column = 0; column < 5; ++column)
          wider.push_back(column == 0 || column == 4 ? 100 : pixels[row * 3 + column - 1]);
      inputs[0] = floats({2, 4, 3, 5}, wider);
      EXPECT_EQ(run(groups(dtype, has_bias, has_relu, Images::parts_of_wider_ones), inputs), calls);
      EXPECT_EQ(result, expected) << "parts of wider images";
    }
  }
}

/// Rounds the value to the type.
float in(DType dtype, float value) {
  std::uint16_t bits = 0;
  convert(&value, DType::f32, &bits, dtype, 1);
  convert(&bits, dtype, &value, DType::f32, 1);
  return value;
}

// PyTorch on GPUs: the library rounds the sums, a second launch adds the bias and rounds again.
TEST_F(LibraryTest, BiasAndReluOf16BitsAreOneMoreLaunch) {
  enum Result { packed, channels_last, part_of_a_wider_one };
  constexpr std::int64_t kChannels = 3, kPlane = 15, kImages = 2;  // 90 elements: no whole number of eight
  const float weights[] = {129, -65, 1}, bias[] = {1001, 0.375f, -33};
  for (const DType dtype : {DType::f16, DType::bf16})
    for (int kind = 0; kind < 12; ++kind) {
      const bool has_bias = (kind & 1) != 0, has_relu = (kind & 2) != 0;
      const auto kept = static_cast<Result>(kind / 4);
      SCOPED_TRACE(std::string(name_of(dtype)) + ' ' + std::to_string(kind));
      TestProgram p;
      const ValueId x = p.b().cast(p.input(DType::f32, {kImages, 1, 3, 5}), dtype),
                    w = p.b().cast(p.input(DType::f32, {kChannels, 1, 1, 1}), dtype);
      std::vector<ValueId> operands = {x, w};
      if (has_bias) operands.push_back(p.b().cast(p.input(DType::f32, {kChannels}), dtype));
      ValueId y = p.b().add(Op::convolution, operands);
      if (has_relu) y = p.b().expr("max(y, 0)", {{"y", y}}, dtype);
      if (kept == channels_last) y = p.b().permute(y, {0, 2, 3, 1});
      if (kept == part_of_a_wider_one) y = p.b().add(Op::concat, {x, y}, {attr(AttrKey::axis, Dim(1))});
      p.output(y);

      std::vector<float> pixels;
      for (int i = 0; i < kImages * kPlane; ++i) pixels.push_back(static_cast<float>(i % 9 - 4) * 33);
      pixels.back() = std::numeric_limits<float>::quiet_NaN();
      std::vector<Tensor> inputs = {floats({kImages, 1, 3, 5}, pixels),
                                    floats({kChannels, 1, 1, 1}, {weights[0], weights[1], weights[2]})};
      if (has_bias) inputs.push_back(floats({kChannels}, {bias[0], bias[1], bias[2]}));
      PrepareOptions options;
      options.device = device();
      Session session(p.model().prepare(options));
      session.run(inputs);
      const std::uint64_t calls = launches_of_libraries(), ends = launches_of_ends();
      const Tensor found = session.run(inputs)[0];
      EXPECT_EQ(launches_of_libraries() - calls, 1u);
      EXPECT_EQ(launches_of_ends() - ends, has_bias || has_relu ? 1u : 0u);
      EXPECT_EQ(session.stats().partitions, has_relu ? 1u : 0u);

      const auto values = found.span<const std::uint16_t>();
      for (std::int64_t n = 0; n < kImages; ++n)
        for (std::int64_t c = 0; c < kChannels; ++c)
          for (std::int64_t i = 0; i < kPlane; ++i) {
            float expected = in(dtype, pixels[static_cast<std::size_t>(n * kPlane + i)] * weights[c]);
            if (has_bias) expected = in(dtype, expected + in(dtype, bias[c]));
            if (has_relu && expected < 0) expected = 0;
            const std::int64_t at = kept == packed          ? (n * kChannels + c) * kPlane + i
                                    : kept == channels_last ? (n * kPlane + i) * kChannels + c
                                                            : (n * (kChannels + 1) + c + 1) * kPlane + i;
            float value = 0;
            convert(&values[static_cast<std::size_t>(at)], dtype, &value, DType::f32, 1);
            if (std::isnan(expected)) {
              ASSERT_TRUE(std::isnan(value)) << n << ' ' << c << ' ' << i;
            } else {
              ASSERT_EQ(value, expected) << n << ' ' << c << ' ' << i;
            }
          }
    }
}

TEST_F(LibraryTest, ConvolutionsOfEqualSizesShareAPlan) {
  if (std::string(device()) != "cuda") GTEST_SKIP() << "MIOpen keeps its solutions itself";
  PrepareOptions options;
  options.device = device();
  Session first(convolution(true).prepare(options));
  first.run(images(9, -10));
  setenv("TERN_STAND_IN_FAILS", "of a plan", 1);
  EXPECT_EQ(run(convolution(true), images(9, -10)), 1u);
  EXPECT_EQ(result, (std::vector<float>{0, 0, 0, 1, 5, 7}));
  EXPECT_EQ(run(convolution(false), images(9, 10)), 0u) << "without ReLU it is another one";
  options.precision = Precision::automatic;
  EXPECT_EQ(run(convolution(true), images(9, -10), options), 0u) << "one that may round is another one";
  unsetenv("TERN_STAND_IN_FAILS");
}

TEST_F(LibraryTest, EveryFunctionOfMiopenMayFail) {
  if (std::string(device()) == "cuda") GTEST_SKIP() << "it is AMD's";
  const Model model = groups(DType::f32, true, true);
  const std::vector<Tensor> inputs = {floats({2, 4, 3, 3}, std::vector<float>(72, 1)),
                                      floats({2, 2, 2, 2}, std::vector<float>(16, 1)), floats({2}, {-2, 3})};
  EXPECT_EQ(run(model, inputs), 1u);
  const std::vector<float> expected = result;
  for (const char* function :
       {"miopenCreateTensorDescriptor", "miopenSetTensorDescriptor", "miopenCreateConvolutionDescriptor",
        "miopenInitConvolutionNdDescriptor", "miopenSetConvolutionGroupCount", "miopenConvolutionForwardGetSolution",
        "miopenConvolutionForwardCompileSolution"}) {
    setenv("TERN_STAND_IN_FAILS", function, 1);
    EXPECT_EQ(run(model, inputs), 0u) << function;
    EXPECT_EQ(result, expected) << function;
    unsetenv("TERN_STAND_IN_FAILS");
  }
  PrepareOptions options;
  options.device = device();
  Session session(model.prepare(options));
  EXPECT_EQ(values_of(session.run(inputs)[0]), expected);
  expect_failures(session, inputs, expected, {"miopenSetStream", "miopenConvolutionForwardImmediate"}, "MIOpen error");
}

TEST_F(LibraryTest, PartsOfADeviceHaveThem) {
  PrepareOptions options;
  options.device = device();
  const Stream part(device(), {8, 0});
  Session product(linear().prepare(options), part), window(convolution(true).prepare(options), part);
  const std::vector<Tensor> rows = linear_inputs(), pixels = images(9, -10);
  Graph graph;
  graph.capture_begin(part);
  const std::vector<Tensor>& products = product.run(rows);
  const std::vector<Tensor>& windows = window.run(pixels);
  graph.capture_end();
  for (int i = 0; i < 2; ++i) graph.replay();
  part.synchronize();
  EXPECT_EQ(values_of(products[0]), kLinear);
  EXPECT_EQ(values_of(windows[0]), (std::vector<float>{0, 0, 0, 1, 5, 7}));
}

}  // namespace
}  // namespace tern
