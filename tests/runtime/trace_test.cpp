// Traces of runs: each node once, nested times, scopes, failures, limits.
#include <gtest/gtest.h>
#include <tern/c_api.h>
#include <tern/graph.h>
#include <tern/trace.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "platform/folder.h"
#include "platform/path.h"
#include "platform/thread.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using nlohmann::json;
using testing::floats;
using testing::TestProgram;

class TraceTest : public ::testing::Test {
 protected:
  TraceTest() {
    folder_ = platform::path_of(platform::make_temporary_folder("tern-trace-"));
    path_ = folder_ / "run.json";
  }
  ~TraceTest() override { std::filesystem::remove_all(folder_); }

  json read() const {
    std::ifstream file(path_);
    return json::parse(file);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::filesystem::path folder_;
  std::string path_;
};

/// x @ w, then an expression: two nodes with origins.
Model model_trace() {
  TestProgram p;
  Program& program = p.program();
  const ValueId x = p.input(DType::f32, {2, 3}), w = p.input(DType::f32, {3, 4});
  const ValueId product = p.b().add(Op::matmul, {x, w});
  p.output(p.b().add_all(Op::sort, {product}, {{AttrKey::axis, Dims{1}}})[0]);
  program.origins = {{"aten.mm.default", "net.fc", "net.py:7"}, {"aten.sort.default", "net.top", "net.py:9"}};
  std::vector<Node>& nodes = program.functions[0].nodes;
  nodes[0].origin = 0;
  nodes[1].origin = 1;
  nodes[1].annotations.push_back({"stage", std::int64_t{2}});
  return p.model();
}
std::vector<Tensor> inputs() {
  return {floats({2, 3}, std::vector<float>(6, 1)), floats({3, 4}, std::vector<float>(12, 2))};
}

std::vector<json> events(const json& trace, const std::string& category) {
  std::vector<json> found;
  for (const json& e : trace["traceEvents"]) {
    if (e.value("cat", "") == category) found.push_back(e);
  }
  return found;
}

double end_of(const json& e) {
  return e["ts"].get<double>() + e["dur"].get<double>();
}

TEST_F(TraceTest, EachNodeIsThereOnceARun) {
  Session session(model_trace().prepare());
  Trace trace(path_);
  EXPECT_TRUE(Trace::active());
  for (int i = 0; i < 3; ++i) session.run(inputs());
  const TraceStats stats = trace.stop();
  EXPECT_FALSE(Trace::active());
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_EQ(trace.stop().events, stats.events);
  const json written = read();
  EXPECT_EQ(written["traceEvents"].size(), stats.events);
  EXPECT_EQ(written["schemaVersion"], 1);
  const std::vector<json> ops = events(written, "cpu_op");
  ASSERT_EQ(ops.size(), 6u);
  const json& product = ops[0];
  EXPECT_EQ(product["name"], "tern::matmul");
  const json& args = product["args"];
  EXPECT_EQ(args["Function"], "forward");
  EXPECT_EQ(args["Node"], 0);
  EXPECT_EQ(args["Origin"], "aten.mm.default");
  EXPECT_EQ(args["Module Hierarchy"], "net.fc");
  EXPECT_EQ(args["Input Dims"], json({{2, 3}, {3, 4}}));
  EXPECT_EQ(args["Input type"], json({"float", "float"}));
  EXPECT_EQ(args["flops"], 2 * 2 * 3 * 4);
  EXPECT_EQ(args["bytes"], 4 * (6 + 12 + 8));
  // The time of a run contains the times of its nodes.
  double begin = 0, end = 0, sum = 0;
  for (const json& e : events(written, "user_annotation")) {
    if (e["name"] != "ProfilerStep#1") continue;
    begin = e["ts"];
    end = end_of(e);
  }
  for (const json& e : {ops[2], ops[3]}) {
    EXPECT_GE(e["ts"], begin);
    EXPECT_LE(end_of(e), end);
    sum += e["dur"].get<double>();
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, end - begin);
  EXPECT_LE(end_of(ops[2]), ops[3]["ts"].get<double>());
}

TEST_F(TraceTest, ModulesAreAStackOfTheirOwn) {
  Session session(model_trace().prepare());
  Trace trace(path_);
  session.run(inputs());
  trace.stop();
  std::map<std::string, json> frames;
  for (const json& e : events(read(), "python_function")) frames[e["name"]] = e;
  ASSERT_EQ(frames.size(), 5u);
  const json &net = frames["nn.Module: net"], &fc = frames["nn.Module: net.fc"],
             &line = frames["net.py(7): aten.mm.default"];
  EXPECT_EQ(fc["args"]["Python parent id"], net["args"]["Python id"]);
  EXPECT_EQ(line["args"]["Python parent id"], fc["args"]["Python id"]);
  EXPECT_LE(net["ts"], fc["ts"]);
  EXPECT_GE(end_of(net) + 1e-3, end_of(frames["nn.Module: net.top"]));
  EXPECT_NE(net["tid"], events(read(), "cpu_op")[0]["tid"]);
}

TEST_F(TraceTest, ScopesAndAnnotationsAreOnWhatIsBelow) {
  Session session(model_trace().prepare());
  Trace trace(path_);
  {
    const Trace::Scope outer("outer");
    const Trace::Scope inner("a \"quoted\"\nname");
    session.run(inputs());
  }
  session.run(inputs());
  trace.stop();
  const json written = read();
  const std::vector<json> ops = events(written, "cpu_op");
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[0]["args"]["User annotation"], "outer/a \"quoted\"\nname");
  EXPECT_EQ(ops[1]["args"]["User annotation"], "outer/a \"quoted\"\nname/stage=2");
  EXPECT_FALSE(ops[2]["args"].contains("User annotation"));
  EXPECT_EQ(ops[3]["args"]["User annotation"], "stage=2");
  std::map<std::string, int> scopes;
  for (const json& e : events(written, "user_annotation")) ++scopes[e["name"]];
  EXPECT_EQ(scopes["outer"], 1);
  EXPECT_EQ(scopes["stage=2"], 2);
}

