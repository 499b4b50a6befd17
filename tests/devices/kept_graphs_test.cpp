// Graphs that sessions create automatically for repeated steps with equal addresses.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/devices/emulated_driver.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr int kKeptGraphsRounds = 3, kRunsBeforeGraph = 2;  // rounds of two steps each; runs before a graph is created

/// Three times x = x * 2 + sum of x, without fusible nodes; optionally s += the last x.
Model chain(bool with_state = false) {
  TestProgram p;
  ValueId x = p.input(DType::f32, {1, 3});
  const ValueId state = with_state ? p.state({1, 3}, {10, 20, 30}, true) : kNoValue;
  for (int i = 0; i < kKeptGraphsRounds; ++i) {
    const ValueId sum = p.b().reduce(x, "sum", {1}, true, DType::f32);
    x = p.b().expr("x * 2 + s", {{"x", x}, {"s", sum}}, DType::f32);
  }
  if (with_state) {
    x = p.b().expr("x + s", {{"x", x}, {"s", state}}, DType::f32);
    p.write_back(0, x);
  }
  p.output(x);
  return p.model();
}

std::vector<float> expected(std::vector<float> x) {
  for (int i = 0; i < kKeptGraphsRounds; ++i) {
    const float sum = x[0] + x[1] + x[2];
    for (float& v : x) v = v * 2 + sum;
  }
  return x;
}

class KeptGraphs : public ::testing::TestWithParam<std::string> {
 protected:
  void TearDown() override { unsetenv("TERN_DEVICE_GRAPHS"); }
  std::string device() const { return GetParam(); }
  /// Number of live graphs, counted by the tests' own plugins.
  std::int64_t graphs() const { return counts() ? control_of(device()).counts().graphs : 0; }
  bool counts() const {
    return device() == "graph" || device() == "full" || device() == "parts" || device() == "plain";
  }
  std::int64_t if_kept(std::int64_t n) const { return counts() && device() != "plain" ? n : 0; }
};
INSTANTIATE_TEST_SUITE_P(Devices, KeptGraphs, ::testing::ValuesIn(all_devices()), name_of_case);

TEST_P(KeptGraphs, RunsThatRepeatHaveOne) {
  const std::int64_t others = graphs();
  {
    Session session(chain().prepare(options_on(device())));
    for (int run = 0; run < 10; ++run) {
      const auto n = static_cast<float>(run);
      EXPECT_EQ(values_of(session.run({floats({1, 3}, {n, 1, -n})})[0]), expected({n, 1, -n})) << "run " << run;
      EXPECT_EQ(graphs() - others, run < kRunsBeforeGraph ? 0 : if_kept(1)) << "run " << run;
    }
  }
  EXPECT_EQ(graphs(), others) << "the session has left one";
}

TEST_P(KeptGraphs, CallersMayTakeTurnsWithTheirMemory) {
  if (device() == "cpu") GTEST_SKIP() << "has no memory of its own";
  const std::int64_t others = graphs();
  Session session(chain().prepare(options_on(device())));
  std::vector<Tensor> inputs;
  for (int i = 0; i < 20; ++i) inputs.push_back(floats({1, 3}, {static_cast<float>(i), 2, 3}).to(device()));
  // Two inputs alternate, then each run has a new address: cached graphs are useless but stay correct.
  for (int run = 0; run < 40; ++run) {
    const int which = run < 20 ? run % 2 : run - 20;
    EXPECT_EQ(values_of(session.run({inputs[static_cast<std::size_t>(which)]})[0]),
              expected({static_cast<float>(which), 2, 3}))
        << "run " << run;
    if (run == 19) {
      EXPECT_EQ(graphs() - others, if_kept(2));
    }
  }
}

