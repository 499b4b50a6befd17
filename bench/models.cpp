#include "bench/models.h"

#include <memory>
#include <random>

#include "exporter/builder.h"
#include "exporter/constants.h"

namespace tern::bench {
namespace {

/// A program with a single float32 input, built like by the importer.
class BenchModelBuilder {
 public:
  explicit BenchModelBuilder(BenchModel& model) : model_(model), builder_(model.program, 0) {
    model.program.source = std::make_shared<ExtendableSource>(nullptr, 0);
    model.program.functions.emplace_back();
    builder_.function().name = "forward";
    builder_.function().entry = true;
  }
  Builder& b() { return builder_; }

  ValueId input(std::vector<std::int64_t> sizes) {
    model_.input = sizes;
    const ValueId x = builder_.add_value({DType::f32, Dims(sizes.begin(), sizes.end())}, "x");
    builder_.function().inputs.push_back({FunctionInput::Kind::user, x, 0, "x", {}});
    return x;
  }
  /// Values keeping the magnitude of activations: no layer overflows.
  ValueId weight(const std::vector<std::int64_t>& sizes, double scale) {
    std::int64_t count = 1;
    for (const std::int64_t s : sizes) count *= s;
    std::uniform_real_distribution<float> uniform(static_cast<float>(-scale), static_cast<float>(scale));
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = uniform(random_);
    return builder_.constant(DType::f32, sizes, values.data());
  }
  ValueId relu(ValueId x) { return builder_.expr("max(x, 0)", {{"x", x}}, DType::f32); }
  /// Pads with a border of one zero, to keep the size of images.
  ValueId convolve(ValueId x, ValueId weight, ValueId bias) {
    const std::vector<std::int64_t> ones{1, 1}, zeros{0, 0};
    return builder_.add(Op::convolution, {x, weight, bias},
                        {attr(AttrKey::strides, ones), attr(AttrKey::dilations, ones), attr(AttrKey::before, ones),
                         attr(AttrKey::after, ones), attr(AttrKey::groups, Dim(1)), attr(AttrKey::output_pads, zeros)});
  }
  void output(ValueId y) { builder_.function().outputs.push_back({FunctionOutput::Kind::tensor, y, "y"}); }

 private:
  BenchModel& model_;
  Builder builder_;
  std::mt19937 random_{1};
};

}  // namespace

BenchModel linear_layers() {
  BenchModel model{"linear", "22 linear layers of 1024 x 1024, batch 8", {}, {}, 0};
  BenchModelBuilder m(model);
  ValueId x = m.input({8, 1024});
  for (int layer = 0; layer < 22; ++layer) {
    const ValueId weight = m.weight({1024, 1024}, 0.076);  // sqrt(6 / 1024): variance kept through ReLU
    const ValueId bias = m.weight({1024}, 0.1);
    x = m.relu(m.b().add(Op::matmul, {x, m.b().transpose(weight, 0, 1), bias}));
  }
  m.output(x);
  return model;
}

BenchModel convolutions() {
  BenchModel model{"convolution", "10 convolutions of 3 x 3, 512 to 512 channels, 14 x 14 pixels", {}, {}, 0};
  BenchModelBuilder m(model);
  ValueId x = m.input({1, 512, 14, 14});
  for (int layer = 0; layer < 10; ++layer) {
    const ValueId weight = m.weight({512, 512, 3, 3}, 0.036);  // sqrt(6 / 4608)
    const ValueId bias = m.weight({512}, 0.1);
    x = m.relu(m.convolve(x, weight, bias));
  }
  m.output(x);
  return model;
}

BenchModel product() {
  BenchModel model{"matmul", "1024 x 1024 x 1024", {}, {}, 1024.0 * 1024 * 1024};
  BenchModelBuilder m(model);
  const ValueId x = m.input({1024, 1024});
  m.output(m.b().add(Op::matmul, {x, m.weight({1024, 1024}, 0.1)}));
  return model;
}

BenchModel convolution() {
  BenchModel model{"convolution", "3 x 3, 128 to 128 channels, 56 x 56", {}, {}, 9.0 * 128 * 128 * 56 * 56};
  BenchModelBuilder m(model);
  const ValueId x = m.input({1, 128, 56, 56});
  m.output(m.convolve(x, m.weight({128, 128, 3, 3}, 0.1), m.weight({128}, 0.1)));
  return model;
}

}  // namespace tern::bench
