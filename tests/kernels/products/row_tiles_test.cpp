// Products of bfloat16 rows on matrix tiles against sums in double of operands rounded by the test.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <new>
#include <span>
#include <vector>

#include "dtypes/convert.h"
#include "kernels/cpu/products/tiles/in_place_driver.h"
#include "kernels/cpu/products/tiles/row_convolution_driver.h"
#include "kernels/cpu/products/tiles/row_driver.h"
#include "kernels/cpu/products/tiles/row_panels.h"
#include "tests/kernels/products/tiles.h"
#include "threads/threads.h"

namespace tern {
namespace {

class ProductsOfRows : public testing::Test {
 protected:
  void SetUp() override {
    if (!tiles::rows_possible()) GTEST_SKIP() << "this processor does not multiply bfloat16";
  }
};

constexpr int kThreads[] = {1, 2, 3, 8};

/// Memory of floats, or of bfloat16.
class Numbers {
 public:
  Numbers(const std::vector<float>& values, bool narrow) : narrow_(narrow), bytes_(values.size() * (narrow ? 2 : 4)) {
    convert(values.data(), DType::f32, bytes_.data(), type(), static_cast<std::int64_t>(values.size()));
  }
  tiles::Elements elements() const { return {bytes_.data(), narrow_}; }
  std::byte* data() { return bytes_.data(); }
  std::span<const std::byte> bytes() const { return bytes_; }
  std::vector<float> values() const {
    std::vector<float> values(bytes_.size() / (narrow_ ? 2 : 4));
    convert(bytes_.data(), type(), values.data(), DType::f32, static_cast<std::int64_t>(values.size()));
    return values;
  }

 private:
  DType type() const { return narrow_ ? DType::bf16 : DType::f32; }
  bool narrow_;
  std::vector<std::byte> bytes_;
};

/// Tolerance of a result: the sum's, plus the rounding of the result.
double within(std::int64_t k, double result, bool narrow) {
  return tolerance(k) + (narrow ? std::abs(result) * std::ldexp(1.0, -8) : 0);
}

std::vector<float> linear(const tiles::TileLinearShape& s, const std::vector<float>& x,
                          const std::vector<float>& weight, const std::vector<float>& bias, bool narrow, bool* finite) {
  const tiles::RowLinear tiles(s);
  auto packed = unaligned(static_cast<std::size_t>(tiles.packed_bytes())), memory = unaligned(tiles.scratch());
  const Numbers left(x, narrow), right(weight, narrow);
  tiles.pack(right.elements(), aligned_part(packed));
  Numbers results(std::vector<float>(static_cast<std::size_t>(s.m * s.n) + 1, 7), narrow);
  *finite =
      tiles.run({left.elements(), aligned_part(packed), bias.data(), results.data(), narrow, {}}, aligned_part(memory));
  std::vector<float> y = results.values();
  EXPECT_EQ(y.back(), 7) << "written behind the result";
  std::vector<float> again(static_cast<std::size_t>(s.n * s.k));
  tiles.unpack(aligned_part(packed), again.data());
  for (std::int64_t i = 0; i < s.n; ++i) {
    for (std::int64_t k = 0; k < s.k; ++k) {
      const float value = weight[static_cast<std::size_t>(i * s.w_row + k)];
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(again[static_cast<std::size_t>(i * s.k + k)], rounded(value, tiles::kRounded));
    }
  }
  return y;
}

/// That y is the products of the rounded operands and the bias, summed in double.
void expect_products(const tiles::TileLinearShape& s, const std::vector<double>& left, const std::vector<double>& right,
                     const std::vector<float>& bias, const std::vector<float>& y, bool narrow) {
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      double sum = bias[static_cast<std::size_t>(j)];
      for (std::int64_t p = 0; p < s.k; ++p)
        sum += left[static_cast<std::size_t>(i * s.x_row + p)] * right[static_cast<std::size_t>(j * s.w_row + p)];
      ASSERT_NEAR(y[static_cast<std::size_t>(i * s.n + j)], sum, within(s.k, sum, narrow))
          << s.m << "x" << s.n << "x" << s.k << " at " << i << ", " << j << ", " << Threads::current().count()
          << " threads";
    }
  }
}

