// Exchanges among the 64 lanes of a wave, against loops over lanes.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "tests/gpu/amd/tests/launcher.h"

namespace tern::gpu::amd {
namespace {

std::vector<int> run(const std::string& body, unsigned threads = 64) {
  const Library library(
      "extern \"C\" __global__ void k(const int* x, int* y) { const int t = threadIdx.x; int v = x[t]; " + body + " }");
  std::vector<int> x(threads), y(threads, -5);
  for (unsigned i = 0; i < threads; ++i) x[i] = static_cast<int>(1000 + i);
  library.run("k", {{1, 1, 1}, {threads, 1, 1}}, x.data(), y.data());
  return y;
}

template <class Expected>
void expect(const std::vector<int>& y, const Expected& expected) {
  for (int lane = 0; lane < static_cast<int>(y.size()); ++lane) EXPECT_EQ(y[lane], expected(lane)) << "lane " << lane;
}

TEST(Exchange, Shuffles) {
  expect(run("y[t] = __shfl_xor(v, 5);"), [](int i) { return 1000 + (i ^ 5); });
  expect(run("y[t] = __shfl_down(v, 3);"), [](int i) { return 1000 + (i + 3 < 64 ? i + 3 : i); });
  expect(run("y[t] = __shfl_up(v, 7);"), [](int i) { return 1000 + (i >= 7 ? i - 7 : i); });
  expect(run("y[t] = __shfl(v, (2 * t + 1) % 16, 16);"), [](int i) { return 1000 + (i & ~15) + ((2 * i + 1) & 15); });
}

TEST(Exchange, ASumByShufflesInALoop) {
  expect(run("for (int o = 32; o > 0; o /= 2) v += __shfl_xor(v, o); y[t] = v;", 192), [](int i) {
    const int first = 1000 + i / 64 * 64;
    return 64 * first + 63 * 64 / 2;
  });
}

TEST(Exchange, BallotsOfActiveLanes) {
  expect(run("const unsigned long long b = __ballot(t % 3 == 0); y[t] = __popcll(b) * 100 + __any(t == 70) * 10 + "
             "__all(v > 0);"),
         [](int) { return 2201; });
  // Excludes lanes outside the branch.
  expect(run("y[t] = 0; if (t >= 20 && t < 30) y[t] = __popcll(__ballot(1)); y[t] += 100 * __popcll(__ballot(1));"),
         [](int i) { return (i >= 20 && i < 30 ? 10 : 0) + 6400; });
  // A wave of fewer lanes.
  expect(run("y[t] = __popcll(__ballot(1));", 100), [](int i) { return i < 64 ? 64 : 36; });
}

TEST(Exchange, LanesOfALoopWithDifferentCounts) {
  expect(run("int n = 0; for (int i = 0; i <= t % 4; ++i) n += __popcll(__ballot(1)); y[t] = n + 1000 * "
             "__popcll(__ballot(1));"),
         [](int i) {
           int n = 0;
           for (int k = 0; k <= i % 4; ++k) n += 64 - 16 * k;
           return n + 64000;
         });
}

TEST(Exchange, ReadLanes) {
  expect(run("y[t] = __builtin_amdgcn_readfirstlane(v) + __builtin_amdgcn_readlane(v, 9);"), [](int) { return 2009; });
  expect(run("y[t] = 0; if (t >= 33) y[t] = __builtin_amdgcn_readfirstlane(v);"),
         [](int i) { return i >= 33 ? 1033 : 0; });
  expect(run("y[t] = __builtin_amdgcn_ds_permute(4 * (63 - t), v);"), [](int i) { return 1000 + 63 - i; });
  // An unaddressed lane gets 0; the last of several senders wins.
  expect(run("y[t] = __builtin_amdgcn_ds_permute(4 * (t / 2), v);"),
         [](int i) { return i < 32 ? 1000 + 2 * i + 1 : 0; });
}

TEST(Exchange, LaneNumbers) {
  expect(run("y[t] = __lane_id();", 130), [](int i) { return i % 64; });
}

TEST(Exchange, Swizzles) {
  // Swapped within pairs, quads reversed, the lane of a group of 32 mirrored, lane 2 of a quad to all.
  expect(run("y[t] = __builtin_amdgcn_ds_swizzle(v, 0x041F);"), [](int i) { return 1000 + (i ^ 1); });
  expect(run("y[t] = __builtin_amdgcn_ds_swizzle(v, 0x7C1F);"), [](int i) { return 1000 + (i ^ 31); });
  expect(run("y[t] = __builtin_amdgcn_ds_swizzle(v, 0x8000 | 0x1B);"), [](int i) { return 1000 + (i ^ 3); });
  expect(run("y[t] = __builtin_amdgcn_ds_swizzle(v, 0x8000 | 0xAA);"), [](int i) { return 1000 + (i & ~3) + 2; });
}

std::string dpp(const std::string& control, const std::string& masks = "0xf, 0xf, false") {
  return "y[t] = __builtin_amdgcn_update_dpp(-7, v, " + control + ", " + masks + ");";
}

TEST(Exchange, DataParallelPrimitives) {
  expect(run(dpp("0x1B")), [](int i) { return 1000 + (i ^ 3); });                    // quad_perm:[3,2,1,0]
  expect(run(dpp("0x111")), [](int i) { return i % 16 == 0 ? -7 : 1000 + i - 1; });  // row_shr:1
  expect(run(dpp("0x112", "0xf, 0xf, true")), [](int i) { return i % 16 < 2 ? 0 : 1000 + i - 2; });  // bound_ctrl
  expect(run(dpp("0x103")), [](int i) { return i % 16 + 3 > 15 ? -7 : 1000 + i + 3; });              // row_shl:3
  expect(run(dpp("0x124")), [](int i) { return 1000 + (i & ~15) + ((i - 4) & 15); });                // row_ror:4
  expect(run(dpp("0x140")), [](int i) { return 1000 + (i ^ 15); });                                  // row_mirror
  expect(run(dpp("0x141")), [](int i) { return 1000 + (i ^ 7); });                                   // row_half_mirror
  expect(run(dpp("0x142", "0xa, 0xf, false")),
         [](int i) { return i / 16 % 2 == 1 ? 1000 + (i & ~15) - 1 : -7; });                // row_bcast:15
  expect(run(dpp("0x143", "0xc, 0xf, false")), [](int i) { return i >= 32 ? 1031 : -7; });  // row_bcast:31
  expect(run(dpp("0x138")), [](int i) { return i == 0 ? -7 : 1000 + i - 1; });              // wave_shr:1
  expect(run(dpp("0x1B", "0xf, 0x5, false")),
         [](int i) { return i / 4 % 2 == 0 ? 1000 + (i ^ 3) : -7; });  // banks 0 and 2
}

// The usual inclusive scan of a wave by DPP.
TEST(Exchange, AScan) {
  const char* body = R"(
    v = t + 1;
    v += __builtin_amdgcn_update_dpp(0, v, 0x111, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x112, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x114, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x118, 0xf, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x142, 0xa, 0xf, false);
    v += __builtin_amdgcn_update_dpp(0, v, 0x143, 0xc, 0xf, false);
    y[t] = v;)";
  expect(run(body), [](int i) { return (i + 1) * (i + 2) / 2; });
}

}  // namespace
}  // namespace tern::gpu::amd
