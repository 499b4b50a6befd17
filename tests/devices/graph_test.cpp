// Graphs: one capture, many replays, on every device.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/devices/plugin/device.h"
#include "runtime/devices/stream.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr int kReplays = 1000;

class GraphTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string device() const { return GetParam(); }
  bool is_device(const char* name) const { return device() == name; }
};
INSTANTIATE_TEST_SUITE_P(Devices, GraphTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct Captured {
  Session session;
  std::vector<Tensor> inputs;
  Graph graph;
  const std::vector<Tensor>* outputs = nullptr;

  Captured(const Model& model, const std::string& device, std::vector<Tensor> in)
      : session(model.prepare(options_on(device)), Stream(device)), inputs(std::move(in)) {
    graph.capture_begin(session.stream());
    outputs = &session.run(inputs);
    graph.capture_end();
  }
  void replay() {
    graph.replay();
    session.stream().synchronize();
  }
};

Tensor truth_of(bool value) {
  Tensor t(DType::boolean, {});
  t.span<bool>()[0] = value;
  return t;
}

std::uint64_t memory_of(const std::string& device) {
  return device == "cpu" ? 0 : device_memory(device).allocations;
}

TEST_P(GraphTest, ACondIsDecidedAtEachReplay) {
  const TestProgram p = cond_program();
  Captured c(p.model(), device(), {truth_of(false), floats({kVector}, {0, 0, 0, 0, 0})});
  std::uint64_t allocations = 0;
  for (int i = 0; i < kReplays; ++i) {
    const bool holds = i % 3 == 0;
    c.inputs[0].span<bool>()[0] = holds;
    for (float& x : c.inputs[1].span<float>()) x = static_cast<float>(i);
    c.replay();
    const auto expected = static_cast<float>(holds ? i * 2 + 1 : i - 3);
    ASSERT_EQ(values_of((*c.outputs)[0]), std::vector<float>(kVector, expected)) << "replay " << i;
    if (i == 10) allocations = memory_of(device());
  }
  EXPECT_EQ(memory_of(device()), allocations) << "replays allocate";
  const std::size_t whole = 1, bodies = 2;
  if (is_device("xpu")) {
    EXPECT_TRUE(c.graph.device_graphs() == bodies || c.graph.device_graphs() == 0) << "the driver decides";
  } else {
    EXPECT_EQ(c.graph.device_graphs(), is_device("full") || is_device("cuda")                          ? whole
                                       : is_device("graph") || is_device("parts") || is_device("rocm") ? bodies
                                                                                                       : 0);
  }
}

TEST_P(GraphTest, ANestedCondIsDecidedAtEachReplay) {
  const TestProgram p = nested_cond_program();
  Captured c(p.model(), device(), {truth_of(false), truth_of(false), floats({kVector}, {1, 2, 3, 4, 5})});
  std::uint64_t allocations = 0;
  for (int i = 0; i < kReplays; ++i) {
    const bool a = i % 2 == 0, b = i % 4 < 2;
    c.inputs[0].span<bool>()[0] = a;
    c.inputs[1].span<bool>()[0] = b;
    c.inputs[2].span<float>()[0] = static_cast<float>(i);
    c.replay();
    const auto x = static_cast<float>(i);
    ASSERT_EQ(values_of((*c.outputs)[0])[0], a ? (b ? x * 2 + 1 : x - 3) : -x) << "replay " << i;
    ASSERT_EQ(values_of((*c.outputs)[0])[4], a ? (b ? 11 : 2) : -5) << "replay " << i;
    if (i == 10) allocations = memory_of(device());
  }
  EXPECT_EQ(memory_of(device()), allocations) << "replays allocate";
}

TEST_P(GraphTest, AWhileLoopRunsAsOftenAsTheDataSay) {
  const TestProgram p = while_program();
  Captured c(p.model(), device(), {Tensor(DType::i64, {}), floats({kVector}, {0, 0, 0, 0, 0})});
  std::uint64_t allocations = 0;
  for (int i = 0; i < kReplays; ++i) {
    const int rounds = i % 19;
    c.inputs[0].span<std::int64_t>()[0] = rounds;
    c.inputs[1].span<float>()[0] = static_cast<float>(i % 5);
    c.replay();
    auto expected = static_cast<float>(i % 5);
    float last = 0;
    for (int r = 0; r < rounds; ++r) {
      const float step = expected > 10 ? -7.F : 1.F;
      expected += step;
      last += step;
    }
    ASSERT_EQ(values_of((*c.outputs)[0])[0], expected) << "replay " << i;
    ASSERT_EQ(values_of((*c.outputs)[0])[4], last) << "replay " << i;
    ASSERT_EQ((*c.outputs)[1].span<const std::int64_t>()[0], 0);
    if (i == 30) allocations = memory_of(device());
  }
  EXPECT_EQ(memory_of(device()), allocations) << "replays allocate";
}

TEST_P(GraphTest, WhatIsCapturedRunsAtTheReplay) {
  TestProgram p;
  const ValueId state = p.state({2}, {10, 20}, true), x = p.input(DType::f32, {2});
  const ValueId next = p.b().expr("s + x", {{"s", state}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(p.b().expr("s * 2", {{"s", next}}, DType::f32));
  Captured c(p.model(), device(), {floats({2}, {1, 2})});
  EXPECT_EQ(values_of(c.session.read_state("state0")), (std::vector<float>{10, 20})) << "the capture has run";
  for (int i = 0; i < 3; ++i) c.replay();
  EXPECT_EQ(values_of(c.session.read_state("state0")), (std::vector<float>{13, 26}));
  EXPECT_EQ(values_of((*c.outputs)[0]), (std::vector<float>{26, 52}));
  // A run of the session beside the graph shares the state, but has its own memory.
  EXPECT_EQ(values_of(c.session.run({floats({2}, {100, 100})})[0]), (std::vector<float>{226, 252}));
  EXPECT_EQ(values_of((*c.outputs)[0]), (std::vector<float>{26, 52}));
  c.replay();
  EXPECT_EQ(values_of((*c.outputs)[0]), (std::vector<float>{228, 256}));
}

TEST_P(GraphTest, RandomNumbersGoOnFromReplayToReplay) {
  TestProgram p;
  p.output(
      p.b().add(Op::random, {},
                {attr(AttrKey::sizes, Dims{Dim(4)}), attr_text(AttrKey::kind, "uniform"), attr_dtype(DType::f32)}));
  Session eager(p.model().prepare(options_on(device())));
  Captured c(p.model(), device(), {});
  eager.set_seed(7);
  c.session.set_seed(7);
  std::vector<float> before;
  for (int i = 0; i < 5; ++i) {
    c.replay();
    const std::vector<float> now = values_of((*c.outputs)[0]);
    EXPECT_EQ(now, values_of(eager.run(std::initializer_list<Tensor>{})[0])) << "replay " << i;
    EXPECT_NE(now, before);
    before = now;
  }
}

TEST_P(GraphTest, AResultGivenToALaterRunStaysOnTheDevice) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3});
  p.output(p.b().expr("x * x + 1", {{"x", x}}, DType::f32));
  const Stream stream(device());
  Session session(p.model().prepare(options_on(device())), stream);
  Graph graph;
  const Tensor input = floats({3}, {1, 2, 3});
  graph.capture_begin(stream);
  const std::vector<Tensor>& first = session.run({input});
  const std::vector<Tensor>& second = session.run(first);
  graph.capture_end();
  graph.replay();
  stream.synchronize();
  EXPECT_EQ(values_of(first[0]), (std::vector<float>{2, 5, 10}));
  EXPECT_EQ(values_of(second[0]), (std::vector<float>{5, 26, 101}));
}

