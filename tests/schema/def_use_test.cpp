#include "schema/def_use.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

Node node(std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node n;
  n.op = Op::concat;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  return n;
}

/// v2 = f(v0, v0); v3, - = f(v2, -, v1); v4 = f(v2). The function returns v3 twice, and writes v4 back.
Function sample() {
  Function f;
  f.values.resize(5);
  f.nodes = {node({0, 0}, {2}), node({2, kNoValue, 1}, {3, kNoValue}), node({2}, {4})};
  f.outputs.resize(3);
  f.outputs[0].value = f.outputs[2].value = 3;
  f.writebacks.push_back({WriteBack::Target::state, 0, 4});
  return f;
}

TEST(DefUse, FindsProducers) {
  const DefUse uses(sample());
  const std::vector<std::int64_t> expected = {-1, -1, 0, 1, 2};
  for (std::size_t v = 0; v < expected.size(); ++v) EXPECT_EQ(uses.producer(static_cast<ValueId>(v)), expected[v]);
  EXPECT_EQ(uses.producer(kNoValue), -1);
}

TEST(DefUse, ListsEachOperandInTheOrderOfNodes) {
  const DefUse uses(sample());
  const auto text = [&](ValueId v) {
    std::string s;
    for (const ValueReader& r : uses.readers(v)) s += std::to_string(r.node) + "." + std::to_string(r.operand) + " ";
    return s;
  };
  EXPECT_EQ(text(0), "0.0 0.1 ");
  EXPECT_EQ(text(1), "1.2 ");
  EXPECT_EQ(text(2), "1.0 2.0 ");
  EXPECT_EQ(text(3), "");
  EXPECT_EQ(text(kNoValue), "");
}

TEST(DefUse, CountsResultsOfTheFunction) {
  const DefUse uses(sample());
  EXPECT_EQ(uses.result_count(3), 2U);
  EXPECT_EQ(uses.result_count(4), 1U);
  EXPECT_EQ(uses.read_count(2), 2U);
  EXPECT_TRUE(uses.is_read(4));
  EXPECT_FALSE(uses.is_read(kNoValue));
}

TEST(DefUse, CountsANodeOnceHoweverOftenItReadsAValue) {
  const DefUse uses(sample());
  EXPECT_TRUE(uses.is_read_by_nodes(0, 1));
  EXPECT_TRUE(uses.is_read_by_nodes(2, 2));
  EXPECT_FALSE(uses.is_read_by_nodes(4, 0)) << "the function writes it back";
}

TEST(DefUse, KnowsNothingOfLaterValues) {
  const DefUse uses(sample());
  EXPECT_EQ(uses.producer(99), -1);
  EXPECT_FALSE(uses.is_read(99));
}

}  // namespace
}  // namespace tern
