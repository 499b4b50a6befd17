// Accuracy of held-out samples, with matching predictions and targets.
#include "tools/train/metrics.h"

#include <gtest/gtest.h>

#include "tests/runtime/support.h"
#include "tests/tools/support.h"
#include "tools/files/safetensors.h"

namespace tern::train {
namespace {

using testing::TestProgram;

/// Metrics of four samples: the loss is the mean of `in0`, the prediction is `in0` itself, [4, 2], and the target is
/// `in1`.
Metrics evaluated(const Dims& target, const std::vector<float>& prediction, const std::vector<std::int64_t>& labels) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 2});
  p.input(DType::i64, target);
  p.output(p.b().reduce(x, "mean", {0, 1}, false, DType::f32));
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  const Model model = p.model();
  const PreparedModel prepared = model.prepare();
  Session session(prepared);
  Methods methods;
  methods.loss = model.functions()[0];
  methods.class_axis = 1;
  const test::TempFolder folder;
  NamedTensors file;
  file.tensors.emplace_back("in0", test::tensor_of(DType::f32, {4, 2}, prediction));
  std::vector<std::int64_t> sizes;
  for (const Dim& d : target) sizes.push_back(d.value());
  file.tensors.emplace_back("in1", test::tensor_of(DType::i64, sizes, labels));
  write_safetensors(folder / "data.safetensors", file);
  TrainingData data(*methods.loss, "", folder / "data.safetensors", false, {});
  const std::vector<std::uint64_t> all = {0, 1, 2, 3};
  return evaluate(session, methods, data, all, 4, Ranks());
}

const std::vector<float> kPrediction = {0, 1, 1, 0, 3, 2, 0, 5};

TEST(TrainMetrics, CountsTheLargestClass) {
  const Metrics m = evaluated({4}, kPrediction, {1, 1, 0, -100});
  EXPECT_DOUBLE_EQ(m.loss, 1.5);
  ASSERT_TRUE(m.accuracy);
  EXPECT_DOUBLE_EQ(*m.accuracy, 2.0 / 3);  // targets below 0 do not count
}

TEST(TrainMetrics, HasNoAccuracyWhereTargetsAreNotThePredictions) {
  EXPECT_FALSE(evaluated({4, 50}, kPrediction, std::vector<std::int64_t>(200, 0)).accuracy);
}

}  // namespace
}  // namespace tern::train
