// A session with calls of every function of a device.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern::testing {

/// (predicate, x, index): a constant's rows, a counting state, a body, a norm, a failure reported by a kernel.
inline TestProgram program_of_everything() {
  TestProgram p;
  Builder& b = p.b();
  const ValueId predicate = p.input(DType::boolean, {}), x = p.input(DType::f32, {kVector}),
                index = p.input(DType::i64, {1});
  const ValueId table = p.state({3, kVector}, std::vector<float>(3 * kVector, 4), false);
  const ValueId count = p.state({kVector}, std::vector<float>(kVector, 10), true);
  const std::uint32_t yes = add_map(p, "x * 2 + 1", kVector), no = add_map(p, "x - 3", kVector);
  const ValueId chosen = add_control(p, 0, Op::cond, {predicate, x}, {yes, no})[0];
  const ValueId row = b.index_select(table, index, 0);
  const ValueId norm =
      b.add(Op::rms_norm, {row, kNoValue}, {attr(AttrKey::k, Dim(1)), attr_number(AttrKey::epsilon, 0)});
  const ValueId next = b.expr("c + x", {{"c", count}, {"x", chosen}}, DType::f32);
  p.write_back(1, next);
  p.output(b.expr("n + c", {{"n", norm}, {"c", next}}, DType::f32));
  return p;
}

/// True if streams can own a share of the device.
inline bool has_parts(const std::string& device) {
  return open_plugin_device(device).tables().shares != nullptr;
}

/// A session with all features of a device: streams, events, a graph with control flow, a profile.
struct Setting {
  std::optional<Stream> stream, second_stream;
  std::optional<Session> session;
  std::optional<Event> event;
  std::optional<Graph> graph;
  std::vector<Tensor> inputs;

  Setting() {
    inputs = {Tensor(DType::boolean, {}), floats({kVector}, {1, 2, 3, 4, 5}), Tensor(DType::i64, {1})};
    inputs[0].span<bool>()[0] = true;
    inputs[2].span<std::int64_t>()[0] = 2;
  }
  void create(const std::string& device) {
    if (!stream) stream.emplace(device);
    if (!second_stream) second_stream = has_parts(device) ? Stream(device, StreamShare{1, 0}) : Stream(device);
    if (!session) session.emplace(program_of_everything().model().prepare(options_on(device)), *stream);
    event.emplace();
    graph.emplace();
  }
  /// Three steps, the second by a graph, the third measured.
  void run(const std::string& device) {
    create(device);
    session->set_profiling(false);
    session->reset_state();
    // The norm of equal elements is 1; the state was 10; the body computes 3, 5, 7, 9, 11.
    EXPECT_EQ(values_of(session->run(inputs)[0]), (std::vector<float>{14, 16, 18, 20, 22}));
    event->record(*stream);
    second_stream->wait(*event);
    second_stream->synchronize();
    event->synchronize();
    graph->capture_begin(*stream);
    const std::vector<Tensor>& outputs = session->run(inputs);
    graph->capture_end();
    graph->replay();
    stream->synchronize();
    EXPECT_EQ(values_of(outputs[0]), (std::vector<float>{17, 21, 25, 29, 33}));
    session->set_profiling(true);
    EXPECT_EQ(values_of(session->run(inputs)[0]), (std::vector<float>{20, 26, 32, 38, 44}));
  }
};

}  // namespace tern::testing