TEST_P(KeptGraphs, AddressesThatChangeMoveOneGraph) {
  const EmulatedDriver driver(device());
  if (device() != "full" && driver.calls == nullptr) GTEST_SKIP() << "the device does not count, or its graphs stay";
  const bool is_cuda = device() == "cuda";
  const char* const launch = is_cuda ? "cuGraphLaunch" : "hipGraphLaunch";
  const char* const make = is_cuda ? "cuGraphInstantiateWithFlags" : "hipGraphInstantiateWithFlags";
  const std::int64_t others = graphs();
  Session session(chain().prepare(options_on(device())));
  std::vector<Tensor> inputs;
  for (int i = 0; i < 30; ++i) inputs.push_back(floats({1, 3}, {static_cast<float>(i), 2, 3}).to(device()));
  std::uint64_t launches = 0, made = 0;
  if (driver.calls != nullptr) {
    launches = driver.calls(launch);
    made = driver.calls(make);
  }
  for (int run = 0; run < 30; ++run) {
    EXPECT_EQ(values_of(session.run({inputs[static_cast<std::size_t>(run)]})[0]),
              expected({static_cast<float>(run), 2, 3}))
        << "run " << run;
  }
  if (driver.calls != nullptr) {
    EXPECT_EQ(driver.calls(launch) - launches, 30U - kRunsBeforeGraph);
    EXPECT_EQ(driver.calls(make) - made, 1U);
  } else {
    EXPECT_EQ(graphs() - others, 1);
    control_of(device()).fail("graph_update", 1, TERN_DEVICE_FAILED);
    EXPECT_EQ(values_of(session.run({inputs[0]})[0]), expected({0, 2, 3}));
    EXPECT_TRUE(control_of(device()).failed());
    EXPECT_EQ(values_of(session.run({inputs[1]})[0]), expected({1, 2, 3}));
    EXPECT_EQ(graphs() - others, 1) << "a graph in place of the one that stayed";
  }
}

// A launch under way keeps its addresses.
TEST_P(KeptGraphs, RunsInARowMoveTheGraphWhileItIsPending) {
  if (device() == "cpu") GTEST_SKIP() << "has no memory of its own";
  const Stream stream(device());
  Session session(chain(true).prepare(options_on(device())), stream);
  std::vector<float> state = {10, 20, 30};
  std::vector<Tensor> inputs;
  for (int i = 0; i < 12; ++i) inputs.push_back(floats({1, 3}, {static_cast<float>(i), 2, 3}).to(device()));
  for (int run = 0; run < 12; ++run) {
    const std::vector<float> added = expected({static_cast<float>(run), 2, 3});
    for (std::size_t i = 0; i < 3; ++i) state[i] += added[i];
    session.enqueue("forward", std::span(inputs).subspan(static_cast<std::size_t>(run), 1));
  }
  stream.synchronize();
  EXPECT_EQ(values_of(session.run({inputs[0]})[0])[0], state[0] + expected({0, 2, 3})[0]);
}

TEST_P(KeptGraphs, StateGoesOn) {
  Session session(chain(true).prepare(options_on(device())));
  std::vector<float> state = {10, 20, 30};
  for (int run = 0; run < 8; ++run) {
    const auto n = static_cast<float>(run);
    const std::vector<float> added = expected({n, 1, 2});
    for (std::size_t i = 0; i < 3; ++i) state[i] += added[i];
    EXPECT_EQ(values_of(session.run({floats({1, 3}, {n, 1, 2})})[0]), state) << "run " << run;
    if (run == 5) {
      session.reset_state();
      state = {10, 20, 30};
    }
  }
}

TEST_P(KeptGraphs, MeasuredRunsAndCapturesTakeTheSteps) {
  Session session(chain().prepare(options_on(device())), Stream(device()));
  const std::vector<Tensor> input = {floats({1, 3}, {1, 2, 3})};
  for (int run = 0; run < 4; ++run) session.run(input);
  session.set_profiling(true);
  session.run(input);
  EXPECT_GE(session.profile().size(), 2U * kKeptGraphsRounds - 1);
  session.set_profiling(false);
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(input);
  graph.capture_end();
  EXPECT_GE(graph.nodes().size(), 2U * kKeptGraphsRounds - 1);
  graph.replay();
  session.stream().synchronize();
  EXPECT_EQ(values_of(outputs[0]), expected({1, 2, 3}));
}

TEST_P(KeptGraphs, CanBeLeftOut) {
  setenv("TERN_DEVICE_GRAPHS", "0", 1);
  const std::int64_t others = graphs();
  Session session(chain().prepare(options_on(device())));
  for (int run = 0; run < 5; ++run) session.run({floats({1, 3}, {1, 2, 3})});
  EXPECT_EQ(graphs(), others);
}

TEST_P(KeptGraphs, ADeviceThatRefusesRunsTheSteps) {
  if (!counts() || device() == "plain") GTEST_SKIP() << "cannot be told to fail";
  for (const char* function : {"graph_begin", "graph_end"}) {
    Session session(chain().prepare(options_on(device())));
    for (int run = 0; run < 6; ++run) {
      if (run == kRunsBeforeGraph) control_of(device()).fail(function, 1, TERN_DEVICE_FAILED);
      EXPECT_EQ(values_of(session.run({floats({1, 3}, {1, 2, 3})})[0]), expected({1, 2, 3})) << function << ' ' << run;
    }
    EXPECT_TRUE(control_of(device()).failed()) << function;
  }
}

}  // namespace
}  // namespace tern
