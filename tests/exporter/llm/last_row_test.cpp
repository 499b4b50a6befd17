// The last row of logits: no node computes the other rows.
#include "exporter/llm/last_row.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::floats;
using testing::TestProgram;
using testing::values_of;

class LastRow : public ::testing::Test {
 protected:
  TestProgram p;
  Dim rows = p.b().pool().symbol("rows", 1, 8);
  ValueId x = p.input(DType::f32, {1, rows, 2});

  ValueId norm(Op op, std::int64_t axes) {
    const ValueId sum = p.b().expr("x + 1", {{"x", x}}, DType::f32);
    std::vector<ValueId> inputs = {sum, kNoValue};
    if (op == Op::layer_norm) inputs.push_back(kNoValue);
    Node n;
    n.op = op;
    n.inputs = inputs;
    n.attrs = {attr(AttrKey::k, axes), attr_number(AttrKey::epsilon, 0)};
    const ValueId y = p.b().add(std::move(n)).front();
    drop_unread(y);
    p.output(y);  // reads y
    return y;
  }
  /// Marks unread results as absent, like the importer.
  void drop_unread(ValueId y) {
    for (ValueId& v : p.program().functions[0].nodes.back().outputs) v = v == y ? v : kNoValue;
  }
  Dims shape_of_operand(ValueId y) {
    const auto& nodes = p.program().functions[0].nodes;
    const auto result =
        std::ranges::find_if(nodes, [&](const Node& n) { return !n.outputs.empty() && n.outputs[0] == y; });
    return p.b().shape(result->inputs[0]);
  }
};

TEST_F(LastRow, GoesBeforeNorms) {
  for (const Op op : {Op::rms_norm, Op::layer_norm}) {
    const ValueId y = last_row(p.b(), norm(op, 1), 1);
    EXPECT_EQ(shape_of_operand(y), (Dims{1, 1, 2}));
    p.output(y);
  }
  Session session(p.model().prepare());
  const std::vector<Tensor>& results = session.run({floats({1, 2, 2}, {9, 9, 6, 0})});
  // 7 and 1: the root of their mean square is 5, and each is 3 away from their mean.
  EXPECT_EQ(values_of(results[1]), (std::vector<float>{1.4F, 0.2F}));
  EXPECT_EQ(values_of(results[3]), (std::vector<float>{1, -1}));
}

TEST_F(LastRow, IsTakenOfWhatIsNormalizedOverRows) {
  const ValueId y = norm(Op::rms_norm, 2), row = last_row(p.b(), y, 1);
  EXPECT_EQ(shape_of_operand(row), p.b().shape(y));
  EXPECT_EQ(p.program().functions[0].nodes.back().op, Op::slice);
}

}  // namespace
}  // namespace tern
