// The expression language: the instructions compiled from each expression.
#include "exporter/expr_text.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <string>

namespace tern {
namespace {

/// The instructions in words: "0 load f32 #0; 1 mul f32 0 0".
std::string words(const PointwiseExpr& e) {
  std::string s;
  for (std::size_t k = 0; k < e.code.size(); ++k) {
    const Instruction& i = e.code[k];
    const ScalarInfo& info = scalar_info(i.op);
    s += (k == 0 ? "" : "; ") + std::string(info.name) + " " + std::string(name_of(i.dtype));
    const std::uint16_t operands[] = {i.a, i.b, i.c};
    for (int o = 0; o < info.operands; ++o) s += " " + std::to_string(operands[o]);
    if (i.op == Scalar::load || i.op == Scalar::index) s += " #" + std::to_string(i.integer);
    if (i.op != Scalar::constant) continue;
    if (is_floating(i.dtype) || is_complex(i.dtype)) {
      char text[64];
      std::snprintf(text, sizeof text, " %.9g", i.number);
      s += text;
      if (i.imaginary != 0) s += "+" + std::to_string(i.imaginary) + "i";
    } else {
      s += " " + std::to_string(i.integer);
    }
  }
  return s;
}

const ValueId kX = 5, kY = 9;  // arbitrary distinct ids

std::string compiled(std::string_view text, DType x, DType y, DType compute, DType result) {
  const PointwiseExpr e = compile_expr(text, {{"x", kX}, {"a", 2.0}, {"y", kY}}, {x, y}, compute, result);
  EXPECT_EQ(check(e, {x, y}, result), "") << text;
  return words(e);
}
std::string compiled(std::string_view text, DType t) {
  return compiled(text, t, t, compute_type(t), t);
}

constexpr DType f32 = DType::f32;

TEST(ExprText, OperandsAndPrecedence) {
  EXPECT_EQ(compiled("x + y * x", f32), "load float32 #0; load float32 #1; mul float32 1 0; add float32 0 2");
  EXPECT_EQ(compiled("(x + y) * x", f32), "load float32 #0; load float32 #1; add float32 0 1; mul float32 2 0");
  EXPECT_EQ(compiled("x - y - x", f32), "load float32 #0; load float32 #1; sub float32 0 1; sub float32 2 0");
  EXPECT_EQ(compiled("-x % y", f32), "load float32 #0; neg float32 0; load float32 #1; remainder float32 1 2");
  EXPECT_EQ(compiled("x | y & x ^ y", DType::i64),
            "load int64 #0; load int64 #1; and int64 1 0; xor int64 2 1; or int64 0 3");
  EXPECT_EQ(compiled("x << 1 + 1", DType::i64), "load int64 #0; constant int64 2; shl int64 0 1");
}

TEST(ExprText, NarrowTypesAreConvertedOnTheWayInAndOut) {
  EXPECT_EQ(compiled("x * y", DType::bf16),
            "load bfloat16 #0; convert float32 0; load bfloat16 #1; convert float32 2; mul float32 1 3; "
            "convert bfloat16 4");
  EXPECT_EQ(compiled("x", DType::f16, DType::f16, f32, DType::f16), "load float16 #0");
  EXPECT_EQ(compiled("x", DType::i64, DType::i64, f32, DType::i64),
            "load int64 #0; convert float32 0; convert int64 1");
}

TEST(ExprText, EqualPartsAreSharedAndUnusedOnesLeftOut) {
  EXPECT_EQ(compiled("(x + y) * (x + y)", f32), "load float32 #0; load float32 #1; add float32 0 1; mul float32 2 2");
  EXPECT_EQ(compiled("s = x * x; s + s", f32), "load float32 #0; mul float32 0 0; add float32 1 1");
}

TEST(ExprText, ConstantsAreFolded) {
  EXPECT_EQ(compiled("x * (1 / a + 0.25)", f32), "load float32 #0; constant float32 0.75; mul float32 0 1");
  EXPECT_EQ(compiled("x + 1 * y", f32), "load float32 #0; load float32 #1; add float32 0 1");
  EXPECT_EQ(compiled("x * -pi", DType::f64), "load float64 #0; constant float64 -3.14159265; mul float64 0 1");
}

TEST(ExprText, Choices) {
  EXPECT_EQ(compiled("x > 0 ? x : y", f32),
            "load float32 #0; constant float32 0; gt bool 0 1; load float32 #1; where float32 2 0 3");
  EXPECT_EQ(compiled("x ? y : a", DType::u8, f32, f32, f32),
            "load uint8 #0; convert bool 0; load float32 #1; constant float32 2; where float32 1 2 3");
  EXPECT_EQ(compiled("x > 0 && !(y < a) ? 1 : 0", f32),
            "load float32 #0; constant float32 0; gt bool 0 1; load float32 #1; constant float32 2; lt bool 3 4; "
            "not bool 5; and bool 2 6; constant float32 1; where float32 7 8 1");
}

TEST(ExprText, BooleansAreNumbersToArithmetic) {
  EXPECT_EQ(compiled("(x > y) + x", f32),
            "load float32 #0; load float32 #1; gt bool 0 1; convert float32 2; add float32 3 0");
  EXPECT_EQ(compiled("x == y", f32, f32, f32, DType::boolean), "load float32 #0; load float32 #1; eq bool 0 1");
  EXPECT_EQ(compiled("bool(x) ^ bool(y)", f32, f32, DType::boolean, DType::boolean),
            "load float32 #0; convert bool 0; load float32 #1; convert bool 2; xor bool 1 3");
}

TEST(ExprText, PartsOfComplexNumbersAreReal) {
  EXPECT_EQ(compiled("abs(x) * real(y)", DType::c64, DType::c64, DType::c64, f32),
            "load complex64 #0; abs float32 0; load complex64 #1; real float32 2; mul float32 1 3");
  EXPECT_EQ(compiled("complex(x, y)", f32, f32, f32, DType::c64),
            "load float32 #0; load float32 #1; complex complex64 0 1");
  EXPECT_EQ(compiled("complex(real(x), -imag(x))", DType::c64),
            "load complex64 #0; real float32 0; imag float32 0; neg float32 2; complex complex64 1 3");
  EXPECT_EQ(words(compile_expr("x * z", {{"x", kX}, {"z", std::complex<double>(1, 2)}}, {DType::c64}, DType::c64,
                               DType::c64)),
            "load complex64 #0; constant complex64 1+2.000000i; mul complex64 0 1");
}

TEST(ExprText, PositionsAndRounding) {
  EXPECT_EQ(compiled("index(1) <= x", DType::i64, DType::i64, DType::i64, DType::boolean),
            "index int64 #1; load int64 #0; le bool 0 1");
  EXPECT_EQ(compiled("rounded(x + y) * x", DType::f16),
            "load float16 #0; convert float32 0; load float16 #1; convert float32 2; add float32 1 3; "
            "convert float16 4; convert float32 5; mul float32 6 1; convert float16 7");
  EXPECT_EQ(compiled("rounded(0.3) * x", DType::f16),
            "constant float32 0.300048828; load float16 #0; convert float32 1; mul float32 0 2; convert float16 3");
}

TEST(ExprText, PartsOfOtherTypes) {
  EXPECT_EQ(
      compiled("bfloat16(x * y) + x", f32),
      "load float32 #0; load float32 #1; mul float32 0 1; convert bfloat16 2; convert float32 3; add float32 4 0");
  EXPECT_EQ(
      compiled("x * float64(1 / y)", f32, DType::f64, f32, f32),
      "load float32 #0; constant float64 1; load float64 #1; div float64 1 2; convert float32 3; mul float32 0 4");
  EXPECT_EQ(compiled("int8(x - y) * a", DType::i8, DType::i8, f32, f32),
            "load int8 #0; convert int64 0; load int8 #1; convert int64 2; sub int64 1 3; convert int8 4; "
            "convert float32 5; constant float32 2; mul float32 6 7");
  // A conversion to the compute type costs nothing; a named subexpression is computed again for each other type.
  EXPECT_EQ(compiled("float32(x + y) * float32(2)", f32),
            "load float32 #0; load float32 #1; add float32 0 1; constant float32 2; mul float32 2 3");
  EXPECT_EQ(compiled("s = x + y; float64(s) - s", f32),
            "load float32 #0; convert float64 0; load float32 #1; convert float64 2; add float64 1 3; "
            "convert float32 4; add float32 0 2; sub float32 5 6");
}

TEST(ExprText, IntegerConstantsKeepAllTheirBits) {
  EXPECT_EQ(compiled("x + 9007199254740993", DType::i64),
            "load int64 #0; constant int64 9007199254740993; add int64 0 1");
  EXPECT_EQ(compiled("x + 1e30", DType::i64), "load int64 #0; constant int64 9223372036854775807; add int64 0 1");
}

TEST(ExprText, WrongTextsAreRefused) {
  for (std::string_view text : {"", "x +", "x y", "(x", "x ? y", "unknown(x)", "sin()", "sin(x, y)", "z", "x = y",
                                "index(x)", "convert(x)", "load(x)", "1..2", "x @ y"}) {
    EXPECT_THROW(compiled(text, f32), Error) << text;
  }
}

}  // namespace
}  // namespace tern
