// Convolutions and pools of channels-last images against plain loops in double.
#include "kernels/channels_last.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "dtypes/cpu_features.h"
#include "kernels/cpu/channels_last/convolve.h"
#include "kernels/cpu/channels_last/loops.h"
#include "kernels/cpu/channels_last/panels.h"
#include "kernels/cpu/channels_last/pool.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "tests/bfloat16.h"
#include "tests/random_floats.h"
#include "threads/threads.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using test::random_floats;

WindowAxis axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t before,
                std::int64_t after) {
  return {in, (in + before + after - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation, before};
}

/// Calls f(number of the input's position, number of the element) for the elements of window (i, j) inside the image.
template <class F>
void each_inside(const WindowAxis& h, const WindowAxis& w, std::int64_t i, std::int64_t j, F&& f) {
  for (std::int64_t a = 0; a < h.kernel; ++a) {
    for (std::int64_t b = 0; b < w.kernel; ++b) {
      const std::int64_t r = h.position(i, a), c = w.position(j, b);
      if (r >= 0 && r < h.in && c >= 0 && c < w.in) f(r * w.in + c, a * w.kernel + b);
    }
  }
}

struct ChannelsLastCase {
  const char* description;
  std::int64_t batch, groups, in, out;
  WindowAxis h, w;
};
const ChannelsLastCase kChannelsLastCases[] = {
    {"one element", 2, 1, 37, 45, axis(5, 1, 1, 1, 0, 0), axis(7, 1, 1, 1, 0, 0)},
    {"one element, more than one sum", 1, 1, 300, 33, axis(3, 1, 1, 1, 0, 0), axis(5, 1, 1, 1, 0, 0)},
    {"one element, every second", 2, 1, 24, 64, axis(9, 1, 2, 1, 0, 0), axis(8, 1, 2, 1, 0, 0)},
    {"three by three, padded", 2, 1, 20, 40, axis(9, 3, 1, 1, 1, 1), axis(15, 3, 1, 1, 1, 1)},
    {"three by three, many channels", 1, 1, 260, 96, axis(4, 3, 1, 1, 1, 1), axis(4, 3, 1, 1, 1, 1)},
    {"not padded", 1, 1, 16, 17, axis(8, 3, 1, 1, 0, 0), axis(9, 2, 1, 1, 0, 0)},
    {"first layer", 2, 1, 3, 16, axis(17, 7, 2, 1, 3, 3), axis(19, 7, 2, 1, 3, 3)},
    {"dilated, uneven padding", 1, 1, 8, 12, axis(11, 3, 2, 2, 2, 1), axis(13, 3, 1, 3, 1, 4)},
    {"dilated, most elements are padding", 2, 1, 12, 40, axis(9, 3, 1, 6, 6, 6), axis(20, 3, 1, 12, 12, 12)},
    {"dilated, every second, groups", 1, 2, 20, 33, axis(17, 3, 2, 4, 4, 4), axis(23, 5, 2, 4, 9, 7)},
    {"dilated, more than one sum", 1, 1, 600, 17, axis(6, 2, 1, 3, 2, 1), axis(16, 3, 1, 8, 8, 8)},
    {"dilated, a window of padding alone", 1, 1, 8, 16, axis(5, 3, 1, 2, 9, 9), axis(16, 3, 1, 6, 6, 6)},
    {"wider than the image", 1, 1, 4, 8, axis(2, 5, 1, 1, 2, 2), axis(3, 5, 1, 1, 2, 2)},
    {"groups", 2, 3, 8, 20, axis(6, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1)},
    {"groups of two", 2, 9, 2, 2, axis(5, 3, 1, 1, 1, 1), axis(7, 3, 1, 1, 1, 1)},
    {"groups of four", 1, 5, 4, 4, axis(9, 3, 1, 1, 1, 1), axis(13, 3, 1, 1, 1, 1)},
    {"groups of eight", 2, 6, 8, 8, axis(14, 3, 1, 1, 1, 1), axis(14, 3, 1, 1, 1, 1)},
    {"groups of eight, every second", 1, 13, 8, 8, axis(15, 3, 2, 1, 1, 1), axis(27, 3, 2, 1, 1, 1)},
    {"groups of sixteen, more padding", 2, 3, 16, 16, axis(9, 3, 1, 1, 2, 2), axis(8, 3, 1, 1, 2, 1)},
    {"groups of eight, more windows", 1, 4, 8, 8, axis(6, 5, 1, 1, 2, 2), axis(9, 5, 1, 1, 2, 2)},
    {"a line", 3, 1, 12, 16, axis(1, 1, 1, 1, 0, 0), axis(40, 5, 2, 1, 2, 2)},
    {"depthwise", 2, 40, 1, 1, axis(9, 3, 1, 1, 1, 1), axis(11, 3, 1, 1, 1, 1)},
    {"depthwise, many lines", 1, 24, 1, 1, axis(70, 3, 2, 1, 1, 0), axis(33, 3, 2, 1, 0, 1)},
    {"depthwise, several lines at once", 2, 70, 1, 1, axis(14, 5, 1, 1, 2, 2), axis(15, 5, 1, 1, 2, 2)},
    {"depthwise, several lines, every second", 1, 96, 1, 1, axis(28, 5, 2, 1, 2, 2), axis(27, 5, 2, 1, 2, 2)},
    {"depthwise, eight windows at once, one line more", 2, 33, 1, 1, axis(9, 3, 1, 1, 1, 1), axis(16, 3, 1, 1, 1, 1)},
    {"depthwise, five by five, more padding at the end", 1, 48, 1, 1, axis(8, 5, 1, 1, 0, 4), axis(19, 5, 1, 1, 3, 4)},
    {"depthwise, second positions, not padded", 2, 19, 1, 1, axis(17, 3, 2, 1, 0, 0), axis(15, 3, 2, 1, 0, 0)},
    {"depthwise, second positions, eight", 1, 72, 1, 1, axis(7, 5, 2, 1, 4, 3), axis(16, 5, 2, 1, 2, 1)},
    {"depthwise, taller than the image", 1, 16, 1, 1, axis(1, 5, 1, 1, 4, 4), axis(8, 5, 1, 1, 4, 4)},
    {"depthwise, padded by more than a window", 1, 16, 1, 1, axis(4, 3, 1, 1, 5, 5), axis(6, 3, 1, 1, 3, 4)},
    {"depthwise, wider than the image", 1, 20, 1, 1, axis(2, 7, 1, 1, 3, 3), axis(3, 7, 1, 1, 3, 3)},
    {"depthwise, thirteen by thirteen", 1, 40, 1, 1, axis(15, 13, 1, 1, 6, 6), axis(17, 13, 1, 1, 6, 6)},
    {"depthwise, seven by seven, every second", 2, 24, 1, 1, axis(16, 7, 2, 1, 3, 3), axis(19, 7, 2, 1, 3, 3)},
    {"depthwise, a line of many", 2, 32, 1, 1, axis(1, 1, 1, 1, 0, 0), axis(50, 31, 1, 1, 15, 15)},
    {"depthwise, three by nine", 1, 16, 1, 1, axis(9, 3, 1, 1, 1, 1), axis(20, 9, 1, 1, 4, 4)},
    {"depthwise, few positions", 1, 100, 1, 1, axis(7, 5, 1, 1, 2, 2), axis(7, 5, 1, 1, 2, 2)},
    {"depthwise, dilated", 1, 16, 1, 1, axis(12, 5, 1, 2, 4, 4), axis(10, 5, 2, 2, 4, 4)},
};

std::vector<float> convolve(const ChannelsLastShape& c, const std::vector<float>& x, const std::vector<float>& weight,
                            const std::vector<float>& bias, int threads, const float* panels = nullptr) {
  std::vector<float> y(static_cast<std::size_t>(c.batch * c.groups * c.out * cpu::plane(c.window, &WindowAxis::out)),
                       12345);
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  (goes_by_channels(c) ? channels_last::convolve_depthwise : channels_last::convolve)(
      c, {x.data(), weight.data(), bias.empty() ? nullptr : bias.data(), y.data(), panels}, {});
  omp_set_num_threads(before);
  return y;
}

TEST(ChannelsLast, ConvolvesAsAPlainLoopDoes) {
  for (const ChannelsLastCase& k : kChannelsLastCases) {
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(k.description);
      const ChannelsLastShape c{{WindowAxis{}, k.h, k.w}, k.batch, k.groups, k.in, k.out};
      const std::int64_t kernel = k.h.kernel * k.w.kernel, channels = k.groups * k.out, in = k.groups * k.in,
                         positions = k.h.in * k.w.in;
      const auto x = random_floats(k.batch * in * positions, 1), weight = random_floats(channels * k.in * kernel, 2),
                 bias = random_floats(biased ? channels : 0, 3);
      const auto y = convolve(c, x, weight, bias, 1);
      EXPECT_EQ(y, convolve(c, x, weight, bias, 3)) << "the bits depend on the number of threads";
      std::size_t at = 0;
      for (std::int64_t n = 0; n < k.batch; ++n) {
        for (std::int64_t window = 0; window < k.h.out * k.w.out; ++window) {
          for (std::int64_t o = 0; o < channels; ++o, ++at) {
            double sum = biased ? bias[static_cast<std::size_t>(o)] : 0, size = std::abs(sum);
            each_inside(k.h, k.w, window / k.w.out, window % k.w.out, [&](std::int64_t position, std::int64_t e) {
              for (std::int64_t i = 0; i < k.in; ++i) {
                const double product =
                    static_cast<double>(
                        x[static_cast<std::size_t>((n * positions + position) * in + o / k.out * k.in + i)]) *
                    static_cast<double>(weight[static_cast<std::size_t>((o * k.in + i) * kernel + e)]);
                sum += product;
                size += std::abs(product);
              }
            });
            ASSERT_NEAR(y[at], sum, size * std::ldexp(static_cast<double>(k.in * kernel + 2), -24)) << "result " << at;
          }
        }
      }
    }
  }
}

