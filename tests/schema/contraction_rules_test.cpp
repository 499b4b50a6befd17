// Hostile attributes: the rules must refuse all, without crash or hang.
#include <gtest/gtest.h>

#include "schema/window_kinds.h"
#include "tests/schema/rule.h"

namespace tern {
namespace {

constexpr std::int64_t kHuge = std::int64_t{1} << 62;

using test::Rule;

Rule conv() {
  return Rule(Op::convolution).in({1, 4, 8, 8}).in({6, 4, 3, 3});
}
Rule max_pool() {
  return Rule(Op::pool).in({1, 4, 8, 8}).set(AttrKey::kind, {0});
}

TEST(ContractionRules, MatmulBroadcastsAndChecksSizes) {
  EXPECT_EQ(Rule(Op::matmul).in({5, 1, 2, 3}).in({7, 3, 4}).shape(), (Dims{5, 7, 2, 4}));
  EXPECT_TRUE(Rule(Op::matmul).in({2, 3}).in({4, 5}).refused());
  EXPECT_TRUE(Rule(Op::matmul).in({3}).in({3, 5}).refused());
  EXPECT_TRUE(Rule(Op::matmul).in({2, 2, 3}).in({4, 3, 5}).refused());
  EXPECT_TRUE(Rule(Op::matmul).in({2, 3}).in({3, 5}, DType::f64).refused());
  EXPECT_TRUE(Rule(Op::matmul).in({2, 3}).in({3, 5}).in({2, 2, 5}).refused());
  EXPECT_TRUE(Rule(Op::matmul).in({2, 3}).in({3, 5}).in({4}).refused());
}

TEST(ContractionRules, SymbolicSizesGoThrough) {
  Rule r(Op::matmul);
  const Dim s = r.pool().symbol("s", 1, 100);
  EXPECT_EQ(r.in({s, 3}).in({3, 5}).shape(), (Dims{s, 5}));
}

TEST(ContractionRules, ConvolutionSizes) {
  EXPECT_EQ(conv().shape(), (Dims{1, 6, 6, 6}));
  EXPECT_EQ(conv().set(AttrKey::strides, {2, 3}).set(AttrKey::before, {1, 0}).set(AttrKey::after, {1, 1}).shape(),
            (Dims{1, 6, 4, 3}));
  Rule t = Rule(Op::convolution)
               .in({1, 4, 8, 8})
               .in({4, 6, 3, 3})
               .set(AttrKey::transposed, {1})
               .set(AttrKey::strides, {2, 2});
  EXPECT_EQ(t.set(AttrKey::output_pads, {1, 0}).shape(), (Dims{1, 6, 18, 17}));
}

TEST(ContractionRules, ConvolutionRefusesHostileAttributes) {
  EXPECT_TRUE(conv().set(AttrKey::strides, {0, 1}).refused());
  EXPECT_TRUE(conv().set(AttrKey::strides, {-1, 1}).refused());
  EXPECT_TRUE(conv().set(AttrKey::strides, {1}).refused());
  EXPECT_TRUE(conv().set(AttrKey::strides, {kHuge, kHuge}).refused());
  EXPECT_TRUE(conv().set(AttrKey::dilations, {0, 1}).refused());
  EXPECT_TRUE(conv().set(AttrKey::dilations, {4, 1}).refused());  // the kernel reaches beyond the input
  EXPECT_TRUE(conv().set(AttrKey::before, {-1, 0}).refused());
  EXPECT_TRUE(conv().set(AttrKey::after, {kHuge, 0}).refused());
  EXPECT_TRUE(conv().set(AttrKey::groups, {0}).refused());
  EXPECT_TRUE(conv().set(AttrKey::groups, {-2}).refused());
  EXPECT_TRUE(conv().set(AttrKey::groups, {4}).refused());
  EXPECT_TRUE(conv().set(AttrKey::transposed, {2}).refused());
  EXPECT_TRUE(conv().set(AttrKey::output_pads, {1, 1}).refused());
  EXPECT_TRUE(conv().in({5}).refused());
  EXPECT_TRUE(Rule(Op::convolution).in({1, 4, 2, 2}).in({6, 4, 3, 3}).refused());
  EXPECT_TRUE(Rule(Op::convolution).in({1, 4, 8, 8}).in({6, 4, 0, 3}).refused());
  EXPECT_TRUE(Rule(Op::convolution).in({1, 4}).in({6, 4}).refused());
  EXPECT_TRUE(Rule(Op::convolution).in({1, 1, 1, 1, 1, 1}).in({1, 1, 1, 1, 1, 1}).refused());
}

TEST(ContractionRules, PoolSizes) {
  EXPECT_EQ(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::strides, {2, 2}).shape(), (Dims{1, 4, 3, 3}));
  EXPECT_EQ(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::strides, {2, 2}).set(AttrKey::ceil_mode, {1}).shape(1),
            (Dims{1, 4, 4, 4}));
  // The last window of ceil_mode must start inside the input or the near padding.
  EXPECT_EQ(Rule(Op::pool)
                .in({7})
                .set(AttrKey::kind, {1})
                .set(AttrKey::kernel, {1})
                .set(AttrKey::strides, {3})
                .set(AttrKey::ceil_mode, {1})
                .shape(),
            (Dims{3}));
  EXPECT_EQ(Rule(Op::pool)
                .in({8})
                .set(AttrKey::kind, {1})
                .set(AttrKey::kernel, {1})
                .set(AttrKey::strides, {4})
                .set(AttrKey::ceil_mode, {1})
                .shape(),
            (Dims{2}));
}

