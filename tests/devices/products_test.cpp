// Products by groups with shared tiles (kernels/portable/product_tiles.h), on every device: full and partial tiles, any
// strides. Compared with the CPU's bits in reproducible mode, else with products of doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <span>

#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class ProductsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, ProductsTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct ProductsCase {
  DType a, b;
  Sizes lhs, rhs;                       ///< before transposition
  bool transposes_lhs, transposes_rhs;  ///< the last two axes are exchanged
  bool bias = false;
  std::int64_t step = 1;  ///< every n-th element of a row of the left operand
};

std::string name_of_products(const ProductsCase& c) {
  const auto text = [](const Sizes& sizes) {
    std::string s;
    for (const std::int64_t n : sizes) s += std::to_string(n) + " ";
    return s;
  };
  return std::string(tern::name_of(c.a)) + " " + text(c.lhs) + "by " + text(c.rhs) +
         (c.transposes_lhs ? "left turned " : "") + (c.transposes_rhs ? "right turned " : "") + (c.bias ? "bias" : "");
}

/// A product, and the same product as float32, whose sums show errors hidden by rounding.
void add_product(TestProgram& p, const ProductsCase& c, std::vector<Tensor>& inputs, std::vector<std::string>& names) {
  Builder& b = p.b();
  const auto operand = [&](DType t, const Sizes& sizes, bool turned, std::int64_t step) {
    Sizes whole = sizes;
    whole.back() *= step;
    inputs.push_back(numbers(t, whole, inputs.size() + 1));
    ValueId v = p.input(t, Dims(whole.begin(), whole.end()));
    const int last = static_cast<int>(sizes.size()) - 1;
    if (step != 1) v = b.slice(v, last, Dim(0), Dim(sizes.back()), step);
    return turned ? b.transpose(v, last - 1, last) : v;
  };
  std::vector<ValueId> operands = {operand(c.a, c.lhs, c.transposes_lhs, c.step),
                                   operand(c.b, c.rhs, c.transposes_rhs, 1)};
  if (c.bias) operands.push_back(operand(c.a, {c.transposes_rhs ? c.rhs[c.rhs.size() - 2] : c.rhs.back()}, false, 1));
  p.output(b.add(Op::matmul, operands));
  names.push_back(name_of_products(c));
}

// The number of cases run on every device: emulated devices compile for seconds.
constexpr std::size_t kProductsEverywhere = 3;

std::vector<ProductsCase> some_cases_products() {
  return {
      {DType::bf16, DType::bf16, {72, 37}, {33, 72}, true, true, true},
      {DType::f32, DType::f32, {77, 37}, {77, 33}, true, false, true},
      {DType::bf16, DType::bf16, {1, 650}, {67, 650}, false, true, true},
      {DType::bf16, DType::bf16, {40, 72}, {72, 56}, false, false, false, 3},
      {DType::f16, DType::f16, {3, 21, 300}, {3, 300, 40}, false, false},
      {DType::f32, DType::f32, {40, 300}, {56, 300}, false, true},
      {DType::f32, DType::f32, {1, 512}, {70, 512}, false, true},
  };
}

std::vector<ProductsCase> all_cases_products() {
  std::vector<ProductsCase> all = some_cases_products();
  for (const DType t : {DType::bf16, DType::f16, DType::f32}) {
    for (const bool left : {false, true}) {
      for (const bool right : {false, true})
        all.push_back(
            {t, t, left ? Sizes{72, 40} : Sizes{40, 72}, right ? Sizes{56, 72} : Sizes{72, 56}, left, right, left});
    }
    all.push_back({t, t, {1, 1031}, {65, 1031}, false, true});
    all.push_back({t, t, {3, 1, 512}, {3, 70, 512}, false, true, true});
    all.push_back({t, t, {1, 200}, {200, 300}, false, false});
    all.push_back({t, t, {1, 512}, {64, 512}, false, true, false, 2});
    all.push_back({t, t, {2, 17, 65}, {1, 65, 40}, false, false});
    for (const std::int64_t rows : {2, 15, 16, 100, 300}) {
      for (const std::int64_t columns : {8, 65, 300}) {
        for (const std::int64_t depth : {31, 64, 1000}) {
          const bool turned = (rows + columns) % 2 != 0;
          all.push_back(
              {t, t, {rows, depth}, turned ? Sizes{columns, depth} : Sizes{depth, columns}, false, turned, rows == 16});
        }
      }
    }
    all.push_back({t, t, {1024, 96}, {96, 1024}, false, false});
    all.push_back({t, t, {96, 1024}, {1024, 96}, true, true});
    all.push_back({t, t, {2500, 64}, {64, 1100}, false, false});
  }
  return all;
}