std::vector<std::uint16_t> narrowed(const std::vector<float>& v) {
  std::vector<std::uint16_t> bits;
  bits.reserve(v.size());
  for (float f : v)
    bits.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(test::to_bfloat16(f)) >> 16));
  return bits;
}
std::vector<float> widened(const std::vector<std::uint16_t>& v) {
  std::vector<float> floats;
  floats.reserve(v.size());
  for (std::uint16_t bits : v) floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
  return floats;
}

TEST(ChannelsLast, NarrowDepthwiseIsThatOfARoundedImage) {
  int taken = 0;
  for (const ChannelsLastCase& k : kChannelsLastCases) {
    const ChannelsLastShape c{{WindowAxis{}, k.h, k.w}, k.batch, k.groups, k.in, k.out};
    if (!tiles::rows_possible() || !has_narrow_depthwise(c)) continue;
    SCOPED_TRACE(k.description);
    ++taken;
    const auto x = random_floats(k.batch * k.groups * k.h.in * k.w.in, 1),
               weight = random_floats(k.groups * k.h.kernel * k.w.kernel, 2), bias = random_floats(k.groups, 3);
    const std::vector<std::uint16_t> narrow_x = narrowed(x);
    const std::vector<float> want = convolve(c, widened(narrow_x), weight, bias, 1);
    for (const int threads : {1, 3}) {
      const ThreadScope scope((Threads(threads)));
      std::vector<float> y(want.size());
      std::vector<std::uint16_t> narrow_y(want.size());
      NarrowOperands at{.weight = weight.data(), .bias = bias.data()};
      for (const bool narrow : {false, true}) {
        at.x =
            narrow ? reinterpret_cast<const std::byte*>(narrow_x.data()) : reinterpret_cast<const std::byte*>(x.data());
        at.narrow_x = narrow;
        at.y = reinterpret_cast<std::byte*>(y.data());
        at.narrow_y = false;
        convolve_narrow_depthwise(c, at, {});
        EXPECT_EQ(y, want) << "x of bfloat16: " << narrow;
        at.y = reinterpret_cast<std::byte*>(narrow_y.data());
        at.narrow_y = true;
        convolve_narrow_depthwise(c, at, {});
        EXPECT_EQ(narrow_y, narrowed(want)) << "x of bfloat16: " << narrow;
      }
    }
  }
  if (tiles::rows_possible()) {
    EXPECT_GE(taken, 8);
  }
}

