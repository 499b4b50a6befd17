// Refusals of the shape rules for movement: sizes and paddings that would break a kernel.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "schema/infer.h"

namespace tern {
namespace {

bool pads(ExprPool& pool, const Dims& before, const Dims& after, std::int64_t mode) {
  Program program;
  Node node;
  node.op = Op::pad;
  node.set(AttrKey::before, before);
  node.set(AttrKey::after, after);
  node.set(AttrKey::mode, Dims{mode});
  const TensorType x{DType::f32, {4}};
  try {
    infer(program, pool, node, {&x});
    return true;
  } catch (const Error&) {
    return false;
  }
}

TEST(MovementRules, OnlyConstantPaddingCrops) {
  ExprPool pool;
  const Dim negative = pool.symbol("negative", -3, -1), any = pool.symbol("any", -3, 3);
  EXPECT_TRUE(pads(pool, {-1}, {-2}, 0));
  EXPECT_FALSE(pads(pool, {-3}, {-2}, 0));
  for (std::int64_t mode : {1, 2, 3}) {
    EXPECT_TRUE(pads(pool, {1}, {2}, mode));
    EXPECT_FALSE(pads(pool, {-1}, {2}, mode));
    EXPECT_FALSE(pads(pool, {2}, {-1}, mode));
    EXPECT_FALSE(pads(pool, {negative}, {0}, mode));
    EXPECT_TRUE(pads(pool, {any}, {0}, mode));  // decided on concrete sizes
  }
}

TEST(MovementRules, ExpressionsOfExtremeNumbers) {
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  ExprPool pool;
  const Dim n = pool.symbol("n", 0, kNoBound);
  for (Dim a : {Dim(kMin), pool.mul(n, kMin + 1), pool.add(n, kMin + 1), n}) {
    for (Dim b : {Dim(-1), Dim(kMin), Dim(0), pool.mul(n, -1), pool.sub(0, n)}) {
      for (int op = 0; op < 5; ++op) {
        try {
          op == 0   ? pool.floordiv(a, b)
          : op == 1 ? pool.mod(a, b)
          : op == 2 ? pool.mul(a, b)
          : op == 3 ? pool.ceildiv(a, b)
                    : pool.sub(a, b);
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), ErrorCode::bad_file);
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern
