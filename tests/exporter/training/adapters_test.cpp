// Weights that get low-rank adapters, and the rules for adapter files.
#include "exporter/training/adapters.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "schema/passes/dead_code.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::TestProgram;

/// Two layers x W^T, and a table with a lookup.
struct AdaptersLayers {
  TestProgram p;
  std::vector<std::string> left_out, tied;

  AdaptersLayers() {
    const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    Builder& b = p.b();
    const ValueId first = parameter("first.weight", {4, 3}, numbers), second = parameter("second", {3, 4}, numbers);
    const ValueId table = parameter("table.weight", {4, 3}, numbers);
    const ValueId rows = b.index_select(table, p.input(DType::i64, {2}), 0);
    const ValueId h = b.matmul(rows, b.transpose(first, 0, 1));
    p.output(b.matmul(h, b.transpose(second, 0, 1)));
  }
  ValueId parameter(const char* name, const std::vector<std::int64_t>& sizes, const std::vector<float>& values) {
    const ValueId v = p.state(sizes, values, false);
    p.program().states.back().kind = State::Kind::parameter;
    p.program().states.back().name = name;
    return v;
  }
  std::vector<std::string> adapted(const std::vector<std::string>& rules) {
    std::vector<LoraRule> parsed;
    for (const std::string& r : rules) parsed.push_back(parse_lora(r));
    std::vector<std::string> names;
    AddedAdapters added = add_adapters(p.program(), parsed, 0);
    for (const TrainedParameter& t : added.parameters) names.push_back(p.program().states[t.state].name);
    left_out = std::move(added.left_out);
    tied = std::move(added.tied_weights);
    return names;
  }
  std::vector<float> result() {
    Session session(p.model().prepare());
    Tensor rows(DType::i64, {2});
    rows.span<std::int64_t>()[1] = 3;
    return testing::values_of(session.run({rows})[0]);
  }
};

TEST(Adapters, GoToLinearWeightsAlone) {
  EXPECT_EQ(AdaptersLayers().adapted({"*"}),
            (std::vector<std::string>{"first.lora_A.weight", "first.lora_B.weight", "second.lora_A.weight",
                                      "second.lora_B.weight"}));
  EXPECT_EQ(AdaptersLayers().adapted({"first"}).size(), 2u) << "the name without .weight";
  EXPECT_THROW(AdaptersLayers().adapted({"*", "table"}), Error) << "rows are taken from it";
}

TEST(Adapters, ReportWhatTheyLeaveOut) {
  AdaptersLayers l;
  l.adapted({"*"});
  EXPECT_EQ(l.left_out, std::vector<std::string>{"table.weight"});
}