/// An archive written, then read again.
class Weights final : public WeightAccess {
 public:
  std::span<const std::byte> packed(std::size_t, const std::string& key) override {
    const auto found = stored_.find(key);
    return found == stored_.end() ? std::span<const std::byte>() : std::as_bytes(std::span(found->second));
  }
  void fetch(std::size_t) override {}
  std::shared_ptr<const void> share(std::size_t, const std::string&,
                                    const std::function<std::shared_ptr<const void>()>& make) override {
    return make();
  }
  void offer(std::size_t, const std::string& key, std::function<std::vector<std::byte>()> make) override {
    const std::vector<std::byte> bytes = make();
    std::vector<float>& to = stored_[key];
    to.resize(bytes.size() / sizeof(float));
    std::memcpy(to.data(), bytes.data(), bytes.size());
  }

 private:
  std::map<std::string, std::vector<float>> stored_;
};

TEST(ChannelsLast, WeightsFromTheArchiveGiveTheSame) {
  for (const ChannelsLastCase& k : kChannelsLastCases) {
    SCOPED_TRACE(k.description);
    const ChannelsLastShape c{{WindowAxis{}, k.h, k.w}, k.batch, k.groups, k.in, k.out};
    const std::int64_t channels = k.groups * k.out;
    const auto x = random_floats(k.batch * k.groups * k.in * k.h.in * k.w.in, 1), bias = random_floats(channels, 3);
    auto weight = random_floats(channels * k.in * k.h.kernel * k.w.kernel, 2);
    const auto expected = convolve(c, x, weight, bias, 2);
    Weights weights;
    std::array<TensorView, 2> in;
    in[1].data = reinterpret_cast<std::byte*>(weight.data());
    in[1].dtype = DType::f32;
    const bool constant[] = {false, true};
    KernelCall call;
    call.in = in;
    call.constant = constant;
    call.weights = &weights;
    EXPECT_EQ(stored_panels(call, c), nullptr);
    const float* panels = stored_panels(call, c);
    ASSERT_NE(panels, nullptr);
    EXPECT_EQ(convolve(c, x, {}, bias, 2, panels), expected);
  }
}

