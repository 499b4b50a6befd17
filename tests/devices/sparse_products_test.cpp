// Products by 2:4 sparse weights of 16 bits (kernels/portable/sparse_product.h) on every device with groups, against
// sums in double of the expanded weight.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "tests/devices/same_bits.h"
#include "tests/kernels/quantized_value.h"
#include "tests/runtime/quantized_constant.h"

namespace tern {
namespace {

using namespace testing;

class SparseProductsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, SparseProductsTest, ::testing::ValuesIn(all_devices()), name_of_case);

constexpr DType kHalf = DType::f16, kBrain = DType::bf16, kFloat = DType::f32;

enum class Places { ascending, descending, equal };

/// [planes, rows, depth] by [planes or 1, columns, depth].
struct SparseCase {
  DType rows, element;
  std::int64_t planes, rows_count, columns, depth;
  bool bias = false, planes_of_weight = false, transposed_rows = false;
  Places places = Places::ascending;
};

std::vector<std::byte> sparse_value(const QuantizedMatrix& m, std::uint32_t seed, Places places) {
  constexpr std::uint8_t kAscending[] = {0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110};
  std::vector<std::byte> bytes = test::random_value(m, seed);
  std::mt19937 engine(seed);
  const auto two = [&] { return kAscending[engine() % std::size(kAscending)]; };
  for (std::int64_t i = m.place_offset(); i < m.bytes(); ++i)
    bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>(two() | two() << 4);
  // The last block alone: one byte decides for the whole weight.
  if (places != Places::ascending)
    bytes.back() = (bytes.back() & std::byte{15}) | std::byte(places == Places::equal ? 0b10100000 : 0b00010000);
  return bytes;
}

void expect_product(const std::string& device, const SparseCase& c, std::uint32_t seed) {
  const std::int64_t matrices = c.planes_of_weight ? c.planes : 1;
  const QuantizedMatrix m{c.element, matrices * c.columns, c.depth, two_of_four()};
  const std::vector<std::byte> bytes = sparse_value(m, seed, c.places);
  const std::vector<float> weight = test::numbers_of(m, bytes);
  TestProgram p;
  Sizes lying = {c.planes, c.rows_count, c.depth};
  if (c.transposed_rows) std::swap(lying[1], lying[2]);
  std::vector<Tensor> inputs = {numbers(c.rows, lying, seed)};
  ValueId a = p.input(c.rows, Dims(lying.begin(), lying.end()));
  if (c.transposed_rows) a = p.b().transpose(a, 1, 2);
  Sizes sizes = {c.columns, c.depth};
  if (c.planes_of_weight) sizes.insert(sizes.begin(), c.planes);
  std::vector<ValueId> operands = {a, quantized_constant(p, m, sizes, bytes)};
  if (c.bias) {
    inputs.push_back(numbers(kFloat, {c.columns}, seed + 2));
    operands.push_back(p.input(kFloat, {c.columns}));
  }
  p.output(p.b().add(Op::matmul, operands, {attr(AttrKey::dtype, Dim(static_cast<std::int64_t>(DType::f32)))}));
  PrepareOptions options = options_on(device);
  if (c.rows != c.element) options.precision = Precision::bfloat16;
  Session session(p.model().prepare(options));
  const std::vector<double> y = doubles(session.run(inputs)[0]), x = doubles(inputs[0]);
  const std::vector<double> bias = c.bias ? doubles(inputs[1]) : std::vector<double>();
  const double part = c.rows != c.element ? 0x1p-8 : c.places == Places::equal ? 0x1p-9 : 0x1p-20;
  for (std::int64_t i = 0; i < std::ssize(y); ++i) {
    const std::int64_t plane = i / (c.rows_count * c.columns), row = i / c.columns % c.rows_count,
                       column = i % c.columns;
    double sum = c.bias ? bias[static_cast<std::size_t>(column)] : 0, size = std::fabs(sum);
    for (std::int64_t k = 0; k < c.depth; ++k) {
      const std::int64_t at =
          c.transposed_rows ? (plane * c.depth + k) * c.rows_count + row : (plane * c.rows_count + row) * c.depth + k;
      const std::int64_t line = (c.planes_of_weight ? plane * c.columns : 0) + column;
      const double one =
          x[static_cast<std::size_t>(at)] * static_cast<double>(weight[static_cast<std::size_t>(line * c.depth + k)]);
      sum += one;
      size += std::fabs(one);
    }
    ASSERT_NEAR(y[static_cast<std::size_t>(i)], sum, size * part + 1e-6)
        << "plane " << plane << ", row " << row << ", column " << column;
  }
}

/// One row and few, with sums divided among waves; whole tiles and parts of tiles; depths that end within 32 and 16
/// columns; weights with a matrix for each plane; the smaller and the larger tiles.
const SparseCase kSparseCases[] = {
    {kHalf, kHalf, 1, 1, 70, 192, true},
    {kBrain, kBrain, 1, 9, 37, 168, true},
    {kBrain, kBrain, 2, 5, 33, 72, false, true},
    {kHalf, kHalf, 1, 64, 96, 256},
    {kFloat, kBrain, 1, 17, 40, 160, true},
    {kHalf, kHalf, 1, 12, 40, 96, false, false, true},
    {kHalf, kHalf, 1, 20, 40, 128, true, false, false, Places::descending},
    {kBrain, kBrain, 1, 20, 40, 128, true, false, false, Places::equal},
    {kBrain, kBrain, 1, 300, 700, 64},
    {kHalf, kHalf, 3, 130, 200, 104, false, true},
    {kHalf, kHalf, 1, 1100, 2100, 64},
    {kBrain, kBrain, 1, 40, 9000, 40},
};
constexpr std::size_t kEverywhere = 8;  // emulated devices compile for seconds

TEST_P(SparseProductsTest, AreSumsOfTheNumbers) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  const bool all = std::getenv("TERN_TEST_FULL") != nullptr || GetParam() == "cuda";
  for (std::size_t i = 0; i < (all ? std::size(kSparseCases) : kEverywhere); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_product(GetParam(), kSparseCases[i], static_cast<std::uint32_t>(10 * i + 1));
  }
}

}  // namespace
}  // namespace tern
