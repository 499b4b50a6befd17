// Every record is whole: ops, keys, defaults, bounds, shape rules.
#include "schema/op_record.h"

#include <gtest/gtest.h>

#include <set>

#include "schema/infer.h"

namespace tern {
namespace {

std::vector<const OpRecord*> records() {
  std::vector<const OpRecord*> all;
#define TERN_TEST_OP(number, name) all.push_back(&op_record(Op::name));
  TERN_OPS(TERN_TEST_OP)
#undef TERN_TEST_OP
  return all;
}

TEST(OpRecord, EveryOpHasOne) {
  for (const OpRecord* r : records()) {
    EXPECT_NE(r->op, Op::invalid);
    EXPECT_EQ(op_from_name(r->name), r->op);
    EXPECT_FALSE(r->text.empty()) << r->name;
    EXPECT_GE(r->version, 1) << r->name;
    EXPECT_EQ(r->bodies > 0, r->has_trait(Trait::control)) << r->name;
    EXPECT_TRUE(!r->has_trait(Trait::effect) || !r->has_trait(Trait::foldable)) << r->name;
  }
  EXPECT_EQ(op_record(Op::invalid).op, Op::invalid);
  EXPECT_EQ(op_record(static_cast<Op>(kMaxOp + 1)).op, Op::invalid);
}

TEST(OpRecord, EveryOpHasAShapeRule) {
  for (const OpRecord* r : records()) {
    EXPECT_NE(r->infer, nullptr) << r->name;
  }
}

TEST(OpRecord, EveryKeyMeansSomething) {
  std::set<AttrKey> used;
  for (const OpRecord* r : records()) {
    std::set<AttrKey> own;
    for (const AttrRecord& a : r->attributes) {
      EXPECT_TRUE(own.insert(a.key).second) << r->name << " " << attr_name(a.key);
      EXPECT_EQ(find_attribute(r->op, a.key), &a) << r->name << " " << attr_name(a.key);
      EXPECT_FALSE(a.text.empty()) << r->name << " " << attr_name(a.key);
      EXPECT_EQ(a.absent.empty(), a.presence != Presence::optional) << r->name << " " << attr_name(a.key);
      used.insert(a.key);
    }
  }
#define TERN_TEST_ATTR(number, name) EXPECT_TRUE(used.count(AttrKey::name) == 1 && number <= kMaxAttr) << #name;
  TERN_ATTRS(TERN_TEST_ATTR)
#undef TERN_TEST_ATTR
  EXPECT_EQ(find_attribute(Op::reshape, AttrKey::axis), nullptr);
  EXPECT_EQ(find_attribute(Op::reshape, static_cast<AttrKey>(kMaxAttr + 1)), nullptr);
}

TEST(OpRecord, DefaultsLieInTheirBounds) {
  for (const OpRecord* r : records()) {
    for (const AttrRecord& a : r->attributes) {
      if (a.presence != Presence::defaulted) continue;
      EXPECT_TRUE(a.integer >= a.min && a.integer <= a.max) << r->name << " " << attr_name(a.key);
      EXPECT_TRUE(a.number >= a.lowest && a.number <= a.highest) << r->name << " " << attr_name(a.key);
      EXPECT_LE(a.min, a.max) << r->name << " " << attr_name(a.key);
    }
  }
}

TEST(OpRecord, Arities) {
  const OpRecord& r = op_record(Op::index_put);  // x, values, indices+ -> y
  EXPECT_EQ(r.min_inputs, 3);
  EXPECT_EQ(r.max_inputs, -1);
  EXPECT_EQ(r.outputs, 1);
  EXPECT_EQ(op_record(Op::layer_norm).max_inputs, 3);
  EXPECT_EQ(op_record(Op::pool).outputs, -1);
  EXPECT_EQ(op_record(Op::assert_dim).max_inputs, 0);
  EXPECT_EQ(op_record(Op::assert_dim).outputs, 0);
  EXPECT_TRUE(is_needed_result(op_record(Op::unique), 0));
  EXPECT_FALSE(is_needed_result(op_record(Op::unique), 1));
}

TEST(OpRecord, OpsThatAreOffered) {
  std::set<Op> kept;
  for (const OpRecord* r : records()) {
    if (!r->has_trait(Trait::offered)) kept.insert(r->op);
  }
  EXPECT_EQ(kept,
            (std::set<Op>{Op::random, Op::nonzero, Op::unique, Op::bincount, Op::repeat_interleave, Op::masked_select,
                          Op::nms, Op::collective, Op::wait, Op::exchange, Op::cond, Op::while_loop, Op::scan_loop,
                          Op::map_loop, Op::call, Op::item, Op::assert_dim, Op::assert_true, Op::custom}));
}

TEST(OpRecord, NodesGetDefaults) {
  Node n;
  n.op = Op::convolution;
  EXPECT_EQ(n.integer(AttrKey::groups), 1);
  EXPECT_EQ(n.integer_at(AttrKey::strides, 2), 1);
  EXPECT_EQ(n.integer_at(AttrKey::before, 0), 0);
  n.set(AttrKey::strides, Dims{3});
  EXPECT_EQ(n.integer_at(AttrKey::strides, 0), 3);
  n.op = Op::cdist;
  EXPECT_EQ(n.number(AttrKey::p), 2);
}

struct Checked {
  Program program;
  Node node;
  std::string refusal() {
    const TensorType x{DType::f32, {4}};
    try {
      infer(program, program.pool, node, {&x});
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  }
};

TEST(OpRecord, AttributesAreChecked) {
  Checked c;
  c.node.op = Op::sort;
  EXPECT_NE(c.refusal().find("'axis' is missing"), std::string::npos);
  c.node.set(AttrKey::axis, Dims{0});
  EXPECT_EQ(c.refusal(), "");
  c.node.set(AttrKey::stable, Dims{2});
  EXPECT_NE(c.refusal().find("'stable' is 2, outside 0..1"), std::string::npos);
  c.node.set(AttrKey::stable, Dims{0, 1});
  EXPECT_NE(c.refusal().find("2 values, not one"), std::string::npos);
  c.node.set(AttrKey::stable, std::string("yes"));
  EXPECT_NE(c.refusal().find("not a list of integers"), std::string::npos);
  c.node.set(AttrKey::stable, Dims{c.program.pool.symbol("s")});
  EXPECT_NE(c.refusal().find("must be a constant"), std::string::npos);
  c.node.set(AttrKey::stable, Dims{1});
  c.node.set(AttrKey::largest, Dims{1});
  EXPECT_NE(c.refusal().find("no attribute 'largest'"), std::string::npos);
}

}  // namespace
}  // namespace tern
