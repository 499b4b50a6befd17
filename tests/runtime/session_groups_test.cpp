// Sessions with groups: programs with collectives, their overlap with computation, traces, messages.
#include <gtest/gtest.h>
#include <tern/collective.h>
#include <tern/graph.h>
#include <tern/trace.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "platform/machine.h"
#include "tests/runtime/group_support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;

TestProgram sum_program(std::int64_t groups, const char* name = "0") {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  p.output(p.b().add(Op::collective, {x},
                     {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(groups)), attr_text(AttrKey::text, "sum"),
                      attr_text(AttrKey::name, name), attr(AttrKey::k, Dim(0))}));
  return p;
}

TEST(SessionGroups, WithoutAGroupASessionIsOneOfOneOrSaysWhatItNeeds) {
  const Tensor x = floats({2}, {3, 4});
  Session alone(sum_program(0).model().prepare());
  EXPECT_EQ(values_of(alone.run({x})[0]), (std::vector<float>{3, 4}));
  Session two(sum_program(2).model().prepare());
  EXPECT_NE(failure_of([&] { two.run({x}); }).find("Session::set_group"), std::string::npos);
  two.set_group(local_group(3)[1]);
  EXPECT_NE(failure_of([&] { two.run({x}); }).find("exported for 2 ranks of the group '0', but the session's has 3"),
            std::string::npos);
}

TEST(SessionGroups, GroupsAreFoundByTheirNames) {
  const Tensor x = floats({2}, {3, 4});
  Session s(sum_program(2, "tp").model().prepare());
  EXPECT_NE(failure_of([&] { s.set_group(local_group(1)[0], "dp"); }).find("no group 'dp'; it has: 'tp'"),
            std::string::npos);
  const Groups right = local_group(2), wrong = local_group(3);
  s.set_group(wrong[0]);        // serves all groups without their own
  s.set_group(right[0], "tp");  // replaces the default for "tp"
  std::jthread other([&] {
    Session o(sum_program(2, "tp").model().prepare());
    o.set_group(right[1]);
    EXPECT_EQ(values_of(o.run({x})[0]), (std::vector<float>{6, 8}));
  });
  EXPECT_EQ(values_of(s.run({x})[0]), (std::vector<float>{6, 8}));
  other.join();
  s.set_group(nullptr, "tp");
  EXPECT_NE(failure_of([&] { s.run({x}); }).find("has 3"), std::string::npos);
}

/// (x): the sum of all x, computed while x is doubled; both added.
TestProgram program_beside(const char* reduce = "sum") {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {2});
  const ValueId sum =
      b.add(Op::collective, {x},
            {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(0)), attr_text(AttrKey::text, reduce),
             attr_text(AttrKey::name, "0"), attr(AttrKey::mode, Dim(1))});
  const ValueId twice = b.expr("x * 2", {{"x", x}}, DType::f32);
  p.output(b.expr("s + t", {{"s", b.add(Op::wait, {sum, x}, {})}, {"t", twice}}, DType::f32));
  return p;
}

/// Records times and thread of its calls; the call itself runs in a group of one rank.
class SlowGroup : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void run(const Collective& c) override {
    if (c.kind == CollectiveKind::all_gather) {  // the devices' offers
      std::memset(c.output, 0, static_cast<std::size_t>(c.count) * 2 * sizeof(std::int64_t));
      return;
    }
    thread = std::this_thread::get_id();
    if (fails) fail(ErrorCode::runtime, "the cable is cut");
    std::this_thread::sleep_for(milliseconds(50));
    const auto* in = static_cast<const float*>(c.input);
    for (std::int64_t i = 0; i < c.count; ++i) static_cast<float*>(c.output)[i] = 10 * in[i];
  }
  std::thread::id thread;
  bool fails = false;
};