TEST_F(TraceTest, ReplaysOfGraphsHaveTheirNodes) {
  Session session(model_trace().prepare(), Stream("cpu"));
  const std::vector<Tensor> in = inputs();
  Graph graph;
  graph.capture_begin(session.stream());
  session.run(in);
  graph.capture_end();
  Trace trace(path_);
  for (int i = 0; i < 2; ++i) graph.replay();
  trace.stop();
  const std::vector<json> ops = events(read(), "cpu_op");
  ASSERT_EQ(ops.size(), 4u);
  EXPECT_EQ(ops[3]["args"]["Op"], "sort");
}

TEST_F(TraceTest, AFailedRunLeavesUnfinishedEvents) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4, 2}), rows = p.input(DType::i64, {1});
  p.output(p.b().add(Op::index_select, {x, rows}, {{AttrKey::axis, Dims{0}}}));
  Session session(p.model().prepare());
  Tensor row(DType::i64, {1});
  row.span<std::int64_t>()[0] = 9;
  Trace trace(path_);
  EXPECT_THROW(session.run({floats({4, 2}, std::vector<float>(8)), row}), Error);
  trace.stop();
  const json written = read();
  ASSERT_EQ(events(written, "cpu_op").size(), 1u);
  EXPECT_EQ(events(written, "cpu_op")[0]["args"]["finished"], false);
  EXPECT_EQ(events(written, "user_annotation")[0]["args"]["finished"], false);
}

TEST_F(TraceTest, BeyondTheLimitEventsAreCounted) {
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;
  constexpr int kCounters = 100000;  // 72 bytes each
  Trace trace(path_, options);
  for (int i = 0; i < kCounters; ++i) Trace::counter("load", "now", i);
  const TraceStats stats = trace.stop();
  const json written = read();
  EXPECT_EQ(written["dropped_events"], stats.dropped);
  std::uint64_t counters = 0;
  for (const json& e : written["traceEvents"]) counters += e["ph"] == "C" ? 1 : 0;
  EXPECT_EQ(counters + stats.dropped, kCounters);
}

