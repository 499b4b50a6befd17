// Parameters, buffers, tied and overlapping states, and write-backs.
#include <gtest/gtest.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

const Json kVector = meta({4});

/// The write-back of the named state, or null.
const WriteBack* written(const Program& p, const std::string& name) {
  for (const WriteBack& w : p.functions[0].writebacks) {
    if (w.target == WriteBack::Target::state && p.states[w.index].name == name) return &w;
  }
  return nullptr;
}

const State& state(const Program& p, const std::string& name) {
  for (const State& s : p.states) {
    if (s.name == name) return s;
  }
  throw std::runtime_error("no state " + name);
}

TEST(ImportState, BufferUpdatedInPlaceIsWrittenBack) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("count", kVector);
  m.user("x", kVector);
  m.node("torch.ops.aten.add_.Tensor", {{"self", tensor("b_count")}, {"other", tensor("x")}}, {{"add_", kVector}});
  m.result("x");
  const Program p = m.load();
  ASSERT_NE(written(p, "count"), nullptr);
  EXPECT_TRUE(state(p, "count").is_mutable);
  EXPECT_EQ(p.functions[0].nodes.size(), 1u);
}

TEST(ImportState, ReadOnlyBufferIsNot) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("w", kVector);
  m.user("x", kVector);
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("b_w")}, {"other", tensor("x")}}, {{"add", kVector}});
  m.result("add");
  const Program p = m.load();
  EXPECT_TRUE(p.functions[0].writebacks.empty());
  EXPECT_FALSE(state(p, "w").is_mutable);
}

TEST(ImportState, SameViewOfOneFileIsTied) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("a", kVector);
  m.buffer("b", kVector);
  m.user("x", kVector);
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("b_a")}, {"other", tensor("b_b")}}, {{"add", kVector}});
  m.result("add");
  const Program p = m.load();
  EXPECT_EQ(p.storages.size(), 1u);
  EXPECT_EQ(state(p, "a").tied, -1);
  EXPECT_EQ(state(p, "b").tied, 0);
}

TEST(ImportState, WriteToOneOfTwoTiedIsSeenThroughTheOther) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("a", kVector);
  m.buffer("b", kVector);
  m.user("x", kVector);
  m.node("torch.ops.aten.add_.Tensor", {{"self", tensor("b_a")}, {"other", tensor("x")}}, {{"add_", kVector}});
  m.result("b_b");
  const Program p = m.load();
  const Function& f = p.functions[0];
  ASSERT_EQ(f.writebacks.size(), 1u);
  EXPECT_EQ(f.outputs[0].value, f.writebacks[0].value);
  EXPECT_TRUE(state(p, "a").is_mutable);
  EXPECT_TRUE(state(p, "b").is_mutable);
}

TEST(ImportState, OverlappingStatesAreViewsOfOneStorage) {
  TracedModel m;
  m.floats({0, 1, 2, 3, 4, 5});
  m.buffer("low", tensor_meta({4}, {1}, 0));
  m.buffer("high", tensor_meta({4}, {1}, 2));
  m.user("x", kVector);
  m.node("torch.ops.aten.mul_.Tensor", {{"self", tensor("b_low")}, {"other", tensor("x")}}, {{"mul_", kVector}});
  m.result("b_high");
  const Program p = m.load();
  const Function& f = p.functions[0];
  ASSERT_EQ(f.writebacks.size(), 1u);
  const State& whole = p.states[f.writebacks[0].index];
  EXPECT_EQ(whole.type.shape, Dims{6});
  EXPECT_FALSE(whole.persistent);
  EXPECT_TRUE(state(p, "low").is_mutable);
  EXPECT_TRUE(state(p, "high").is_mutable);
}

