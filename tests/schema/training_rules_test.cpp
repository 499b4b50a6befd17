// The rule of the optimizers' op: kernels would misread memory of another type.
#include <gtest/gtest.h>
#include <tern/error.h>

#include "schema/infer.h"
#include "schema/optim.h"

namespace tern {
namespace {

/// The rule's error for SGD with a master weight, or "" if the types are accepted.
std::string refusal(DType param, DType grad, DType master) {
  Program program;
  Node n;
  n.op = Op::optim;
  n.set(AttrKey::kind, Dims{Dim(static_cast<std::int64_t>(OptimKind::sgd))});
  n.set(AttrKey::hyper, std::vector<double>{0.1, 0, 0, 0, 0});
  n.set(AttrKey::counts, Dims{1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0});
  const TensorType types[] = {{param, {3}}, {grad, {3}}, {master, {3}}};
  try {
    const std::vector<TensorType> results = infer(program, program.pool, n, {&types[0], &types[1], &types[2]});
    EXPECT_EQ(results, (std::vector<TensorType>{types[0], types[2]}));
    return {};
  } catch (const Error& e) {
    return e.what();
  }
}

TEST(TrainingRules, MastersOf16BitParametersAreFloat32) {
  for (const DType t : {DType::bf16, DType::f16}) {
    for (const DType grad : {t, DType::f32}) {
      EXPECT_EQ(refusal(t, grad, DType::f32), "");
      EXPECT_NE(refusal(t, grad, t).find("must be float32"), std::string::npos) << refusal(t, grad, t);
    }
    EXPECT_NE(refusal(t, t, DType::f64), "");
  }
  EXPECT_NE(refusal(DType::bf16, DType::bf16, DType::f16), "");
  EXPECT_EQ(refusal(DType::f64, DType::f64, DType::f64), "");
}

}  // namespace
}  // namespace tern