TEST_F(TraceTest, ThreadsRecordSideBySide) {
  const PreparedModel prepared = model_trace().prepare();
  Trace trace(path_);
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      Session session(prepared);
      for (int k = 0; k < 50; ++k) session.run(inputs());
    });
  }
  threads.clear();
  trace.stop();
  const std::vector<json> ops = events(read(), "cpu_op");
  EXPECT_EQ(ops.size(), 4u * 50 * 2);
  std::set<json> ids;
  for (const json& e : ops) ids.insert(e["args"]["External id"]);
  EXPECT_EQ(ids.size(), ops.size());
}

/// Threads recording while a trace stops find full blocks, or none.
TEST_F(TraceTest, StopsWhileThreadsRecord) {
  std::atomic<bool> ended = false;
  std::vector<std::jthread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!ended) Trace::counter("load", "now", 1);
    });
  }
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;
  for (int i = 0; i < 100; ++i) {
    Trace trace(path_, options);
    if (i % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const TraceStats stats = trace.stop();
    if (i % 20 != 0) continue;
    EXPECT_EQ(read()["traceEvents"].size(), stats.events);
  }
  ended = true;
}

TEST_F(TraceTest, NamesBeyondTheLimitAreCounted) {
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;
  Trace trace(path_, options);
  for (int i = 0; i < 9000; ++i) const Trace::Scope scope("step " + std::to_string(i) + " of a training loop");
  Trace::counter(std::string(100, 'l'), "longer than what is left", 1.5);
  const TraceStats stats = trace.stop();
  const json written = read();
  std::uint64_t unnamed = 0, counters = 0, scopes = 0;
  for (const json& e : written["traceEvents"]) {
    unnamed += e["name"] == "(more names than TraceOptions::memory holds)" ? 1 : 0;
    counters += e["ph"] == "C" ? 1 : 0;
    scopes += e.value("cat", "") == "user_annotation" ? 1 : 0;
  }
  EXPECT_GT(unnamed, 0u);
  EXPECT_EQ(stats.unnamed, unnamed);
  EXPECT_EQ(written["unnamed_events"], unnamed);
  EXPECT_EQ(counters, 0u);
  EXPECT_EQ(stats.dropped, 9001 - scopes);
}

/// A plan per size, a single cached plan, and a session per request: labels repeat.
TEST_F(TraceTest, PlansAndSessionsInTurnKeepTheirNames) {
  constexpr int kRequests = 3000;
  TestProgram p;
  const ValueId x = p.input(DType::f32, {p.b().pool().symbol("n", 1, 8), Dim(2)});
  p.output(p.b().add_all(Op::sort, {x}, {{AttrKey::axis, Dims{1}}})[0]);
  PrepareOptions prepare;
  prepare.cached_plans = 1;
  const PreparedModel prepared = p.model().prepare(prepare);
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;
  Trace trace(path_, options);
  const auto request = [&](Session& session, int i) {
    session.run({floats({1 + i % 3, 2}, std::vector<float>(static_cast<std::size_t>(2 + i % 3 * 2), 1))});
  };
  Session session(prepared);
  for (int i = 0; i < kRequests; ++i) {
    request(session, i);
    Session other(prepared);
    request(other, i);
  }
  const TraceStats stats = trace.stop();
  EXPECT_EQ(stats.unnamed, 0u);
  const std::vector<json> ops = events(read(), "cpu_op");
  EXPECT_GT(ops.size(), 2u * 3);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ASSERT_EQ(ops[i]["name"], "tern::sort");
    if (stats.dropped > 0) continue;
    ASSERT_EQ(ops[i]["args"]["Input Dims"], json::array({json::array({1 + i / 2 % 3, 2})})) << i;
  }
}

