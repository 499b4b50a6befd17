// Exchanges among the threads of a warp: shuffles, votes, matches and reductions.
#include <gtest/gtest.h>

#include <functional>

#include "tests/gpu/ptx/tests/launcher.h"

namespace tern::emulated {
namespace {

struct Exchange {
  const char* body;  // computes y[t] from v = 1000 + t
  std::function<int(int)> expected;
};

// All exchanges in a single source, each by 64 threads.
void expect(const std::vector<Exchange>& exchanges) {
  std::string text;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    text += "extern \"C\" __global__ void k" + std::to_string(i) +
            "(int* y) { const int t = threadIdx.x, lane = t % 32; int v = 1000 + t; const unsigned all = 0xffffffff; " +
            exchanges[i].body + " }\n";
  }
  const Kernels kernels(text);
  for (std::size_t k = 0; k < exchanges.size(); ++k) {
    SCOPED_TRACE(exchanges[k].body);
    std::vector<int> y(64, -1);
    kernels.run("k" + std::to_string(k), {{1, 1, 1}, {64, 1, 1}}, y.data());
    for (int t = 0; t < 64; ++t) EXPECT_EQ(y[t], exchanges[k].expected(t)) << "thread " << t;
  }
}

TEST(Exchange, Shuffles) {
  expect({
      {"y[t] = __shfl_sync(all, v, 5);", [](int t) { return 1000 + t / 32 * 32 + 5; }},
      {"y[t] = __shfl_sync(all, v, lane * 3 + 1);", [](int t) { return 1000 + t / 32 * 32 + (t * 3 + 1) % 32; }},
      {"y[t] = __shfl_up_sync(all, v, 3);", [](int t) { return t % 32 < 3 ? 1000 + t : 1000 + t - 3; }},
      {"y[t] = __shfl_down_sync(all, v, 3);", [](int t) { return t % 32 > 28 ? 1000 + t : 1000 + t + 3; }},
      {"y[t] = __shfl_xor_sync(all, v, 21);", [](int t) { return 1000 + (t ^ 21); }},
  });
}

TEST(Exchange, ShufflesOfSixteen) {
  expect({
      // "The source lane is srcLane % width"
      {"y[t] = __shfl_sync(all, v, 21, 16);", [](int t) { return 1000 + t / 16 * 16 + 5; }},
      {"y[t] = __shfl_up_sync(all, v, 3, 16);", [](int t) { return t % 16 < 3 ? 1000 + t : 1000 + t - 3; }},
      {"y[t] = __shfl_down_sync(all, v, 3, 16);", [](int t) { return t % 16 > 12 ? 1000 + t : 1000 + t + 3; }},
      {"y[t] = __shfl_xor_sync(all, v, 5, 16);", [](int t) { return 1000 + (t ^ 5); }},
      // An earlier group's values are readable; a later group gives a lane its own value.
      {"y[t] = __shfl_xor_sync(all, v, 16, 16);", [](int t) { return t % 32 < 16 ? 1000 + t : 1000 + t - 16; }},
      {"y[t] = __shfl_down_sync(all, v, 1, 4);", [](int t) { return t % 4 == 3 ? 1000 + t : 1000 + t + 1; }},
  });
}

TEST(Exchange, ShufflesOfLongWordsAndTheirPredicate) {
  expect({
      {"y[t] = (int)(__shfl_xor_sync(all, (long long)v << 32, 1) >> 32);", [](int t) { return 1000 + (t ^ 1); }},
      {"int to, in; asm volatile(\"{ .reg .pred p; shfl.sync.up.b32 %0|p, %2, 4, 0, 0xffffffff; selp.s32 %1, 1, 0, p; "
       "}\" : \"=r\"(to), \"=r\"(in) : \"r\"(v)); y[t] = to * 10 + in;",
       [](int t) { return t % 32 < 4 ? (1000 + t) * 10 : (1000 + t - 4) * 10 + 1; }},
  });
}

TEST(Exchange, SomeLanesExchange) {
  expect({
      {"if (lane < 8) y[t] = __shfl_sync(0xff, v, 7 - lane); else y[t] = __shfl_xor_sync(0xffffff00, v, 8);",
       [](int t) {
         const int lane = t % 32;
         if (lane < 8) return 1000 + t - lane + 7 - lane;
         // "the result is unpredictable" for a lane outside the mask: the emulator returns an obviously wrong value
         return lane < 16 ? static_cast<int>(0xA5A5A5A5) : 1000 + (t ^ 8);
       }},
  });
}

TEST(Exchange, Votes) {
  expect({
      {"y[t] = __ballot_sync(all, lane % 4 == 1);", [](int) { return 0x22222222; }},
      {"y[t] = __any_sync(all, t == 40) * 10 + __all_sync(all, t < 32);", [](int t) { return t < 32 ? 1 : 10; }},
      {"y[t] = __uni_sync(all, t < 32) * 10 + __uni_sync(all, t < 33);", [](int t) { return t < 32 ? 11 : 10; }},
      {"y[t] = 7; if (lane & 1) y[t] = __ballot_sync(0xaaaaaaaa, lane > 16) >> 16 & 0xffff;",
       [](int t) { return t & 1 ? 0xAAAA : 7; }},
      {"if (lane >= 30) return; y[t] = __ballot_sync(0x3fffffff, 1);",
       [](int t) { return t % 32 < 30 ? 0x3fffffff : -1; }},
  });
}

TEST(Exchange, Matches) {
  expect({
      {"y[t] = __match_any_sync(all, lane / 8) >> lane / 8 * 8;", [](int) { return 255; }},
      {"y[t] = __popc(__match_any_sync(all, (long long)(lane % 2) << 40));", [](int) { return 16; }},
      {"int same; y[t] = __match_all_sync(all, t < 32, &same) == all; y[t] += 10 * same;", [](int) { return 11; }},
      {"int same; y[t] = __match_all_sync(all, t < 33, &same) != 0; y[t] += 10 * same;",
       [](int t) { return t < 32 ? 11 : 0; }},
  });
}

TEST(Exchange, Reductions) {
  const auto redux = [](const std::string& operation, const std::string& value) {
    return "int to; asm volatile(\"redux.sync." + operation + " %0, %1, 0xffffffff;\" : \"=r\"(to) : \"r\"(" + value +
           ")); y[t] = to;";
  };
  const std::string add = redux("add.s32", "v"), least = redux("min.s32", "lane - 7"),
                    least_unsigned = redux("min.u32", "lane - 7"), most = redux("max.u32", "lane - 7"),
                    and_ = redux("and.b32", "v | 6"), or_ = redux("or.b32", "1 << lane"),
                    xor_ = redux("xor.b32", "lane == 9 ? 5 : 0");
  expect({
      {add.c_str(), [](int t) { return 32 * (1000 + t / 32 * 32) + 31 * 16; }},
      {least.c_str(), [](int) { return -7; }},
      {least_unsigned.c_str(), [](int) { return 0; }},
      {most.c_str(), [](int) { return -1; }},
      {and_.c_str(),
       [](int t) {
         int n = -1;
         for (int i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) n &= (1000 + i) | 6;
         return n;
       }},
      {or_.c_str(), [](int) { return -1; }},
      {xor_.c_str(), [](int) { return 5; }},
  });
}

TEST(Exchange, LaneNumbers) {
  expect({
      {"int n; asm volatile(\"mov.u32 %0, %%laneid;\" : \"=r\"(n)); y[t] = n;", [](int t) { return t % 32; }},
      {"int n; asm volatile(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(n)); y[t] = __popc(n);",
       [](int t) { return t % 32; }},
      {"y[t] = 0; __syncwarp(); y[t] = warpSize;", [](int) { return 32; }},
  });
}

}  // namespace
}  // namespace tern::emulated