TEST_P(GraphTest, NodesKeepWhereTheyCameFrom) {
  TestProgram p = cond_program();
  p.program().origins.push_back({"aten.add.Tensor", "encoder.fc1"});
  for (Node& n : p.program().functions[1].nodes) n.origin = 0;
  Captured c(p.model(), device(), {truth_of(true), floats({kVector}, {0, 0, 0, 0, 0})});
  const std::vector<GraphNode> nodes = c.graph.nodes();
  const auto found = std::ranges::find(nodes, "encoder.fc1", &GraphNode::module);
  ASSERT_NE(found, nodes.end());
  EXPECT_EQ(found->origin, "aten.add.Tensor");
  EXPECT_EQ(found->op, "pointwise");
  EXPECT_EQ(found->depth, 1);
  if (!is_device("graph") && !is_device("full")) return;
  const std::string annotations = control_of(device()).annotations();
  EXPECT_NE(annotations.find("encoder.fc1"), std::string::npos) << annotations;
}

TEST_P(GraphTest, KernelFailuresComeWithTheStream) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4}), index = p.input(DType::i64, {1});
  p.output(p.b().index_select(x, index, 0));
  Captured c(p.model(), device(), {floats({4}, {1, 2, 3, 4}), Tensor(DType::i64, {1})});
  c.inputs[1].span<std::int64_t>()[0] = 9;
  EXPECT_THROW(c.replay(), Error);
  c.inputs[1].span<std::int64_t>()[0] = 2;
  c.replay();
  EXPECT_EQ(values_of((*c.outputs)[0]), (std::vector<float>{3}));
}

