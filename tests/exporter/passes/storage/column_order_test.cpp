// Memory order of weights read only by products.
#include <gtest/gtest.h>

#include <cstring>

#include "exporter/constants.h"
#include "exporter/passes/passes.h"

namespace tern {
namespace {

constexpr std::int64_t kColumnOrderRows = 20, kColumnOrderColumns = 48;

/// A function whose nodes of these ops read the state [20, 48] as operand `operand`.
Program program_reading(const std::vector<Op>& ops, std::size_t operand) {
  Program p;
  std::vector<float> values(kColumnOrderRows * kColumnOrderColumns);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  State s;
  s.name = "weight";
  s.type = {DType::f32, {kColumnOrderRows, kColumnOrderColumns}};
  s.strides = {kColumnOrderColumns, 1};
  s.storage = add_storage(p, bytes);
  p.states.push_back(s);
  Function f;
  f.entry = true;
  f.values = {{s.type, "weight"}, {{DType::f32, {kColumnOrderRows, kColumnOrderRows}}, "x"}};
  f.inputs = {{FunctionInput::Kind::state, 0, 0, "weight", {}}, {FunctionInput::Kind::user, 1, 0, "x", {}}};
  for (const Op op : ops) {
    Node n;
    n.op = op;
    n.inputs = operand == 1 ? std::vector<ValueId>{1, 0} : std::vector<ValueId>{0, 1};
    f.values.push_back({{DType::f32, {kColumnOrderRows, kColumnOrderColumns}}, {}});
    n.outputs = {static_cast<ValueId>(f.values.size() - 1)};
    f.nodes.push_back(n);
  }
  p.functions.push_back(f);
  return p;
}

bool is_column_major(const Program& p) {
  return p.states[0].strides == std::vector<std::int64_t>{1, kColumnOrderRows};
}

TEST(WeightLayout, WeightsOfProductsAreStoredByColumns) {
  Program p = program_reading({Op::matmul, Op::matmul}, 1);
  store_weights_by_columns(p);
  ASSERT_TRUE(is_column_major(p));
  const auto check = [&] {
    const auto bytes = p.source->bytes(0);
    ASSERT_EQ(bytes.size(), kColumnOrderRows * kColumnOrderColumns * sizeof(float));
    for (std::int64_t i = 0; i < kColumnOrderRows; ++i) {
      for (std::int64_t j = 0; j < kColumnOrderColumns; ++j) {
        float v = 0;
        std::memcpy(&v, bytes.data() + (i + j * kColumnOrderRows) * 4, 4);
        ASSERT_EQ(v, static_cast<float>(i * kColumnOrderColumns + j));
      }
    }
  };
  check();
  dynamic_cast<ExtendableSource&>(*p.source).discard(0);
  check();
}

TEST(WeightLayout, BytesAreStoredByColumnsToo) {
  Program p = program_reading({Op::matmul}, 1);
  std::vector<std::byte> bytes(kColumnOrderRows * kColumnOrderColumns);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7);
  p.states[0].type.dtype = DType::i8;
  p.states[0].storage = add_storage(p, bytes);
  store_weights_by_columns(p);
  ASSERT_TRUE(is_column_major(p));
  const auto stored = p.source->bytes(p.states[0].storage);
  for (std::size_t i = 0; i < kColumnOrderRows; ++i) {
    for (std::size_t j = 0; j < kColumnOrderColumns; ++j)
      ASSERT_EQ(stored[i + j * kColumnOrderRows], bytes[i * kColumnOrderColumns + j]);
  }
}

TEST(WeightLayout, OthersStay) {
  Program first_operand = program_reading({Op::matmul}, 0);
  store_weights_by_columns(first_operand);
  EXPECT_FALSE(is_column_major(first_operand));
  Program also_added = program_reading({Op::matmul, Op::pointwise}, 1);
  store_weights_by_columns(also_added);
  EXPECT_FALSE(is_column_major(also_added));
  Program result = program_reading({Op::matmul}, 1);
  result.functions[0].outputs.push_back({FunctionOutput::Kind::tensor, 0, "weight"});
  store_weights_by_columns(result);
  EXPECT_FALSE(is_column_major(result));
  Program written = program_reading({Op::matmul}, 1);
  written.states[0].is_mutable = true;
  store_weights_by_columns(written);
  EXPECT_FALSE(is_column_major(written));
  Program shared = program_reading({Op::matmul}, 1);
  shared.states.push_back(shared.states[0]);
  store_weights_by_columns(shared);
  EXPECT_FALSE(is_column_major(shared));
}

}  // namespace
}  // namespace tern
