// Products of many rows by quantized matrices, and of float32 by 16 bits (kernels/portable/staged_product.h), on every
// device with groups: against sums in double of the values of dequantize_row and of dtypes/ conversions.
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

class StagedProductsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, StagedProductsTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// [.., m, k] by [.., n, k], transposed unless quantized.
struct StagedProductsCase {
  DType rows;
  Format format;  ///< plain elements if without blocks
  Sizes lhs, rhs;
  bool bias = false;
  Precision precision = Precision::exported;
  bool transposes_lhs = false;  ///< stored by columns
  bool transposes_rhs = false;  ///< plain elements are stored as [.., k, n]
  bool matrix_bias = false;     ///< an element for each of the result
};

std::int64_t last(const Sizes& s, std::size_t from_end) {
  return s[s.size() - from_end];
}
std::int64_t count_of(const Sizes& s) {
  std::int64_t n = 1;
  for (const std::int64_t size : s) n *= size;
  return n;
}

std::vector<double> swapped(const std::vector<double>& x, const Sizes& sizes) {
  const std::int64_t rows = last(sizes, 2), columns = last(sizes, 1), planes = count_of(sizes) / (rows * columns);
  std::vector<double> y(x.size());
  for (std::int64_t p = 0; p < planes; ++p)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        y[static_cast<std::size_t>((p * columns + c) * rows + r)] =
            x[static_cast<std::size_t>((p * rows + r) * columns + c)];
  return y;
}

Sizes turned(Sizes s) {
  std::swap(s[s.size() - 1], s[s.size() - 2]);
  return s;
}

/// Largest relative rounding error of the type.
double step_of(DType t) {
  return t == DType::bf16 ? 0x1p-9 : t == DType::f16 ? 0x1p-12 : 0;
}

void expect_product(const std::string& device, const StagedProductsCase& c, std::uint64_t seed) {
  TestProgram p;
  std::vector<Tensor> inputs;
  const std::int64_t m = last(c.lhs, 2), k = last(c.lhs, 1), n = last(c.rhs, 2);
  const Sizes lying = c.transposes_lhs ? turned(c.lhs) : c.lhs;
  inputs.push_back(numbers(c.rows, lying, seed));
  ValueId a = p.input(c.rows, Dims(lying.begin(), lying.end()));
  const int axis = static_cast<int>(lying.size()) - 1;
  if (c.transposes_lhs) a = p.b().transpose(a, axis - 1, axis);
  const std::vector<double> left = c.transposes_lhs ? swapped(doubles(inputs[0]), lying) : doubles(inputs[0]);
  std::vector<double> right;
  std::vector<ValueId> operands = {a};
  const bool quantized = c.format.blocks.columns != 0 || element_size(c.format.element) == 1;
  if (quantized) {
    const QuantizedMatrix matrix = test::matrix_of(c.format, count_of(c.rhs) / k, k);
    const std::vector<std::byte> bytes = test::random_value(matrix, static_cast<std::uint32_t>(seed) + 1);
    for (const float x : test::numbers_of(matrix, bytes)) right.push_back(x);
    operands.push_back(quantized_constant(p, matrix, c.rhs, bytes));
  } else {
    const Sizes as = c.transposes_rhs ? turned(c.rhs) : c.rhs;
    inputs.push_back(numbers(c.format.element, as, seed + 1));
    right = c.transposes_rhs ? swapped(doubles(inputs.back()), as) : doubles(inputs.back());
    const ValueId w = p.input(c.format.element, Dims(as.begin(), as.end()));
    const int end = static_cast<int>(as.size()) - 1;
    operands.push_back(c.transposes_rhs ? w : p.b().transpose(w, end - 1, end));
  }
  std::vector<double> bias;
  if (c.bias) {
    Sizes sizes = {n};
    if (c.matrix_bias) sizes = {m, n};
    inputs.push_back(numbers(c.rows, sizes, seed + 2));
    bias = doubles(inputs.back());
    operands.push_back(p.input(c.rows, Dims(sizes.begin(), sizes.end())));
  }
  Node node;
  node.op = Op::matmul;
  node.inputs = operands;
  node.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(c.rows)});
  p.output(p.b().add(std::move(node))[0]);
  PrepareOptions options = options_on(device);
  options.precision = c.precision;
  Session session(p.model().prepare(options));
  const std::vector<double> y = doubles(session.run(inputs)[0]);
  ASSERT_EQ(doubles(session.run(inputs)[0]), y);
  // The weight is rounded to the rows' compute type, together with the rows.
  const bool rounds = c.precision == Precision::bfloat16;
  const DType rounded = c.rows == DType::f32 && rounds ? DType::bf16 : c.rows;
  const double part = step_of(rounded) * (c.rows == DType::f32 && rounds ? 2.01 : 1.01) + 0x1p-19;
  const std::int64_t planes = static_cast<std::int64_t>(y.size()) / (m * n), left_planes = count_of(c.lhs) / (m * k),
                     right_planes = count_of(c.rhs) / (n * k);
  double worst = 0;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()); ++i) {
    const std::int64_t plane = i / (m * n), row = i / n % m, column = i % n;
    const double* const x = left.data() + (plane % left_planes * m + row) * k;
    const double* const w = right.data() + (plane % right_planes * n + column) * k;
    double sum = 0, size = 0;
    for (std::int64_t j = 0; j < k; ++j) {
      sum += x[j] * w[j];
      size += std::fabs(x[j] * w[j]);
    }
    if (c.bias) sum += bias[static_cast<std::size_t>(c.matrix_bias ? row * n + column : column)];
    const double found = y[static_cast<std::size_t>(i)];
    ASSERT_NEAR(found, sum, size * part + std::fabs(sum) * step_of(c.rows) * 2.01 + 1e-6)
        << "plane " << plane << " of " << planes << ", " << row << ", " << column;
    worst = std::max(worst, std::fabs(found - sum) / (size + 1e-30));
  }
  // Products of whole digits are never rounded to 16 bits.
  if (rounded == DType::f32) {
    EXPECT_LT(worst, 0x1p-18);
  }
}