TEST_P(GraphTest, SizesThatDependOnDataAreRefused) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  const Dim count = p.b().pool().symbol("u0", 0, 4);
  p.output(p.b().add(Op::nonzero, {x}, {attr(AttrKey::symbols, Dims{count})}));
  const Stream stream(device());
  Session session(p.model().prepare(options_on(device())), stream);
  Graph graph;
  graph.capture_begin(stream);
  try {
    session.run({floats({4}, {0, 1, 0, 1})});
    ADD_FAILURE() << "was captured";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(e.what()).find("nonzero"), std::string::npos) << e.what();
  }
  graph.capture_end();
  EXPECT_TRUE(graph.nodes().empty());
  EXPECT_EQ(session.run({floats({4}, {0, 1, 0, 1})})[0].sizes()[0], 2);
}

TEST_P(GraphTest, MisuseIsToldAndHarmsNothing) {
  const TestProgram p = cond_program();
  const Stream stream(device());
  Session session(p.model().prepare(options_on(device())), stream);
  Graph graph, other;
  EXPECT_THROW(graph.replay(), Error);
  EXPECT_THROW(graph.capture_end(), Error);
  graph.capture_begin(stream);
  EXPECT_TRUE(stream.is_capturing());
  EXPECT_THROW(other.capture_begin(stream), Error);
  EXPECT_THROW(stream.synchronize(), Error);
  EXPECT_THROW(Event().record(stream), Error);
  EXPECT_THROW(session.reset_state(), Error);
  EXPECT_THROW(graph.replay(), Error);
  EXPECT_THROW(session.run({truth_of(true)}), Error) << "one input is missing";
  const std::vector<Tensor>& outputs = session.run({truth_of(true), floats({kVector}, {1, 1, 1, 1, 1})});
  graph.capture_end();
  EXPECT_FALSE(stream.is_capturing());
  graph.replay();
  stream.synchronize();
  EXPECT_EQ(values_of(outputs[0]), std::vector<float>(kVector, 3));
  { Graph(std::move(graph)); }
  {
    Graph forgotten;
    forgotten.capture_begin(stream);
  }
  EXPECT_FALSE(stream.is_capturing());
}

TEST_P(GraphTest, AGraphKeepsItsSessionAndGivesItsMemoryBack) {
  if (is_device("cpu")) GTEST_SKIP() << "the CPU's memory is the host's";
  std::uint64_t before = 0;
  {
    const TestProgram p = while_program();
    auto c = std::make_unique<Captured>(
        p.model(), device(), std::vector<Tensor>{Tensor(DType::i64, {}), floats({kVector}, {1, 2, 3, 4, 5})});
    before = device_memory(device()).used;
    Graph graph = std::move(c->graph);
    const Stream stream = c->session.stream();
    c->inputs[0].span<std::int64_t>()[0] = 2;
    const std::vector<Tensor>& outputs = *c->outputs;
    c.reset();
    graph.replay();
    stream.synchronize();
    EXPECT_EQ(values_of(outputs[0])[4], 7);
    EXPECT_GT(graph.memory_bytes(), 0u);
  }
  EXPECT_LT(device_memory(device()).used, before);
}

/// A plugin whose graph functions free memory at moments when another thread may.
struct Watched {
  const tern_device_plugin* inner = nullptr;
  const tern_device_graph_functions* graphs = nullptr;
  PluginDevice* device = nullptr;
  bool recording = false;
  int wrong = 0;  ///< waits on a recording stream
} watched;

const void* watched_extension(const char* name, std::uint32_t version) {
  static tern_device_graph_functions table = *watched.graphs;
  table.begin = [](std::int32_t index, tern_device_stream stream) {
    const tern_device_status status = watched.graphs->begin(index, stream);
    watched.recording = status == TERN_DEVICE_OK;
    watched.device->wait();
    return status;
  };
  table.end = [](std::int32_t index, tern_device_stream stream, tern_device_graph* graph) {
    watched.device->wait();
    watched.recording = false;
    return watched.graphs->end(index, stream, graph);
  };
  return std::string_view(name) == "graph" ? &table : watched.inner->get_extension(name, version);
}

TEST(Graphs, MemoryThatIsFreedMeanwhileDoesNotWaitForARecordedStream) {
  watched.inner = std::ranges::find(all_plugins(), "graph", &Plugin::name)->table;
  watched.graphs = static_cast<const tern_device_graph_functions*>(
      watched.inner->get_extension("graph", TERN_DEVICE_EXTENSION_VERSION));
  tern_device_plugin table = *watched.inner;
  table.get_extension = watched_extension;
  table.stream_synchronize = [](std::int32_t index, tern_device_stream stream) {
    watched.wrong += watched.recording ? 1 : 0;
    return watched.inner->stream_synchronize(index, stream);
  };
  const Plugin plugin{"", &table, "", 1};
  PluginDevice device(plugin, 0);
  watched.device = &device;
  const std::shared_ptr<DeviceStream> stream = device.open_stream({});
  EXPECT_NE(stream->graphs()->record([] {}), nullptr);
  EXPECT_EQ(watched.wrong, 0);
}

}  // namespace
}  // namespace tern
