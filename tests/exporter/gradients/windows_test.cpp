// Gradients of convolution, pooling and fold.
#include <gtest/gtest.h>

#include "exporter/gradients/sliding.h"
#include "tests/exporter/gradients/check.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using testing::expect_gradients;
using testing::noise;
using testing::one_node;
using Values = std::vector<ValueId>;
using Sizes = std::vector<std::int64_t>;

std::vector<Attr> windows(Sizes strides, Sizes dilations, Sizes before, Sizes after, std::int64_t groups) {
  return {attr(AttrKey::strides, strides), attr(AttrKey::dilations, dilations), attr(AttrKey::before, before),
          attr(AttrKey::after, after), attr(AttrKey::groups, Dim(groups))};
}

TEST(WindowGradients, ConvolutionOfEveryGeometry) {
  const testing::BuildNodes plain = one_node(Op::convolution, windows({1, 1}, {1, 1}, {0, 0}, {0, 0}, 1));
  expect_gradients({noise({2, 3, 4, 5}), noise({2, 3, 2, 3}, 2), noise({2}, 3)}, plain);
  // Strides that skip the last elements, uneven padding, dilation, groups.
  expect_gradients({noise({2, 4, 7, 8}), noise({6, 2, 2, 3}, 2)},
                   one_node(Op::convolution, windows({3, 2}, {2, 1}, {1, 2}, {0, 1}, 2)));
  expect_gradients({noise({2, 3, 9}), noise({3, 1, 3}, 2), noise({3}, 3)},
                   one_node(Op::convolution, windows({2}, {2}, {2}, {2}, 3)));
  expect_gradients({noise({1, 2, 3, 4, 3}), noise({2, 2, 2, 2, 2}, 2)},
                   one_node(Op::convolution, windows({1, 2, 1}, {1, 1, 2}, {1, 0, 1}, {1, 0, 0}, 1)));
}

TEST(WindowGradients, ConvolutionOfManyChannels) {  // a product for each element of the kernel
  expect_gradients({noise({1, 33, 3, 4}), noise({2, 33, 2, 2}, 2)},
                   one_node(Op::convolution, windows({1, 2}, {1, 1}, {1, 0}, {0, 1}, 1)));
  // Dense windows: the convolution runs over the whole image at once.
  expect_gradients({noise({1, 64, 1, 20}), noise({2, 32, 1, 2}, 2)},
                   one_node(Op::convolution, windows({1, 1}, {1, 2}, {0, 1}, {0, 0}, 2)));
  expect_gradients({noise({2, 33, 1, 20}), noise({2, 33, 1, 2}, 2)},
                   one_node(Op::convolution, windows({1, 1}, {1, 2}, {0, 1}, {0, 0}, 1)));
}

/// Products of 16 bits copy strided operands.
TEST(WindowGradients, ConvolutionOf16BitsReadsOneImageAtATime) {
  testing::TestProgram p;
  Builder& b = p.b();
  const ValueId wide = p.input(DType::bf16, {1, 32, 400}), narrow = p.input(DType::bf16, {1, 2, 398});
  Windows w;
  w.strides = w.dilations = {1};
  w.padding_before = w.padding_after = {0};
  w.groups = 1;
  p.output(weight_gradient(b, wide, narrow, {Dim(3)}, w));
  for (std::size_t v = 0; v < b.function().values.size(); ++v)
    EXPECT_LE(b.numel(static_cast<ValueId>(v)).value(), 32 * 400) << "value " << v;
}

TEST(WindowGradients, TransposedConvolution) {
  std::vector<Attr> attrs = windows({2, 3}, {1, 2}, {1, 0}, {0, 1}, 2);
  attrs.push_back(attr(AttrKey::transposed, Dim(1)));
  attrs.push_back(attr(AttrKey::output_pads, Sizes{1, 2}));
  expect_gradients({noise({2, 4, 3, 2}), noise({4, 1, 3, 2}, 2), noise({2}, 3)}, one_node(Op::convolution, attrs));
}

std::vector<Attr> pool(int kind, Sizes kernel, Sizes strides, Sizes before, bool ceil, bool pads) {
  return {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::kernel, kernel),       attr(AttrKey::strides, strides),
          attr(AttrKey::before, before),  attr(AttrKey::ceil_mode, Dim(ceil)), attr(AttrKey::count_pads, Dim(pads))};
}

TEST(WindowGradients, Pools) {
  for (const bool ceil : {false, true}) {
    for (const bool pads : {false, true}) {
      expect_gradients({noise({2, 2, 6, 7})}, one_node(Op::pool, pool(1, {3, 2}, {2, 3}, {1, 1}, ceil, pads)));
    }
    expect_gradients({noise({2, 6, 7})}, one_node(Op::pool, pool(0, {3, 2}, {2, 1}, {1, 0}, ceil, false)));
  }
  std::vector<Attr> divided = pool(1, {2}, {1}, {0}, false, false);
  divided.push_back(attr(AttrKey::divisor, Dim(-3)));
  expect_gradients({noise({2, 5})}, one_node(Op::pool, divided));
}

TEST(WindowGradients, AdaptivePools) {
  for (const int kind : {0, 1}) {
    expect_gradients({noise({2, 5, 7})},
                     one_node(Op::adaptive_pool, {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::sizes, Dims{3, 4})}));
  }
  expect_gradients({noise({5})},
                   one_node(Op::adaptive_pool, {attr(AttrKey::kind, Dim(1)), attr(AttrKey::sizes, Dims{3})}));
}

TEST(WindowGradients, Fold) {
  expect_gradients({noise({2, 12, 6})},
                   one_node(Op::fold, {attr(AttrKey::sizes, Dims{4, 6}), attr(AttrKey::kernel, Sizes{2, 3}),
                                       attr(AttrKey::dilations, Sizes{2, 1}), attr(AttrKey::before, Sizes{0, 1}),
                                       attr(AttrKey::strides, Sizes{1, 2})}));
}

}  // namespace
}  // namespace tern
