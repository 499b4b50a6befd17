// CPU and portable convolutions against their definition in double, on small integers, so that every type must be
// exact.
#include <gtest/gtest.h>

#include "tests/kernels/host_launcher.h"
#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

using ConvolutionShape = std::vector<std::int64_t>;

struct ConvolutionCase {
  ConvolutionShape x, weight;
  ConvolutionShape strides, dilations, padding_before, padding_after, output_pads;
  std::int64_t groups = 1;
  bool transposed = false;
};

std::int64_t flat(const ConvolutionShape& sizes, const ConvolutionShape& at) {
  std::int64_t r = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) r = r * sizes[i] + at[i];
  return r;
}

/// Calls f for every index below `sizes`.
template <class F>
void for_each_index(const ConvolutionShape& sizes, F&& f) {
  ConvolutionShape at(sizes.size(), 0);
  for (std::int64_t i = 0; i < product(sizes); ++i) {
    std::int64_t rest = i;
    for (std::size_t a = sizes.size(); a-- > 0;) {
      at[a] = rest % sizes[a];
      rest /= sizes[a];
    }
    f(at);
  }
}

/// Adds each product of an input element and a weight to its result; a transposed convolution swaps input and result.
std::vector<double> reference(const ConvolutionCase& c, const std::vector<double>& x, const std::vector<double>& w,
                              const ConvolutionShape& out) {
  std::vector<double> y(static_cast<std::size_t>(product(out)), 0.0);
  const std::size_t n = c.x.size() - 2;
  for_each_index(c.weight, [&](const ConvolutionShape& k) {
    // `small` has a position for each window; the windows are cut from `large`.
    const ConvolutionShape& small = c.transposed ? c.x : out;
    const ConvolutionShape& large = c.transposed ? out : c.x;
    const std::int64_t rows = c.weight[0] / c.groups, group = k[0] / rows;
    for_each_index(ConvolutionShape(small.begin() + 2, small.end()), [&](const ConvolutionShape& window) {
      for (std::int64_t b = 0; b < c.x[0]; ++b) {
        ConvolutionShape at_small{b, k[0]}, at_large{b, group * c.weight[1] + k[1]};
        for (std::size_t i = 0; i < n; ++i) {
          const std::int64_t p = window[i] * c.strides[i] + k[i + 2] * c.dilations[i] - c.padding_before[i];
          if (p < 0 || p >= large[i + 2]) return;
          at_small.push_back(window[i]);
          at_large.push_back(p);
        }
        const double weight = w[static_cast<std::size_t>(flat(c.weight, k))];
        const auto s = static_cast<std::size_t>(flat(small, at_small)),
                   l = static_cast<std::size_t>(flat(large, at_large));
        if (c.transposed) {
          y[l] += weight * x[s];
        } else {
          y[s] += weight * x[l];
        }
      }
    });
  });
  return y;
}

void check(DType t, const ConvolutionCase& c, bool constant, portable::Launcher* device = nullptr) {
  NodeRun run(Op::convolution);
  run.select_device(device);
  const auto x = random_numbers(product(c.x), 1), w = random_numbers(product(c.weight), 2);
  const std::int64_t channels = c.transposed ? c.weight[1] * c.groups : c.weight[0];
  const auto bias = random_numbers(channels, 3);
  run.input(t, c.x, x);
  run.input(t, c.weight, w, {}, constant);
  run.input(t, {channels}, bias);
  run.set(AttrKey::strides, c.strides);
  run.set(AttrKey::dilations, c.dilations);
  run.set(AttrKey::before, c.padding_before);
  run.set(AttrKey::after, c.padding_after);
  run.set(AttrKey::groups, c.groups);
  run.set(AttrKey::transposed, c.transposed ? 1 : 0);
  if (c.transposed) run.set(AttrKey::output_pads, c.output_pads);
  run.run();
  const ConvolutionShape out = run.shape();
  const auto expected = reference(c, x, w, out);
  const auto got = run.output();
  ASSERT_EQ(got.size(), expected.size());
  const std::int64_t plane = product(out) / (out[0] * out[1]);
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double with_bias =
        expected[i] + bias[static_cast<std::size_t>(static_cast<std::int64_t>(i) / plane % out[1])];
    ASSERT_EQ(got[i], Number(with_bias)) << name_of(t) << " element " << i;
  }
}