std::vector<ProductsCase> cases_products(const std::string& device) {
  if (std::getenv("TERN_TEST_FULL") != nullptr) return all_cases_products();
  std::vector<ProductsCase> list = some_cases_products();
  if (device != "cuda") list.resize(kProductsEverywhere);
  return list;
}

TEST_P(ProductsTest, HaveTheDefinitionsBits) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  TestProgram p;
  std::vector<std::string> names;
  std::vector<Tensor> inputs;
  for (const ProductsCase& c : cases_products(GetParam())) add_product(p, c, inputs, names);
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  expect_same_bits(GetParam(), p, names, inputs);
}

/// Half a step of the result's type, plus the error of float32 sums.
double error_of(DType t, double value, double size) {
  const double step = t == DType::bf16 ? 0x1p-8 : t == DType::f16 ? 0x1p-11 : 0x1p-24;
  return std::fabs(value) * step * 1.01 + size * 0x1p-20;
}

void expect_product(const ProductsCase& c, std::span<const Tensor> inputs, const Tensor& result) {
  const std::vector<double> left = doubles(inputs[0]), right = doubles(inputs[1]), y = doubles(result);
  const std::vector<double> bias = c.bias ? doubles(inputs[2]) : std::vector<double>();
  const auto size_of = [](const Sizes& s, bool turned, int axis) {
    return s[s.size() - (turned ? 1 + static_cast<std::size_t>(axis == 0 ? 0 : 1) : axis == 0 ? 2 : 1)];
  };
  const std::int64_t rows = size_of(c.lhs, c.transposes_lhs, 0), depth = size_of(c.lhs, c.transposes_lhs, 1),
                     columns = size_of(c.rhs, c.transposes_rhs, 1), planes = result.numel() / (rows * columns);
  const bool shared = c.rhs.size() < 3 || c.rhs[0] == 1;
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    const std::int64_t plane = i / (rows * columns) % planes, row = i / columns % rows, column = i % columns;
    double sum = c.bias ? bias[static_cast<std::size_t>(column)] : 0, size = std::fabs(sum);
    for (std::int64_t k = 0; k < depth; ++k) {
      const std::int64_t at =
          plane * rows * depth * c.step + (c.transposes_lhs ? k * rows + row : row * depth * c.step + k * c.step);
      const std::int64_t to =
          (shared ? 0 : plane * depth * columns) + (c.transposes_rhs ? column * depth + k : k * columns + column);
      const double one = left[static_cast<std::size_t>(at)] * right[static_cast<std::size_t>(to)];
      sum += one;
      size += std::fabs(one);
    }
    const double found = y[static_cast<std::size_t>(i)];
    if (std::isnan(sum)) {
      ASSERT_TRUE(std::isnan(found)) << row << ", " << column;
    } else if (std::isinf(sum)) {
      ASSERT_EQ(found, sum) << row << ", " << column;
    } else {
      ASSERT_NEAR(found, sum, error_of(result.dtype(), sum, size))
          << "plane " << plane << ", " << row << ", " << column;
    }
  }
}

TEST_P(ProductsTest, AreNearThoseOfDoubles) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  TestProgram p;
  std::vector<std::string> names;
  std::vector<Tensor> inputs;
  std::vector<std::size_t> first;
  const std::vector<ProductsCase> list = cases_products(GetParam());
  for (const ProductsCase& c : list) {
    first.push_back(inputs.size());
    add_product(p, c, inputs, names);
    visit_dtype(c.a, [&](auto tag) {  // rows of special values
      using T = typename decltype(tag)::type;
      const std::span<T> v = inputs[first.back()].span<T>();
      v[v.size() / 2] = cast_to<T>(std::complex<double>(std::numeric_limits<double>::infinity()));
      v[v.size() / 3] = cast_to<T>(std::complex<double>(std::numeric_limits<double>::quiet_NaN()));
    });
  }
  Session session(p.model().prepare(options_on(GetParam())));
  const std::vector<Tensor>& results = session.run(inputs);
  for (std::size_t i = 0; i < list.size(); ++i) {
    SCOPED_TRACE(names[i]);
    expect_product(list[i], std::span(inputs).subspan(first[i]), results[i]);
  }
}

}  // namespace
}  // namespace tern
