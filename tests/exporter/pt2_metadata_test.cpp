#include <gtest/gtest.h>

#include "exporter/import/origins.h"
#include "exporter/pt2/metadata.h"

namespace tern::pt2::test {
namespace {

Node node_with(const char* key, std::string value) {
  Node node;
  node.metadata.emplace_back(key, std::move(value));
  return node;
}

// A stack trace written by PyTorch 2.12.
constexpr const char* kTrace =
    "File \"/env/lib/python3.11/site-packages/timm/models/mobilenetv3.py\", line 369, in forward\n"
    "    x = self.forward_features(x)\n"
    "  File \"/env/lib/python3.11/site-packages/torch/nn/modules/container.py\", line 253, in forward\n"
    "    input = module(input)\n"
    "  File \"/env/lib/python3.11/site-packages/timm/layers/norm_act.py\", line 148, in forward\n"
    "    x = self.act(x)\n"
    "        ^^^^^^^^^^^\n"
    "  File \"/env/lib/python3.11/site-packages/torch/nn/modules/activation.py\", line 572, in forward\n"
    "    return F.hardswish(input, self.inplace)\n"
    "  File \"<eval_with_key>.6\", line 7, in forward\n"
    "    relu = linear.relu();  linear = None";

TEST(Pt2Metadata, FindsTheInnermostLineOutsideTorch) {
  const Node node = node_with("stack_trace", kTrace);
  const SourceInfo info = source_info(node);
  EXPECT_EQ(info.file, "/env/lib/python3.11/site-packages/timm/layers/norm_act.py");
  EXPECT_EQ(info.line, 148);
  EXPECT_EQ(info.function, "forward");
  EXPECT_EQ(info.source, "x = self.act(x)");
}

TEST(Pt2Metadata, FindsTheInnermostModule) {
  const Node node = node_with("nn_module_stack",
                              "L__self__,,timm.models.mobilenetv3.MobileNetV3;L__self__blocks.1.1.bn2,blocks.1.1.bn2,"
                              "timm.layers.norm_act.BatchNormAct2d");
  EXPECT_EQ(source_info(node).module_path, "blocks.1.1.bn2");
  EXPECT_EQ(source_info(node).module_type, "timm.layers.norm_act.BatchNormAct2d");
  const Node root = node_with("nn_module_stack", "L__self__,,__main__.Cond");
  EXPECT_EQ(source_info(root).module_path, "");
  EXPECT_EQ(source_info(root).module_type, "__main__.Cond");
}

TEST(Pt2Metadata, ToleratesAnything) {
  for (const char* text : {"", "File \"", "File \"a", "File \"a\", line ", "File \"a\", line x, in f",
                           "File \"a\", line 99999999999999999999", ";", ",", ",,,;;,", "\n\n"}) {
    EXPECT_EQ(source_info(node_with("stack_trace", text)).line, 0) << text;
    source_info(node_with("nn_module_stack", text));
    EXPECT_TRUE(custom_annotations(node_with("custom", text)).empty()) << text;
  }
  EXPECT_EQ(source_info(Node{}).file, "");
}

TEST(Pt2Metadata, GivesAnnotationsInOrder) {
  const auto annotations =
      custom_annotations(node_with("custom", R"({"stage": 1, "name": "a\"b", "list": [1, {"k": null}]})"));
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"stage", "1"}, {"name", R"("a\"b")"}, {"list", R"([1,{"k":null}])"}};
  EXPECT_EQ(annotations, expected);
  EXPECT_TRUE(custom_annotations(node_with("custom", "[1]")).empty());
  EXPECT_TRUE(custom_annotations(node_with("custom", std::string(1'000'000, '['))).empty());
}

TEST(Pt2Metadata, MarksOfTorchDynamoAreNoAnnotations) {
  const auto annotations = custom_annotations(node_with(
      "custom",
      R"({"_torchdynamo_disable": true, "_torchdynamo_disable_recursive": true, "stage": 1, "my_torchdynamo_": 2})"));
  const std::vector<std::pair<std::string, std::string>> expected = {{"stage", "1"}, {"my_torchdynamo_", "2"}};
  EXPECT_EQ(annotations, expected);
}

TEST(Pt2Metadata, AnnotationsCannotBeMarksOfTheExporter) {
  const std::vector<Annotation> found = importing::annotations_of(node_with(
      "custom", R"({"tern.detached": true, "gradient.padding_idx": 1, "tern.precision": "f32", "stage": 2})"));
  const std::vector<std::string> expected = {"user.tern.detached", "user.gradient.padding_idx", "tern.precision",
                                             "stage"};
  std::vector<std::string> keys;
  for (const Annotation& a : found) keys.push_back(a.key);
  EXPECT_EQ(keys, expected);
}

}  // namespace
}  // namespace tern::pt2::test