TEST_F(ProductsOfRows, Products) {
  const tiles::TileLinearShape shapes[] = {
      {3, 16, 16, 16, 16},        {16, 32, 32, 32, 32},      {17, 33, 31, 31, 31},
      {128, 96, 64, 64, 64},      {37, 100, 75, 80, 77},     {300, 48, 130, 130, 130},
      {33, 70, 1100, 1100, 1104}, {5, 40, 3000, 3000, 3000}, {600, 16, 40, 48, 40}};
  for (const tiles::TileLinearShape& s : shapes) {
    const auto x = random_values(static_cast<std::size_t>(s.m * s.x_row), 1),
               weight = random_values(static_cast<std::size_t>(s.n * s.w_row), 2),
               bias = random_values(static_cast<std::size_t>(s.n), 3);
    const std::vector<double> left = rounded(x, tiles::kRounded), right = rounded(weight, tiles::kRounded);
    for (const int threads : kThreads) {
      const ThreadScope scope{Threads(threads)};
      const bool narrow = threads % 2 == 0;
      bool finite = false;
      const std::vector<float> y = linear(s, x, weight, bias, narrow, &finite);
      ASSERT_TRUE(finite);
      ASSERT_NO_FATAL_FAILURE(expect_products(s, left, right, bias, y, narrow));
    }
  }
}

TEST_F(ProductsOfRows, ProductsOfOneThread) {
  const ThreadScope scope{Threads(1)};
  for (const tiles::TileLinearShape& s :
       {tiles::TileLinearShape{5, 16, 18, 18, 18}, {7, 33, 31, 31, 31}, {12, 40, 260, 264, 260}}) {
    const auto x = random_values(static_cast<std::size_t>(s.m * s.x_row), 1),
               weight = random_values(static_cast<std::size_t>(s.n * s.w_row), 2),
               bias = random_values(static_cast<std::size_t>(s.n), 3);
    const std::vector<double> left = rounded(x, tiles::kRounded), right = rounded(weight, tiles::kRounded);
    for (const bool narrow : {false, true}) {
      bool finite = false;
      const std::vector<float> y = linear(s, x, weight, bias, narrow, &finite);
      ASSERT_TRUE(finite);
      ASSERT_NO_FATAL_FAILURE(expect_products(s, left, right, bias, y, narrow));
    }
  }
}

/// Data that end at a page boundary before unmapped memory, like the end of a mapped file.
class AtTheEnd {
 public:
  explicit AtTheEnd(std::span<const std::byte> numbers) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t bytes = (numbers.size() + page - 1) / page * page;
    size_ = bytes + page;
    void* memory = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    begin_ = static_cast<std::byte*>(memory);
    data_ = begin_ + bytes - numbers.size();
    std::ranges::copy(numbers, data_);
    EXPECT_EQ(::mprotect(begin_ + bytes, page, PROT_NONE), 0);
  }
  AtTheEnd(const AtTheEnd&) = delete;
  AtTheEnd& operator=(const AtTheEnd&) = delete;
  ~AtTheEnd() { ::munmap(begin_, size_); }
  const std::byte* data() const { return data_; }

 private:
  std::size_t size_ = 0;
  std::byte *begin_ = nullptr, *data_ = nullptr;
};

std::vector<float> linear_in_place(const tiles::TileLinearShape& s, const std::vector<float>& x,
                                   const std::vector<float>& weight, const std::vector<float>& bias, bool narrow,
                                   bool* finite) {
  const tiles::InPlaceLinear tiles(s);
  auto memory = unaligned(tiles.scratch());
  const Numbers left(x, narrow), right(weight, true);
  const AtTheEnd left_bytes(left.bytes()), right_bytes(right.bytes());
  Numbers results(std::vector<float>(static_cast<std::size_t>(s.m * s.n) + 1, 7), narrow);
  *finite = tiles.run({{left_bytes.data(), narrow}, right_bytes.data(), bias.data(), results.data(), narrow, {}},
                      aligned_part(memory));
  std::vector<float> y = results.values();
  EXPECT_EQ(y.back(), 7) << "written behind the result";
  return y;
}

