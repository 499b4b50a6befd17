// A device's own kernels: the test plugin implements rms_norm of contiguous rows without a weight.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

Model norm(bool transposed) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 2});
  const ValueId rows = transposed ? p.b().transpose(x, 0, 1) : x;
  p.output(p.b().add(Op::rms_norm, {rows, kNoValue}, {attr(AttrKey::k, Dim(1)), attr_number(AttrKey::epsilon, 0.5)}));
  return p.model();
}

std::uint64_t overridden_by_run(const Model& model, PrepareOptions options, std::vector<float>* result) {
  options.device = "full";
  const std::uint64_t before = control_of("full").overridden();
  Session session(model.prepare(options));
  *result = values_of(session.run({floats({2, 2}, {3, 4, 6, 8})})[0]);
  return control_of("full").overridden() - before;
}

TEST(Override, ADeviceTakesTheNodesThatItWants) {
  std::vector<float> result;
  EXPECT_EQ(overridden_by_run(norm(false), {}, &result), 1u);
  // The mean of squares is 12.5 and 50.
  EXPECT_NEAR(result[0], 3 / std::sqrt(13), 1e-6);
  EXPECT_NEAR(result[3], 8 / std::sqrt(50.5), 1e-6);
}

TEST(Override, OthersRunByThePortableKernels) {
  std::vector<float> result;
  EXPECT_EQ(overridden_by_run(norm(true), {}, &result), 0u);
  EXPECT_NEAR(result[0], 3 / std::sqrt(23), 1e-6);
}

TEST(Override, ReproducibleRunsTakeNone) {
  PrepareOptions options;
  options.reproducible = true;
  std::vector<float> result;
  EXPECT_EQ(overridden_by_run(norm(false), options, &result), 0u);
  EXPECT_NEAR(result[0], 3 / std::sqrt(13), 1e-6);
}

TEST(Override, NothingIsKeptWhenPlansGo) {
  std::vector<float> result;
  overridden_by_run(norm(false), {}, &result);
  EXPECT_EQ(control_of("full").counts().overrides, 0);
}

}  // namespace
}  // namespace tern
