// Selects the nearer of two 16-bit results to float64; and programs widened to float64.
#include "tools/conform/reference.h"

#include <gtest/gtest.h>

#include "exporter/builder.h"
#include "exporter/constants.h"
#include "tests/tools/support.h"
#include "tools/conform/widen.h"

namespace tern {
namespace {

HostTensor tensor(DType dtype, std::vector<double> values) {
  HostTensor t{dtype, {static_cast<std::int64_t>(values.size())}, {}};
  t.data.resize(static_cast<std::size_t>(run_bytes(dtype, t.numel())));
  convert(values.data(), DType::f64, t.data.data(), dtype, t.numel());
  return t;
}

bool nearer(DType dtype, std::vector<double> actual, std::vector<double> golden, std::vector<double> wide) {
  return is_nearer(tensor(dtype, std::move(actual)), tensor(dtype, std::move(golden)),
                   tensor(DType::f64, std::move(wide)), default_tolerance(dtype));
}

constexpr double kReferenceNaN = std::numeric_limits<double>::quiet_NaN(),
                 kInfinity = std::numeric_limits<double>::infinity();

TEST(Nearer, EachElementIsWithinTheToleranceOrNoFurtherThanPyTorchs) {
  EXPECT_TRUE(nearer(DType::bf16, {1.0, 0.25}, {1.0, 0.5}, {1.0, 0.26}));
  EXPECT_TRUE(nearer(DType::f16, {0.003, kReferenceNaN}, {0.0, kReferenceNaN}, {0.0031, kReferenceNaN}));
  EXPECT_FALSE(nearer(DType::bf16, {1.0, 0.5}, {1.0, 0.25}, {1.0, 0.26}));
  EXPECT_FALSE(nearer(DType::bf16, {0.25, 0.5}, {0.5, 0.25}, {0.26, 0.26}));
}

TEST(Nearer, OnlySixteenBitsAndFiniteDifferences) {
  EXPECT_FALSE(nearer(DType::f32, {0.25}, {0.5}, {0.26}));
  EXPECT_FALSE(nearer(DType::f16, {kInfinity}, {0.5}, {kInfinity}));
  EXPECT_FALSE(nearer(DType::f16, {0.5}, {kReferenceNaN}, {0.5}));
  EXPECT_FALSE(can_be_nearer(tensor(DType::f16, {1}), {0, 0}));
}

TEST(Nearer, AReferenceFarFromPyTorchSupportsNothing) {
  EXPECT_TRUE(nearer(DType::f16, {1.0}, {1.01}, {1.0}));
  EXPECT_FALSE(nearer(DType::f16, {1.0}, {2.0}, {1.0}));
  EXPECT_FALSE(nearer(DType::bf16, {3.0, 9.0}, {9.0, 3.0}, {3.0, 9.0}));
}

TEST(Widen, NothingIsRoundedOnTheWay) {
  Program p;
  p.functions.resize(1);
  Builder b(p, 0);
  const float half = 0.5F;
  const ValueId x = b.add_value({DType::bf16, {4}}, "x"), w = add_constant(b, DType::f32, {1}, &half);
  const ValueId y = b.cast(b.expr("x * w", {{"x", x}, {"w", w}}, DType::f32), DType::bf16);
  const ValueId n = b.expr("y > 0", {{"y", y}}, DType::f32, DType::boolean);
  widen(p);
  const auto dtype = [&](ValueId v) { return p.functions[0].values[static_cast<std::size_t>(v)].type.dtype; };
  EXPECT_EQ(dtype(x), DType::f64);
  EXPECT_EQ(dtype(y), DType::f64);
  EXPECT_EQ(dtype(n), DType::boolean);
  for (const Node& node : p.functions[0].nodes) {
    for (const Instruction& i : node.expr.code) EXPECT_TRUE(i.dtype == DType::f64 || i.dtype == DType::boolean);
  }
  ASSERT_EQ(p.states.size(), 1U);
  EXPECT_EQ(p.states[0].type.dtype, DType::f64);
  EXPECT_EQ(p.storages[p.states[0].storage].size, sizeof(double));
  double value = 0;
  std::memcpy(&value, p.source->bytes(p.states[0].storage).data(), sizeof value);
  EXPECT_EQ(value, 0.5);
}

}  // namespace
}  // namespace tern
