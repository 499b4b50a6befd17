// Conversion of strides into matrices and batches of the vendors' libraries: each product is computed from product_of's
// result and from the tensors themselves.
#include "devices/gpu/libraries/product.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

namespace tern::gpu {
namespace {

using Integers = std::vector<std::int64_t>;

struct Tensor {
  Integers sizes, strides;
};

Tensor contiguous(const Integers& sizes) {
  Tensor t{sizes, Integers(sizes.size(), 1)};
  for (std::size_t i = sizes.size(); i-- > 1;) t.strides[i - 1] = t.strides[i] * sizes[i];
  return t;
}

/// Exchanges the last two axes.
Tensor transposed(Tensor t) {
  const std::size_t n = t.sizes.size();
  std::swap(t.sizes[n - 1], t.sizes[n - 2]);
  std::swap(t.strides[n - 1], t.strides[n - 2]);
  return t;
}

tern_device_tensor described(const Tensor& t) {
  tern_device_tensor d{};
  d.dtype = 12;
  d.rank = static_cast<std::int32_t>(t.sizes.size());
  std::copy(t.sizes.begin(), t.sizes.end(), d.sizes);
  std::copy(t.strides.begin(), t.strides.end(), d.strides);
  return d;
}

/// The positions of all elements of a tensor broadcast to `sizes`, in order.
Integers broadcast_positions(const Tensor& t, const Integers& sizes) {
  const std::int64_t count = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
  Integers all;
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t at = 0;
    std::int64_t rest = i;
    for (std::size_t k = 1; k <= sizes.size(); ++k) {
      const std::int64_t index = rest % sizes[sizes.size() - k];
      rest /= sizes[sizes.size() - k];
      if (k <= t.sizes.size() && t.sizes[t.sizes.size() - k] != 1) at += index * t.strides[t.strides.size() - k];
    }
    all.push_back(at);
  }
  return all;
}

/// The element at a position: a function with different values at different positions.
std::int64_t element(std::int64_t place, std::int64_t salt) {
  return (place * 7919 + salt) % 1009;
}

struct Case {
  std::string name;
  Tensor a, b;
  Tensor c{};  ///< absent without sizes
  std::size_t calls = 1;
  std::int32_t batch = 1;
};

Integers out_sizes(const Case& x) {
  const std::size_t rank = std::max(x.a.sizes.size(), x.b.sizes.size());
  Integers sizes(rank, 1);
  for (std::size_t k = 1; k <= rank; ++k) {
    const auto of = [&](const Tensor& t) { return k <= t.sizes.size() ? t.sizes[t.sizes.size() - k] : 1; };
    sizes[rank - k] = k == 1 ? of(x.b) : k == 2 ? of(x.a) : std::max(of(x.a), of(x.b));
  }
  return sizes;
}

Integers expected_elements(const Case& x, const Integers& sizes) {
  const std::int64_t rows = sizes[sizes.size() - 2];
  const std::int64_t columns = sizes.back();
  const std::int64_t depth = x.a.sizes.back();
  Integers a_sizes = sizes;
  Integers b_sizes = sizes;
  a_sizes.back() = depth;
  b_sizes[sizes.size() - 2] = depth;
  const Integers a = broadcast_positions(x.a, a_sizes);
  const Integers b = broadcast_positions(x.b, b_sizes);
  const Integers c = x.c.sizes.empty() ? Integers() : broadcast_positions(x.c, sizes);
  Integers result;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(a.size()) / depth * columns; ++i) {
    const std::int64_t matrix = i / (rows * columns);
    const std::int64_t row = i / columns % rows;
    std::int64_t sum = c.empty() ? 0 : element(c[static_cast<std::size_t>(i)], 3);
    for (std::int64_t k = 0; k < depth; ++k)
      sum += element(a[static_cast<std::size_t>((matrix * rows + row) * depth + k)], 1) *
             element(b[static_cast<std::size_t>((matrix * depth + k) * columns + i % columns)], 2);
    result.push_back(sum);
  }
  return result;
}

std::int64_t element_offset(const Matrix& m, std::int64_t first, std::int64_t batch, std::int64_t row,
                            std::int64_t column) {
  if (m.transposed) std::swap(row, column);
  EXPECT_LT(row, m.rows);
  EXPECT_LT(column, m.columns);
  EXPECT_GE(m.leading, m.rows);
  return first + batch * m.batch_offset + column * m.leading + row;
}

Integers product_elements(const Product& p, std::size_t count) {
  Integers result(count, -1);
  const std::int64_t depth = p.a.transposed ? p.a.rows : p.a.columns;
  for (const Offsets& o : p.calls) {
    for (std::int64_t i = 0; i < p.batch * p.d.columns * p.d.rows; ++i) {
      const std::int64_t batch = i / (p.d.rows * p.d.columns);
      const std::int64_t column = i / p.d.rows % p.d.columns;
      const std::int64_t row = i % p.d.rows;
      std::int64_t sum = 0;
      if (p.addend == Addend::vector) sum = element(o.c + row, 3);
      if (p.addend == Addend::matrix) sum = element(element_offset(p.c, o.c, batch, row, column), 3);
      for (std::int64_t k = 0; k < depth; ++k)
        sum += element(element_offset(p.a, o.a, batch, row, k), 2) *
               element(element_offset(p.b, o.b, batch, k, column), 1);
      result.at(static_cast<std::size_t>(element_offset(p.d, o.d, batch, row, column))) = sum;
    }
  }
  return result;
}

