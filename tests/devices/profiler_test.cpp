// Times of nodes: by the device's clock, or by the host's if the device has none.
#include <gtest/gtest.h>

#include <map>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr double kLaunch = 1e-6, kCopy = 1e-8, kOverride = 5e-7;  // times of the test plugin's clock

/// (predicate, x): a body of a single expression, then a norm.
Model program_profiler() {
  TestProgram p;
  const ValueId predicate = p.input(DType::boolean, {}), x = p.input(DType::f32, {1, kVector});
  const std::uint32_t yes = p.add_body(), no = p.add_body();
  for (const auto& [f, text] : {std::pair(yes, "x * 2"), std::pair(no, "exp(x) - 3")}) {
    const ValueId y = p.input(DType::f32, {1, kVector}, f);
    p.output(Builder(p.program(), f).expr(text, {{"x", y}}, DType::f32), f);
  }
  const ValueId chosen = add_control(p, 0, Op::cond, {predicate, x}, {yes, no})[0];
  p.output(p.b().add(Op::rms_norm, {chosen, kNoValue}, {attr(AttrKey::k, Dim(1)), attr_number(AttrKey::epsilon, 0)}));
  return p.model();
}

std::vector<Tensor> inputs_profiler() {
  Tensor holds(DType::boolean, {});
  holds.span<bool>()[0] = true;
  return {holds, floats({1, kVector}, {1, 1, 1, 1, 1})};
}

std::map<std::string, NodeTime> op_times(const std::vector<NodeTime>& times) {
  std::map<std::string, NodeTime> nodes;
  for (const NodeTime& t : times) nodes[t.op] = t;
  return nodes;
}

TEST(Profiler, TheDevicesClockTimesLaunchesAndCopies) {
  Session session(program_profiler().prepare(options_on("full")));
  session.run(inputs_profiler());
  session.set_profiling(true);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(values_of(session.run(inputs_profiler())[0])[0], 1);
  auto nodes = op_times(session.profile());
  EXPECT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes["pointwise"].runs, 3u);
  EXPECT_EQ(nodes["pointwise"].launches, 3u);
  EXPECT_NEAR(nodes["pointwise"].seconds, 3 * kLaunch, 1e-12);
  EXPECT_NEAR(nodes["rms_norm"].seconds, 3 * kOverride, 1e-12);
  // The body, the predicate's copy to the host (with the kernels' failure flag), and the copy of the result.
  const std::uint64_t copies = nodes["cond"].launches - 3;
  EXPECT_GE(copies, 6u);
  EXPECT_NEAR(nodes["cond"].seconds, 3 * kLaunch + static_cast<double>(copies) * kCopy, 1e-12);
  EXPECT_EQ(control_of("full").counts().profiles, 0);
  session.set_profiling(false);
  session.run(inputs_profiler());
  EXPECT_TRUE(session.profile().empty());
}

TEST(Profiler, SessionsOfOneStreamAreMeasuredEachByItself) {
  const Stream stream("full");
  const Model model = program_profiler();
  Session measured(model.prepare(options_on("full")), stream), other(model.prepare(options_on("full")), stream);
  measured.set_profiling(true);
  measured.run(inputs_profiler());
  other.run(inputs_profiler());
  measured.run(inputs_profiler());
  EXPECT_NEAR(op_times(measured.profile())["pointwise"].seconds, 2 * kLaunch, 1e-12);
}

TEST(Profiler, ReplaysAreMeasuredToo) {
  Session session(program_profiler().prepare(options_on("full")), Stream("full"));
  session.set_profiling(true);
  const std::vector<Tensor> in = inputs_profiler();
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(in);
  graph.capture_end();
  for (int i = 0; i < 2; ++i) graph.replay();
  session.stream().synchronize();
  EXPECT_EQ(values_of(outputs[0])[0], 1);
  EXPECT_NEAR(op_times(session.profile())["pointwise"].seconds, 2 * kLaunch, 1e-12);
}

TEST(Profiler, WithoutTheTableTheHostsClockServes) {
  for (const std::string device : {"cpu", "plain"}) {
    Session session(program_profiler().prepare(options_on(device)));
    session.set_profiling(true);
    session.run(inputs_profiler());
    for (const NodeTime& t : session.profile()) {
      EXPECT_EQ(t.launches, 0u) << t.op;
      EXPECT_GT(t.seconds, 0) << t.op;
    }
  }
}

/// Every device with a clock: its times lie within the host's wait.
TEST(Profiler, ADevicesTimesLieWithinTheRun) {
  for (const std::string& device : all_devices()) {
    if (device == "cpu" || open_plugin_device(device).tables().profiler == nullptr || device == "full") continue;
    Session session(program_profiler().prepare(options_on(device)));
    session.run(inputs_profiler());
    session.set_profiling(true);
    const auto start = std::chrono::steady_clock::now();
    session.run(inputs_profiler());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    auto nodes = op_times(session.profile());
    EXPECT_GE(nodes["rms_norm"].launches, 1u) << device;
    EXPECT_GT(nodes["rms_norm"].seconds, 0) << device;
    EXPECT_LT(nodes["rms_norm"].seconds + nodes["cond"].seconds, taken.count()) << device;
  }
}

}  // namespace
}  // namespace tern
