// Tiles multiplied by the items of a wave (kernels/portable/text/matrix_units.inc), on every device with groups,
// against products of doubles.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/portable/source.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class MatrixUnitsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, MatrixUnitsTest, ::testing::ValuesIn(all_devices()), name_of_case);

constexpr std::int64_t kTiles = 4, kDepth = 32, kGroup = 128, kMaxStep = 48;

// Each wave takes some tiles: sums of a[16][32] * b[32][16], the largest and the total of each row, and the rounded
// sums by the first 16 rows of b.
constexpr char kText[] = R"(TERN_KERNEL {
  TERN_LOCAL_16 tern_u16 left[4 * 32 * 48];
  TERN_LOCAL_16 tern_u16 right[4 * 32 * 48];
  TERN_UNIT_MEMORY(memory, 128)
  TERN_UNIT_TILES(tiles, 4)
  TERN_FOR_GROUPS(group, item, 128)
  const int wave = (int)item / TERN_WAVE, lane = (int)item % TERN_WAVE;
  const int a_step = (int)p.a_step, b_step = (int)p.b_step;
  for (int tile = wave; tile < 4; tile += 128 / TERN_WAVE) {
    TERN_LOCAL_AT tern_u16* l = left + wave * 32 * 48;
    TERN_LOCAL_AT tern_u16* r = right + wave * 32 * 48;
    for (int i = lane; i < 16 * 32; i += TERN_WAVE) {
      const int row = i / 32, k = i % 32;
      l[p.a_turned != 0 ? k * a_step + row : row * a_step + k] = a[tile * 512 + i];
      r[p.b_turned != 0 ? row * b_step + k : k * b_step + row] = b[tile * 512 + k * 16 + row];
    }
    TERN_BARRIER;
    tern_unit_sums s = tern_unit_zero();
    for (int k = 0; k < 32; k += 16) {
      if (p.a_turned != 0) {
        const tern_unit_a x = tern_load_a_turned(l + k * a_step, a_step, lane);
        if (p.b_turned != 0) s = tern_unit_madd(x, tern_load_b_turned(r + k, b_step, lane), s);
        else s = tern_unit_madd(x, tern_load_b(r + k * b_step, b_step, lane), s);
      } else {
        const tern_unit_a x = tern_load_a(l + k, a_step, lane);
        if (p.b_turned != 0) s = tern_unit_madd(x, tern_load_b_turned(r + k, b_step, lane), s);
        else s = tern_unit_madd(x, tern_load_b(r + k * b_step, b_step, lane), s);
      }
    }
    for (int i = 0; i < TERN_UNIT_SUMS; ++i)
      sums[tile * 256 + tern_unit_row(lane, i) * 16 + tern_unit_column(lane, i)] = s.v[i];
    float most[TERN_UNIT_ROWS], total[TERN_UNIT_ROWS];
    for (int n = 0; n < TERN_UNIT_ROWS; ++n) {
      most[n] = -TERN_INFINITY;
      total[n] = 0;
    }
    for (int i = 0; i < TERN_UNIT_SUMS; ++i) {
      most[TERN_UNIT_ROW_OF(i)] = MOST(most[TERN_UNIT_ROW_OF(i)], s.v[i]);
      total[TERN_UNIT_ROW_OF(i)] += s.v[i];
    }
    for (int n = 0; n < TERN_UNIT_ROWS; ++n) {
      TERN_UNIT_JOIN(MOST, most[n], memory, item)
      TERN_UNIT_JOIN(TOTAL, total[n], memory, item)
      rows[tile * 32 + tern_unit_lane_row(lane, n)] = most[n];
      rows[tile * 32 + 16 + tern_unit_lane_row(lane, n)] = total[n];
    }
    tern_unit_a again;
    TERN_UNIT_TO_A(again, s, tiles, wave, lane)
    tern_unit_sums t = tern_unit_zero();
    if (p.b_turned != 0) t = tern_unit_madd(again, tern_load_b_turned(r, b_step, lane), t);
    else t = tern_unit_madd(again, tern_load_b(r, b_step, lane), t);
    for (int i = 0; i < TERN_UNIT_SUMS; ++i)
      second[tile * 256 + tern_unit_row(lane, i) * 16 + tern_unit_column(lane, i)] = t.v[i];
    TERN_BARRIER;
  }
}
)";