TEST(ChannelsLast, DepthwiseResultsAreBounded) {
  const ChannelsLastShape c{{WindowAxis{}, axis(9, 3, 1, 1, 1, 1), axis(40, 3, 1, 1, 1, 1)}, 1, 19, 1, 1};
  const std::int64_t count = 19 * 9 * 40;
  const auto x = random_floats(count, 1), weight = random_floats(19 * 9, 2);
  auto expected = convolve(c, x, weight, {}, 1);
  for (float& v : expected) v = std::min(std::max(v, 0.0F), 0.25F);
  // The same with the bounds as the node's expression: x, 0, max, 0.25, min.
  Node node;
  node.op = Op::convolution;
  node.expr.code = {{.op = Scalar::load, .dtype = DType::f32},
                    {.op = Scalar::constant, .dtype = DType::f32},
                    {.op = Scalar::max, .dtype = DType::f32, .a = 0, .b = 1},
                    {.op = Scalar::constant, .dtype = DType::f32, .number = 0.25},
                    {.op = Scalar::min, .dtype = DType::f32, .a = 2, .b = 3}};
  std::vector<float> y(static_cast<std::size_t>(count));
  TensorView out;
  out.data = reinterpret_cast<std::byte*>(y.data());
  out.dtype = DType::f32;
  out.rank = 4;
  out.sizes = {1, 9, 40, 19};
  make_contiguous(out);
  std::array<TensorView, 3> in{};
  KernelCall call;
  call.node = &node;
  call.in = in;
  call.out = {&out, 1};
  const pointwise::Epilogue epilogue(call);
  ASSERT_TRUE(epilogue.simple());
  convolve_depthwise(c, {x.data(), weight.data(), nullptr, y.data()}, {&epilogue, &call});
  EXPECT_EQ(y, expected);
}

