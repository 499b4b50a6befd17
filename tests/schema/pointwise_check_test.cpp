// Accepted expressions, and hostile expressions.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "schema/pointwise.h"

namespace tern {
namespace {

Instruction instruction(Scalar op, DType dtype, std::uint16_t a = 0, std::uint16_t b = 0, std::uint16_t c = 0,
                        std::int64_t integer = 0) {
  Instruction i;
  i.op = op;
  i.dtype = dtype;
  i.a = a;
  i.b = b;
  i.c = c;
  i.integer = integer;
  return i;
}

TEST(PointwiseCheck, NumbersAndNamesAreUnique) {
  std::set<std::string_view> names;
  int count = 0;
  for (int n = 0; n < 65536; ++n) {
    const ScalarInfo& info = scalar_info(static_cast<Scalar>(n));
    if (info.op == Scalar::invalid) continue;
    ++count;
    EXPECT_EQ(static_cast<int>(info.op), n);
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(scalar_from_name(info.name), info.op);
  }
  EXPECT_GT(count, 100);
  EXPECT_EQ(scalar_from_name("and"), Scalar::and_);
  EXPECT_EQ(scalar_from_name(""), Scalar::invalid);
  EXPECT_EQ(scalar_from_name("system"), Scalar::invalid);
}

TEST(PointwiseCheck, ComputeTypes) {
  EXPECT_EQ(compute_type(DType::bf16), DType::f32);
  EXPECT_EQ(compute_type(DType::f8_e5m2), DType::f32);
  EXPECT_EQ(compute_type(DType::i8), DType::i64);
  EXPECT_EQ(compute_type(DType::u32), DType::i64);
  EXPECT_EQ(compute_type(DType::u64), DType::u64);
  EXPECT_EQ(compute_type(DType::c32), DType::c64);
  EXPECT_EQ(compute_type(DType::boolean), DType::boolean);
}

TEST(PointwiseCheck, AcceptsAnExpression) {
  const PointwiseExpr e{{instruction(Scalar::load, DType::f16), instruction(Scalar::convert, DType::f32, 0),
                         instruction(Scalar::constant, DType::f32), instruction(Scalar::lt, DType::boolean, 1, 2),
                         instruction(Scalar::where, DType::f32, 3, 2, 1), instruction(Scalar::convert, DType::f16, 4)}};
  EXPECT_EQ(check(e, {DType::f16}, DType::f16), "");
  EXPECT_NE(check(e, {DType::f16}, DType::f32), "");
  EXPECT_NE(check(e, {DType::f32}, DType::f16), "");
  EXPECT_NE(check(e, {}, DType::f16), "");
}

TEST(PointwiseCheck, RefusesWhatIsNotAnExpression) {
  const Instruction load = instruction(Scalar::load, DType::f32);
  const Instruction integer = instruction(Scalar::load, DType::i64, 0, 0, 0, 1);
  const auto wrong = [&](std::vector<Instruction> code, DType output) {
    const std::string what = check(PointwiseExpr{std::move(code)}, {DType::f32, DType::i64}, output);
    EXPECT_NE(what, "");
    return what;
  };
  wrong({}, DType::f32);
  wrong({instruction(Scalar::add, DType::f32, 0, 0)}, DType::f32);               // reads itself
  wrong({load, instruction(Scalar::add, DType::f32, 0, 5)}, DType::f32);         // reads a later instruction
  wrong({load, instruction(Scalar::invalid, DType::f32)}, DType::f32);           // no operation
  wrong({load, instruction(static_cast<Scalar>(999), DType::f32)}, DType::f32);  // unknown
  wrong({load, instruction(Scalar::neg, static_cast<DType>(77), 0)}, static_cast<DType>(77));  // no dtype
  wrong({load, integer, instruction(Scalar::add, DType::f32, 0, 1)}, DType::f32);              // mixed
  wrong({load, instruction(Scalar::and_, DType::f32, 0, 0)}, DType::f32);                      // bits of a float
  wrong({integer, instruction(Scalar::sqrt, DType::i64, 0)}, DType::i64);                      // root of an integer
  wrong({load, instruction(Scalar::lt, DType::f32, 0, 0)}, DType::f32);                // a comparison is boolean
  wrong({load, instruction(Scalar::where, DType::f32, 0, 0, 0)}, DType::f32);          // the condition too
  wrong({instruction(Scalar::load, DType::f32, 0, 0, 0, -1)}, DType::f32);             // invalid input
  wrong({instruction(Scalar::load, DType::f32, 0, 0, 0, INT64_MAX)}, DType::f32);      // invalid input
  wrong({instruction(Scalar::constant, DType::boolean, 0, 0, 0, 7)}, DType::boolean);  // neither 0 nor 1
  wrong({instruction(Scalar::constant, DType::f16)}, DType::f16);                      // no arithmetic
  wrong({instruction(Scalar::index, DType::i64, 0, 0, 0, 16)}, DType::i64);            // invalid axis
  wrong({load, instruction(Scalar::bitcast, DType::i64, 0)}, DType::i64);              // sizes differ
  wrong({load, instruction(Scalar::real, DType::f32, 0)}, DType::f32);                 // real part of a real number
  wrong({load, instruction(Scalar::convert, DType::f16, 0, 0, 0, 9)}, DType::f16);     // invalid policy
  wrong({load, instruction(Scalar::complex, DType::c128, 0, 0)}, DType::c128);         // parts of float
  std::vector<Instruction> many(kMaxInstructions + 1, load);
  wrong(many, DType::f32);
  EXPECT_NE(wrong({load, instruction(Scalar::sqrt, DType::f32, 3)}, DType::f32).find("instruction 1 (sqrt)"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
