// Transposed convolutions of channels-last images against scattered products in double.
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/cpu/channels_last/transposed.h"
#include "tests/random_floats.h"
#include "threads/threads.h"

namespace tern::channels_last {
namespace {

using cpu::WindowAxis;
using test::random_floats;

/// The axis of a forward convolution with `in` results of the transposed one, as PyTorch sizes them.
WindowAxis transposed_axis(std::int64_t inputs, std::int64_t kernel, std::int64_t stride, std::int64_t padding,
                           std::int64_t dilation = 1, std::int64_t more = 0) {
  return {(inputs - 1) * stride - 2 * padding + dilation * (kernel - 1) + more + 1,
          inputs,
          kernel,
          stride,
          dilation,
          padding};
}

struct TransposedCase {
  const char* description;
  std::int64_t batch, groups, in, out;
  WindowAxis h, w;
};
const TransposedCase kTransposedCases[] = {
    {"four by two", 2, 1, 20, 12, transposed_axis(5, 4, 2, 1), transposed_axis(7, 4, 2, 1)},
    {"kernel as long as the stride", 1, 1, 16, 33, transposed_axis(6, 2, 2, 0), transposed_axis(4, 2, 2, 0)},
    {"kernel shorter than the stride", 1, 1, 8, 8, transposed_axis(4, 2, 3, 0), transposed_axis(5, 1, 3, 0)},
    {"no strides", 1, 1, 8, 16, transposed_axis(7, 3, 1, 1), transposed_axis(6, 3, 1, 1)},
    {"all padding cropped", 1, 1, 8, 16, transposed_axis(7, 3, 1, 2), transposed_axis(6, 3, 1, 2)},
    {"more cropped than a kernel", 1, 1, 8, 16, transposed_axis(9, 3, 1, 4), transposed_axis(9, 3, 2, 5)},
    {"results beyond the last", 1, 1, 8, 16, transposed_axis(5, 3, 2, 1, 1, 1), transposed_axis(4, 3, 2, 1, 1, 1)},
    {"dilated", 1, 1, 8, 16, transposed_axis(5, 3, 2, 2, 2), transposed_axis(6, 3, 3, 2, 2)},
    {"groups", 2, 3, 8, 8, transposed_axis(5, 4, 2, 1), transposed_axis(4, 3, 2, 1)},
    {"few channels in", 1, 1, 3, 8, transposed_axis(5, 5, 2, 2), transposed_axis(6, 6, 2, 2)},
    {"a line", 1, 1, 24, 17, {}, transposed_axis(30, 16, 8, 4)},
    {"one input", 1, 1, 24, 17, transposed_axis(1, 4, 1, 0), transposed_axis(1, 4, 1, 0)},
    {"fewer results than the stride", 1, 1, 8, 8, transposed_axis(1, 2, 7, 0), transposed_axis(1, 3, 5, 0)},
};

std::vector<float> transpose(const ChannelsLastShape& c, const std::vector<float>& x, const std::vector<float>& weight,
                             const std::vector<float>& bias, int threads) {
  const ThreadScope scope((Threads(threads)));
  const TransposedConvolution transposed(c);
  std::vector<float> packed(static_cast<std::size_t>(transposed.packed_floats()));
  transposed.pack(weight.data(), packed.data());
  std::vector<float> y(static_cast<std::size_t>(c.batch * c.groups * c.out * c.window[1].in * c.window[2].in), 12345);
  transposed.run({x.data(), nullptr, bias.data(), y.data(), packed.data()}, {});
  return y;
}

TEST(TransposedConvolution, ScattersAsAPlainLoopDoes) {
  for (const TransposedCase& k : kTransposedCases) {
    SCOPED_TRACE(k.description);
    const ChannelsLastShape c{{WindowAxis{}, k.h, k.w}, k.batch, k.groups, k.in, k.out};
    const std::int64_t channels = c.groups * c.out, inputs = c.groups * c.in, taps = k.h.kernel * k.w.kernel;
    const auto x = random_floats(c.batch * inputs * k.h.out * k.w.out, 1),
               weight = random_floats(inputs * c.out * taps, 2), bias = random_floats(channels, 3);
    const auto y = transpose(c, x, weight, bias, 1);
    EXPECT_EQ(y, transpose(c, x, weight, bias, 3)) << "the bits depend on the number of threads";
    std::vector<double> want(y.size()), size(y.size());
    for (std::size_t i = 0; i < y.size(); ++i)
      size[i] = std::abs(want[i] = bias[i % static_cast<std::size_t>(channels)]);
    for (std::int64_t at = 0; at < c.batch * k.h.out * k.w.out; ++at) {
      const std::int64_t n = at / k.w.out / k.h.out;
      for (std::int64_t e = 0; e < taps; ++e) {
        const std::int64_t r = k.h.position(at / k.w.out % k.h.out, e / k.w.kernel),
                           q = k.w.position(at % k.w.out, e % k.w.kernel);
        if (r < 0 || r >= k.h.in || q < 0 || q >= k.w.in) continue;
        for (std::int64_t i = 0; i < inputs; ++i) {
          for (std::int64_t o = 0; o < c.out; ++o) {
            const auto to = static_cast<std::size_t>(((n * k.h.in + r) * k.w.in + q) * channels + i / c.in * c.out + o);
            const double product = static_cast<double>(x[static_cast<std::size_t>(at * inputs + i)]) *
                                   static_cast<double>(weight[static_cast<std::size_t>((i * c.out + o) * taps + e)]);
            want[to] += product;
            size[to] += std::abs(product);
          }
        }
      }
    }
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i], want[i], size[i] * std::ldexp(static_cast<double>(c.in * taps + 2), -24)) << "result " << i;
  }
}

}  // namespace
}  // namespace tern::channels_last