constexpr Precision kStagedProductsRounds = Precision::bfloat16;
const Format kInt4{DType::i4,
                   {.columns = 32, .scale = DType::bf16, .zero_point = ZeroPoint::subtracted, .zero = DType::i8}},
    kInt8{DType::i8, {.columns = test::kRow, .scale = DType::f32}},
    kFp8{DType::f8_e4m3fn, {.columns = 32, .layout = ScaleLayout::swizzled_32_4_4}},
    kNvfp4{DType::f4_e2m1, {.columns = 16, .scale = DType::f8_e4m3fn, .outer = true}}, kBf16{DType::bf16, {}},
    kF16{DType::f16, {}};

// The number of cases run on every device: emulated devices compile for seconds.
constexpr std::size_t kStagedProductsEverywhere = 3;

std::vector<StagedProductsCase> some_cases_staged_products() {
  return {
      {DType::bf16, kInt4, {9, 160}, {37, 160}, true},
      {DType::f32, kInt8, {2, 11, 100}, {33, 100}, true},  // rows of 100 bytes
      {DType::f32, kBf16, {17, 203}, {19, 203}, true, kStagedProductsRounds},
      {DType::f32, kInt8, {12, 77}, {40, 77}},  // an odd depth
      {DType::f32, kNvfp4, {3, 10, 64}, {3, 35, 64}, true, kStagedProductsRounds},
      {DType::f16, kFp8, {40, 96}, {2, 2, 34, 96}, false, Precision::exported, true},
      {DType::f32, kF16, {3, 13, 67}, {1, 59, 67}, false, Precision::exported, false, true},
      {DType::f32, kBf16, {65, 72}, {70, 72}, true, Precision::exported, true, false, true},
      {DType::f32, kF16, {2, 9, 80}, {2, 30, 80}, false, kStagedProductsRounds, true, true},
  };
}

std::vector<StagedProductsCase> cases_staged_products(const std::string& device) {
  std::vector<StagedProductsCase> list = some_cases_staged_products();
  if (std::getenv("TERN_TEST_FULL") != nullptr) {
    for (const Format& f : test::kFormats) {
      const std::int64_t k = f.blocks.columns == test::kRow && f.element == DType::i8 ? 45 : 192;
      for (const DType rows : {DType::bf16, DType::f16, DType::f32}) {
        if (rows == DType::f16 && f.element == DType::f8_e5m2) continue;  // float16 cannot hold its values
        list.push_back({rows, f, {23, k}, {131, k}, true});
        list.push_back(
            {rows, f, {2, 9, k}, {2, 33, k}, false, rows == DType::f32 ? kStagedProductsRounds : Precision::exported});
      }
    }
    return list;
  }
  if (device != "cuda") list.resize(kStagedProductsEverywhere);
  return list;
}

TEST_P(StagedProductsTest, AreSumsOfTheNumbers) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  std::uint64_t seed = 0;
  for (const StagedProductsCase& c : cases_staged_products(GetParam())) {
    SCOPED_TRACE(std::string(name_of(c.rows)) + " by " + std::string(name_of(c.format.element)) + ", case " +
                 std::to_string(seed));
    expect_product(GetParam(), c, ++seed * 10);
  }
}

// A float32 weight beyond the staging limit of 32 MiB.
TEST_P(StagedProductsTest, TakeColumnsInPieces) {
  if (GetParam() != "cuda" && std::getenv("TERN_TEST_FULL") == nullptr) GTEST_SKIP() << "on cuda only, but for --full";
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  expect_product(GetParam(), {DType::f32, kInt8, {9, 1000}, {8650, 1000}, true}, 7);
  expect_product(GetParam(), {DType::f32, kInt8, {2, 9, 1000}, {2, 4333, 1000}, true}, 8);
}

}  // namespace
}  // namespace tern