TEST(ChannelsLast, PoolsAsAPlainLoopDoes) {
  for (const ChannelsLastCase& k : kChannelsLastCases) {
    if (k.h.dilation > 1 || k.w.dilation > 1) continue;
    SCOPED_TRACE(k.description);
    const ChannelsLastPool p{{WindowAxis{}, k.h, k.w}, k.batch, 21};
    const std::int64_t positions = k.h.in * k.w.in, windows = k.h.out * k.w.out;
    auto x = random_floats(p.batch * positions * p.channels, 4);
    x[x.size() / 2] = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> most(static_cast<std::size_t>(p.batch * windows * p.channels)), average(most.size());
    std::vector<float> lines(static_cast<std::size_t>(k.h.out)), columns(static_cast<std::size_t>(k.w.out));
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] = 1 + static_cast<float>(i % 3);
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i] = 1 + static_cast<float>(i % 2);
    max_pool(p, x.data(), most.data());
    average_pool(p, x.data(), lines, columns, average.data());
    std::size_t at = 0;
    for (std::int64_t n = 0; n < p.batch; ++n) {
      for (std::int64_t window = 0; window < windows; ++window) {
        for (std::int64_t c = 0; c < p.channels; ++c, ++at) {
          const std::int64_t i = window / k.w.out, j = window % k.w.out;
          float expected = -std::numeric_limits<float>::infinity();
          double sum = 0;
          each_inside(k.h, k.w, i, j, [&](std::int64_t position, std::int64_t) {
            const float v = x[static_cast<std::size_t>((n * positions + position) * p.channels + c)];
            expected = v > expected || std::isnan(v) ? v : expected;
            sum += v;
          });
          ASSERT_TRUE(most[at] == expected || (std::isnan(most[at]) && std::isnan(expected))) << "result " << at;
          const double mean = sum / (lines[static_cast<std::size_t>(i)] * columns[static_cast<std::size_t>(j)]);
          ASSERT_TRUE(std::abs(average[at] - mean) < 1e-5 || (std::isnan(average[at]) && std::isnan(mean)));
        }
      }
    }
  }
}

template <class T>
void check_byte_pool(const ChannelsLastCase& k) {
  const ChannelsLastPool p{{WindowAxis{}, k.h, k.w}, k.batch, 21};
  const std::int64_t positions = k.h.in * k.w.in, windows = k.h.out * k.w.out;
  std::vector<T> x;
  for (const float v : random_floats(p.batch * positions * p.channels, 4))
    x.push_back(static_cast<T>(static_cast<int>(v * 1000)));
  std::vector<T> most(static_cast<std::size_t>(p.batch * windows * p.channels));
  max_pool(p, x.data(), most.data());
  std::size_t at = 0;
  for (std::int64_t n = 0; n < p.batch; ++n) {
    for (std::int64_t window = 0; window < windows; ++window) {
      for (std::int64_t c = 0; c < p.channels; ++c, ++at) {
        T expected = std::numeric_limits<T>::lowest();
        each_inside(k.h, k.w, window / k.w.out, window % k.w.out, [&](std::int64_t position, std::int64_t) {
          expected = std::max(expected, x[static_cast<std::size_t>((n * positions + position) * p.channels + c)]);
        });
        ASSERT_EQ(most[at], expected) << "result " << at;
      }
    }
  }
}

TEST(ChannelsLast, PoolsOfBytesAsAPlainLoopDoes) {
  for (const ChannelsLastCase& k : kChannelsLastCases) {
    SCOPED_TRACE(k.description);
    ASSERT_NO_FATAL_FAILURE(check_byte_pool<std::uint8_t>(k));
    ASSERT_NO_FATAL_FAILURE(check_byte_pool<std::int8_t>(k));
  }
}

TEST(ChannelsLast, MeansOfManyPositionsStayExact) {
  const std::int64_t batch = 2, lines = 50, width = 100, positions = lines * width, channels = 37;
  const auto x = random_floats(batch * positions * channels, 5);
  std::vector<float> y(static_cast<std::size_t>(batch * channels));
  mean(batch, lines, width, channels, x.data(), y.data());
  for (std::int64_t n = 0; n < batch; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      double sum = 0;
      for (std::int64_t p = 0; p < positions; ++p)
        sum += x[static_cast<std::size_t>((n * positions + p) * channels + c)];
      ASSERT_NEAR(y[static_cast<std::size_t>(n * channels + c)], sum / static_cast<double>(positions), 1e-6);
    }
  }
}

TEST(ChannelsLast, MeansHaveTheSameBitsForAnyThreadsAndLines) {
  constexpr std::int64_t kChannels = 43, kPositions = 840;
  const auto x = random_floats(kPositions * kChannels, 9);
  std::vector<float> expected(kChannels), y(kChannels);
  omp_set_num_threads(1);
  mean(1, 28, kPositions / 28, kChannels, x.data(), expected.data());
  for (int threads : {1, 2, 3, 5}) {
    omp_set_num_threads(threads);
    for (std::int64_t lines : {1, 7, 14, 28, 840}) {  // threads share runs of positions of many lines, else channels
      mean(1, lines, kPositions / lines, kChannels, x.data(), y.data());
      ASSERT_EQ(y, expected) << threads << " threads, " << lines << " lines";
    }
  }
  omp_set_num_threads(omp_get_num_procs());
}

