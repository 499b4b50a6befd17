// Attention in models' notation: repeated heads before, exchanged axes after.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "exporter/lower/lower.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

using Floats = std::vector<float>;
using Repeat = std::function<ValueId(Builder&, ValueId)>;

constexpr std::int64_t kHeads = 6, kGroups = 2, kKeys = 9, kWidth = 4;

Tensor numbers(const std::vector<std::int64_t>& sizes, int step) {
  Tensor t(DType::f32, sizes);
  auto to = t.span<float>();
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i] = static_cast<float>(static_cast<int>(i * 7 + 3) * step % 23 - 11) / 8;
  return t;
}

/// scaled_dot_product_attention with repeated keys and values.
struct Attended {
  Floats result;
  std::int64_t groups = 0;  ///< heads of the keys read by the node
};
Attended attend(const Repeat& repeat_keys, const Repeat& repeat_values) {
  TestProgram p;
  Call call;
  call.target = "aten.scaled_dot_product_attention.default";
  call.builder = &p.b();
  const auto add = [&](std::string_view name, ValueId v) {
    CallArgument o;
    o.kind = CallArgument::Kind::tensor;
    o.value = v;
    call.args.emplace_back(name, o);
  };
  add("query", p.input(DType::f32, {1, kHeads, 3, kWidth}));
  add("key", repeat_keys(p.b(), p.input(DType::f32, {1, kGroups, kKeys, kWidth})));
  add("value", repeat_values(p.b(), p.input(DType::f32, {1, kGroups, kKeys, kWidth})));
  call.declared = {{DType::f32, {1, kHeads, 3, kWidth}}};
  p.output(find_lowering(call.target)(p.b(), call)[0]);
  Attended a;
  const Node& n = p.program().functions[0].nodes.back();
  EXPECT_EQ(n.op, Op::attention);
  a.groups = p.b().size(n.inputs[1], 1).value();
  Session session(p.model().prepare());
  a.result = values_of(session.run({numbers({1, kHeads, 3, kWidth}, 1), numbers({1, kGroups, kKeys, kWidth}, 5),
                                    numbers({1, kGroups, kKeys, kWidth}, 3)})[0]);
  return a;
}

/// Repeats heads like repeat_kv of Hugging Face's models.
ValueId one_after_the_other(Builder& b, ValueId x) {
  return b.reshape(b.expand(b.unsqueeze(x, 2), {1, kGroups, kHeads / kGroups, kKeys, kWidth}),
                   {1, kHeads, kKeys, kWidth});
}
ValueId all_again(Builder& b, ValueId x) {
  return b.reshape(b.expand(b.unsqueeze(x, 1), {1, kHeads / kGroups, kGroups, kKeys, kWidth}),
                   {1, kHeads, kKeys, kWidth});
}
/// The same repetition, written unrecognisably.
ValueId repeat_by_index(Builder& b, ValueId x) {
  std::vector<std::int64_t> index;
  for (std::int64_t h = 0; h < kHeads; ++h) index.push_back(h / (kHeads / kGroups));
  return b.index_select(x, b.constant(DType::i64, {kHeads}, index.data()), 1);
}

TEST(AttentionLowering, HeadsThatAreRepeatedAreReadWhereTheyLie) {
  const Attended found = attend(one_after_the_other, one_after_the_other),
                 copied = attend(repeat_by_index, repeat_by_index);
  EXPECT_EQ(found.groups, kGroups);
  EXPECT_EQ(copied.groups, kHeads);
  ASSERT_EQ(found.result.size(), copied.result.size());
  for (std::size_t i = 0; i < found.result.size(); ++i) EXPECT_NEAR(found.result[i], copied.result[i], 1e-6F) << i;
}

TEST(AttentionLowering, OtherRepetitionsStay) {
  EXPECT_EQ(attend(all_again, all_again).groups, kHeads);
  EXPECT_EQ(attend(one_after_the_other, repeat_by_index).groups, kHeads);
  EXPECT_EQ(attend(repeat_by_index, one_after_the_other).groups, kHeads);
}

/// Attention followed by an exchange of `axes` and a contiguous copy. `others`: the attention's own result has more
/// readers.
struct Exchanged {
  Floats result;
  std::set<std::string> ops;  ///< ops with time in the profile
};
Exchanged exchange(const std::vector<std::int64_t>& axes, bool others) {
  TestProgram p;
  std::vector<ValueId> operands;
  for (int i = 0; i < 3; ++i) operands.push_back(p.input(DType::f32, {2, 3, 5, kWidth}));
  const ValueId y = p.b().add(Op::attention, operands);
  p.output(p.b().flatten(p.b().permute(y, axes)));
  if (others) p.output(y);
  Session session(p.model().prepare());
  session.set_profiling(true);
  const auto& outputs =
      session.run({numbers({2, 3, 5, kWidth}, 1), numbers({2, 3, 5, kWidth}, 5), numbers({2, 3, 5, kWidth}, 3)});
  Exchanged e{values_of(outputs[0]), {}};
  for (const NodeTime& t : session.profile()) e.ops.insert(t.op);
  return e;
}

TEST(AttentionLowering, ResultsAreMadeInTheOrderOfTheirReader) {
  for (const std::vector<std::int64_t>& axes : {std::vector<std::int64_t>{0, 2, 1, 3}, {2, 0, 1, -1}, {0, 1, 2, 3}}) {
    const Exchanged made = exchange(axes, false), copied = exchange(axes, true);
    EXPECT_EQ(made.result, copied.result);
    EXPECT_EQ(made.ops, std::set<std::string>{"attention"});
  }
  const Exchanged made = exchange({0, 1, 3, 2}, false);  // another last axis: a copy
  EXPECT_EQ(made.result, exchange({0, 1, 3, 2}, true).result);
  EXPECT_GT(made.ops.size(), 1u);
}

}  // namespace
}  // namespace tern::testing
