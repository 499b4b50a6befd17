// Deviations of tensors of every kind.
#include "tools/verify/tensors.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "dtypes/convert.h"

namespace tern {
namespace {

Tensor tensor(DType dtype, std::vector<std::int64_t> sizes, const std::vector<double>& values) {
  Tensor t(dtype, std::move(sizes));
  convert(values.data(), is_complex(dtype) ? DType::c128 : DType::f64, t.data(), dtype, t.numel());
  return t;
}

TEST(TensorDeviation, EveryFloatingType) {
  // Values exact in all of the types.
  for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8_e5m2, DType::f6_e3m2}) {
    const Deviation d = deviation_of(tensor(t, {2}, {3, -4}), tensor(t, {2}, {3, -5}));
    EXPECT_DOUBLE_EQ(d.sqnr(), 10 * std::log10(25)) << name_of(t);
    EXPECT_EQ(d.same_rows, 1) << name_of(t);
  }
}

TEST(TensorDeviation, TwoElementsInAByte) {
  const std::vector<double> values(4099, 3);
  std::vector<double> other = values;
  other[4098] = 2;  // the only element of its block
  const Deviation d = deviation_of(tensor(DType::f4_e2m1, {4099}, values), tensor(DType::f4_e2m1, {4099}, other));
  EXPECT_EQ(d.elements, 4099);
  EXPECT_EQ(d.unequal, 1);
  EXPECT_DOUBLE_EQ(d.sqnr(), 10 * std::log10(4099 * 9.0));
}

TEST(TensorDeviation, RowsThatBlocksDivide) {
  constexpr std::int64_t kRows = 5, kColumns = 3000;
  std::vector<double> reference(kRows * kColumns), actual(kRows * kColumns);
  for (std::size_t row = 0; row < kRows; ++row) {
    reference[row * kColumns + 2900] = actual[row * kColumns + 2900] = 1;
    if (row % 2 == 1) actual[row * kColumns + 7] = 2;
  }
  const Deviation d =
      deviation_of(tensor(DType::f32, {kRows, kColumns}, reference), tensor(DType::f32, {kRows, kColumns}, actual));
  EXPECT_EQ(d.rows, kRows);
  EXPECT_EQ(d.same_rows, 3);
  EXPECT_EQ(d.elements, kRows * kColumns);
}

TEST(TensorDeviation, ColumnsOfOneElementHaveNoAnswer) {
  EXPECT_EQ(deviation_of(tensor(DType::f32, {3, 1}, {1, 2, 3}), tensor(DType::f32, {3, 1}, {1, 2, 4})).rows, 0);
  EXPECT_EQ(deviation_of(tensor(DType::f32, {}, {1}), tensor(DType::f32, {}, {2})).rows, 0);
}

TEST(TensorDeviation, PartsOfComplexNumbers) {
  const Deviation d = deviation_of(tensor(DType::c64, {2}, {3, 0, 0, -4}), tensor(DType::c64, {2}, {3, 0, 0, -5}));
  EXPECT_DOUBLE_EQ(d.sqnr(), 10 * std::log10(25));
  EXPECT_DOUBLE_EQ(d.largest_error, 1);
  EXPECT_EQ(d.rows, 0);
}

TEST(TensorDeviation, IntegersThatDoublesDoNotTellApart) {
  Tensor reference(DType::i64, {2}), actual(DType::i64, {2});
  reference.span<std::int64_t>()[0] = std::int64_t{1} << 53;
  actual.span<std::int64_t>()[0] = (std::int64_t{1} << 53) + 1;
  const Deviation d = deviation_of(reference, actual);
  EXPECT_FALSE(d.exact());
  EXPECT_EQ(d.agreement(), 0.5);
}

TEST(TensorDeviation, Booleans) {
  const Deviation d =
      deviation_of(tensor(DType::boolean, {4}, {1, 0, 1, 0}), tensor(DType::boolean, {4}, {1, 1, 1, 0}));
  EXPECT_EQ(d.agreement(), 0.75);
  EXPECT_EQ(d.largest_error, 1);
}

TEST(TensorDeviation, EmptyTensors) {
  for (const DType t : {DType::f32, DType::i64, DType::c64}) {
    const Deviation d = deviation_of(Tensor(t, {0, 3}), Tensor(t, {0, 3}));
    EXPECT_TRUE(d.exact());
    EXPECT_EQ(d.cosine(), 1);
    EXPECT_FALSE(d.agreement());
  }
}

TEST(TensorDeviation, AReferenceOfAnotherFloatingType) {
  const Tensor wide = tensor(DType::f64, {2}, {3, -4}), narrow = tensor(DType::bf16, {2}, {3, -5});
  EXPECT_EQ(mismatch(wide, narrow), "");
  EXPECT_DOUBLE_EQ(deviation_of(wide, narrow).sqnr(), 10 * std::log10(25));
}

TEST(TensorDeviation, WhatCannotBeCompared) {
  const Tensor two(DType::f32, {2}), three(DType::f32, {3}), whole(DType::i64, {2}), complex(DType::c64, {2});
  EXPECT_EQ(mismatch(two, three), "float32[3], not float32[2]");
  EXPECT_EQ(mismatch(two, whole), "int64[2], not float32[2]");
  EXPECT_EQ(mismatch(two, complex), "complex64[2], not float32[2]");
  EXPECT_EQ(mismatch(two, Tensor()), "None, not float32[2]");
  EXPECT_EQ(mismatch(Tensor(), Tensor(DType::i64, {})), "int64[], not None");
  EXPECT_EQ(mismatch(Tensor(), Tensor()), "");
}

}  // namespace
}  // namespace tern