/// Blocks of ended threads pass to others.
TEST_F(TraceTest, ManyThreadsInTurnFitInLittleMemory) {
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;  // 14 blocks
  Trace trace(path_, options);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < 1500; ++i) {
    std::thread([&] {
      ids.push_back(platform::thread_number());
      Trace::counter("thread", "number", i);
    }).join();
  }
  EXPECT_EQ(trace.stop().dropped, 0u);
  std::vector<std::uint32_t> found(ids.size());
  const json written = read();
  for (const json& e : written["traceEvents"]) {
    if (e["ph"] == "C") found.at(e["args"]["number"].get<std::size_t>()) = e["tid"];
  }
  EXPECT_EQ(found, ids);
}

ErrorCode code_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode{};
}

TEST_F(TraceTest, WhatCannotBeWrittenIsAnError) {
  EXPECT_EQ(code_of([&] { Trace(folder_ / "none" / "run.json"); }), ErrorCode::io);
  EXPECT_FALSE(Trace::active());
  {
    Trace full("/dev/full");
    EXPECT_EQ(code_of([&] { full.stop(); }), ErrorCode::io);
  }
  TraceOptions options;
  options.rank = 2;
  options.world_size = 2;
  EXPECT_EQ(code_of([&] { Trace(path_, options); }), ErrorCode::invalid_argument);
  Trace one(path_);
  EXPECT_EQ(code_of([&] { Trace(folder_ / "two.json"); }), ErrorCode::invalid_argument);
  one.stop();
  EXPECT_EQ(files(), 1u);  // no temporary file
}

TEST_F(TraceTest, EventsInTheProcess) {
  Session session(model_trace().prepare());
  const std::vector<Tensor> inputs = {floats({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor(DType::f32, {3, 4})};
  session.run(inputs);
  Trace trace;
  EXPECT_THROW(trace.events(), Error) << "it still records";
  EXPECT_THROW(Trace(TraceOptions{}), Error) << "another one records";
  {
    const Trace::Scope outer("epoch \"1\""), inner("warm\n-up");
    session.run(inputs);
  }
  Trace::counter("queue", "length", 2.5);
  const TraceStats stats = trace.stop();
  EXPECT_FALSE(Trace::active());
  const std::vector<TraceRecord> events = trace.events();
  EXPECT_EQ(events.size(), stats.events);
  EXPECT_EQ(trace.stop().events, stats.events);
  const auto named = [&](std::string_view name) {
    const auto at = std::ranges::find(events, name, &TraceRecord::name);
    return at == events.end() ? TraceRecord{} : *at;
  };
  const TraceRecord product = named("tern::matmul"), run = named("ProfilerStep#0"), counter = named("queue");
  EXPECT_EQ(product.type, "cpu_op");
  EXPECT_EQ(product.origin, "aten.mm.default");
  EXPECT_EQ(product.module, "net.fc");
  EXPECT_EQ(product.call_stack, "net.py:7");
  EXPECT_EQ(product.function, "forward");
  EXPECT_EQ(product.annotation, "epoch \"1\"/warm\n-up");
  EXPECT_EQ(product.input_sizes, (std::vector<std::vector<std::int64_t>>{{2, 3}, {3, 4}}));
  EXPECT_EQ(product.output_sizes, (std::vector<std::vector<std::int64_t>>{{2, 4}}));
  EXPECT_EQ(json::parse(product.args)["Input type"][0], "float");
  EXPECT_EQ(product.device, -1);
  EXPECT_GT(product.id, 0U);
  EXPECT_FALSE(product.unfinished);
  EXPECT_LE(run.begin, product.begin);
  EXPECT_LE(product.begin, product.end);
  EXPECT_GE(run.end, product.end);
  EXPECT_EQ(run.type, "user_annotation");
  EXPECT_EQ(counter.type, "counter");
  EXPECT_EQ(counter.value, 2.5);
  EXPECT_EQ(json::parse(counter.args)["length"], 2.5);
  for (const TraceRecord& e : events) EXPECT_TRUE(json::accept(e.args.empty() ? "{}" : e.args)) << e.args;

  Trace file(path_);
  file.stop();
  EXPECT_THROW(file.events(), Error) << "its events are in the file";
}

TEST_F(TraceTest, EventsInTheProcessHaveALimit) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {3});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  Session session(p.model().prepare());
  TraceOptions options;
  options.memory = std::uint64_t{1} << 20;
  Trace trace(options);
  for (int i = 0; i < 20000; ++i) session.run({floats({3}, {1, 2, 3})});
  const TraceStats stats = trace.stop();
  EXPECT_GT(stats.dropped, 0U);
  EXPECT_EQ(trace.events().size(), stats.events);
  EXPECT_LE(stats.events * 72, options.memory);
  options.memory = 1;
  EXPECT_THROW(Trace{options}, Error);
}