TEST(SessionGroups, ACollectiveRunsBesideComputationUntilItsWait) {
  Session s(program_beside().model().prepare());
  const auto group = std::make_shared<SlowGroup>();
  s.set_group(group);
  const Tensor x = floats({2}, {3, 4});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(values_of(s.run({x})[0]), (std::vector<float>{36, 48}));
    EXPECT_NE(group->thread, std::this_thread::get_id());
  }
  Graph graph;
  graph.capture_begin(s.stream());
  const std::vector<Tensor>& outputs = s.run({x});
  graph.capture_end();
  graph.replay();
  s.stream().synchronize();
  EXPECT_EQ(values_of(outputs[0]), (std::vector<float>{36, 48}));
}

std::vector<Attr> all_reduce_attrs(const char* name, std::int64_t mode, std::int64_t groups = 0) {
  return {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(groups)), attr_text(AttrKey::text, "sum"),
          attr_text(AttrKey::name, name), attr(AttrKey::mode, Dim(mode))};
}

// The transfer of the operand overlaps steps that reuse freed memory.
TEST(SessionGroups, TheCopyOfAnOperandThatIsNotContiguousStaysUntilTheWait) {
  constexpr std::int64_t kSide = 32;
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {kSide, kSide});
  const ValueId turned = b.add(Op::permute, {x}, {attr(AttrKey::axes, Dims{1, 0})});
  const ValueId sum = b.add(Op::collective, {turned}, all_reduce_attrs("0", 1));
  ValueId y = x;
  for (int i = 0; i < 3; ++i) y = b.add(Op::matmul, {y, x}, {});
  p.output(b.add(Op::wait, {sum, turned}, {}));
  p.output(y);
  Session s(p.model().prepare());
  s.set_group(std::make_shared<SlowGroup>());
  std::vector<float> values(kSide * kSide);
  std::iota(values.begin(), values.end(), 1.0F);
  const std::vector<float> results = values_of(s.run({floats({kSide, kSide}, values)})[0]);
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t k = 0; k < kSide; ++k) ASSERT_EQ(results[i * kSide + k], 10 * values[k * kSide + i]) << i << k;
  }
}

// An error usually detected before a run begins.
TEST(SessionGroups, ARunThatFailsBetweenAStartAndItsWaitEndsTheCallOnAllRanks) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {2});
  const ValueId first = b.add(Op::collective, {x}, all_reduce_attrs("dp", 1));
  const ValueId second = b.add(Op::collective, {b.expr("x * 2", {{"x", x}}, DType::f32)}, all_reduce_attrs("tp", 0, 2));
  p.output(b.expr("s + t", {{"s", b.add(Op::wait, {first, x}, {})}, {"t", second}}, DType::f32));
  const Groups groups = local_group(2, kCollectiveSoon);
  {
    const std::jthread other([&] {  // hears of rank 0's device, and is late then
      std::int64_t offer[3] = {}, offers[6];
      groups[1]->run(
          {.kind = CollectiveKind::all_gather, .dtype = DType::i64, .count = 3, .input = offer, .output = offers});
    });
    Session s(p.model().prepare());
    s.set_group(groups[0], "dp");
    EXPECT_NE(failure_of([&] { s.run({floats({2}, {3, 4})}); }).find("Session::set_group"), std::string::npos);
  }
  const std::vector<float> in(2);
  std::vector<float> out(2);
  const std::string told = failure_of([&] { groups[1]->run(call_on(CollectiveKind::all_reduce, in, out)); });
  EXPECT_NE(told.find("rank 0 has failed"), std::string::npos) << told;
}

TEST(SessionGroups, AGroupOfTwoNamesIsUsedByOneThreadAtATime) {
  /// Counts agreements and concurrent calls.
  class Watched : public SlowGroup {
   public:
    void run(const Collective& c) override {
      EXPECT_EQ(++running, 1);
      agreements += c.kind == CollectiveKind::all_gather;
      SlowGroup::run(c);
      --running;
    }
    std::atomic<int> running{0}, agreements{0};
  };
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {2});
  const ValueId first = b.add(Op::collective, {x}, all_reduce_attrs("0", 1));
  const ValueId second = b.add(Op::collective, {b.expr("x * 2", {{"x", x}}, DType::f32)}, all_reduce_attrs("1", 0));
  p.output(b.expr("s + t", {{"s", b.add(Op::wait, {first, x}, {})}, {"t", second}}, DType::f32));
  Session s(p.model().prepare());
  const auto group = std::make_shared<Watched>();
  s.set_group(group, "0");
  s.set_group(group, "1");
  EXPECT_EQ(values_of(s.run({floats({2}, {3, 4})})[0]), (std::vector<float>{90, 120}));
  EXPECT_EQ(group->agreements, 1);
}