struct MatrixUnitsLayout {
  bool turned;
  std::int64_t step;
};

/// The kernel on a stream of the device.
class Products {
 public:
  Products(const std::string& device, DType t) : stream_(Device::open(device).open_stream()) {
    portable::KernelSource s("custom");
    s.add_library("matrix_units:" + portable::type_name(t));
    s.define("MOST(x, y)", "((x) > (y) ? (x) : (y))");
    s.define("TOTAL(x, y)", "((x) + (y))");
    for (const char* name : {"a", "b"}) s.buffer(name, t, false);
    for (const char* name : {"sums", "rows", "second"}) s.buffer(name, DType::f32, true);
    for (const char* name : {"a_step", "b_step", "a_turned", "b_turned"}) s.parameter(name, std::int64_t{0});
    s.require_group(kGroup);
    portable::Launcher& launcher = stream_->launcher();
    s.complete(launcher.target());
    kernel_ = launcher.kernel("matrix units of " + std::string(name_of(t)), "tern_custom", [&] {
      const std::string text = s.text(launcher.target());
      return text.substr(0, text.rfind("TERN_KERNEL {")) + kText;
    });
  }

  void run(const Tensor& a, const Tensor& b, MatrixUnitsLayout a_layout, MatrixUnitsLayout b_layout,
           const std::vector<Tensor*>& results) {
    portable::Launcher& launcher = stream_->launcher();
    std::vector<std::unique_ptr<portable::Memory>> memory;
    std::vector<portable::LaunchArgument> arguments;
    for (const Tensor* t : {&a, &b}) {
      memory.push_back(launcher.allocate(t->byte_size()));
      launcher.upload(memory.back()->data, t->data(), t->byte_size());
    }
    for (const Tensor* t : results) memory.push_back(launcher.allocate(t->byte_size()));
    for (const auto& m : memory) arguments.push_back({&m->data, sizeof(std::byte*), true});
    const std::int64_t parameters[] = {a_layout.step, b_layout.step, a_layout.turned, b_layout.turned};
    arguments.push_back({parameters, sizeof parameters, false});
    launcher.launch(kernel_, arguments, kGroup, kGroup);
    for (std::size_t i = 0; i < results.size(); ++i)
      launcher.download(results[i]->data(), memory[2 + i]->data, results[i]->byte_size());
  }

 private:
  std::shared_ptr<DeviceStream> stream_;
  portable::KernelHandle kernel_{};
};

void put_matrix_units(Tensor& x, std::size_t i, double value) {
  visit_dtype(x.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    x.span<T>()[i] = cast_to<T>(std::complex<double>(value));
  });
}

double rounded(DType t, float x) {
  Tensor one(t, {1});
  put_matrix_units(one, 0, static_cast<double>(x));
  return doubles(one)[0];
}

/// sum of left(k) * right(k) and of their magnitudes.
template <class Left, class Right>
std::pair<double, double> product(std::int64_t depth, const Left& left, const Right& right) {
  double sum = 0, size = 0;
  for (std::int64_t k = 0; k < depth; ++k) {
    const double one = left(k) * right(k);
    sum += one;
    size += std::fabs(one);
  }
  return {sum, size};
}

void expect_near(float found, std::pair<double, double> expected, const std::string& where) {
  if (std::isfinite(expected.first)) {
    EXPECT_NEAR(static_cast<double>(found), expected.first, expected.second * 0x1p-21) << where;
  } else if (std::isnan(expected.first)) {
    EXPECT_TRUE(std::isnan(found)) << where;
  } else {
    EXPECT_EQ(static_cast<double>(found), expected.first) << where;
  }
}

