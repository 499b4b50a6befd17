// Convolutions of images and volumes by transformed tiles, against plain loops in double, and with non-finite numbers.
#include "kernels/cpu/channels_last/winograd.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "kernels/channels_last.h"
#include "kernels/cpu/convolution/channels_last.h"
#include "kernels/cpu/products/float32/strided_microkernel.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"
#include "tests/random_floats.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using test::random_floats;

WindowAxis axis(std::int64_t in, std::int64_t before, std::int64_t after) {
  return {in, in + before + after - 2, 3, 1, 1, before};
}

struct WinogradCase {
  const char* description;
  std::int64_t batch, groups, in, out;
  WindowAxis h, w, d = {};
};
const WinogradCase kWinogradCases[] = {
    {"whole tiles", 1, 1, 16, 32, axis(8, 1, 1), axis(12, 1, 1)},
    {"parts of tiles, parts of registers", 2, 1, 21, 45, axis(7, 1, 1), axis(10, 1, 1)},
    {"not padded", 1, 1, 16, 16, axis(9, 0, 0), axis(7, 0, 0)},
    {"uneven padding, wider than a tile", 1, 1, 17, 19, axis(5, 2, 0), axis(6, 7, 9)},
    {"smaller than a tile", 3, 1, 16, 16, axis(2, 1, 1), axis(1, 1, 1)},
    {"groups", 2, 3, 20, 24, axis(6, 1, 1), axis(9, 1, 1)},
    {"more channels than are transformed at once", 1, 1, 150, 70, axis(6, 1, 1), axis(5, 1, 1)},
    {"more tiles than are made at once", 2, 1, 16, 64, axis(50, 1, 1), axis(45, 1, 1)},
    {"more tiles than are kept", 1, 1, 128, 16, axis(70, 1, 1), axis(70, 1, 1)},
    {"a volume", 2, 1, 20, 40, axis(7, 1, 1), axis(6, 1, 1), axis(5, 1, 1)},
    {"a volume of many channels", 1, 1, 80, 33, axis(5, 1, 1), axis(9, 1, 1), axis(4, 1, 0)},
    {"slices apart", 1, 1, 17, 16, axis(6, 1, 1), axis(6, 0, 0), {9, 3, 3, 2, 2, 1}},
    {"images of a volume", 1, 2, 16, 32, axis(6, 1, 1), axis(6, 1, 1), {4, 4}},
};

struct Example {
  explicit Example(const WinogradCase& k)
      : c{{k.d, k.h, k.w}, k.batch, k.groups, k.in, k.out},
        x(random_floats(k.batch * k.groups * k.in * k.d.in * k.h.in * k.w.in, 1)),
        weight(random_floats(k.groups * k.out * k.in * k.d.kernel * 9, 2)),
        bias(random_floats(k.groups * k.out, 3)),
        y(static_cast<std::size_t>(k.batch * k.groups * k.out * k.d.out * k.h.out * k.w.out), 12345) {}

  bool run(int threads, const float* panels) {
    const Winograd winograd(c);
    std::vector<std::byte> scratch(winograd.scratch() + 64);
    const auto at = reinterpret_cast<std::uintptr_t>(scratch.data());
    const int before = omp_get_max_threads();
    omp_set_num_threads(threads);
    const bool finite =
        winograd.run({x.data(), weight.data(), bias.data(), y.data(), panels}, {}, scratch.data() + (64 - at % 64));
    omp_set_num_threads(before);
    return finite;
  }

  /// The sum of result `i`, and the sum of its absolute products.
  std::pair<double, double> expected(std::size_t i) const {
    const WindowAxis &d = c.window[0], &h = c.window[1], &w = c.window[2];
    const auto at = static_cast<std::int64_t>(i), channels = c.groups * c.out, in = c.groups * c.in, o = at % channels,
               column = at / channels % w.out, line = at / channels / w.out % h.out,
               image = at / channels / w.out / h.out, n = image / d.out, taps = d.kernel * 9;
    double sum = bias[static_cast<std::size_t>(o)], size = std::abs(sum);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      const std::int64_t q = d.position(image % d.out, tap / 9), r = h.position(line, tap / 3 % 3),
                         s = w.position(column, tap % 3);
      if (q < 0 || q >= d.in || r < 0 || r >= h.in || s < 0 || s >= w.in) continue;
      for (std::int64_t k = 0; k < c.in; ++k) {
        const std::int64_t position = ((n * d.in + q) * h.in + r) * w.in + s;
        const double product = static_cast<double>(x[static_cast<std::size_t>(position * in + o / c.out * c.in + k)]) *
                               static_cast<double>(weight[static_cast<std::size_t>((o * c.in + k) * taps + tap)]);
        sum += product;
        size += std::abs(product);
      }
    }
    return {sum, size};
  }

  ChannelsLastShape c;
  std::vector<float> x, weight, bias, y;
};

