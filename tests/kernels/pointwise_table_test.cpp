// Every operation and type accepted by the expression check has a loop.
#include "kernels/cpu/pointwise/loops.h"
#include "tests/kernels/pointwise_support.h"

namespace tern::test {
namespace {

constexpr DType kPointwiseTableTypes[] = {DType::boolean, DType::i64, DType::u64, DType::f32,
                                          DType::f64,     DType::c64, DType::c128};

TEST(PointwiseTable, EveryAcceptedOperationHasALoop) {
  int accepted = 0;
  for (int n = 1; n < pointwise::kLoopScalars; ++n) {
    const ScalarInfo& info = scalar_info(static_cast<Scalar>(n));
    if (info.op == Scalar::invalid || info.operands == 0 || info.op == Scalar::convert || info.op == Scalar::bitcast) {
      continue;
    }
    for (DType t : kPointwiseTableTypes) {
      for (DType result : kPointwiseTableTypes) {
        Code code;
        const std::uint16_t condition = code.load(1, DType::boolean);
        const std::uint16_t x = code.load(0, t);
        code.push(info.op, result, info.op == Scalar::where ? condition : x, x, x);
        if (!check(code.expr, {t, DType::boolean}, result).empty()) continue;
        ++accepted;
        EXPECT_NE(pointwise::loop_table().get(info.op, t), nullptr) << info.name << " of " << name_of(t);
      }
    }
  }
  EXPECT_GT(accepted, 300);
}

}  // namespace
}  // namespace tern::test
