// Limits and lost time of nodes, from figures worked out by hand.
#include "tools/lost_time.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tern {
namespace {

/// A machine of 100 GFLOP/s in float32, 200 in bfloat16, 10 GB/s from memory and 100 GB/s from caches.
MachinePeaks artificial_peaks() {
  MachinePeaks p;
  p.flops = 100e9;
  p.f64 = 50e9;
  p.bf16 = 200e9;
  p.i8 = 400e9;
  p.copy_bytes = 10e9;
  p.cached_bytes = 100e9;
  p.cached_size = 256e3;
  p.call_seconds = 1e-6;
  return p;
}

/// Sums over two runs, with one visit in each.
NodeTime node_time(std::uint32_t node, const std::string& op, double seconds, double flops, double bytes) {
  NodeTime t{"forward", node, op, {}, {}, 2 * seconds};
  t.runs = 2;
  t.flops = 2 * flops;
  t.bytes = 2 * bytes;
  return t;
}

TEST(LostTime, TheLongestOfThreeLimits) {
  const std::vector<NodeTime> nodes = {
      node_time(0, "matmul", 3e-3, 100e6, 1e6),   // 1 ms of arithmetic
      node_time(1, "matmul", 3e-3, 100e6, 1e6),   // 0.5 ms in bfloat16
      node_time(2, "relu", 5e-3, 1e3, 20e6),      // 2 ms of bytes from memory
      node_time(3, "relu", 5e-6, 1e3, 1e3),       // the call
      node_time(4, "sigmoid", 1e-3, 1e3, 1.5e5),  // 1.5 us of bytes from caches
      node_time(5, "cond", 9e-3, 0, 0),           // runs other nodes
  };
  const ChosenKernels chosen = {{{"forward", 1}, {"tile_rows", DType::bf16}}};
  const std::vector<LimitedNode> limited = limited_nodes(nodes, 2, chosen, artificial_peaks());
  ASSERT_EQ(limited.size(), 5U);
  const double limits[] = {1e-3, 0.5e-3, 2e-3, 1e-6, 1.5e-6};
  const LimitKind kinds[] = {LimitKind::arithmetic, LimitKind::arithmetic, LimitKind::bytes, LimitKind::latency,
                             LimitKind::bytes};
  for (std::size_t i = 0; i < limited.size(); ++i) {
    EXPECT_DOUBLE_EQ(limited[i].limit, limits[i]) << i;
    EXPECT_EQ(limited[i].kind, kinds[i]) << i;
    EXPECT_DOUBLE_EQ(limited[i].lost(), limited[i].seconds - limits[i]) << i;
  }
  EXPECT_EQ(limited[1].algorithm, "tile_rows");
}

TEST(LostTime, ANodeFasterThanItsLimitLosesNothing) {
  const std::vector<LimitedNode> limited =
      limited_nodes({node_time(0, "relu", 1e-3, 0, 20e6)}, 2, {}, artificial_peaks());
  EXPECT_EQ(limited[0].lost(), 0);
  EXPECT_DOUBLE_EQ(lost_by_class(limited)[0].limit, 1e-3);
}

TEST(LostTime, VisitsOfALoopAddUp) {
  NodeTime body = node_time(0, "relu", 8e-3, 0, 0);
  body.runs = 8;          // four visits in each of two runs
  body.bytes = 8 * 20e6;  // 2 ms each
  const std::vector<LimitedNode> limited = limited_nodes({body}, 2, {}, artificial_peaks());
  EXPECT_DOUBLE_EQ(limited[0].seconds, 8e-3);
  EXPECT_DOUBLE_EQ(limited[0].limit, 4 * 2e-3);
}

TEST(LostTime, ClassesByOpAlgorithmAndBytes) {
  const ChosenKernels chosen = {{{"forward", 0}, {"panels", DType::f32}}, {{"forward", 1}, {"panels", DType::f32}}};
  const std::vector<LostTime> lost =
      lost_by_class(limited_nodes({node_time(0, "matmul", 3e-3, 100e6, 1e5), node_time(1, "matmul", 2e-3, 100e6, 1e5),
                                   node_time(2, "matmul", 9e-3, 100e6, 1e5), node_time(3, "relu", 5e-3, 0, 20e6)},
                                  2, chosen, artificial_peaks()));
  ASSERT_EQ(lost.size(), 3U);
  EXPECT_EQ(lost[0].algorithm, "");
  EXPECT_DOUBLE_EQ(lost[0].lost, 8e-3);
  EXPECT_EQ(lost[1].op + lost[1].algorithm + lost[1].size, "matmulpanelsto 1 MB");
  EXPECT_EQ(lost[1].nodes, 2U);
  EXPECT_DOUBLE_EQ(lost[1].lost, 3e-3);
  EXPECT_EQ(lost[2].size, "above 16 MB");
  EXPECT_DOUBLE_EQ(lost[2].lost, 3e-3);
  EXPECT_NE(lost_text(lost).find("all"), std::string::npos);
}

}  // namespace
}  // namespace tern
