// Products of few rows by quantized weights, and by weights of 16 bits beside float32, on devices with groups
// (kernels/portable/row_products.h), against sums in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/devices/same_bits.h"
#include "tests/kernels/quantized_value.h"
#include "tests/runtime/quantized_constant.h"

namespace tern {
namespace {

using namespace testing;
using test::Format;
using test::kFormats;

class QuantizedRowsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, QuantizedRowsTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// Full and partial runs per item, one round and several; full and partial rows.
struct Extent {
  std::int64_t planes, rows, columns, depth;
};
constexpr Extent kExtents[] = {{1, 1, 9, 192}, {1, 1, 70, 2112}, {1, 2, 5, 64},   {2, 3, 17, 320},
                               {1, 8, 33, 64}, {3, 2, 6, 1088},  {1, 1, 8200, 64}};
constexpr std::size_t kQuantizedRowsEverywhere = 4;  // cases run on every device: emulated devices compile for seconds

bool is_full() {
  return std::getenv("TERN_TEST_FULL") != nullptr;
}

struct Product {
  std::string name;
  std::vector<double> weight;  ///< [columns, depth]
  Extent size;
  Tensor x, bias;
};

/// x of `type`, with a bias for an even number of columns.
ValueId add(TestProgram& p, Product& product, DType type, ValueId weight, std::vector<Tensor>& inputs) {
  const Extent& e = product.size;
  product.x = numbers(type, {e.planes, e.rows, e.depth}, inputs.size() + 1);
  inputs.push_back(product.x);
  std::vector<ValueId> operands = {p.input(type, {e.planes, e.rows, e.depth}), weight};
  if (e.columns % 2 == 0) {
    product.bias = numbers(DType::f32, {e.columns}, 5);
    inputs.push_back(product.bias);
    operands.push_back(p.input(DType::f32, {e.columns}));
  }
  return p.b().add(Op::matmul, operands, {attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(DType::f32)))});
}

void expect_sums(const Product& product, const Tensor& y) {
  SCOPED_TRACE(product.name);
  const Extent& e = product.size;
  const std::vector<double> x = doubles(product.x), found = doubles(y);
  ASSERT_EQ(static_cast<std::int64_t>(found.size()), e.planes * e.rows * e.columns);
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    const std::int64_t row = i / e.columns, column = i % e.columns;
    double sum = e.columns % 2 == 0 ? product.bias.span<const float>()[static_cast<std::size_t>(column)] : 0,
           size = std::fabs(sum);
    for (std::int64_t k = 0; k < e.depth; ++k) {
      const double one = x[static_cast<std::size_t>(row * e.depth + k)] *
                         product.weight[static_cast<std::size_t>(column * e.depth + k)];
      sum += one;
      size += std::fabs(one);
    }
    ASSERT_NEAR(found[static_cast<std::size_t>(i)], sum, size * 1e-6 + 1e-6) << "row " << row << ", column " << column;
  }
}

void expect_products(const std::string& device, const TestProgram& p, const std::vector<Product>& products,
                     const std::vector<Tensor>& inputs) {
  Session session(p.model().prepare(options_on(device)));
  const std::vector<Tensor>& results = session.run(inputs);
  for (std::size_t i = 0; i < products.size(); ++i) expect_sums(products[i], results[i]);
}

TEST_P(QuantizedRowsTest, AreSumsOfTheNumbers) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  TestProgram p;
  std::vector<Tensor> inputs;
  std::vector<Product> products;
  std::size_t number = 0;
  for (const Format& f : kFormats) {
    for (const Extent& e : kExtents) {
      ++number;  // all formats, and each a few sizes
      if (!is_full() && number % (GetParam() == "cuda" ? kQuantizedRowsEverywhere : 2 * kQuantizedRowsEverywhere) != 0)
        continue;
      const QuantizedMatrix m = matrix_of(f, e.columns, e.depth);
      const std::vector<std::byte> bytes = test::random_value(m, static_cast<std::uint32_t>(number));
      const DType type = number % 8 < 4 ? DType::f32 : DType::bf16;
      const std::vector<float> weight = test::numbers_of(m, bytes);
      products.push_back(
          {std::string(name_of(f.element)) + " " + std::to_string(number), {weight.begin(), weight.end()}, e, {}, {}});
      p.output(add(p, products.back(), type, quantized_constant(p, m, {e.columns, e.depth}, bytes), inputs));
    }
  }
  expect_products(GetParam(), p, products, inputs);
}

TEST_P(QuantizedRowsTest, OfFloat32ByWeightsOf16Bits) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  TestProgram p;
  std::vector<Tensor> inputs;
  std::vector<Product> products;
  for (const DType t : {DType::bf16, DType::f16}) {
    for (const Extent& e : {Extent{1, 1, 70, 2112}, Extent{1, 3, 600, 65}, Extent{1, 8, 512, 264}}) {
      const Tensor w = numbers(t, {e.columns, e.depth}, 3);
      products.push_back({std::string(name_of(t)), doubles(w), e, {}, {}});
      const ValueId weight = p.b().constant(t, {e.columns, e.depth}, w.data());
      p.output(add(p, products.back(), DType::f32, p.b().transpose(weight, 0, 1), inputs));
    }
  }
  expect_products(GetParam(), p, products, inputs);
}

}  // namespace
}  // namespace tern
