// Counted launches, input of a program's cost report. ../ptx/tests checks their figures.
#include "tests/gpu/cuda/support.h"

#ifdef TERN_EMULATOR_PTX
namespace {

// Each thread in a block of 4 adds one to its number.
constexpr char kText[] = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry one_more(.param .u64 one_more_param_0)
{
  .reg .b32 %r<4>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [one_more_param_0];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.u32 %r2, [%rd4];
  add.u32 %r3, %r2, 1;
  st.global.u32 [%rd4], %r3;
  ret;
}
)";

class Counted : public Emulated {
 protected:
  void start(double most_work) {
    tern_emulator_count(most_work);
    CUmodule text = nullptr;
    SUCCEEDS(cuModuleLoadData(&text, kText));
    SUCCEEDS(cuModuleGetFunction(&one_more, text, "one_more"));
    uint64_t none = 0;
    tern_emulator_take(&none);
    zero(stream);
  }
  void TearDown() override {
    tern_emulator_count(-1);
    Emulated::TearDown();
  }

  void launch_tagged(uint64_t tag, unsigned blocks) {
    void* parameters[] = {&memory};
    tern_emulator_tag(tag);
    SUCCEEDS(cuLaunchKernel(one_more, blocks, 1, 1, 4, 1, 1, 0, stream, parameters, nullptr));
    tern_emulator_tag(0);
  }
  std::vector<tern_emulator_launch> take_launches() {
    uint64_t count = 0;
    const tern_emulator_launch* launches = tern_emulator_take(&count);
    return {launches, launches + count};
  }

  CUfunction one_more = nullptr;
};

TEST_F(Counted, LaunchesHaveTheirTagsInGraphsToo) {
  start(1e6);
  CUgraph graph = nullptr;
  CUgraphExec executable = nullptr;
  SUCCEEDS(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  launch_tagged(5, 1);
  SUCCEEDS(cuStreamEndCapture(stream, &graph));
  SUCCEEDS(cuGraphInstantiate(&executable, graph, 0));
  launch_tagged(7, 1);
  SUCCEEDS(cuGraphLaunch(executable, stream));
  SUCCEEDS(cuStreamSynchronize(stream));
  const std::vector<tern_emulator_launch> launches = take_launches();
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_EQ(launches[0].tag, 7u);
  EXPECT_EQ(launches[0].in_graph, 0u);
  EXPECT_EQ(launches[1].tag, 5u);
  EXPECT_EQ(launches[1].in_graph, 1u);
  EXPECT_STREQ(launches[0].kernel, "one_more");
  EXPECT_STREQ(launches[0].text, kText);
  EXPECT_EQ(launches[0].block[0], 4u);
  EXPECT_EQ(launches[0].counts, launches[1].counts);
  EXPECT_EQ(launches[0].counts->loads.requests, 1);
  EXPECT_EQ(launches[0].counts->loads.sectors, 1);
  EXPECT_EQ(take_launches().size(), 0u);
  EXPECT_EQ(read(stream), 2);  // both ran
}

TEST_F(Counted, LargeLaunchesRunInPart) {
  start(100);
  launch_tagged(1, 100);
  EXPECT_EQ(read(stream), 9);  // the first block, and eight recorded blocks
  launch_tagged(2, 100);
  EXPECT_EQ(read(stream), 9);  // already known: does not run
  launch_tagged(3, 10);
  EXPECT_EQ(read(stream), 19);  // small enough to run as a whole
  const std::vector<tern_emulator_launch> launches = take_launches();
  ASSERT_EQ(launches.size(), 3u);
  EXPECT_EQ(launches[0].counts->ran_whole, 0u);
  EXPECT_EQ(launches[1].counts, launches[0].counts);
  EXPECT_EQ(launches[1].counts->loads.requests, 100);
  EXPECT_EQ(launches[2].counts->ran_whole, 1u);
}

// Libraries compiled by tests have no counting code.
TEST_F(Counted, OthersRunAsTheyDo) {
  start(0);
  for (int i = 0; i < 2; ++i) SUCCEEDS(launch(add, memory, 3, stream));
  EXPECT_EQ(read(stream), 6);
  EXPECT_EQ(take_launches().at(1).counts->blocks, 0u);
}

}  // namespace
#endif