TEST(ContractionRules, PoolRefusesHostileAttributes) {
  EXPECT_TRUE(max_pool().refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {0, 3}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {9, 3}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {1, 1, 1, 1}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::before, {2, 0}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::strides, {0, 1}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::dilations, {kHuge, 1}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::divisor, {0}).refused());
  EXPECT_TRUE(max_pool().set(AttrKey::kernel, {3, 3}).set(AttrKey::kind, {7}).refused());
  EXPECT_TRUE(Rule(Op::pool).in({2}).set(AttrKey::kind, {0}).set(AttrKey::kernel, {1, 1}).refused());
  EXPECT_TRUE(Rule(Op::adaptive_pool).in({4, 8}).set(AttrKey::kind, {0}).set(AttrKey::sizes, {-1}).refused());
  EXPECT_TRUE(Rule(Op::adaptive_pool).in({4, 0}).set(AttrKey::kind, {0}).set(AttrKey::sizes, {2}).refused());
}

TEST(ContractionRules, SamplingRefusesHostileAttributes) {
  const auto resize = [] { return Rule(Op::resize).in({1, 2, 4, 4}).set(AttrKey::mode, {2}); };
  EXPECT_EQ(resize().set(AttrKey::sizes, {8, 2}).shape(), (Dims{1, 2, 8, 2}));
  EXPECT_TRUE(resize().set(AttrKey::sizes, {0, 2}).refused());
  EXPECT_TRUE(resize().set(AttrKey::sizes, {2}).refused());
  EXPECT_TRUE(resize().set(AttrKey::sizes, {2, 2}).set(AttrKey::mode, {9}).refused());
  EXPECT_TRUE(resize().set(AttrKey::sizes, {2, 2}).number(AttrKey::scales, 1.0).refused());
  const auto grid = [] { return Rule(Op::grid_sample).in({1, 2, 4, 4}); };
  EXPECT_EQ(grid().in({1, 3, 5, 2}).set(AttrKey::mode, {0}).set(AttrKey::kind, {0}).shape(), (Dims{1, 2, 3, 5}));
  EXPECT_TRUE(grid().in({1, 3, 5, 3}).set(AttrKey::mode, {0}).set(AttrKey::kind, {0}).refused());
  EXPECT_TRUE(grid().in({1, 3, 5, 2}).set(AttrKey::mode, {3}).set(AttrKey::kind, {0}).refused());
}

TEST(ContractionRules, AttentionChecksHeadsAndMask) {
  const auto rule = [] { return Rule(Op::attention).in({2, 6, 5, 8}); };
  EXPECT_EQ(rule().in({2, 3, 7, 8}).in({2, 3, 7, 4}).shape(), (Dims{2, 6, 5, 4}));
  EXPECT_TRUE(rule().in({2, 4, 7, 8}).in({2, 4, 7, 4}).refused());
  EXPECT_TRUE(rule().in({2, 0, 7, 8}).in({2, 0, 7, 4}).refused());
  EXPECT_TRUE(rule().in({2, 6, 7, 9}).in({2, 6, 7, 4}).refused());
  EXPECT_TRUE(rule().in({2, 6, 7, 8}).in({2, 6, 6, 4}).refused());
  EXPECT_TRUE(rule().in({2, 6, 7, 8}).in({2, 6, 7, 4}).in({5, 6}).refused());
  EXPECT_TRUE(rule().in({2, 6, 7, 8}).in({2, 6, 7, 4}).in({1, 5, 7}, DType::i64).refused());
}

TEST(ContractionRules, FoldCountsItsColumns) {
  const auto rule = [](Dims x) {
    return Rule(Op::fold).in(std::move(x)).set(AttrKey::sizes, {4, 5}).set(AttrKey::kernel, {2, 2});
  };
  EXPECT_EQ(rule({1, 12, 12}).shape(), (Dims{1, 3, 4, 5}));
  EXPECT_TRUE(rule({1, 12, 11}).refused());
  EXPECT_TRUE(rule({1, 13, 12}).refused());
  EXPECT_TRUE(rule({1, 12, 12}).set(AttrKey::kernel, {9, 2}).refused());
  EXPECT_TRUE(rule({1, 12, 12}).set(AttrKey::strides, {0, 1}).refused());
}

}  // namespace
}  // namespace tern
