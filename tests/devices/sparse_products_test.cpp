// Products by 2:4 sparse weights of 16 bits (kernels/portable/sparse_product.h), and tiles of such products
// (kernels/portable/text/sparse_units.inc), on every device with groups: against sums in double of the expanded weight.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "kernels/portable/source.h"
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

/// Sizes: one row and few, with sums divided among waves; whole tiles and parts of tiles; depths that end within 32 and
/// 16 columns; weights with a matrix for each plane; the smaller and the larger tiles.
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
    {kBrain, kBrain, 1, 1024, 4096, 40, true},
    {kHalf, kHalf, 1, 16896, 64, 40},
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

constexpr std::int64_t kGroup = 64;

// Each wave multiplies a tile: a[16][32] with 16 kept elements in a row, by b[16 columns][32].
constexpr char kTile[] = R"(TERN_KERNEL {
  TERN_LOCAL_16 tern_u16 left[2 * 16 * 24];
  TERN_LOCAL_16 tern_u16 right[2 * 16 * 40];
  TERN_LOCAL_16 tern_u16 places[2 * 16 * 2];
  TERN_FOR_GROUPS(group, item, 64)
  const int wave = (int)item / TERN_WAVE, lane = (int)item % TERN_WAVE;
  for (int i = lane; i < 16 * 32; i += TERN_WAVE) {
    if (i < 16 * 16) left[wave * 384 + i / 16 * 24 + i % 16] = a[i];
    if (i < 16 * 2) places[wave * 32 + i] = two[i];
    right[wave * 640 + i / 32 * 40 + i % 32] = b[i];
  }
  TERN_BARRIER;
  const tern_sparse_a x = tern_load_sparse_a(left + wave * 384, 24, places + wave * 32, 2, lane);
  const tern_sparse_b y = tern_load_sparse_b(right + wave * 640, 40, lane);
  tern_unit_sums s = tern_sparse_madd(x, y, tern_unit_zero());
  s = tern_sparse_madd(x, y, s);
  for (int r = 0; r < TERN_UNIT_SUMS; ++r)
    sums[wave * 256 + tern_sparse_row(lane, r) * 16 + tern_sparse_column(lane, r)] = s.v[r];
}
)";

// Devices without sparse matrix units compute the same in loops: kernels of cuda:ptx run there.
TEST_P(SparseProductsTest, MultiplyTiles) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  for (const DType t : {kHalf, kBrain}) {
    const QuantizedMatrix m{t, 16, 32, two_of_four()};
    const std::vector<std::byte> bytes = sparse_value(m, 5, Places::ascending);
    const std::vector<float> weight = test::numbers_of(m, bytes);
    const Tensor b = numbers(t, {16, 32}, 6);
    const std::vector<double> right = doubles(b);
    const std::shared_ptr<DeviceStream> stream = Device::open(GetParam()).open_stream();
    portable::Launcher& launcher = stream->launcher();
    portable::KernelSource source("custom");
    source.add_library("matrix_units:" + portable::type_name(t));
    source.add_library("sparse_units");
    for (const char* name : {"a", "two", "b"}) source.buffer(name, t, false);
    source.buffer("sums", kFloat, true);
    source.parameter("unused", std::int64_t{0});
    source.require_group(kGroup);
    source.complete(launcher.target());
    const portable::KernelHandle kernel =
        launcher.kernel("sparse units of " + std::string(name_of(t)), "tern_custom", [&] {
          const std::string text = source.text(launcher.target());
          return text.substr(0, text.rfind("TERN_KERNEL {")) + kTile;
        });
    const auto elements = static_cast<std::uint64_t>(m.element_bytes());
    std::vector<float> sums(2 * 256, -1);
    std::vector<std::unique_ptr<portable::Memory>> memory;
    const auto add = [&](const void* data, std::uint64_t size) {
      memory.push_back(launcher.allocate(size));
      launcher.upload(memory.back()->data, data, size);
    };
    add(bytes.data(), elements);
    add(bytes.data() + elements, bytes.size() - elements);
    add(b.data(), b.byte_size());
    add(sums.data(), sums.size() * sizeof(float));
    std::vector<portable::LaunchArgument> arguments;
    for (const auto& one : memory) arguments.push_back({&one->data, sizeof(std::byte*), true});
    const std::int64_t unused = 0;
    arguments.push_back({&unused, sizeof unused, false});
    launcher.launch(kernel, arguments, kGroup, kGroup);
    launcher.download(sums.data(), memory[3]->data, sums.size() * sizeof(float));
    for (std::size_t i = 0; i < 256; ++i) {
      double sum = 0, size = 0;
      for (std::size_t k = 0; k < 32; ++k) {
        const double one = 2 * static_cast<double>(weight[i / 16 * 32 + k]) * right[i % 16 * 32 + k];
        sum += one;
        size += std::fabs(one);
      }
      EXPECT_NEAR(static_cast<double>(sums[i]), sum, size * 0x1p-20) << name_of(t) << ", row " << i / 16;
    }
  }
}

}  // namespace
}  // namespace tern
