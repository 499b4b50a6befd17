// Pointwise nodes and copies with several elements per item (kernels/portable/wide.h, copy.cpp), on every device,
// against the CPU's bits.
#include <gtest/gtest.h>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class WideTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, WideTest, ::testing::ValuesIn(all_devices()), name_of_case);

// Large enough for 8 elements per item.
constexpr std::int64_t kWideRows = 1 << 13, kRow = 136, kChannels = 16, kPlane = 17;

Dims dims_wide(const Sizes& sizes) {
  return {sizes.begin(), sizes.end()};
}

struct WideCase {
  DType dtype;
  const char* expression;
};

// Operands made of whole words, equal for all elements of an item, equal for some; a partial last item.
TEST_P(WideTest, HaveTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const WideCase cases[] = {{DType::bf16, "x * c + y"}, {DType::u8, "x * c + y"},  {DType::f32, "max(x * c + y, 0)"},
                            {DType::i64, "x * c + y"},  {DType::c64, "x + c + y"}, {DType::f16, "x * c - y"}};
  for (const WideCase& c : some_of<WideCase>(cases, 2)) {
    SCOPED_TRACE(name_of(c.dtype));
    TestProgram p;
    const Sizes matrix = {kWideRows, kRow}, row = {kRow}, column = {kWideRows, 1}, line = {kWideRows * kRow - 3};
    const ValueId x = p.input(c.dtype, dims_wide(matrix)), r = p.input(c.dtype, dims_wide(row)),
                  once = p.input(c.dtype, dims_wide(column)), l = p.input(c.dtype, dims_wide(line));
    const ValueId planes = p.b().reshape(x, dims_wide({kWideRows * kRow / kPlane / kChannels, kChannels, kPlane}));
    const ValueId channel = p.b().reshape(p.b().slice(r, 0, Dim(0), Dim(kChannels)), dims_wide({kChannels, 1}));
    std::vector<std::string> names = {"row", "column", "line", "channel"};
    p.output(p.b().expr(c.expression, {{"x", x}, {"c", r}, {"y", x}}, c.dtype));
    p.output(p.b().expr(c.expression, {{"x", x}, {"c", once}, {"y", r}}, c.dtype));
    p.output(p.b().expr(c.expression, {{"x", l}, {"c", l}, {"y", l}}, c.dtype));
    p.output(p.b().expr(c.expression, {{"x", planes}, {"c", channel}, {"y", planes}}, c.dtype));
    expect_same_bits(GetParam(), p, names,
                     {numbers(c.dtype, matrix, 1), numbers(c.dtype, row, 2), numbers(c.dtype, column, 3),
                      numbers(c.dtype, line, 4)});
  }
}

// Rows of 16 bytes at unaligned addresses: on GPUs an unaligned wide access ends the program.
TEST_P(WideTest, TakeElementsThatBeginAnywhere) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const DType types[] = {DType::bf16, DType::f32, DType::u8};
  for (const DType t : some_of<DType>(types, 1)) {
    SCOPED_TRACE(name_of(t));
    TestProgram p;
    constexpr std::int64_t kCount = kWideRows * kRow;
    const ValueId x = p.input(t, dims_wide({kCount + 3})), y = p.input(t, dims_wide({kCount}));
    const ValueId later = p.b().slice(x, 0, Dim(3), Dim(kCount));
    p.output(p.b().expr("x + y", {{"x", later}, {"y", y}}, t));
    p.output(p.b().expr("x + y", {{"x", y}, {"y", later}}, t));
    p.output(p.b().concat({y, later}, 0));
    p.output(p.b().concat({later, y}, 0));
    expect_same_bits(GetParam(), p, {"first", "second", "end", "start"},
                     {numbers(t, {kCount + 3}, 1), numbers(t, {kCount}, 2)});
  }
}

// Rows that are pieces of 16 bytes, of 8, of an element; more operands than a launch allows; attention heads.
TEST_P(WideTest, MovePieces) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const DType types[] = {DType::bf16, DType::f32, DType::u8, DType::c64};
  for (const DType t : some_of<DType>(types, 1)) {
    SCOPED_TRACE(name_of(t));
    TestProgram p;
    const ValueId x = p.input(t, dims_wide({kWideRows, kRow})), narrow = p.input(t, dims_wide({kWideRows, 20})),
                  one = p.input(t, dims_wide({kWideRows, 1}));
    std::vector<std::string> names = {"sixteen", "eight", "element", "many", "heads"};
    p.output(p.b().concat({x, p.b().slice(x, 1, Dim(8), Dim(64))}, 1));
    p.output(p.b().concat({narrow, x, narrow}, 1));
    p.output(p.b().concat({x, one, narrow}, 1));
    p.output(p.b().concat({x, x, narrow, x, x, narrow, x, x, x, narrow}, 1));
    const ValueId heads = p.b().transpose(p.b().reshape(x, dims_wide({kWideRows / 64, 64, kRow / 8, 8})), 1, 2);
    p.output(p.b().reshape(heads, dims_wide({kWideRows / 64 * kRow / 8, 64, 8})));
    expect_same_bits(GetParam(), p, names,
                     {numbers(t, {kWideRows, kRow}, 1), numbers(t, {kWideRows, 20}, 2), numbers(t, {kWideRows, 1}, 3)});
  }
}

}  // namespace
}  // namespace tern