TEST_P(MatrixUnitsTest, MultiplyTiles) {
  if (GetParam() == "cpu" || !open_plugin_device(GetParam()).target().groups) GTEST_SKIP() << "no groups";
  for (const DType t : {DType::bf16, DType::f16}) {
    Products products(GetParam(), t);
    Tensor a = numbers(t, {kTiles, 16, kDepth}, 1), b = numbers(t, {kTiles, kDepth, 16}, 2);
    put_matrix_units(a, 3 * kDepth + 7, std::numeric_limits<double>::infinity());
    put_matrix_units(a, 5 * kDepth + 30, std::numeric_limits<double>::quiet_NaN());
    put_matrix_units(a, 6 * kDepth + 2, -std::numeric_limits<double>::infinity());
    put_matrix_units(a, 6 * kDepth + 9, std::numeric_limits<double>::infinity());
    put_matrix_units(a, 9 * kDepth + 1, t == DType::f16 ? 0x1p-24 : 0x1p-133);  // subnormal
    const std::vector<double> left = doubles(a), right = doubles(b);
    for (const MatrixUnitsLayout& a_layout : {MatrixUnitsLayout{false, 40}, MatrixUnitsLayout{false, 48},
                                              MatrixUnitsLayout{true, 24}, MatrixUnitsLayout{true, 16}}) {
      for (const MatrixUnitsLayout& b_layout : {MatrixUnitsLayout{false, 24}, MatrixUnitsLayout{false, 16},
                                                MatrixUnitsLayout{true, 40}, MatrixUnitsLayout{true, kMaxStep}}) {
        Tensor sums(DType::f32, {kTiles, 16, 16}), rows(DType::f32, {kTiles, 2, 16}),
            second = Tensor(DType::f32, {kTiles, 16, 16});
        products.run(a, b, a_layout, b_layout, {&sums, &rows, &second});
        const auto s = sums.span<const float>(), ends = rows.span<const float>(), again = second.span<const float>();
        for (std::int64_t i = 0; i < kTiles * 256; ++i) {
          const std::int64_t tile = i / 256, row = i / 16 % 16, column = i % 16;
          const std::string where = std::string(name_of(t)) + " of tile " + std::to_string(tile) + ", row " +
                                    std::to_string(row) + ", column " + std::to_string(column);
          const auto at = [](std::int64_t k) { return static_cast<std::size_t>(k); };
          const auto b_at = [&](std::int64_t k) { return right[at((tile * kDepth + k) * 16 + column)]; };
          expect_near(s[at(i)],
                      product(
                          kDepth, [&](std::int64_t k) { return left[at((tile * 16 + row) * kDepth + k)]; }, b_at),
                      where);
          expect_near(again[at(i)],
                      product(
                          16, [&](std::int64_t k) { return rounded(t, s[at(tile * 256 + row * 16 + k)]); }, b_at),
                      "rounded, " + where);
          if (column != 0 || (tile == 0 && row >= 3 && row <= 6)) continue;
          float most = s[at(i)];
          double total = 0, size = 0;
          for (std::int64_t k = 0; k < 16; ++k) {
            most = std::max(most, s[at(i + k)]);
            total += static_cast<double>(s[at(i + k)]);
            size += std::fabs(static_cast<double>(s[at(i + k)]));
          }
          EXPECT_EQ(ends[at(tile * 32 + row)], most) << where;
          EXPECT_NEAR(static_cast<double>(ends[at(tile * 32 + 16 + row)]), total, size * 0x1p-21) << where;
        }
        ASSERT_FALSE(HasFailure()) << "steps " << a_layout.step << " and " << b_layout.step;
      }
    }
  }
}

}  // namespace
}  // namespace tern
