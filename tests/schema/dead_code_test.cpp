// Removes unused nodes and unused results of other nodes, and renumbers the values.
#include "schema/passes/dead_code.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

Node node(Op op, std::vector<ValueId> inputs, std::vector<ValueId> outputs) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.outputs = std::move(outputs);
  return n;
}

Function function(std::size_t values, ValueId output) {
  Function f;
  f.values.resize(values);
  f.inputs.resize(1);
  f.inputs[0].value = 0;
  f.outputs.resize(1);
  f.outputs[0].value = output;
  return f;
}

TEST(DeadCode, NodesWithoutReadersGo) {
  Program p;
  p.functions.push_back(function(4, 3));
  p.functions[0].nodes = {node(Op::pointwise, {0}, {1}), node(Op::pointwise, {1}, {2}), node(Op::pointwise, {0}, {3})};
  remove_dead_code(p);
  const Function& f = p.functions[0];
  ASSERT_EQ(f.nodes.size(), 1U);
  EXPECT_EQ(f.nodes[0].outputs, std::vector<ValueId>{1});
  EXPECT_EQ(f.outputs[0].value, 1);
  EXPECT_EQ(f.values.size(), 2U);
}

TEST(DeadCode, ResultsWithoutReadersGoFromNodesThatStay) {
  Program p;
  p.functions.push_back(function(3, 1));
  p.functions[0].nodes = {node(Op::pool, {0}, {1, 2})};
  p.functions.push_back(function(3, 2));
  p.functions[1].nodes = {node(Op::pool, {0}, {1, 2})};
  remove_dead_code(p);
  EXPECT_EQ(p.functions[0].nodes[0].outputs, (std::vector<ValueId>{1, kNoValue}));
  EXPECT_EQ(p.functions[0].values.size(), 2U);
  EXPECT_EQ(p.functions[1].nodes[0].outputs, (std::vector<ValueId>{kNoValue, 1}));
  EXPECT_EQ(p.functions[1].outputs[0].value, 1);
}

TEST(DeadCode, ResultsOfNodesWithEffectsStay) {
  Program p;
  p.functions.push_back(function(3, 1));
  p.functions[0].nodes = {node(Op::custom, {0}, {1, 2})};
  remove_dead_code(p);
  EXPECT_EQ(p.functions[0].nodes[0].outputs, (std::vector<ValueId>{1, 2}));
}

}  // namespace
}  // namespace tern
