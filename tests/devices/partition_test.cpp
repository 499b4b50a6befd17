// Parts of programs compiled as a whole by a device: the test plugin takes products, some pointwise nodes, reshapes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

constexpr std::int64_t kPartitionRows = 3, kPartitionWidth = 4;

std::vector<float> partition_values(std::size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  std::vector<float> values(count);
  for (float& v : values) v = between(random);
  return values;
}

Tensor input(unsigned seed = 1) {
  return floats({kPartitionRows, kPartitionWidth}, partition_values(kPartitionRows * kPartitionWidth, seed));
}

ValueId weight(TestProgram& p, unsigned seed) {
  return p.state({kPartitionWidth, kPartitionWidth}, partition_values(kPartitionWidth * kPartitionWidth, seed), false);
}

ValueId product(TestProgram& p, ValueId x, ValueId w) {
  return p.b().add(Op::matmul, {x, w});
}

std::vector<float> run_on(const std::string& device, const Model& model, const std::vector<Tensor>& inputs,
                          SessionStats* stats = nullptr) {
  Session session(model.prepare(options_on(device)));
  std::vector<float> all;
  for (const Tensor& t : session.run(inputs)) {
    const std::vector<float> values = values_of(t);
    all.insert(all.end(), values.begin(), values.end());
  }
  if (stats != nullptr) *stats = session.stats();
  return all;
}

void expect_equal_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

/// max(x w, 0) v + x.
Model layers(std::int64_t rows = kPartitionRows) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {rows, kPartitionWidth});
  const ValueId hidden = p.b().expr("max(h, 0)", {{"h", product(p, x, weight(p, 2))}}, DType::f32);
  p.output(p.b().expr("y + x", {{"y", product(p, hidden, weight(p, 3))}, {"x", x}}, DType::f32));
  return p.model();
}

TEST(Partition, LayersRunAsOne) {
  const PartCounts before = control_of("parts").parts();
  SessionStats stats;
  const std::vector<float> results = run_on("parts", layers(), {input()}, &stats);
  const PartCounts after = control_of("parts").parts();
  EXPECT_EQ(after.compiled - before.compiled, 1u);
  EXPECT_EQ(after.nodes - before.nodes, 4u);
  EXPECT_EQ(after.runs - before.runs, 1u);
  EXPECT_EQ(after.weights - before.weights, 2u);
  EXPECT_EQ(stats.partitions, 1u);
  EXPECT_EQ(stats.partitioned, 4u);
  expect_equal_bits(results, run_on("plain", layers(), {input()}));
  // And by the definition.
  const std::vector<float> x = partition_values(kPartitionRows * kPartitionWidth, 1),
                           w = partition_values(kPartitionWidth * kPartitionWidth, 2),
                           v = partition_values(kPartitionWidth * kPartitionWidth, 3);
  for (std::int64_t r = 0; r < kPartitionRows; ++r) {
    for (std::int64_t c = 0; c < kPartitionWidth; ++c) {
      double y = x[static_cast<std::size_t>(r * kPartitionWidth + c)];
      for (std::int64_t k = 0; k < kPartitionWidth; ++k) {
        double h = 0;
        for (std::int64_t j = 0; j < kPartitionWidth; ++j)
          h += static_cast<double>(x[static_cast<std::size_t>(r * kPartitionWidth + j)]) *
               w[static_cast<std::size_t>(j * kPartitionWidth + k)];
        y += std::max(h, 0.0) * v[static_cast<std::size_t>(k * kPartitionWidth + c)];
      }
      EXPECT_NEAR(results[static_cast<std::size_t>(r * kPartitionWidth + c)], y, 1e-6);
    }
  }
}

TEST(Partition, IntermediateValuesNeedNoMemoryOfTerns) {
  constexpr std::uint64_t kMany = 256;
  const std::vector<Tensor> in = {floats({kMany, kPartitionWidth}, partition_values(kMany * kPartitionWidth, 1))};
  SessionStats whole, parts;
  run_on("plain", layers(kMany), in, &whole);
  run_on("parts", layers(kMany), in, &parts);
  constexpr std::uint64_t kValue = sizeof(float) * kMany * kPartitionWidth;
  EXPECT_GE(whole.arena_bytes, 2 * kValue);
  EXPECT_LT(parts.arena_bytes, 2 * kValue);
}

