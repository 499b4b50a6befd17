// Convolutions of 8-bit integers, by every method of this processor and by the node's kernels, against sums in 64 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <random>
#include <vector>

#include "kernels/channels_last.h"
#include "kernels/cpu/products/int8/convolution_driver.h"
#include "kernels/cpu/products/int8/depthwise_driver.h"
#include "tests/kernels/node_run.h"
#include "tests/kernels/pointwise_support.h"
#include "tests/kernels/products/tiles.h"
#include "threads/threads.h"

namespace tern::test {
namespace {

using int8::Signs;

using Int8ConvolutionShape = std::vector<std::int64_t>;

constexpr Signs kImageSigns[] = {{false, false}, {false, true}, {true, false}, {true, true}};

std::vector<std::byte> random_bytes(std::int64_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> v(static_cast<std::size_t>(n));
  for (std::byte& b : v) b = static_cast<std::byte>(random() & 0xff);
  return v;
}

std::int64_t byte_value(std::byte b, bool with_sign) {
  return with_sign ? static_cast<std::int64_t>(static_cast<std::int8_t>(b)) : static_cast<std::int64_t>(b);
}

/// Stores element [n, c, i, j] of x at x[((n * height + i) * width + j) * channels + c], and results likewise.
std::vector<std::int64_t> reference(const Geometry& g, Signs signs, std::byte fill, const std::vector<std::byte>& x,
                                    const std::vector<std::byte>& w) {
  const std::int64_t high = out_size(g.height, g.kernel_h, g), wide = out_size(g.width, g.kernel_w, g),
                     channels = g.groups * g.in;
  std::vector<std::int64_t> y;
  for (std::int64_t n = 0; n < g.batch; ++n) {
    for (std::int64_t i = 0; i < high; ++i) {
      for (std::int64_t j = 0; j < wide; ++j) {
        for (std::int64_t o = 0; o < g.groups * g.out; ++o) {
          std::int64_t sum = 0;
          for (std::int64_t c = 0; c < g.in; ++c) {
            for (std::int64_t a = 0; a < g.kernel_h; ++a) {
              for (std::int64_t b = 0; b < g.kernel_w; ++b) {
                const std::int64_t at = i * g.stride + a * g.dilation - g.padding_before,
                                   beside = j * g.stride + b * g.dilation - g.padding_before;
                const bool inside = at >= 0 && at < g.height && beside >= 0 && beside < g.width;
                const std::int64_t from = ((n * g.height + at) * g.width + beside) * channels + o / g.out * g.in + c;
                const std::byte left = inside ? x[static_cast<std::size_t>(from)] : fill;
                const auto right = static_cast<std::size_t>(((o * g.in + c) * g.kernel_h + a) * g.kernel_w + b);
                sum += byte_value(left, signs.x) * byte_value(w[right], signs.weight);
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

struct Operands {
  Operands(const Geometry& g, Signs signs)
      : shape{shape_of(g, tiles::kRounded), signs, 0x93},
        x(random_bytes(g.batch * g.height * g.width * g.groups * g.in, 1)),
        w(random_bytes(g.groups * g.out * g.in * g.kernel_h * g.kernel_w, 2)),
        expected(reference(g, signs, std::byte{0x93}, x, w)) {
    for (std::int64_t o = 0; o < g.groups * g.out; ++o) bias.push_back(static_cast<std::int32_t>(o * 1234567 - 999));
  }
  int8::ConvolutionShape shape;
  std::vector<std::byte> x, w;
  std::vector<std::int64_t> expected;
  std::vector<std::int32_t> bias;
};

void expect_results(const Operands& o, bool keeps, const std::vector<std::int32_t>& y) {
  ASSERT_EQ(y.back(), 7) << "written behind the result";
  for (std::size_t i = 0; i < o.expected.size(); ++i) {
    if (keeps) {
      ASSERT_EQ(y[i], static_cast<std::int32_t>(o.expected[i] + o.bias[i % o.bias.size()])) << i;
    } else {
      ASSERT_EQ(std::bit_cast<float>(y[i]), static_cast<float>(o.expected[i])) << i;
    }
  }
}

void check(const Geometry& g, const int8::Method& method, Signs signs) {
  const Operands o(g, signs);
  const int8::Int8Convolution convolution(o.shape, method);
  auto packed = unaligned(static_cast<std::size_t>(convolution.packed_bytes())),
       scratch = unaligned(convolution.scratch());
  convolution.pack(o.w.data(), aligned_part(packed));
  for (const bool keeps : {true, false}) {
    std::vector<std::int32_t> y(o.expected.size() + 1, 7);
    convolution.run({.x = o.x.data(),
                     .weight = aligned_part(packed),
                     .bias = keeps ? o.bias.data() : nullptr,
                     .y = reinterpret_cast<std::byte*>(y.data()),
                     .stores_sums = keeps,
                     .finish = {}},
                    aligned_part(scratch));
    ASSERT_NO_FATAL_FAILURE(expect_results(o, keeps, y)) << method.name;
  }
}

// batch, groups, in, out, height, width, kernel_h, kernel_w, stride, dilation, before, after
constexpr Geometry kGeometries[] = {{1, 1, 3, 20, 19, 18, 7, 7, 2, 1, 3, 3}, {2, 1, 64, 40, 7, 9, 1, 1, 1, 1, 0, 0},
                                    {1, 1, 64, 33, 9, 9, 1, 1, 2, 1, 0, 0},  {2, 1, 17, 32, 8, 11, 3, 3, 1, 1, 1, 1},
                                    {1, 2, 16, 24, 10, 9, 3, 3, 2, 1, 1, 0}, {1, 1, 65, 16, 9, 12, 3, 3, 1, 2, 2, 2},
                                    {1, 4, 5, 3, 6, 6, 3, 2, 1, 1, 1, 1},    {1, 1, 130, 70, 14, 14, 3, 3, 1, 1, 1, 1},
                                    {3, 1, 4, 4, 1, 30, 1, 5, 1, 1, 0, 0},   {1, 1, 8, 16, 5, 5, 3, 3, 3, 1, 4, 4}};

TEST(IntegerConvolutions, Geometries) {
  for (const int threads : {1, 2, 3, 8}) {
    const ThreadScope scope{Threads(threads)};
    for (const int8::Method& method : int8::methods()) {
      for (const Signs signs : kImageSigns) {
        for (const Geometry& g : kGeometries) ASSERT_NO_FATAL_FAILURE(check(g, method, signs)) << &g - kGeometries;
      }
    }
  }
}

TEST(IntegerConvolutions, Depthwise) {
  const Geometry geometries[] = {{1, 40, 1, 1, 12, 13, 3, 3, 1, 1, 1, 1}, {2, 32, 1, 1, 17, 19, 3, 3, 2, 1, 1, 1},
                                 {1, 33, 1, 1, 16, 15, 5, 5, 1, 1, 2, 2}, {1, 64, 1, 1, 9, 9, 3, 3, 1, 2, 2, 2},
                                 {1, 48, 1, 1, 6, 5, 3, 2, 1, 1, 1, 1},   {1, 32, 1, 1, 20, 18, 5, 5, 2, 1, 2, 1},
                                 {1, 16, 1, 1, 3, 4, 3, 3, 3, 1, 4, 4}};
  for (const int threads : {1, 2, 8}) {
    const ThreadScope scope{Threads(threads)};
    for (const Signs signs : kImageSigns) {
      for (const Geometry& g : geometries) {
        const Operands o(g, signs);
        ASSERT_TRUE(int8::suits_depthwise(o.shape));
        for (const bool keeps : {true, false}) {
          std::vector<std::int32_t> y(o.expected.size() + 1, 7);
          int8::convolve_depthwise(o.shape, {.x = o.x.data(),
                                             .weight = o.w.data(),
                                             .bias = keeps ? o.bias.data() : nullptr,
                                             .y = reinterpret_cast<std::byte*>(y.data()),
                                             .stores_sums = keeps,
                                             .finish = {}});
          ASSERT_NO_FATAL_FAILURE(expect_results(o, keeps, y)) << &g - geometries;
        }
      }
    }
  }
}

/// An image of 2 channels of 2 x 2, and 2 x 2 kernels of ones: sums are easy to derive.
void fill_node(NodeRun& run, DType x, DType w, DType result) {
  run.input(x, {1, 2, 2, 2}, std::vector<double>{1, 2, 3, 4, 10, 20, 30, 40});
  run.input(w, {1, 2, 2, 2}, std::vector<double>(8, 1));
  run.input(result, {1}, std::vector<double>{0.5});
  run.set(AttrKey::before, {1, 1});
  run.set(AttrKey::after, {0, 0});
  run.set(AttrKey::fill, 5);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(result));
}

TEST(IntegerConvolutions, NodesPadWithTheFill) {
  for (const DType x : {DType::i8, DType::u8}) {
    for (const DType w : {DType::i8, DType::u8}) {
      NodeRun floats(Op::convolution);
      fill_node(floats, x, w, DType::f32);
      const std::vector<Number> expected = {41.5, 53.5, 64.5, 110.5};
      EXPECT_EQ(floats.run().output(), expected);
      NodeRun integers(Op::convolution);
      fill_node(integers, x, w, DType::i32);
      EXPECT_EQ(integers.run().output(), (std::vector<Number>{41, 53, 64, 110}));
    }
  }
}

/// A stride beyond the image takes no memory for the gaps.
TEST(IntegerConvolutions, LargeStridesAndDilationsTakeLittleMemory) {
  NodeRun run(Op::convolution);
  run.input(DType::u8, {1, 1, 3, 3}, std::vector<double>(9, 2));
  run.input(DType::i8, {1, 1, 1, 1}, std::vector<double>{3});
  run.set(AttrKey::strides, {2147483647, 2147483647});
  run.set(AttrKey::dilations, {2147483647, 2147483647});
  run.set(AttrKey::dtype, static_cast<std::int64_t>(DType::i32));
  EXPECT_EQ(run.run().output(), std::vector<Number>{6});
}

/// True if a node of this size gets a channels-last image for the integer kernel.
bool is_served(std::int64_t channels, std::int64_t out, std::int64_t size, std::int64_t kernel, std::int64_t stride,
               std::int64_t groups) {
  Node node;
  node.op = Op::convolution;
  node.set(AttrKey::strides, Dims{Dim(stride), Dim(stride)});
  node.set(AttrKey::before, Dims{Dim(kernel / 2), Dim(kernel / 2)});
  node.set(AttrKey::groups, Dims{Dim(groups)});
  const auto view = [](DType dtype, const Int8ConvolutionShape& shape) {
    TensorView v;
    v.dtype = dtype;
    v.rank = static_cast<std::int32_t>(shape.size());
    std::ranges::copy(shape, v.sizes.begin());
    make_contiguous(v);
    return v;
  };
  const std::int64_t result = (size + kernel / 2 * 2 - kernel) / stride + 1;
  std::array in = {view(DType::u8, {1, channels, size, size}),
                   view(DType::i8, {out, channels / groups, kernel, kernel})};
  TensorView y = view(DType::f32, {1, out, result, result});
  KernelCall call;
  call.node = &node;
  call.in = in;
  call.out = {&y, 1};
  return cpu_kernels().kernels[static_cast<std::size_t>(Op::convolution)].channels_last(call);
}

TEST(IntegerConvolutions, LayersOfModelsAreServed) {
  EXPECT_TRUE(is_served(3, 64, 224, 7, 2, 1));
  EXPECT_TRUE(is_served(256, 512, 56, 1, 2, 1));
  EXPECT_TRUE(is_served(1024, 2048, 28, 1, 2, 1));
  EXPECT_TRUE(is_served(96, 96, 112, 3, 2, 96));
  EXPECT_TRUE(is_served(64, 64, 640, 3, 2, 1));
}

TEST(IntegerConvolutions, RefusesWhatIsNotDefined) {
  const auto refuses = [](DType x, DType w, DType result, std::int64_t fill) {
    NodeRun run(Op::convolution);
    run.input(x, {1, 2, 4, 4}, std::vector<double>(32));
    run.input(w, {3, 2, 1, 1}, std::vector<double>(6));
    run.set(AttrKey::dtype, static_cast<std::int64_t>(result));
    run.set(AttrKey::fill, fill);
    EXPECT_THROW(run.infer_types(), Error);
  };
  refuses(DType::i8, DType::f32, DType::f32, 0);
  refuses(DType::i8, DType::i8, DType::f16, 0);
  refuses(DType::f32, DType::f32, DType::i32, 0);
  refuses(DType::f32, DType::f32, DType::f32, 1);
  refuses(DType::i8, DType::i8, DType::i32, 128);
  refuses(DType::u8, DType::i8, DType::i32, -1);
}

}  // namespace
}  // namespace tern::test