TEST_F(ProductsOfRows, ReadTheWeightInPlace) {
  if (!tiles::available()) GTEST_SKIP() << "no matrix tiles here";
  // Short rows, which are asked for ahead, and long ones; whole blocks and steps, and parts of them.
  const tiles::TileLinearShape shapes[] = {
      {9, 64, 64, 64, 64},        {16, 32, 32, 32, 32},       {17, 33, 31, 31, 31},
      {128, 96, 64, 64, 64},      {37, 100, 75, 80, 77},      {300, 96, 130, 130, 130},
      {33, 70, 1100, 1100, 1104}, {40, 64, 3072, 3072, 3072}, {600, 16, 40, 48, 40}};
  for (const tiles::TileLinearShape& s : shapes) {
    const auto x = random_values(static_cast<std::size_t>((s.m - 1) * s.x_row + s.k), 1),
               weight = random_values(static_cast<std::size_t>((s.n - 1) * s.w_row + s.k), 2),
               bias = random_values(static_cast<std::size_t>(s.n), 3);
    const std::vector<double> left = rounded(x, tiles::kRounded), right = rounded(weight, tiles::kRounded);
    for (const int threads : kThreads) {
      const ThreadScope scope{Threads(threads)};
      const bool narrow = threads % 2 == 0;
      bool finite = false;
      const std::vector<float> y = linear_in_place(s, x, weight, bias, narrow, &finite);
      ASSERT_TRUE(finite);
      ASSERT_NO_FATAL_FAILURE(expect_products(s, left, right, bias, y, narrow));
    }
  }
}

TEST_F(ProductsOfRows, InPlaceSayWhereResultsAreNotFinite) {
  if (!tiles::available()) GTEST_SKIP() << "no matrix tiles here";
  const tiles::TileLinearShape s{20, 64, 64, 64, 64};
  for (const bool in_weight : {false, true}) {
    auto x = random_values(20 * 64, 1), weight = random_values(64 * 64, 2);
    (in_weight ? weight : x)[777] = std::numeric_limits<float>::infinity();
    bool finite = true;
    linear_in_place(s, x, weight, random_values(64, 3), false, &finite);
    EXPECT_FALSE(finite) << (in_weight ? "weight" : "x");
  }
}

TEST_F(ProductsOfRows, SayWhereResultsAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const tiles::TileLinearShape s{20, 40, 50, 50, 50};
  for (const float strange : {infinity, -infinity, std::nanf("")}) {
    for (const bool in_weight : {false, true}) {
      auto x = random_values(20 * 50, 1), weight = random_values(40 * 50, 2);
      (in_weight ? weight : x)[777] = strange;
      bool finite = true;
      linear(s, x, weight, random_values(40, 3), false, &finite);
      EXPECT_FALSE(finite) << strange << " in " << (in_weight ? "weight" : "x");
    }
  }
}

/// [batch, channels, positions] with the channels last.
std::vector<float> channels_last(const std::vector<float>& x, std::int64_t batch, std::int64_t channels) {
  const auto positions = static_cast<std::int64_t>(x.size()) / batch / channels;
  std::vector<float> to(x.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.size()); ++i) {
    const std::int64_t p = i % positions, c = i / positions % channels, n = i / positions / channels;
    to[static_cast<std::size_t>((n * positions + p) * channels + c)] = x[static_cast<std::size_t>(i)];
  }
  return to;
}

void check_convolution(const Geometry& g, int threads) {
  const bool narrow = threads % 2 == 0;
  const ThreadScope scope{Threads(threads)};
  const tiles::TileConvolutionShape shape = shape_of(g, tiles::kRounded);
  const std::int64_t taps = g.kernel_h * g.kernel_w, oh = shape.window[1].out, ow = shape.window[2].out,
                     channels = g.groups * g.out;
  const auto x = random_values(static_cast<std::size_t>(g.batch * g.groups * g.in * g.height * g.width), 4),
             weight = random_values(static_cast<std::size_t>(channels * g.in * taps), 5),
             bias = random_values(static_cast<std::size_t>(channels), 6);
  const tiles::RowConvolution convolution(shape);
  auto packed = unaligned(static_cast<std::size_t>(convolution.packed_bytes())),
       memory = unaligned(convolution.scratch());
  convolution.pack(weight.data(), aligned_part(packed));
  std::vector<float> again(weight.size());
  convolution.unpack(aligned_part(packed), again.data());
  for (std::size_t i = 0; i < weight.size(); ++i) ASSERT_EQ(again[i], rounded(weight[i], tiles::kRounded));
  const std::size_t results = static_cast<std::size_t>(g.batch * channels * oh * ow);
  Numbers made(std::vector<float>(results + 1, 7), narrow);
  const Numbers lying(channels_last(x, g.batch, g.groups * g.in), narrow);
  ASSERT_TRUE(convolution.run({lying.elements(), aligned_part(packed), bias.data(), made.data(), narrow, {}},
                              aligned_part(memory)));
  const std::vector<float> y = made.values();
  EXPECT_EQ(y.back(), 7) << "written behind the result";
  const std::vector<double> left = rounded(x, tiles::kRounded), right = rounded(weight, tiles::kRounded);
  for (std::size_t i = 0; i < results; ++i) {
    const auto at = static_cast<std::int64_t>(i), c = at % channels, position = at / channels % (oh * ow),
               n = at / channels / oh / ow;
    double sum = bias[static_cast<std::size_t>(c)];
    for (std::int64_t ci = 0; ci < g.in; ++ci) {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t ih = position / ow * g.stride + t / g.kernel_w * g.dilation - g.padding_before,
                           iw = position % ow * g.stride + t % g.kernel_w * g.dilation - g.padding_before;
        if (ih < 0 || ih >= g.height || iw < 0 || iw >= g.width) continue;
        const std::int64_t channel = (n * g.groups + c / g.out) * g.in + ci;
        sum += left[static_cast<std::size_t>((channel * g.height + ih) * g.width + iw)] *
               right[static_cast<std::size_t>((c * g.in + ci) * taps + t)];
      }
    }
    ASSERT_NEAR(y[i], sum, within(g.in * taps, sum, narrow)) << i;
  }
}