std::vector<Loops> loops_of_every_set() {
  std::vector<Loops> all;
  for_each_level(set_levels, [&](auto set) { set(&all.emplace_back()); });
  return all;
}

TEST(ChannelsLast, StripsHaveTheBitsOfSingleWindows) {
  constexpr std::int64_t kChannels = 43, kWidth = 19, kHeight = 15;
  const auto x = random_floats(kHeight * kWidth * kChannels, 6), weight = random_floats(13 * 13 * kChannels, 7),
             bias = random_floats(kChannels, 8);
  for (const Loops& loops : loops_of_every_set()) {
    for (const auto& [kernel, wide] : std::vector<std::pair<std::int64_t, bool>>{
             {3, false}, {5, false}, {3, true}, {5, true}, {7, true}, {13, true}}) {
      for (const std::int64_t stride : {1, 2}) {
        SCOPED_TRACE("lanes " + std::to_string(loops.lanes) + ", kernel " + std::to_string(kernel) + ", stride " +
                     std::to_string(stride) + (wide ? ", wide" : ""));
        const StripLoop loop = wide ? loops.wide_strip[stride - 1] : loops.strip[kernel == 5 ? 1 : 0][stride - 1];
        const WindowAxis w = axis(kWidth, kernel, stride, 1, kernel - 1, kernel / 2);
        Strip s;
        s.position = s.y_position = s.channels = kChannels;
        s.line = kWidth * kChannels;
        s.width = kWidth;
        s.padding_before = w.padding_before;
        s.out = w.out;
        s.y_line = w.out * kChannels;
        s.kernel_h = s.kernel_w = kernel;
        s.low = -0.5F;
        s.high = 0.75F;
        s.x = x.data();
        for (s.lines = 1; s.lines <= loops.strip_lines; ++s.lines) {
          const std::ptrdiff_t reach = (s.lines - 1) * stride + kernel;
          for (s.rows_begin = 0; s.rows_begin < reach; ++s.rows_begin) {
            for (s.rows_end = s.rows_begin; s.rows_end <= reach; ++s.rows_end) {
              std::vector<float> y(static_cast<std::size_t>(s.lines * s.y_line), 12345), expected(y);
              s.y = y.data();
              loop(s, weight.data(), kChannels, bias.data());
              for (std::int64_t i = 0; i < s.lines * w.out; ++i) {
                std::vector<std::ptrdiff_t> taps, of_weight;
                for (std::int64_t a = 0; a < kernel; ++a) {
                  for (std::int64_t b = 0; b < kernel; ++b) {
                    const std::int64_t row = i / w.out * stride + a, column = w.position(i % w.out, b);
                    if (row < s.rows_begin || row >= s.rows_end || column < 0 || column >= kWidth) continue;
                    taps.push_back((row * kWidth + column) * kChannels);
                    of_weight.push_back((a * kernel + b) * kChannels);
                  }
                }
                WindowRow one;
                one.x = x.data();
                one.taps = taps.data();
                one.tap_count = static_cast<std::ptrdiff_t>(taps.size());
                one.channels = kChannels;
                one.count = 1;
                one.y = expected.data() + i * kChannels;
                one.low = s.low;
                one.high = s.high;
                loops.depthwise(one, weight.data(), of_weight.data(), bias.data());
              }
              ASSERT_EQ(y, expected) << "lines " << s.lines << ", rows " << s.rows_begin << " to " << s.rows_end;
            }
          }
        }
      }
    }
  }
}

