// Pointwise nodes and copies with transposed operands (kernels/portable/text/turned.inc), on every device, against the
// same values in the result's order.
#include <gtest/gtest.h>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class TurnedTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, TurnedTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct TurnedCase {
  DType dtype;
  Sizes sizes;       ///< sizes of the transposed operands
  int axis0, axis1;  ///< the exchanged axes
};

// Full and partial tiles; axes before, between and after; one or two transposed operands.
TEST_P(TurnedTest, HaveTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const TurnedCase cases[] = {
      {DType::bf16, {3, 40, 17}, 1, 2},   {DType::f32, {33, 70}, 0, 1}, {DType::f32, {64, 96}, 0, 1},
      {DType::u8, {50, 3, 45}, 0, 2},     {DType::i64, {16, 16}, 0, 1}, {DType::f32, {40, 36, 1}, 0, 1},
      {DType::c64, {2, 33, 2, 31}, 1, 3},
  };
  for (const TurnedCase& c : some_of<TurnedCase>(cases, 1)) {
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[0]));
    Sizes turned = c.sizes;
    std::swap(turned[static_cast<std::size_t>(c.axis0)], turned[static_cast<std::size_t>(c.axis1)]);
    TestProgram p;
    const auto operand = [&](const Sizes& sizes) { return p.input(c.dtype, Dims(sizes.begin(), sizes.end())); };
    const ValueId x = operand(turned), across = p.b().transpose(operand(c.sizes), c.axis0, c.axis1),
                  other = p.b().transpose(operand(c.sizes), c.axis0, c.axis1);
    std::vector<std::string> names = {"two", "copy", "one", "concat"};
    p.output(p.b().expr("a * a + x * b", {{"x", x}, {"a", across}, {"b", other}}, c.dtype));
    p.output(across);
    if (all_cases()) {
      p.output(p.b().expr("x + a", {{"x", x}, {"a", across}}, c.dtype));
      p.output(p.b().concat({x, across, x}, 0));
    }
    names.resize(p.program().functions[0].outputs.size());
    expect_same_bits(GetParam(), p, names,
                     {numbers(c.dtype, turned, 1), numbers(c.dtype, c.sizes, 2), numbers(c.dtype, c.sizes, 3)});
  }
}

}  // namespace
}  // namespace tern