TEST(ImportState, StatesBesideEachOtherInOneFileStayThemselves) {
  TracedModel m;
  m.floats({0, 1, 2, 3, 4, 5, 6, 7});
  m.buffer("low", tensor_meta({4}, {1}, 0));
  m.buffer("high", tensor_meta({4}, {1}, 4));
  m.user("x", kVector);
  m.node("torch.ops.aten.mul_.Tensor", {{"self", tensor("b_low")}, {"other", tensor("x")}}, {{"mul_", kVector}});
  m.result("b_high");
  const Program p = m.load();
  EXPECT_EQ(p.states.size(), 2u);
  EXPECT_NE(written(p, "low"), nullptr);
  EXPECT_EQ(written(p, "high"), nullptr);
  EXPECT_FALSE(state(p, "high").is_mutable);
}

TEST(ImportState, MutationsOfAFunctionalProgram) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("count", kVector);
  m.user("x", kVector);
  m.node("torch.ops.aten.add.Tensor", {{"self", tensor("b_count")}, {"other", tensor("x")}}, {{"add", kVector}});
  m.node("torch.ops.aten.mul.Tensor", {{"self", tensor("x")}, {"other", integer(2)}}, {{"mul", kVector}});
  m.output(tensor("add"));
  m.output(tensor("mul"));
  m.model()["graph_module"]["signature"]["output_specs"] = {
      {{"buffer_mutation", {{"arg", {{"name", "add"}}}, {"buffer_name", "count"}}}},
      {{"user_input_mutation", {{"arg", {{"name", "mul"}}}, {"user_input_name", "x"}}}}};
  const Program p = m.load();
  const Function& f = p.functions[0];
  EXPECT_TRUE(f.outputs.empty());
  ASSERT_EQ(f.writebacks.size(), 2u);
  EXPECT_EQ(f.writebacks[0].target, WriteBack::Target::state);
  EXPECT_EQ(f.writebacks[1].target, WriteBack::Target::input);
  EXPECT_EQ(f.inputs[f.writebacks[1].index].name, "x");
}

TEST(ImportState, ModelsOfOneFileShareEqualStates) {
  for (const bool equal : {true, false}) {
    std::vector<ZipItem> items;
    int file = 0;
    for (const char* name : {"decode", "prefill"}) {
      TracedModel m;
      m.buffer("cache", kVector, file);
      m.user("x", kVector);
      m.node("torch.ops.aten.add_.Tensor", {{"self", tensor("b_cache")}, {"other", tensor("x")}}, {{"add_", kVector}});
      m.result("add_");
      for (ZipItem& item : m.items(name)) items.push_back(std::move(item));
      items.push_back(
          {"t/data/weights/weight_" + std::to_string(file), std::string(16, equal ? '\0' : static_cast<char>(file))});
      ++file;
    }
    const std::string archive = TracedModel::write_archive(items);
    const Program p = import_pt2(open_text(archive));
    ASSERT_EQ(p.states.size(), equal ? 1u : 2u);
    EXPECT_EQ(p.states[0].name, "cache");
    EXPECT_EQ(p.states.back().name, equal ? "cache" : "prefill.cache");
    for (const State& s : p.states) EXPECT_TRUE(s.is_mutable);
    for (const Function& f : p.functions) EXPECT_EQ(f.writebacks.size(), 1u);
  }
}

TEST(ImportState, BytesThatAreNoPickledTensorAreRefused) {
  TracedModel m;
  m.floats({1, 2, 3, 4});
  m.buffer("w", kVector);
  m.weights()["config"]["w"]["use_pickle"] = true;
  m.result("b_w");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("'w' is stored as a Python pickle: "), std::string::npos) << error;
  EXPECT_NE(error.find("not a zip archive"), std::string::npos) << error;
}

TEST(ImportState, WeightsOfFakeTensorsAreMissing) {
  TracedModel m;
  m.bytes("");
  m.buffer("w", kVector);
  m.result("b_w");
  const std::string error = error_of([&] { m.load(); });
  EXPECT_NE(error.find("the bytes of the buffer 'w' are not in the file"), std::string::npos) << error;
}

}  // namespace
}  // namespace tern::testing