/// The weight in the archive's layout.
std::vector<float> panels_of(const ChannelsLastShape& c, const std::vector<float>& weight) {
  const strided_product::StridedMicroKernels& micro = strided_product::micro_kernels();
  const std::int64_t row = c.in * c.window[0].kernel * 9;
  std::vector<float> all;
  for (std::int64_t g = 0; g < c.groups; ++g) {
    for (std::int64_t first = 0; first < c.out; first += micro.columns) {
      std::vector<float> panel(static_cast<std::size_t>(row * micro.columns));
      micro.pack(weight.data() + (g * c.out + first) * row, 1, row, row,
                 static_cast<int>(std::min<std::int64_t>(micro.columns, c.out - first)), panel.data());
      all.insert(all.end(), panel.begin(), panel.end());
    }
  }
  return all;
}

TEST(Winograd, ConvolvesAsAPlainLoopDoes) {
  for (const WinogradCase& k : kWinogradCases) {
    SCOPED_TRACE(k.description);
    Example e(k);
    ASSERT_TRUE(Winograd::possible(e.c));
    ASSERT_TRUE(e.run(1, nullptr));
    const auto alone = e.y;
    ASSERT_TRUE(e.run(3, panels_of(e.c, e.weight).data()));
    EXPECT_EQ(alone, e.y) << "the bits depend on the number of threads, or on where the weight lies";
    double errors = 0;
    for (std::size_t i = 0; i < e.y.size(); ++i) {
      const auto [sum, size] = e.expected(i);
      const double error = std::abs(e.y[i] - sum) / (size + 10);
      errors += error * error;
      // Neighbours in a tile contribute to the error, so the products of a single result give no bound.
      ASSERT_NEAR(e.y[i], sum, std::ldexp(size + 10, -20)) << "result " << i;
    }
    EXPECT_LT(std::sqrt(errors / static_cast<double>(e.y.size())), std::ldexp(1, -24));
  }
}

TEST(Winograd, IsForThreeByThreeElementsSideBySide) {
  Example e(kWinogradCases[0]);
  for (auto change :
       {+[](ChannelsLastShape& c) { c.window[1].kernel = 5; }, +[](ChannelsLastShape& c) { c.window[2].stride = 2; },
        +[](ChannelsLastShape& c) { c.window[2].dilation = 2; }, +[](ChannelsLastShape& c) { c.is_ordered = true; },
        +[](ChannelsLastShape& c) { c.in = 8; }, +[](ChannelsLastShape& c) { c.out = 8; },
        +[](ChannelsLastShape& c) { c.window[0].kernel = c.groups = 2; }}) {
    ChannelsLastShape c = e.c;
    change(c);
    EXPECT_FALSE(Winograd::possible(c));
    EXPECT_FALSE(Winograd::suits(c));
  }
}

TEST(Winograd, WhatIsNotFiniteStaysInItsWindows) {
  if (tiles::available()) GTEST_SKIP() << "tiles of matrices take these convolutions";
  const float infinite = std::numeric_limits<float>::infinity();
  for (const float odd : {infinite, std::numeric_limits<float>::quiet_NaN(), 3e38F}) {
    Example e({"", 1, 1, 64, 64, axis(12, 1, 1), axis(12, 1, 1)});
    e.x[(5 * 12 + 6) * 64 + 7] = odd;
    EXPECT_FALSE(e.run(2, nullptr));
    Node node;
    node.op = Op::convolution;
    const auto image = [](std::vector<float>& v, std::int64_t channels, std::int64_t size) {
      TensorView view{reinterpret_cast<std::byte*>(v.data()), DType::f32, 4, {channels == 0 ? 64 : 1, 64, size, size}};
      channels == 0 ? make_contiguous(view) : make_channels_last(view);
      return view;
    };
    std::vector<TensorView> in{image(e.x, 64, 12), image(e.weight, 0, 3),
                               TensorView{reinterpret_cast<std::byte*>(e.bias.data()), DType::f32, 1, {64}, {1}}},
        out{image(e.y, 64, 12)};
    KernelCall call;
    call.node = &node;
    call.in = in;
    call.out = out;
    const auto convolution = cpu::ChannelsLastConvolution::create(call, e.c);
    ASSERT_NE(convolution, nullptr);
    ScratchArena count;
    convolution->reserve(call, count);
    ASSERT_GT(count.used(), 0U) << "not by transformed tiles";
    std::vector<std::byte> scratch(count.used());
    ScratchArena arena(scratch.data());
    convolution->run(call, arena, nullptr);
    for (std::size_t i = 0; i < e.y.size(); ++i) {
      const auto [sum, size] = e.expected(i);
      const auto position = static_cast<std::int64_t>(i / 64);
      const bool touched = std::abs(position / 12 - 5) <= 1 && std::abs(position % 12 - 6) <= 1;
      ASSERT_EQ(std::isfinite(e.y[i]), std::isfinite(odd) || !touched) << "result " << i;
      if (std::isfinite(e.y[i])) {
        ASSERT_NEAR(e.y[i], sum, std::ldexp(size, -14)) << "result " << i;
      }
    }
  }
}

}  // namespace
}  // namespace tern::channels_last
