// Convolutions as products by groups (kernels/portable/products.h), on every device: in reproducible mode the CPU's
// bits, else within the error of two roundings and another order of sums.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class ConvolutionsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, ConvolutionsTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct ConvolutionsCase {
  const char* name;
  DType type;
  Sizes x, w, strides, dilations, padding_before, padding_after;
  std::int64_t groups = 1;
  bool bias = false, channels_last = false;
  Sizes repeated = {};  ///< x expanded to these sizes
};

// The number of cases run on every device: emulated devices compile for seconds.
constexpr std::size_t kConvolutionsEverywhere = 2;

std::vector<ConvolutionsCase> some_cases() {
  return {
      {"3x3, channels of elements",
       DType::bf16,
       {2, 32, 9, 11},
       {24, 32, 3, 3},
       {1, 1},
       {1, 1},
       {1, 1},
       {1, 1},
       1,
       true},
      {"7x7 of 3 channels", DType::f32, {1, 3, 15, 13}, {17, 3, 7, 7}, {2, 1}, {1, 1}, {3, 0}, {3, 2}, 1, true},
      {"3x3 of 48 channels", DType::f32, {1, 48, 9, 7}, {20, 48, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true},
      {"7x7 of 3 channels", DType::bf16, {1, 3, 21, 19}, {32, 3, 7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}},
      {"1x1", DType::f16, {2, 40, 6, 7}, {33, 40, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, true},
      {"1x1 of a repeated column",
       DType::f32,
       {1, 40, 9, 1},
       {33, 40, 1, 1},
       {1, 1},
       {1, 1},
       {0, 0},
       {0, 0},
       1,
       false,
       false,
       {2, 40, 9, 8}},
  };
}

std::vector<ConvolutionsCase> all_convolutions() {
  std::vector<ConvolutionsCase> all = some_cases();
  for (const DType t : {DType::bf16, DType::f32}) {
    const std::vector<ConvolutionsCase> more = {
        {"groups", t, {1, 64, 8, 9}, {48, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2},
        {"channels last", t, {2, 32, 9, 9}, {32, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true, true},
        {"1x1, channels last", t, {2, 32, 9, 9}, {32, 32, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 1, true, true},
        {"1x1, every second position", t, {1, 64, 9, 9}, {64, 64, 1, 1}, {2, 2}, {1, 1}, {0, 0}, {0, 0}},
        {"5x3 with gaps", t, {1, 20, 14, 15}, {32, 20, 5, 3}, {2, 1}, {2, 3}, {4, 2}, {3, 4}, 1, true},
        {"one axis", t, {2, 24, 60}, {40, 24, 5}, {1}, {1}, {2}, {2}, 1, true},
        {"three axes", t, {1, 17, 5, 6, 7}, {24, 17, 3, 2, 3}, {1, 2, 1}, {1, 1, 2}, {1, 0, 1}, {1, 1, 2}},
        {"256 channels", t, {1, 256, 14, 14}, {128, 256, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
        {"many positions", t, {4, 64, 56, 56}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    };
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

std::vector<ConvolutionsCase> cases(const std::string& device) {
  if (all_cases()) return all_convolutions();
  std::vector<ConvolutionsCase> list = some_cases();
  if (device != "cuda") list.resize(kConvolutionsEverywhere);
  return list;
}

void add_convolution(TestProgram& p, const ConvolutionsCase& c, std::vector<Tensor>& inputs,
                     std::vector<std::string>& names) {
  Builder& b = p.b();
  const auto input = [&](const Sizes& sizes) {
    inputs.push_back(numbers(c.type, sizes, inputs.size() + 1));
    return p.input(c.type, Dims(sizes.begin(), sizes.end()));
  };
  const auto dims = [](const Sizes& values) { return Dims(values.begin(), values.end()); };
  ValueId x = 0;
  if (c.channels_last) {
    x = b.permute(input({c.x[0], c.x[2], c.x[3], c.x[1]}), {0, 3, 1, 2});
  } else {
    x = input(c.x);
  }
  if (!c.repeated.empty()) x = b.expand(x, dims(c.repeated));
  std::vector<ValueId> operands = {x, input(c.w)};
  if (c.bias) operands.push_back(input({c.w[0]}));
  p.output(b.add(Op::convolution, operands,
                 {attr(AttrKey::strides, dims(c.strides)), attr(AttrKey::dilations, dims(c.dilations)),
                  attr(AttrKey::before, dims(c.padding_before)), attr(AttrKey::after, dims(c.padding_after)),
                  attr(AttrKey::groups, Dim(c.groups)), attr(AttrKey::output_pads, Dims(c.strides.size(), Dim(0)))}));
  names.push_back(std::string(tern::name_of(c.type)) + " " + c.name);
}

struct Cases {
  TestProgram p;
  std::vector<std::string> names;
  std::vector<Tensor> inputs;
  std::vector<ConvolutionsCase> list;
  explicit Cases(const std::string& device) : list(cases(device)) {
    for (const ConvolutionsCase& c : list) add_convolution(p, c, inputs, names);
  }
};

TEST_P(ConvolutionsTest, HaveTheDefinitionsBits) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  Cases all(GetParam());
  expect_same_bits(GetParam(), all.p, all.names, all.inputs);
}

TEST_P(ConvolutionsTest, AreNearTheDefinition) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  Cases all(GetParam());
  PrepareOptions here = options_on("cpu");
  here.reproducible = true;
  Session definition(all.p.model().prepare(here)), device(all.p.model().prepare(options_on(GetParam())));
  const std::vector<Tensor>&expected = definition.run(all.inputs), &found = device.run(all.inputs);
  for (std::size_t i = 0; i < all.list.size(); ++i) {
    SCOPED_TRACE(all.names[i]);
    const ConvolutionsCase& c = all.list[i];
    double depth = 1;
    for (std::size_t k = 1; k < c.w.size(); ++k) depth *= static_cast<double>(c.w[k]);
    const double step = c.type == DType::bf16 ? 0x1p-7 : c.type == DType::f16 ? 0x1p-10 : 0;
    const std::vector<double> x = doubles(expected[i]), y = doubles(found[i]);
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t k = 0; k < x.size(); ++k)  // operands are below 4
      ASSERT_NEAR(y[k], x[k], std::fabs(x[k]) * step + depth * 16 * 0x1p-22) << k;
  }
}

}  // namespace
}  // namespace tern
