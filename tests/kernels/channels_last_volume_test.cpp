// Convolutions of three dimensions on channels-last images against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/channels_last/convolve.h"
#include "tests/random_floats.h"
#include "threads/threads.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using test::random_floats;

WindowAxis volume_axis(std::int64_t in, std::int64_t kernel, std::int64_t stride, std::int64_t dilation,
                       std::int64_t padding) {
  return {in, (in + 2 * padding - (kernel - 1) * dilation - 1) / stride + 1, kernel, stride, dilation, padding};
}

struct VolumeCase {
  const char* description;
  std::int64_t batch, groups, in, out;
  WindowAxis d, h, w;
};
const VolumeCase kVolumeCases[] = {
    {"padded", 2, 1, 8, 20, volume_axis(5, 3, 1, 1, 1), volume_axis(6, 3, 1, 1, 1), volume_axis(7, 3, 1, 1, 1)},
    {"few channels in", 1, 1, 3, 17, volume_axis(6, 3, 1, 1, 1), volume_axis(17, 7, 2, 1, 3),
     volume_axis(19, 7, 2, 1, 3)},
    {"one channel in", 1, 1, 1, 16, volume_axis(4, 3, 1, 1, 1), volume_axis(9, 3, 1, 1, 1), volume_axis(9, 3, 1, 1, 1)},
    {"every second", 1, 1, 12, 33, volume_axis(7, 3, 2, 1, 1), volume_axis(9, 3, 2, 1, 1), volume_axis(8, 3, 2, 1, 1)},
    {"slices in place", 2, 1, 16, 24, volume_axis(5, 3, 1, 1, 1), volume_axis(6, 1, 1, 1, 0),
     volume_axis(7, 1, 1, 1, 0)},
    {"lines alone", 1, 1, 16, 24, volume_axis(5, 1, 1, 1, 0), volume_axis(6, 3, 1, 1, 1), volume_axis(7, 3, 1, 1, 1)},
    {"pointwise", 2, 1, 16, 24, volume_axis(3, 1, 1, 1, 0), volume_axis(4, 1, 1, 1, 0), volume_axis(5, 1, 1, 1, 0)},
    {"dilated", 1, 1, 8, 16, volume_axis(9, 3, 1, 2, 2), volume_axis(9, 3, 1, 3, 3), volume_axis(8, 3, 1, 2, 2)},
    {"slices of padding alone", 1, 1, 8, 16, volume_axis(2, 2, 1, 1, 4), volume_axis(5, 2, 1, 1, 0),
     volume_axis(5, 2, 1, 1, 0)},
    {"groups", 1, 2, 8, 20, volume_axis(4, 3, 1, 1, 1), volume_axis(6, 3, 1, 1, 1), volume_axis(5, 3, 1, 1, 1)},
    {"more than a band", 1, 1, 24, 8, volume_axis(9, 3, 1, 1, 1), volume_axis(60, 3, 1, 1, 1),
     volume_axis(60, 3, 1, 1, 1)},
    {"parts of slices", 1, 1, 40, 8, volume_axis(3, 3, 1, 1, 1), volume_axis(90, 3, 1, 1, 1),
     volume_axis(90, 3, 1, 1, 1)},
};

std::vector<float> convolve_volume(const ChannelsLastShape& c, const std::vector<float>& x,
                                   const std::vector<float>& weight, const std::vector<float>& bias, int threads) {
  const ThreadScope scope((Threads(threads)));
  std::vector<float> y(static_cast<std::size_t>(c.batch * c.groups * c.out * cpu::plane(c.window, &WindowAxis::out)),
                       12345);
  convolve(c, {x.data(), weight.data(), bias.data(), y.data()}, {});
  return y;
}

/// Result channel `o` at one window of image `n`, with the sum of the absolute products.
struct VolumeSum {
  double sum, size;
};
VolumeSum sum_of(const ChannelsLastShape& c, const std::vector<float>& x, const std::vector<float>& weight,
                 std::int64_t n, std::int64_t window, std::int64_t o) {
  const auto& [d, h, w] = c.window;
  VolumeSum s{0, 0};
  const std::int64_t kernel = cpu::plane(c.window, &WindowAxis::kernel);
  for (std::int64_t e = 0; e < kernel; ++e) {
    const std::int64_t z = d.position(window / w.out / h.out, e / w.kernel / h.kernel),
                       r = h.position(window / w.out % h.out, e / w.kernel % h.kernel),
                       q = w.position(window % w.out, e % w.kernel);
    if (z < 0 || z >= d.in || r < 0 || r >= h.in || q < 0 || q >= w.in) continue;
    const std::int64_t position = ((n * d.in + z) * h.in + r) * w.in + q;
    for (std::int64_t i = 0; i < c.in; ++i) {
      const double product =
          static_cast<double>(x[static_cast<std::size_t>(position * c.groups * c.in + o / c.out * c.in + i)]) *
          static_cast<double>(weight[static_cast<std::size_t>((o * c.in + i) * kernel + e)]);
      s.sum += product;
      s.size += std::abs(product);
    }
  }
  return s;
}

TEST(ChannelsLastVolume, ConvolvesAsAPlainLoopDoes) {
  for (const VolumeCase& k : kVolumeCases) {
    SCOPED_TRACE(k.description);
    const ChannelsLastShape c{{k.d, k.h, k.w}, k.batch, k.groups, k.in, k.out};
    const std::int64_t kernel = cpu::plane(c.window, &WindowAxis::kernel), channels = c.groups * c.out,
                       windows = cpu::plane(c.window, &WindowAxis::out);
    const auto x = random_floats(c.batch * c.groups * c.in * cpu::plane(c.window, &WindowAxis::in), 1),
               weight = random_floats(channels * c.in * kernel, 2), bias = random_floats(channels, 3);
    const auto y = convolve_volume(c, x, weight, bias, 1);
    EXPECT_EQ(y, convolve_volume(c, x, weight, bias, 3)) << "the bits depend on the number of threads";
    for (std::size_t at = 0; at<y.size(); at += windows> 1000 ? 37 : 1) {
      const auto i = static_cast<std::int64_t>(at);
      const std::int64_t o = i % channels, window = i / channels % windows, n = i / channels / windows;
      const VolumeSum want = sum_of(c, x, weight, n, window, o);
      const double offset = bias[static_cast<std::size_t>(o)];
      ASSERT_NEAR(y[at], want.sum + offset,
                  (want.size + std::abs(offset)) * std::ldexp(static_cast<double>(c.in * kernel + 2), -24))
          << "result " << at;
    }
  }
}

}  // namespace
}  // namespace tern::channels_last