const ConvolutionCase kConvolutionCases[] = {
    {{2, 3, 9}, {4, 3, 3}, {1}, {1}, {0}, {0}, {0}},
    {{2, 3, 9}, {4, 3, 4}, {2}, {2}, {1}, {2}, {0}},
    {{1, 4, 7, 6}, {6, 2, 3, 2}, {2, 1}, {1, 2}, {1, 0}, {1, 2}, {0, 0}, 2},
    {{2, 4, 5, 5}, {4, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 4},
    {{1, 16, 8, 8}, {16, 16, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {{1, 2, 4, 5, 4}, {3, 2, 2, 3, 1}, {1, 2, 1}, {2, 1, 1}, {0, 1, 0}, {1, 1, 0}, {0, 0, 0}},
    // Eight channels of a group's result and more: several blocks of windows, of channels, and of 256 products.
    {{2, 10, 37}, {9, 10, 3}, {1}, {1}, {2}, {0}, {0}},
    {{1, 30, 11, 13}, {17, 30, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {{1, 3, 40, 38}, {64, 3, 7, 7}, {2, 2}, {1, 1}, {3, 3}, {3, 3}, {0, 0}},
    {{2, 8, 9, 7}, {20, 4, 3, 3}, {1, 2}, {2, 1}, {2, 0}, {1, 3}, {0, 0}, 2},
    {{1, 3, 5, 6, 7}, {8, 3, 2, 3, 2}, {1, 1, 2}, {2, 1, 1}, {1, 0, 1}, {0, 2, 1}, {0, 0, 0}},
    // Depthwise volumes.
    {{2, 3, 5, 6, 7}, {3, 1, 3, 3, 3}, {1, 2, 1}, {2, 1, 1}, {2, 1, 0}, {1, 1, 2}, {0, 0, 0}, 3},
    {{1, 2, 4, 9, 18}, {6, 1, 2, 1, 3}, {2, 1, 1}, {1, 1, 1}, {3, 0, 1}, {2, 0, 1}, {0, 0, 0}, 2},
    {{1, 270, 3, 2}, {40, 270, 1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {0, 0}},
    {{1, 12, 4, 4}, {40, 12, 1, 1}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {0, 0}},
    // Matrix tiles with partly filled blocks of 32 channels.
    {{1, 40, 12, 11}, {72, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, 2},
    {{1, 70, 17, 9}, {33, 70, 3, 3}, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},
    {{2, 3, 5}, {3, 4, 3}, {2}, {1}, {1}, {1}, {1}, 1, true},
    {{1, 4, 4, 3}, {4, 3, 3, 2}, {2, 3}, {1, 2}, {1, 0}, {0, 0}, {1, 2}, 2, true},
    {{1, 4, 4, 3}, {4, 3, 3, 2}, {1, 1}, {2, 3}, {1, 1}, {1, 1}, {1, 2}, 2, true},
    {{1, 2, 3, 2, 3}, {2, 2, 2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {0, 0, 0}, {0, 0, 0}, {0, 1, 0}, 1, true},
    {{2, 9, 6, 5}, {9, 12, 3, 2}, {2, 3}, {1, 2}, {1, 0}, {1, 0}, {1, 2}, 1, true},
    {{1, 16, 9, 8}, {16, 10, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, true},
};

TEST(Convolution, IsExactOnSmallIntegers) {
  for (DType t : {DType::f32, DType::f64, DType::bf16, DType::f16, DType::i64, DType::c64}) {
    for (const ConvolutionCase& c : kConvolutionCases) {
      if (t == DType::bf16 && product(c.weight) > 2000) continue;  // sums beyond the exact range of bfloat16
      for (bool constant : {false, true}) check(t, c, constant);
    }
  }
}

TEST(Convolution, IsExactOnDevices) {
  for (DType t : {DType::f32, DType::f16, DType::i64}) {
    for (const ConvolutionCase& c : kConvolutionCases) {
      for (bool constant : {false, true}) check(t, c, constant, &HostLauncher::instance());
    }
  }
}

}  // namespace
}  // namespace tern::test