TEST(SessionGroups, PartsForOneRankAreWhatItGives) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4});
  const auto exchange = [&](std::int64_t groups, const Dims& sizes, const Dims& counts) {
    return failure_of([&] {
      p.b().add(Op::collective, {x},
                {attr(AttrKey::kind, Dim(4)), attr(AttrKey::groups, Dim(groups)), attr_text(AttrKey::name, "0"),
                 attr(AttrKey::sizes, sizes), attr(AttrKey::counts, counts)});
    });
  };
  EXPECT_EQ(exchange(1, {4}, {4}), "");
  EXPECT_EQ(exchange(2, {3, 1}, {1, 1}), "");
  EXPECT_NE(exchange(0, {4}, {1000000}), "");
  EXPECT_NE(exchange(1, {4}, {1000000}), "");
  EXPECT_NE(exchange(3, {3, 1}, {1, 1}), "");
  const std::vector<float> in(4);
  std::vector<float> out(4);
  const std::int64_t given[] = {4}, taken[] = {5};
  Collective c = call_on(CollectiveKind::all_to_all, in, out);
  c.input_splits = given;
  c.output_splits = taken;
  EXPECT_NE(failure_of([&] { local_group(1)[0]->run(c); }).find("must receive as much as it sends"), std::string::npos);
}

/// The trace events of the given name, ordered by time.
std::vector<nlohmann::json> events_of(const std::string& path, const char* name) {
  std::ifstream file(path);
  const nlohmann::json trace = nlohmann::json::parse(file);
  std::vector<nlohmann::json> found;
  for (const nlohmann::json& e : trace["traceEvents"]) {
    if (e.value("name", "") == name && e.value("ph", "") == "X") found.push_back(e);
  }
  std::ranges::sort(found, {}, [](const nlohmann::json& e) { return e["ts"].get<double>(); });
  return found;
}

