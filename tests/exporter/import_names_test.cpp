// Names of inputs and outputs, from pytrees of nested Python containers.
#include <gtest/gtest.h>

#include "tests/exporter/traced_model.h"

namespace tern::testing {
namespace {

const char* const kLeaf = R"({"type": null, "context": null, "children_spec": []})";

std::string tuple(const std::vector<std::string>& children, const std::string& type = "builtins.tuple",
                  const std::string& context = "null") {
  std::string list;
  for (const std::string& c : children) list += (list.empty() ? "" : ", ") + c;
  return R"({"type": ")" + type + R"(", "context": ")" + context + R"(", "children_spec": [)" + list + "]}";
}

std::vector<std::string> names(const std::vector<FunctionInput>& list) {
  std::vector<std::string> result;
  for (const auto& i : list) result.push_back(i.name);
  return result;
}
std::vector<std::string> names(const std::vector<FunctionOutput>& list) {
  std::vector<std::string> result;
  for (const auto& i : list) result.push_back(i.name);
  return result;
}

TEST(ImportNames, ParametersAndKeys) {
  TracedModel m;
  for (const char* n : {"a", "b", "c", "d"}) m.user(n, meta({2}));
  m.result("a");
  m.result("b");
  const std::string keyed = tuple({kLeaf}, "builtins.dict", R"([\"mask\"])");
  m.calling(
      "[1, " + tuple({tuple({kLeaf, tuple({kLeaf, kLeaf})}), keyed}) + "]",
      "[1, " +
          tuple({kLeaf, tuple({kLeaf}, "builtins.dict", R"([\"h\"])")}, "builtins.dict", R"([\"logits\", \"state\"])") +
          "]",
      {"x", "cache", "mask"});
  const Program p = m.load();
  EXPECT_EQ(names(p.functions[0].inputs), (std::vector<std::string>{"x", "cache.0", "cache.1", "mask"}));
  EXPECT_EQ(names(p.functions[0].outputs), (std::vector<std::string>{"logits", "state.h"}));
}

TEST(ImportNames, TuplesAreNumbered) {
  TracedModel m;
  m.user("x", meta({2}));
  m.result("x");
  m.result_value(Json{{"as_none", true}});
  m.result_value(integer(7));
  m.calling("[1, " + tuple({tuple({kLeaf}), tuple({}, "builtins.dict", "[]")}) + "]",
            "[1, " + tuple({kLeaf, kLeaf, kLeaf}) + "]", {"x"});
  const Program p = m.load();
  EXPECT_EQ(names(p.functions[0].outputs), (std::vector<std::string>{"out0", "out1", "out2"}));
  EXPECT_EQ(p.functions[0].outputs[1].kind, FunctionOutput::Kind::none);
  EXPECT_EQ(p.functions[0].outputs[2].kind, FunctionOutput::Kind::integer);
}

TEST(ImportNames, ConstantInputsKeepTheirPlace) {
  TracedModel m;
  m.user("x", meta({2}));
  m.json()["inputs"].push_back(boolean(true));
  m.model()["graph_module"]["signature"]["input_specs"].push_back(
      {{"constant_input", {{"name", "flag"}, {"value", boolean(true)}}}});
  m.result("x");
  const Program p = m.load();
  ASSERT_EQ(p.functions[0].inputs.size(), 2u);
  EXPECT_EQ(p.functions[0].inputs[1].kind, FunctionInput::Kind::none);
  EXPECT_EQ(p.functions[0].inputs[1].constant, "True");
}

TEST(ImportNames, AnUnreadableTreeOnlyCostsNames) {
  TracedModel m;
  m.user("x", meta({2}));
  m.result("x");
  m.calling("[1, {]", "nonsense", {"x"});
  const Program p = m.load();
  EXPECT_EQ(p.functions[0].outputs[0].name, "out0");
}

}  // namespace
}  // namespace tern::testing