/// a = x w; s = softmax(a), which the plugin declines; a + s needs both.
TEST(Partition, ANodeOutsideThatReadsAPartComesAfterIt) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kPartitionRows, kPartitionWidth});
  const ValueId a = product(p, x, weight(p, 2));
  const ValueId s = p.b().add(Op::softmax, {a}, {attr(AttrKey::axis, Dim(1))});
  p.output(p.b().expr("a + s", {{"a", a}, {"s", s}}, DType::f32));
  SessionStats stats;
  const std::vector<float> results = run_on("parts", p.model(), {input()}, &stats);
  EXPECT_EQ(stats.partitions, 2u);
  EXPECT_EQ(stats.partitioned, 2u);
  expect_equal_bits(results, run_on("plain", p.model(), {input()}));
}

/// A part reads a state before another node overwrites the state.
TEST(Partition, AStateIsNotOverwrittenBeforeAPartThatReadsIt) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kPartitionRows, kPartitionWidth});
  const ValueId old =
      p.state({kPartitionRows, kPartitionWidth}, partition_values(kPartitionRows * kPartitionWidth, 5), true);
  const ValueId y = product(p, old, weight(p, 2));  // the part runs after the exponential
  p.write_back(0, p.b().expr("exp(s)", {{"s", old}}, DType::f32));
  p.output(p.b().expr("y + x", {{"y", y}, {"x", x}}, DType::f32));
  const Model model = p.model();
  std::vector<std::vector<float>> results;
  for (const char* device : {"parts", "plain"}) {
    Session session(model.prepare(options_on(device)));
    for (int i = 0; i < 3; ++i) results.push_back(values_of(session.run({input()})[0]));
  }
  for (std::size_t i = 0; i < 3; ++i) expect_equal_bits(results[i], results[i + 3]);
  EXPECT_NE(results[0], results[1]);
}

TEST(Partition, SessionsShareWhatWasCompiledAndItGoesWithTheProgram) {
  const DeviceControl& control = control_of("parts");
  const PartCounts before = control.parts();
  const std::int64_t kept = control.counts().partitions;
  {
    const PreparedModel prepared = layers().prepare(options_on("parts"));
    for (int round = 0; round < 2; ++round) {
      Session a(prepared), b(prepared);
      for (int i = 0; i < 3; ++i) expect_equal_bits(values_of(a.run({input()})[0]), values_of(b.run({input()})[0]));
    }
    EXPECT_EQ(control.parts().asked - before.asked, 1u);
    EXPECT_EQ(control.parts().compiled - before.compiled, 1u);
    EXPECT_EQ(control.parts().runs - before.runs, 12u);
    EXPECT_EQ(control.counts().partitions, kept + 1);
  }
  EXPECT_EQ(control.counts().partitions, kept);
}

TEST(Partition, EachSizeIsCompiledForItself) {
  TestProgram p;
  const Dim rows = p.b().pool().symbol("rows", 1, 100);
  const ValueId x = p.input(DType::f32, {rows, Dim(kPartitionWidth)});
  p.output(p.b().expr("y * 2", {{"y", product(p, x, weight(p, 2))}}, DType::f32));
  const std::uint64_t before = control_of("parts").parts().compiled;
  Session parts(p.model().prepare(options_on("parts"))), plain(p.model().prepare(options_on("plain")));
  for (std::int64_t n : {2, 5, 2}) {
    const std::vector<Tensor> in = {
        floats({n, kPartitionWidth}, partition_values(static_cast<std::size_t>(n * kPartitionWidth), 4))};
    expect_equal_bits(values_of(parts.run(in)[0]), values_of(plain.run(in)[0]));
  }
  EXPECT_EQ(control_of("parts").parts().compiled - before, 2u);
}