TEST(SessionGroups, ATraceHasCollectivesWhereTheyRunAndTheirWaits) {
  Session s(program_beside().model().prepare());
  s.set_group(std::make_shared<SlowGroup>());
  const std::string path = ::testing::TempDir() + "/beside_" + std::to_string(platform::process_number()) + ".json";
  Trace trace(path);
  for (int i = 0; i < 2; ++i) s.run({floats({2}, {3, 4})});
  trace.stop();
  const auto calls = events_of(path, "record_param_comms"), waits = events_of(path, "wait_tensor"),
             steps = events_of(path, "tern::wait");
  std::filesystem::remove(path);
  ASSERT_EQ(calls.size(), 2u);
  ASSERT_EQ(waits.size(), 2u);
  ASSERT_EQ(steps.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    const nlohmann::json& args = calls[i]["args"];
    EXPECT_EQ(args["Seq"], i + 1);
    EXPECT_EQ(args["Process Group Name"], "0");
    EXPECT_EQ(args["Collective name"], "allreduce");
    EXPECT_EQ(args["In msg nelems"], 2);
    EXPECT_EQ(args["Out msg nelems"], 2);
    EXPECT_EQ(args["Group size"], 2);
    EXPECT_EQ(args["Rank"], 0);
    EXPECT_GE(calls[i]["dur"].get<double>(), 50'000);  // SlowGroup's, in microseconds
    EXPECT_NE(calls[i]["tid"], steps[i]["tid"]);
    EXPECT_EQ(waits[i]["tid"], steps[i]["tid"]);
    EXPECT_EQ(waits[i]["args"]["Seq"], i + 1);
    const auto end = [](const nlohmann::json& e) { return e["ts"].get<double>() + e["dur"].get<double>(); };
    EXPECT_GE(end(waits[i]), end(calls[i]) - 1);
  }
}

TEST(SessionGroups, TracedNumbersAreTheFlightRecorders) {
  const std::string path = ::testing::TempDir() + "/numbers_" + std::to_string(platform::process_number()) + ".json";
  const Groups groups = local_group(2, kCollectiveSoon);
  const PreparedModel prepared = program_beside().model().prepare();
  Trace trace(path);
  const auto messages = run_all(2, [&](int r) {
    const auto& group = groups[static_cast<std::size_t>(r)];
    group->run({.kind = CollectiveKind::barrier});  // the first call; sessions exchange their devices in the second
    Session s(prepared);
    s.set_group(group);
    for (int turn = 0; turn < 3; ++turn) s.run({floats({2}, {1, 2})});
  });
  trace.stop();
  EXPECT_EQ(messages, std::vector<std::string>(2));
  std::map<int, std::vector<int>> numbers;
  for (const nlohmann::json& e : events_of(path, "record_param_comms"))
    numbers[e["args"]["Rank"].get<int>()].push_back(e["args"]["Seq"].get<int>());
  std::filesystem::remove(path);
  const std::vector<int> expected = {3, 4, 5};
  EXPECT_EQ(numbers, (std::map<int, std::vector<int>>{{0, expected}, {1, expected}}));
}

TEST(SessionGroups, AWaitFailsWithWhatItsCollectiveFailsWith) {
  Session s(program_beside().model().prepare());
  const auto group = std::make_shared<SlowGroup>();
  group->fails = true;
  s.set_group(group);
  const Tensor x = floats({2}, {3, 4});
  EXPECT_NE(failure_of([&] { s.run({x}); }).find("the cable is cut"), std::string::npos);
  s.set_group(std::make_shared<SlowGroup>());
  EXPECT_EQ(values_of(s.run({x})[0]), (std::vector<float>{36, 48}));
}

TEST(SessionGroups, ManySessionsCommunicateAtOnce) {
  constexpr std::size_t kGroups = 6;
  std::vector<Groups> groups;
  for (std::size_t g = 0; g < kGroups; ++g) groups.push_back(local_group(2, kCollectiveSoon));
  const PreparedModel prepared = program_beside().model().prepare();
  const auto messages = run_all(2 * kGroups, [&](int i) {
    const auto g = static_cast<std::size_t>(i) / 2, r = static_cast<std::size_t>(i) % 2;
    Session s(prepared);
    s.set_group(groups[g][r]);
    const float mine = static_cast<float>(i);
    for (int turn = 0; turn < 50; ++turn) {
      const float both = static_cast<float>(4 * g + 1);
      EXPECT_EQ(values_of(s.run({floats({2}, {mine, mine})})[0])[1], both + 2 * mine);
    }
  });
  EXPECT_EQ(messages, std::vector<std::string>(2 * kGroups));
}

TEST(SessionGroups, RanksExchangeMessages) {
  const Groups groups = local_group(2, kCollectiveSoon);
  const auto messages = run_all(2, [&](int r) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {2}), like = p.input(DType::f32, {2});
    const std::vector<ValueId> results =
        p.b().add_all(Op::exchange, {x, like},
                      {attr(AttrKey::counts, Dims{Dim(0), Dim(1)}), attr(AttrKey::sizes, Dims{Dim(1 - r), Dim(1 - r)}),
                       attr(AttrKey::mapped, Dims{Dim(0), Dim(0)}), attr_text(AttrKey::name, "0")});
    p.output(results[1]);
    Session s(p.model().prepare());
    s.set_group(groups[static_cast<std::size_t>(r)]);
    const float mine = static_cast<float>(r), theirs = static_cast<float>(1 - r);
    EXPECT_EQ(values_of(s.run({floats({2}, {mine, 5}), floats({2}, {0, 0})})[0]), (std::vector<float>{theirs, 5}));
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

TEST(SessionGroups, AReductionThatIsNotDefinedIsNoProgram) {
  for (const char* op : {"band", "premul_sum", ""}) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, {2});
    EXPECT_THROW(p.b().add(Op::collective, {x},
                           {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(0)), attr_text(AttrKey::text, op),
                            attr_text(AttrKey::name, "0")}),
                 Error)
        << op;
  }
}

}  // namespace
}  // namespace tern
