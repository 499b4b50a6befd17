// Nodes of the same form: equal in everything read by a shape rule, for any values.
#include "schema/forms.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

using Numbers = std::vector<std::uint32_t>;

Value value(DType dtype, Dims shape) {
  Value v;
  v.type.dtype = dtype;
  v.type.shape = std::move(shape);
  return v;
}

/// Two nodes with equal attributes and instruction, from values 0 and 1 to 2 and 3: all of the same type.
Function pair() {
  Function f;
  f.values.assign(4, value(DType::f32, {2, Dim::node(7)}));
  for (ValueId v : {0, 1}) {
    Node n;
    n.op = Op::pointwise;
    n.inputs = {v};
    n.outputs = {v + 2};
    n.set(AttrKey::sizes, Dims{2, Dim::node(7)});
    n.expr.code = {{Scalar::load, DType::f32}, {Scalar::constant, DType::f32, 0, 0, 0, 0, 0.5}};
    f.nodes.push_back(std::move(n));
  }
  return f;
}

TEST(Forms, EqualNodesOfOtherValuesHaveOne) {
  Function f = pair();
  f.values[3].name = "another name";
  f.nodes[1].origin = 5;
  f.nodes.push_back(f.nodes[0]);
  EXPECT_EQ(first_of_form(f), (Numbers{0, 0, 0}));
}

TEST(Forms, WhateverAShapeRuleSeesMakesAnother) {
  using Edit = void (*)(Function&);
  const Edit changes[] = {
      [](Function& f) { f.nodes[1].op = Op::reduce; },
      [](Function& f) { f.nodes[1].version = 2; },
      [](Function& f) { f.values[1].type.dtype = DType::f64; },
      [](Function& f) {
        f.values[1].type.shape = {2, 7};
      },  // the constant, not the expression of this number
      [](Function& f) { f.values[1].type.shape = {2}; },
      [](Function& f) { f.values[1].type.blocks.columns = 32; },
      [](Function& f) { f.values[3].type.dtype = DType::f64; },
      [](Function& f) { f.nodes[1].inputs[0] = kNoValue; },
      [](Function& f) { f.nodes[1].outputs[0] = kNoValue; },
      [](Function& f) { f.nodes[1].outputs.push_back(kNoValue); },
      [](Function& f) { f.nodes[1].inputs.push_back(0); },
      [](Function& f) {
        f.nodes[1].set(AttrKey::sizes, Dims{2, 7});
      },
      [](Function& f) { f.nodes[1].set(AttrKey::axes, Dims{1}); },
      [](Function& f) { f.nodes[1].attrs[0].key = AttrKey::axes; },
      [](Function& f) { f.nodes[1].functions = {0}; },
      [](Function& f) { f.nodes[1].expr.code[1].number = -0.5; },
      [](Function& f) { f.nodes[1].expr.code[1].a = 1; },
      [](Function& f) { f.nodes[1].expr.code.pop_back(); },
  };
  int number = 0;
  for (Edit change : changes) {
    Function f = pair();
    change(f);
    EXPECT_EQ(first_of_form(f), (Numbers{0, 1})) << "change " << number;
    ++number;
  }
}

TEST(Forms, NodesOfOneHashTakeNoLongerThanOthers) {
  constexpr std::size_t kNodes = 200'000;  // pairwise comparison would take hours
  Function f = pair();
  f.nodes.resize(1);
  for (std::size_t i = 1; i < kNodes; ++i) {
    f.nodes.push_back(f.nodes[0]);
    f.nodes.back().expr.code[1].number = static_cast<double>(i);
  }
  const Numbers first = first_of_form(f);
  for (std::uint32_t i = 0; i < kNodes; ++i) ASSERT_EQ(first[i], i);
}

}  // namespace
}  // namespace tern