TEST_F(ProductsOfRows, Convolutions) {
  const Geometry geometries[] = {
      {1, 1, 32, 32, 8, 8, 1, 1, 1, 1, 0, 0},   {1, 1, 40, 48, 7, 7, 1, 1, 1, 1, 0, 0},
      {2, 1, 16, 33, 14, 14, 1, 1, 2, 1, 0, 0}, {1, 1, 64, 64, 7, 7, 3, 3, 1, 1, 1, 1},
      {1, 1, 24, 20, 28, 27, 3, 3, 1, 1, 1, 1}, {1, 1, 33, 70, 15, 14, 3, 3, 2, 1, 1, 1},
      {1, 1, 32, 16, 9, 31, 5, 3, 1, 2, 3, 1},  {3, 2, 16, 24, 12, 12, 3, 3, 1, 1, 0, 2},
      {1, 1, 70, 40, 40, 40, 3, 3, 1, 1, 1, 1}, {1, 1, 130, 64, 6, 6, 3, 3, 1, 1, 1, 1},
      {1, 1, 16, 32, 20, 50, 1, 7, 3, 1, 3, 3}, {1, 1, 32, 32, 1, 100, 1, 9, 1, 1, 0, 0},
      {2, 1, 48, 96, 33, 33, 2, 2, 2, 1, 0, 1}, {1, 1, 200, 300, 5, 3, 1, 1, 1, 1, 0, 0},
      {1, 1, 3, 64, 37, 41, 7, 7, 2, 1, 3, 3},  {3, 1, 96, 40, 5, 5, 1, 1, 1, 1, 0, 0},
      {2, 1, 8, 16, 6, 5, 3, 3, 1, 1, 2, 2},    {1, 1, 20, 24, 11, 9, 1, 1, 1, 1, 1, 1},
      {1, 3, 40, 20, 9, 9, 1, 1, 2, 1, 0, 0},   {1, 1, 12, 36, 10, 12, 3, 3, 4, 1, 0, 0},
      {1, 1, 512, 64, 3, 3, 3, 3, 1, 1, 1, 1},  {1, 1, 17, 19, 9, 10, 2, 3, 1, 3, 2, 5},
  };
  for (const Geometry& g : geometries) {
    for (const int threads : kThreads) {
      SCOPED_TRACE(testing::Message() << g.in << " to " << g.out << " channels of " << g.height << "x" << g.width
                                      << ", kernel " << g.kernel_h << "x" << g.kernel_w << ", stride " << g.stride
                                      << ", " << threads << " threads");
      check_convolution(g, threads);
    }
  }
}

