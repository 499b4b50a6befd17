// Compares attention with its definition in double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

enum class Mask { none, boolean, added };

struct AttentionCase {
  std::int64_t batch, heads, groups, queries, keys, width, out_width;
  Mask mask = Mask::none;
  bool causal = false;
  bool mask_of_heads = false;  ///< a mask per head
};

void check(DType t, const AttentionCase& c, double tolerance) {
  const auto q = random_numbers(c.batch * c.heads * c.queries * c.width, 1, 2, 8),
             k = random_numbers(c.batch * c.groups * c.keys * c.width, 2, 2, 8),
             v = random_numbers(c.batch * c.groups * c.keys * c.out_width, 3, 2, 8);
  const std::int64_t masks = c.mask_of_heads ? c.heads : 1;
  auto mask = random_numbers(c.batch * masks * c.queries * c.keys, 4, 1, c.mask == Mask::boolean ? 1 : 4);
  if (c.mask == Mask::boolean) {
    for (double& m : mask) m = m != 0 ? 1 : 0;
    for (std::int64_t j = 0; j < c.keys; ++j) mask[static_cast<std::size_t>(j)] = 0;  // the first query sees nothing
  }
  NodeRun run(Op::attention);
  run.input(t, {c.batch, c.heads, c.queries, c.width}, q);
  run.input(t, {c.batch, c.groups, c.keys, c.width}, k, {c.groups * c.keys * c.width, c.width, c.groups * c.width, 1});
  run.input(t, {c.batch, c.groups, c.keys, c.out_width}, v);
  if (c.mask != Mask::none)
    run.input(c.mask == Mask::boolean ? DType::boolean : t, {c.batch, masks, c.queries, c.keys}, mask);
  run.set(AttrKey::causal, c.causal ? 1 : 0);
  const auto got = run.run().output();
  std::size_t at = 0;
  for (std::int64_t b = 0; b < c.batch; ++b) {
    for (std::int64_t h = 0; h < c.heads; ++h) {
      const std::int64_t group = b * c.groups + h / (c.heads / c.groups);
      for (std::int64_t i = 0; i < c.queries; ++i) {
        std::vector<double> weight;
        double total = 0;
        for (std::int64_t j = 0; j < c.keys; ++j) {
          double s = 0;
          for (std::int64_t d = 0; d < c.width; ++d) {
            s += q[static_cast<std::size_t>(((b * c.heads + h) * c.queries + i) * c.width + d)] *
                 k[static_cast<std::size_t>((group * c.keys + j) * c.width + d)];
          }
          s /= std::sqrt(static_cast<double>(c.width));
          const std::int64_t plane = b * masks + h % masks;
          const double m =
              c.mask == Mask::none ? 0 : mask[static_cast<std::size_t>((plane * c.queries + i) * c.keys + j)];
          if (c.mask == Mask::added) s += m;
          const bool seen = (c.mask != Mask::boolean || m != 0) && (!c.causal || j <= i);
          weight.push_back(seen ? std::exp(s) : 0);
          total += weight.back();
        }
        for (std::int64_t d = 0; d < c.out_width; ++d) {
          double sum = 0;
          for (std::int64_t j = 0; j < c.keys; ++j) {
            sum += total == 0 ? 0
                              : weight[static_cast<std::size_t>(j)] / total *
                                    v[static_cast<std::size_t>((group * c.keys + j) * c.out_width + d)];
          }
          ASSERT_NEAR(got[at].real(), sum, tolerance) << name_of(t) << " head " << h << " query " << i;
          ++at;
        }
      }
    }
  }
  ASSERT_EQ(at, got.size());
}

TEST(Attention, AgreesWithItsDefinition) {
  const AttentionCase cases[] = {
      {1, 1, 1, 3, 5, 4, 4},
      {2, 4, 2, 7, 9, 8, 6},
      {1, 2, 2, 70, 70, 4, 4, Mask::none, true},
      {1, 2, 1, 5, 1100, 8, 8},
      {2, 2, 2, 66, 600, 4, 4, Mask::boolean},
      {1, 2, 2, 9, 9, 4, 4, Mask::added, true},
      {1, 3, 3, 1, 40, 16, 16, Mask::added},
      {2, 8, 2, 1, 700, 8, 6},
      {1, 6, 1, 1, 33, 8, 8, Mask::added},
      {2, 6, 2, 1, 40, 4, 4, Mask::boolean},
      {1, 8, 2, 1, 40, 4, 4, Mask::added, false, true},
      {1, 4, 2, 1, 5, 4, 4, Mask::none, true},
  };
  for (const AttentionCase& c : cases) {
    check(DType::f64, c, 1e-12);
    check(DType::f32, c, 2e-6);
    check(DType::bf16, c, 2e-2);
    check(DType::f16, c, 2e-3);
  }
}

TEST(Attention, NaNInTheScoresIsSeen) {
  NodeRun run(Op::attention);
  run.input<double>(DType::f32, {1, 1}, {1});
  run.input<double>(DType::f32, {2, 1}, {1, std::numeric_limits<double>::quiet_NaN()});
  run.input<double>(DType::f32, {2, 1}, {1, 1});
  EXPECT_TRUE(std::isnan(run.run().output()[0].real()));
}

}  // namespace
}  // namespace tern::test