TEST_F(TraceTest, EventsInTheProcessInC) {
  Session session(model_trace().prepare());
  tern_trace* trace = nullptr;
  ASSERT_EQ(tern_trace_start(nullptr, nullptr, &trace), TERN_OK);
  session.run({floats({2, 3}, {1, 2, 3, 4, 5, 6}), Tensor(DType::f32, {3, 4})});
  EXPECT_EQ(tern_trace_event_count(trace), 0U);
  std::uint64_t count = 0;
  ASSERT_EQ(tern_trace_stop(trace, &count, nullptr), TERN_OK);
  EXPECT_EQ(tern_trace_event_count(trace), count);
  bool found = false;
  for (std::size_t i = 0; i < count; ++i) {
    tern_trace_record record{};
    record.size = sizeof record;
    ASSERT_EQ(tern_trace_event(trace, i, &record), TERN_OK);
    if (record.name != std::string("tern::matmul")) continue;
    found = true;
    EXPECT_STREQ(record.type, "cpu_op");
    EXPECT_STREQ(record.call_stack, "net.py:7");
    EXPECT_EQ(json::parse(record.args)["Output Dims"], json::parse("[[2, 4]]"));
    EXPECT_LE(record.begin, record.end);
    EXPECT_EQ(record.sequence, -1);
  }
  EXPECT_TRUE(found);
  tern_trace_record record{};
  record.size = sizeof record;
  EXPECT_NE(tern_trace_event(trace, count, &record), TERN_OK);
  tern_trace_free(trace);
}

TEST_F(TraceTest, InC) {
  Session session(model_trace().prepare());
  tern_trace_options options = TERN_TRACE_OPTIONS_INIT;
  options.rank = 1;
  options.world_size = 2;
  options.backend = "gloo";
  tern_trace* trace = nullptr;
  ASSERT_EQ(tern_trace_start(path_.c_str(), &options, &trace), TERN_OK) << tern_last_error();
  tern_trace* second = nullptr;
  EXPECT_EQ(tern_trace_start(path_.c_str(), nullptr, &second), TERN_ERROR_INVALID_ARGUMENT);
  tern_trace_scope* scope = nullptr;
  ASSERT_EQ(tern_trace_scope_begin("in C", &scope), TERN_OK);
  session.run(inputs());
  tern_trace_scope_end(scope);
  EXPECT_EQ(tern_trace_counter("load", "now", 0.5), TERN_OK);
  std::uint64_t written = 0, dropped = 1;
  ASSERT_EQ(tern_trace_stop(trace, &written, &dropped), TERN_OK);
  tern_trace_free(trace);
  const json all = read();
  EXPECT_EQ(written, all["traceEvents"].size());
  EXPECT_EQ(dropped, 0u);
  EXPECT_EQ(all["distributedInfo"]["rank"], 1);
  EXPECT_EQ(all["distributedInfo"]["world_size"], 2);
  EXPECT_EQ(events(all, "cpu_op")[0]["args"]["User annotation"], "in C");
}

}  // namespace
}  // namespace tern