TEST(RowPanels, HaveEachResultOnce) {
  constexpr std::int64_t kMost = 12, kRow = 128;
  struct Lines {
    std::int64_t count, begin, pitch, width;
    bool apart;  ///< tiles do not follow each other
  };
  const Lines cases[] = {{1, 0, tiles::RowResults::kNoPitch, tiles::RowResults::kNoPitch, false},
                         {49, 0, tiles::RowResults::kNoPitch, tiles::RowResults::kNoPitch, false},
                         {1000, 0, tiles::RowResults::kNoPitch, tiles::RowResults::kNoPitch, true},
                         {61, 0, 9, 7, false},
                         {300, 32, 58, 56, false},
                         {300, 16, 58, 56, true},
                         {40, 0, 5, 3, false},
                         {500, 48, 400, 7, false}};
  for (const Lines& c : cases) {
    SCOPED_TRACE(testing::Message() << c.count << " rows from " << c.begin << " on, " << c.width << " of " << c.pitch);
    const tiles::TileRows rows{nullptr, c.count, tiles::kTile * kRow + (c.apart ? 64 : 0), kRow, {}};
    const tiles::RowResults results{.begin = c.begin, .pitch = c.pitch, .width = c.width};
    std::vector<int> visit_counts(static_cast<std::size_t>(c.count));
    std::int64_t last = 0;
    for (const tiles::RowPanel& panel : tiles::row_panels(rows, results, kMost)) {
      EXPECT_LE(panel.end - panel.begin, tiles::RowPanel::kMostRows);
      for (const tiles::RowGroup& g : panel.groups) {
        EXPECT_GE(g.first, last);
        last = g.first + g.count;
        EXPECT_TRUE(g.first >= panel.begin && last <= panel.end && g.count >= 1 && g.count <= kMost);
        if (c.apart) {
          EXPECT_EQ(g.first / tiles::kTile, (last - 1) / tiles::kTile) << "rows of a group are equally far apart";
        }
        for (std::int64_t r = g.first; r < last; ++r) ++visit_counts[static_cast<std::size_t>(r)];
      }
    }
    for (std::int64_t r = 0; r < c.count; ++r) {
      const int times = visit_counts[static_cast<std::size_t>(r)];
      EXPECT_LE(times, 1) << r;
      if ((c.begin + r) % c.pitch < c.width) {
        EXPECT_EQ(times, 1) << r;
      }
    }
  }
}

TEST_F(ProductsOfRows, TilesAndVectorsAgree) {
  if (!tiles::available()) GTEST_SKIP() << "no matrix tiles here";
  constexpr std::int64_t kRows = 37, kColumns = 70, kK = 100;
  const auto x = random_values(kRows * kK, 1), weight = random_values(kColumns * kK, 2);
  const std::int64_t steps = tiles::steps_of(kK);
  const tiles::RowSteps of_rows(kK, {steps * tiles::kTileBytes, 64, tiles::kTileBytes});
  auto rows = unaligned(static_cast<std::size_t>(of_rows.layout().bytes(kRows))),
       packed = unaligned(static_cast<std::size_t>(tiles::packed_weight_bytes(kColumns, steps)));
  const Numbers left(x, false), right(weight, false);
  tiles::pack_rows(left.elements(), kK, {0, kRows}, kK, of_rows.layout(), aligned_part(rows));
  tiles::pack_weight(right.elements(), kK, kColumns, kK, aligned_part(packed));
  const tiles::TileRows operand = of_rows.rows(aligned_part(rows), kRows);
  std::vector<std::vector<float>> results;
  for_each_level(tiles::multiply_rows_levels, [&](auto* multiply) {
    std::vector<float>& y = results.emplace_back(kRows * kColumns);
    bool finite = false;
    multiply(operand, aligned_part(packed), {0, 3},
             {.y = reinterpret_cast<std::byte*>(y.data()), .ld = kColumns, .columns = kColumns}, &finite);
    EXPECT_TRUE(finite);
  });
  ASSERT_EQ(results.size(), 2u);
  for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_NEAR(results[0][i], results[1][i], 2 * tolerance(kK)) << i;
}

TEST(Division, LeavesNoThreadIdleWhereThereIsEnough) {
  for (const int threads : {1, 2, 3, 4, 7, 8, 32, 64}) {
    const tiles::Division d = tiles::divide({64, 64, 1000, 100, 100}, threads);
    EXPECT_LE(d.count(), threads);
    EXPECT_GE(2 * d.count(), threads);
  }
  // A weight that is much to read, and few rows.
  EXPECT_EQ(tiles::divide({4, 64, 1000, 1e4, 1e6}, 8).rows, 1);
  // An image that is much to read, and few channels.
  EXPECT_EQ(tiles::divide({64, 8, 1000, 1e6, 1e4}, 8).columns, 1);
}

}  // namespace
}  // namespace tern