TEST(Partition, APartThatIsRefusedRunsByTernsKernels) {
  const std::string device = fresh_device("parts");
  const DeviceControl& control = control_of(device);
  const std::uint64_t before = control.parts().runs;
  control.fail("partition_compile", 1, TERN_DEVICE_UNSUPPORTED);
  SessionStats stats;
  const std::vector<float> results = run_on(device, layers(), {input()}, &stats);
  EXPECT_TRUE(control.failed());
  EXPECT_EQ(stats.partitions, 0u);
  EXPECT_EQ(control.parts().runs, before);
  expect_equal_bits(results, run_on("plain", layers(), {input()}));
}

TEST(Partition, ReproducibleRunsHaveNone) {
  PrepareOptions options = options_on("parts");
  options.reproducible = true;
  const std::uint64_t before = control_of("parts").parts().asked;
  Session session(layers().prepare(options));
  session.run({input()});
  EXPECT_EQ(control_of("parts").parts().asked, before);
}

TEST(Partition, AGraphReplaysPartsAndSaysSo) {
  Session session(layers().prepare(options_on("parts")), Stream("parts"));
  std::vector<Tensor> in = {input(1)};
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(in);
  graph.capture_end();
  EXPECT_NE(std::string(control_of("parts").annotations()).find("partition of 4 nodes to "), std::string::npos);
  for (unsigned seed : {1u, 8u}) {
    std::ranges::copy(partition_values(kPartitionRows * kPartitionWidth, seed), in[0].span<float>().begin());
    graph.replay();
    session.stream().synchronize();
    expect_equal_bits(values_of(outputs[0]), run_on("plain", layers(), {input(seed)}));
  }
}

TEST(Partition, AProfileNamesThePart) {
  Session session(layers().prepare(options_on("parts")));
  session.set_profiling(true);
  session.run({input()});
  const std::vector<NodeTime> times = session.profile();
  ASSERT_EQ(times.size(), 1u);
  EXPECT_EQ(times[0].op, "partition");
  EXPECT_EQ(times[0].members, 4u);
}

/// Random programs of products, sums, softmax and transposes, compared with the CPU.
TEST(Partition, WhateverTheProgramResultsAreTheSame) {
  std::mt19937 random(5);
  std::uint64_t parts = 0;
  for (int round = 0; round < 40; ++round) {
    TestProgram p;
    std::vector<ValueId> values = {p.input(DType::f32, {kPartitionWidth, kPartitionWidth}), weight(p, 2)};
    const auto any = [&] { return values[values.size() - 1 - random() % std::min<std::size_t>(values.size(), 4)]; };
    for (int i = 0; i < 12; ++i) {
      switch (random() % 6) {
        case 0:
        case 1: values.push_back(product(p, any(), any())); break;
        case 2: values.push_back(p.b().expr("a - b * 0.5", {{"a", any()}, {"b", any()}}, DType::f32)); break;
        case 3: values.push_back(p.b().add(Op::softmax, {any()}, {attr(AttrKey::axis, Dim(1))})); break;
        case 4: values.push_back(p.b().transpose(any(), 0, 1)); break;
        default: values.push_back(p.b().expr("max(a, -1)", {{"a", any()}}, DType::f32)); break;
      }
      if (random() % 5 == 0) p.output(values.back());
    }
    p.output(values.back());
    const std::vector<Tensor> in = {
        floats({kPartitionWidth, kPartitionWidth}, partition_values(kPartitionWidth * kPartitionWidth, 20))};
    SessionStats stats;
    const std::vector<float> results = run_on("parts", p.model(), in, &stats);
    parts += stats.partitions;
    const std::vector<float> expected = run_on("cpu", p.model(), in);
    ASSERT_EQ(results.size(), expected.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      EXPECT_NEAR(results[i], expected[i], 1e-4 * (1 + std::abs(expected[i]))) << "round " << round;
  }
  EXPECT_GT(parts, 40u);
}

}  // namespace
}  // namespace tern
