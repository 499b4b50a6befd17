// The shape rules of pointwise nodes, sources and MX values.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <deque>

#include "schema/infer.h"

namespace tern {
namespace {

struct RuleRun {
  Program program;
  Node node;
  std::deque<TensorType> types;

  explicit RuleRun(Op op) { node.op = op; }
  RuleRun& in(DType dtype, Dims shape) {
    types.push_back({dtype, std::move(shape)});
    node.inputs.push_back(static_cast<ValueId>(types.size()) - 1);
    return *this;
  }
  RuleRun& set(AttrKey key, Dims v) {
    node.set(key, std::move(v));
    return *this;
  }
  RuleRun& dtype(DType t) { return set(AttrKey::dtype, {static_cast<std::int64_t>(t)}); }
  RuleRun& load(DType t, std::int64_t input) {
    Instruction i;
    i.op = Scalar::load;
    i.dtype = t;
    i.integer = input;
    node.expr.code.push_back(i);
    return *this;
  }
  RuleRun& op(Scalar s, DType t, std::uint16_t a = 0, std::uint16_t b = 0, std::int64_t integer = 0) {
    Instruction i;
    i.op = s;
    i.dtype = t;
    i.a = a;
    i.b = b;
    i.integer = integer;
    node.expr.code.push_back(i);
    return *this;
  }
  TensorType result() {
    std::vector<const TensorType*> pointers;
    for (const TensorType& t : types) pointers.push_back(&t);
    return infer(program, program.pool, node, pointers).at(0);
  }
  bool fails() {
    try {
      result();
    } catch (const Error&) {
      return true;
    }
    return false;
  }
};

TEST(PointwiseRules, OperandsBroadcast) {
  RuleRun r(Op::pointwise);
  const Dim n = r.program.pool.symbol("n", 2, 100);
  r.in(DType::f32, {n, 1, 4}).in(DType::f32, {3, 1});
  r.load(DType::f32, 0).load(DType::f32, 1).op(Scalar::add, DType::f32, 0, 1);
  EXPECT_EQ(r.result(), (TensorType{DType::f32, {n, 3, 4}}));
}

TEST(PointwiseRules, OperandsThatDoNotBroadcastAreRefused) {
  RuleRun r(Op::pointwise);
  r.in(DType::f32, {4, 3}).in(DType::f32, {4});
  r.load(DType::f32, 0).load(DType::f32, 1).op(Scalar::add, DType::f32, 0, 1);
  EXPECT_TRUE(r.fails());
}

TEST(PointwiseRules, PositionsNeedAnAxisOfTheResult) {
  RuleRun r(Op::pointwise);
  r.set(AttrKey::sizes, {5, 6}).op(Scalar::index, DType::i64, 0, 0, 1);
  EXPECT_EQ(r.result(), (TensorType{DType::i64, {5, 6}}));
  r.node.expr.code[0].integer = 2;
  EXPECT_TRUE(r.fails());
}

TEST(PointwiseRules, HostileSizes) {
  EXPECT_TRUE(RuleRun(Op::full).set(AttrKey::sizes, {-1}).set(AttrKey::value, {0}).dtype(DType::f32).fails());
  EXPECT_TRUE(RuleRun(Op::full).set(AttrKey::sizes, Dims(17, 1)).set(AttrKey::value, {0}).dtype(DType::f32).fails());
  EXPECT_TRUE(RuleRun(Op::full).set(AttrKey::sizes, {2}).dtype(DType::f32).fails());
  EXPECT_TRUE(RuleRun(Op::full).set(AttrKey::sizes, {2}).set(AttrKey::value, {}).dtype(DType::f32).fails());
  EXPECT_TRUE(RuleRun(Op::full).set(AttrKey::sizes, {2}).set(AttrKey::value, {0}).set(AttrKey::dtype, {99}).fails());
  EXPECT_TRUE(RuleRun(Op::iota).set(AttrKey::sizes, {2, 2}).set(AttrKey::value, {0, 1}).dtype(DType::i64).fails());
  EXPECT_TRUE(RuleRun(Op::iota).set(AttrKey::sizes, {2}).set(AttrKey::value, {0}).dtype(DType::i64).fails());
  EXPECT_TRUE(RuleRun(Op::from_dim).dtype(DType::i64).fails());
}

TEST(PointwiseRules, RandomKinds) {
  const auto draw = [](const char* kind, DType t) {
    RuleRun r(Op::random);
    r.node.set(AttrKey::kind, std::string(kind));
    r.set(AttrKey::sizes, {3}).dtype(t);
    return r;
  };
  EXPECT_EQ(draw("uniform", DType::f16).result(), (TensorType{DType::f16, {3}}));
  EXPECT_TRUE(draw("uniform", DType::i64).fails());
  EXPECT_TRUE(draw("unknown", DType::f32).fails());
  EXPECT_TRUE(draw("randint", DType::i64).fails());
  EXPECT_TRUE(draw("randint", DType::i64).set(AttrKey::range, {4, 4}).fails());
  EXPECT_EQ(draw("randint", DType::i32).set(AttrKey::range, {0, 4}).result(), (TensorType{DType::i32, {3}}));
  EXPECT_EQ(draw("dropout", DType::f32).result(), (TensorType{DType::f32, {3}}));
  EXPECT_TRUE(draw("uniform", DType::f32).in(DType::f32, {3}).fails());
  EXPECT_EQ(draw("poisson", DType::f64).in(DType::f64, {3}).result(), (TensorType{DType::f64, {3}}));
  EXPECT_TRUE(draw("poisson", DType::f64).fails());
  EXPECT_TRUE(draw("poisson", DType::f64).in(DType::f32, {3}).fails());
  EXPECT_TRUE(draw("poisson", DType::f64).in(DType::f64, {4}).fails());
  EXPECT_TRUE(draw("poisson", DType::i64).in(DType::i64, {3}).fails());
  EXPECT_TRUE(draw("binomial", DType::f32).in(DType::f32, {3}).fails());
  EXPECT_TRUE(draw("binomial", DType::f32).in(DType::f32, {3}).in(DType::f32, {1}).fails());
  EXPECT_EQ(draw("binomial", DType::f32).in(DType::f32, {3}).in(DType::f32, {3}).result(),
            (TensorType{DType::f32, {3}}));
}

TEST(PointwiseRules, MxValues) {
  const auto pack = [](Dims elements, DType t, Dims scales) {
    RuleRun r(Op::mx_pack);
    r.in(t, std::move(elements)).in(DType::f8_e8m0, std::move(scales)).set(AttrKey::block, {32});
    return r;
  };
  EXPECT_EQ(pack({4, 64}, DType::f8_e4m3fn, {4, 2}).result(), (TensorType{DType::f8_e4m3fn, {4, 64}, {.columns = 32}}));
  // Two elements in a byte, and scales in tiles of 128 x 4.
  EXPECT_EQ(pack({4, 64}, DType::u8, {512}).dtype(DType::f4_e2m1).set(AttrKey::layout, {1}).result(),
            (TensorType{DType::f4_e2m1, {4, 128}, {.columns = 32, .layout = ScaleLayout::swizzled_32_4_4}}));
  EXPECT_TRUE(pack({4, 48}, DType::f8_e4m3fn, {4, 2}).fails());
  EXPECT_TRUE(pack({4, 64}, DType::f8_e4m3fn, {4, 3}).fails());
  EXPECT_TRUE(pack({4, 64}, DType::f32, {4, 2}).fails());
  EXPECT_TRUE(pack({}, DType::f8_e4m3fn, {}).fails());
  EXPECT_TRUE(pack({4, 64}, DType::f8_e4m3fn, {4, 2}).set(AttrKey::block, {0}).fails());
  EXPECT_TRUE(pack({4, 64}, DType::f8_e4m3fn, {4, 2}).set(AttrKey::layout, {2}).fails());

  RuleRun d(Op::dequantize);
  d.in(DType::f8_e4m3fn, {4, 64}).dtype(DType::bf16);
  EXPECT_TRUE(d.fails());  // not a quantized value
  d.types[0].blocks.columns = 32;
  EXPECT_EQ(d.result(), (TensorType{DType::bf16, {4, 64}}));
}

}  // namespace
}  // namespace tern