/// The op's tensors point into the caller's arrays.
std::optional<Product> product(const Case& x, const Integers& sizes) {
  const tern_device_tensor inputs[] = {described(x.a), described(x.b),
                                       x.c.sizes.empty() ? tern_device_tensor{} : described(x.c)};
  const tern_device_tensor output = described(contiguous(sizes));
  tern_device_op op{};
  op.input_count = 3;
  op.output_count = 1;
  op.inputs = inputs;
  op.outputs = &output;
  return product_of(op);
}

class ProductTest : public ::testing::TestWithParam<Case> {};

TEST_P(ProductTest, ComputesWhatTheTensorsSay) {
  const Case& x = GetParam();
  const Integers sizes = out_sizes(x);
  const std::optional<Product> p = product(x, sizes);
  ASSERT_TRUE(p);
  EXPECT_EQ(p->calls.size(), x.calls);
  EXPECT_EQ(p->batch, x.batch);
  const Integers expected = expected_elements(x, sizes);
  EXPECT_EQ(product_elements(*p, expected.size()), expected);
}

const Case kCases[] = {
    {"plain", contiguous({3, 4}), contiguous({4, 5})},
    {"linear", contiguous({3, 4}), transposed(contiguous({5, 4})), contiguous({5})},
    {"both_transposed", transposed(contiguous({4, 3})), transposed(contiguous({5, 4}))},
    {"padded_rows", {{3, 4}, {9, 1}}, {{4, 5}, {7, 1}}},
    {"one_row", {{1, 4}, {77, 1}}, contiguous({4, 5})},
    {"one_column", contiguous({3, 4}), {{4, 1}, {1, 77}}},
    {"column_of_a_matrix", contiguous({3, 4}), {{4, 1}, {6, 1}}},
    {"depth_of_one", contiguous({3, 1}), contiguous({1, 5})},
    {"rows_of_a_batch", contiguous({2, 3, 4}), transposed(contiguous({5, 4})), contiguous({5})},
    {"rows_of_two_axes", contiguous({2, 6, 3, 4}), contiguous({4, 5})},
    {"single_rows_of_a_batch", contiguous({6, 1, 4}), contiguous({4, 5})},
    {"rows_and_addend", contiguous({2, 3, 4}), contiguous({4, 5}), contiguous({2, 3, 5})},
    {"batch", contiguous({6, 3, 4}), contiguous({6, 4, 5}), {}, 1, 6},
    {"batch_of_two_axes", contiguous({2, 3, 3, 4}), transposed(contiguous({2, 3, 5, 4})), {}, 1, 6},
    {"batch_shares_a", contiguous({3, 4}), contiguous({6, 4, 5}), {}, 1, 6},
    {"batch_with_matrix", contiguous({6, 3, 4}), contiguous({6, 4, 5}), contiguous({6, 3, 5}), 1, 6},
    {"batch_shares_addend", contiguous({6, 3, 4}), contiguous({6, 4, 5}), contiguous({3, 5}), 1, 6},
    {"batch_with_vector", contiguous({6, 3, 4}), contiguous({6, 4, 5}), contiguous({5}), 1, 6},
    // Heads of attention: [batch, row, head, width] with permuted axes.
    {"heads", {{2, 3, 5, 4}, {60, 4, 12, 1}}, {{2, 3, 4, 5}, {60, 4, 1, 12}}, {}, 2, 3},
    {"groups_of_heads", contiguous({2, 2, 3, 3, 4}), {{2, 2, 1, 4, 5}, {40, 20, 20, 5, 1}}, {}, 1, 4},
};
INSTANTIATE_TEST_SUITE_P(Products, ProductTest, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

TEST(Products, OthersAreRefused) {
  const Case refused[] = {
      {"expanded rows", {{3, 4}, {0, 1}}, contiguous({4, 5})},
      {"flipped", {{3, 4}, {-4, 1}}, contiguous({4, 5})},
      {"every other column", {{3, 4}, {8, 2}}, contiguous({4, 5})},
      {"an empty operand", contiguous({0, 4}), contiguous({4, 5})},
      {"no depth", contiguous({3, 0}), contiguous({0, 5})},
      {"no matrices", contiguous({0, 3, 4}), contiguous({0, 4, 5})},
      {"an addend by columns", contiguous({3, 4}), contiguous({4, 5}), contiguous({3, 1})},
      {"many calls", {{20, 3, 5, 4}, {60, 4, 12, 1}}, {{20, 3, 4, 5}, {60, 4, 1, 12}}},
  };
  for (const Case& x : refused) EXPECT_FALSE(product(x, out_sizes(x))) << x.name;
}

}  // namespace
}  // namespace tern::gpu