TEST(Adapters, SayWhyARuleGivesNone) {
  const auto refusal = [](const std::vector<std::string>& rules) -> std::string {
    try {
      AdaptersLayers().adapted(rules);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(refusal({"*", "first:rank=2"}).find("--lora first: an earlier --lora matches first.weight"),
            std::string::npos);
  EXPECT_NE(refusal({"table"}).find("it matches table.weight, which is not only a weight of linear layers"),
            std::string::npos);
  EXPECT_NE(refusal({"third"}).find("no parameter matches; 'tern inspect --weights 1000'"), std::string::npos);
}

TEST(Adapters, LeaveOutTiedWeights) {
  AdaptersLayers l;  // another layer reads second's bytes under a second name
  Builder& b = l.p.b();
  const ValueId other = l.parameter("tied", {3, 4}, std::vector<float>(12));
  l.p.program().states.back().storage = l.p.program().states[1].storage;
  l.p.output(b.matmul(l.p.input(DType::f32, {2, 4}), b.transpose(other, 0, 1)));
  EXPECT_EQ(l.adapted({"*"}).size(), 2u);
  EXPECT_EQ(l.left_out, std::vector<std::string>{"table.weight"});
  EXPECT_EQ(l.tied, (std::vector<std::string>{"second", "tied"}));
}

TEST(Adapters, LeaveOutWeightsOfSeveralModules) {
  AdaptersLayers l;  // torch.export reads tied weights under one name
  Program& program = l.p.program();
  program.origins = {{"aten.linear.default", "first", ""}, {"aten.linear.default", "last", ""}};
  for (Node& n : program.functions[0].nodes) n.origin = 0;
  Builder& b = l.p.b();
  b.set_origin(1);
  l.p.output(b.matmul(l.p.input(DType::f32, {2, 3}), b.transpose(program.functions[0].inputs[0].value, 0, 1)));
  EXPECT_EQ(l.adapted({"*"}).size(), 2u);
  EXPECT_EQ(l.tied, std::vector<std::string>{"first.weight"});
  try {
    l.adapted({"last"});
    FAIL() << "its weight has another name";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("it matches the layer last, whose weight is tied to first.weight"),
              std::string::npos)
        << e.what();
  }
}

TEST(Adapters, GoToWeightsThatAreNotTransposed) {
  TestProgram p;  // x W, with W [in, out] as of GPT-2's Conv1D
  const ValueId w = p.state({3, 4}, std::vector<float>(12, 1), false);
  p.program().states.back().kind = State::Kind::parameter;
  p.program().states.back().name = "conv1d.weight";
  p.output(p.b().matmul(p.input(DType::f32, {2, 3}), w));
  add_adapters(p.program(), {parse_lora("conv1d:rank=2,alpha=6")}, 0);
  const std::vector<Adapter> adapters = adapters_of(p.program());
  ASSERT_EQ(adapters.size(), 1u);
  EXPECT_TRUE(adapters[0].fan_in_fan_out);
  EXPECT_EQ(adapters[0].scale(), 3);
  EXPECT_EQ(p.program().states[adapters[0].a].type.shape, (Dims{2, 3}));
  EXPECT_EQ(p.program().states[adapters[0].b].type.shape, (Dims{4, 2}));
  remove_adapters(p.program(), 0, adapters);
  remove_dead_code(p.program());
  EXPECT_EQ(p.program().functions[0].nodes.size(), 1u);
}

TEST(Adapters, TakeTheFirstRuleThatMatches) {
  AdaptersLayers l;
  l.adapted({"second:rank=2,alpha=6", "*:rank=1"});
  const std::vector<Adapter> adapters = adapters_of(l.p.program());
  ASSERT_EQ(adapters.size(), 2u);
  EXPECT_EQ(adapters[0].module, "first");
  EXPECT_EQ(adapters[0].rank, 1);
  EXPECT_EQ(adapters[1].rank, 2);
  EXPECT_EQ(adapters[1].scale(), 3);
}

TEST(Adapters, ChangeNothingAtFirstAndCanBeTakenOut) {
  AdaptersLayers l;
  const std::vector<float> before = l.result();
  const std::size_t nodes = l.p.program().functions[0].nodes.size();
  l.adapted({"*:rank=2"});
  EXPECT_EQ(l.result(), before);
  EXPECT_GT(l.p.program().functions[0].nodes.size(), nodes);
  remove_adapters(l.p.program(), 0, adapters_of(l.p.program()));
  remove_dead_code(l.p.program());
  EXPECT_EQ(l.p.program().functions[0].nodes.size(), nodes);
  EXPECT_EQ(l.result(), before);
}

TEST(Adapters, OfAFileMustFitTheirWeights) {
  for (const char* text : {"3 8", "0 8", "2", "two 8", "-2 8"}) {
    AdaptersLayers l;
    l.adapted({"first:rank=2"});
    l.p.program().metadata.back().second = text;
    EXPECT_THROW(adapters_of(l.p.program()), Error) << text;
  }
  AdaptersLayers l;
  l.p.program().metadata.emplace_back("training.lora.table", "2 2");
  EXPECT_THROW(adapters_of(l.p.program()), Error) << "there are no such states";
}

}  // namespace
}  // namespace tern