TEST(ChannelsLast, StripsOfSmallGroupsAreTheirSums) {
  constexpr std::int64_t kChannels = 48, kWidth = 17, kHeight = 5;
  const auto x = random_floats(kHeight * kWidth * kChannels, 6), weight = random_floats(9 * 8 * kChannels, 7),
             bias = random_floats(kChannels, 8);
  for (const Loops& loops : loops_of_every_set()) {
    for (const std::int64_t stride : {1, 2}) {
      const StripLoop loop = loops.group_strip[0][stride - 1];
      if (loop == nullptr) continue;  // instruction set without fused multiply-add
      const WindowAxis w = axis(kWidth, 3, stride, 1, 1, 1);
      Strip s;
      s.x = x.data();
      s.position = s.y_position = s.channels = kChannels;
      s.line = kWidth * kChannels;
      s.width = kWidth;
      s.padding_before = 1;
      s.out = w.out;
      s.lines = loops.strip_lines;
      s.rows_end = (s.lines - 1) * stride + 3;
      s.y_line = w.out * kChannels;
      for (s.group = 2; s.group <= 8; s.group *= 2) {
        SCOPED_TRACE(testing::Message() << loops.lanes << " lanes, groups of " << s.group << ", stride " << stride);
        std::vector<float> y(static_cast<std::size_t>(s.lines * s.y_line));
        s.y = y.data();
        loop(s, weight.data(), kChannels, bias.data());
        for (std::int64_t at = 0; at < std::ssize(y); ++at) {
          const std::int64_t channel = at % kChannels, window = at / kChannels;
          double sum = bias[static_cast<std::size_t>(channel)];
          for (std::int64_t k = 0; k < 9 * s.group; ++k) {
            const std::int64_t row = window / w.out * stride + k % 9 / 3, column = w.position(window % w.out, k % 3),
                               in = channel / s.group * s.group + k / 9;
            if (column < 0 || column >= kWidth) continue;
            sum += static_cast<double>(x[static_cast<std::size_t>((row * kWidth + column) * kChannels + in)]) *
                   static_cast<double>(weight[static_cast<std::size_t>(k * kChannels + channel)]);
          }
          ASSERT_NEAR(y[static_cast<std::size_t>(at)], sum, 1e-4) << at;
        }
      }
    }
  }
}

TEST(ChannelsLast, EveryInstructionSetGivesTheSame) {
  const std::ptrdiff_t channels = 43, count = 11, taps[] = {0, 50, 172}, rows[] = {0, channels, 2 * channels};
  const auto x = random_floats(count * channels + 172 + channels, 6), weight = random_floats(3 * channels, 7),
             bias = random_floats(channels, 8);
  for (const Loops& loops : loops_of_every_set()) {
    std::vector<float> sums(static_cast<std::size_t>(count * channels)), most(sums.size());
    WindowRow w;
    w.x = x.data();
    w.step = w.channels = w.y_step = channels;
    w.taps = taps;
    w.tap_count = 3;
    w.count = count;
    w.y = sums.data();
    loops.depthwise(w, weight.data(), rows, bias.data());
    w.y = most.data();
    loops.max(w);
    for (std::ptrdiff_t i = 0; i < count * channels; ++i) {
      double sum = bias[static_cast<std::size_t>(i % channels)];
      float expected = x[static_cast<std::size_t>(i)];
      for (std::ptrdiff_t t = 0; t < 3; ++t) {
        const float v = x[static_cast<std::size_t>(taps[t] + i)];
        sum +=
            static_cast<double>(v) * static_cast<double>(weight[static_cast<std::size_t>(t * channels + i % channels)]);
        expected = std::max(expected, v);
      }
      ASSERT_NEAR(sums[static_cast<std::size_t>(i)], sum, 1e-6) << loops.lanes;
      ASSERT_EQ(most[static_cast<std::size_t>(i)], expected) << loops.lanes;
    }
  }
}

TEST(ChannelsLast, IsAnOrderOfStrides) {
  TensorView v;
  v.dtype = DType::f32;
  v.rank = 4;
  v.sizes = {2, 3, 4, 5};
  make_contiguous(v);
  EXPECT_FALSE(is_channels_last(v));
  make_channels_last(v);
  EXPECT_TRUE(is_channels_last(v));
  EXPECT_EQ(v.stride(0), 60);
  EXPECT_EQ(v.stride(1), 1);
  EXPECT_EQ(v.stride(2), 15);
  EXPECT_EQ(v.stride(3), 3);
  const TensorView last = to_channels_last_order(v, 4);
  EXPECT_TRUE(last.contiguous());
  EXPECT_EQ(std::vector(last.sizes.begin(), last.sizes.begin() + 4), (std::vector<std::int64_t>{2, 4, 5, 3}));
  v.sizes[1] = 1;  // a single channel makes both orders equal
  make_channels_last(v);
  EXPECT_FALSE(is_channels_last(v));
}

}  // namespace
}  // namespace tern::channels_last
