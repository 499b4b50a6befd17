// Groups on the host, in threads and over TCP: results, and errors when ranks disagree or fail.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tern/collective.h>
#include <tern/graph.h>
#include <tern/trace.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <thread>

#include "runtime/collective/control.h"
#include "runtime/collective/control_wire.h"
#include "runtime/collective/socket.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

constexpr milliseconds kCollectiveSoon{20000};

/// Error message of each rank's thread, or "".
std::vector<std::string> run_all(std::size_t ranks, const std::function<void(int)>& work) {
  std::vector<std::string> messages(ranks);
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      try {
        work(static_cast<int>(r));
      } catch (const Error& e) {
        messages[r] = e.what();
        EXPECT_FALSE(messages[r].empty());
      }
    });
  }
  threads.clear();
  return messages;
}

class GroupTest : public ::testing::Test {
 protected:
  static Groups make(int size, milliseconds timeout = kCollectiveSoon) { return local_group(size, timeout); }
};

std::vector<float> input_of(int rank, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(100 * rank + static_cast<int>(i) + 1);
  return x;
}

Collective call_on(CollectiveKind kind, const std::vector<float>& in, std::vector<float>& out) {
  return {.kind = kind,
          .dtype = DType::f32,
          .count = static_cast<std::int64_t>(in.size()),
          .in = in.data(),
          .out = out.data()};
}

TEST_F(GroupTest, EachKindGivesWhatItSays) {
  for (const int size : {1, 2, 3, 5}) {
    const Groups groups = make(size);
    const auto ranks = static_cast<std::size_t>(size);
    for (const std::size_t per : {0u, 1u, 7u}) {  // 7: shares of an all_reduce differ in size
      const std::size_t count = per * ranks;
      std::vector<float> sum(count);
      for (int r = 0; r < size; ++r) {
        const auto x = input_of(r, count);
        for (std::size_t i = 0; i < count; ++i) sum[i] += x[i];
      }
      const auto failures = run_all(ranks, [&](int r) {
        ProcessGroup& group = *groups[static_cast<std::size_t>(r)];
        EXPECT_EQ(group.rank(), r);
        EXPECT_EQ(group.size(), size);
        const auto in = input_of(r, count);
        std::vector<float> out(count), part(per), all(count * ranks);
        group.run(call_on(CollectiveKind::all_reduce, in, out));
        EXPECT_EQ(out, sum);
        out = in;  // in place
        group.run(call_on(CollectiveKind::all_reduce, out, out));
        EXPECT_EQ(out, sum);
        group.run(call_on(CollectiveKind::reduce_scatter, in, part));
        for (std::size_t i = 0; i < per; ++i) EXPECT_EQ(part[i], sum[per * static_cast<std::size_t>(r) + i]);
        group.run(call_on(CollectiveKind::all_gather, in, all));
        for (int q = 0; q < size; ++q) {
          const auto x = input_of(q, count);
          EXPECT_TRUE(std::equal(x.begin(), x.end(), all.begin() + static_cast<std::ptrdiff_t>(count) * q));
        }
        for (int root = 0; root < size; ++root) {
          out = in;
          Collective c = call_on(CollectiveKind::broadcast, out, out);
          c.root = root;
          group.run(c);
          EXPECT_EQ(out, input_of(root, count));
        }
      });
      for (const std::string& m : failures) EXPECT_EQ(m, "");
    }
  }
}

TEST_F(GroupTest, ALaterMessageOfABatchThatDiffersIsFoundAtOnce) {
  const Groups groups = make(2);  // a blocking wait would last kSoon
  const auto begin = std::chrono::steady_clock::now();
  const auto failures = run_all(2, [&](int r) {
    float a = 1, b[2] = {2, 3};
    const std::int64_t count = r == 0 ? 2 : 1;  // count of the second message
    const auto kind = r == 0 ? CollectiveKind::send : CollectiveKind::receive;
    const auto message = [&](float* data, std::int64_t n) {
      return Collective{.kind = kind, .dtype = DType::f32, .count = n, .root = 1 - r, .in = data, .out = data};
    };
    const Collective calls[] = {message(&a, 1), message(b, count)};
    groups[static_cast<std::size_t>(r)]->run_batch(calls);
  });
  for (const std::string& m : failures)
    EXPECT_NE(m.find("send of 2 float32 to rank 1, message 1; rank 1 receive of 1 float32 from rank 0"),
              std::string::npos)
        << m;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kCollectiveSoon / 2);
}

TEST_F(GroupTest, LargeTensorsAreAddedInTheOrderOfRanks) {
  constexpr std::size_t kCount = 2400001;  // shares with more pieces than are in flight, and with a remainder
  const Groups groups = make(3);
  std::vector<std::vector<float>> in(3), out(3);
  for (std::size_t r = 0; r < 3; ++r) {
    in[r].resize(kCount);
    out[r].resize(kCount);
    for (std::size_t i = 0; i < kCount; ++i)
      in[r][i] = std::sin(static_cast<float>(i * (r + 1))) * static_cast<float>(r == 1 ? 1e6 : 1);
  }
  run_all(3, [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    groups[r]->run(call_on(CollectiveKind::all_reduce, in[r], out[r]));
  });
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(out[0][i], (in[0][i] + in[1][i]) + in[2][i]) << i;
  EXPECT_EQ(out[1], out[0]);
  EXPECT_EQ(out[2], out[0]);
}

TEST_F(GroupTest, CallsThatDifferAreAnErrorThatNamesBoth) {
  struct Difference {
    std::function<void(Collective&)> change;
    const char *first, *second;
  };
  const Difference differences[] = {
      {[](Collective& c) { c.count = 3; }, "all_reduce (sum) of 4 float32", "all_reduce (sum) of 3 float32"},
      {[](Collective& c) { c.dtype = DType::i32; }, "of 4 float32", "of 4 int32"},
      {[](Collective& c) { c.reduce = ReduceOp::max; }, "all_reduce (sum)", "all_reduce (max)"},
      {[](Collective& c) { c.kind = CollectiveKind::broadcast; }, "all_reduce (sum)",
       "broadcast of 4 float32 from rank 0"},
  };
  for (const Difference& d : differences) {
    const Groups groups = make(3);
    const auto messages = run_all(3, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(4);
      Collective c = call_on(CollectiveKind::all_reduce, in, out);
      if (r == 2) d.change(c);
      groups[static_cast<std::size_t>(r)]->run(c);
    });
    for (const std::string& m : messages) {
      EXPECT_NE(m.find(d.first), std::string::npos) << m;
      EXPECT_NE(m.find(std::string("rank 2 ")), std::string::npos) << m;
      EXPECT_NE(m.find(d.second), std::string::npos) << m;
    }
  }
}

TEST_F(GroupTest, ARankThatGoesAwayIsNotWaitedFor) {
  Groups groups = make(3);
  const auto messages = run_all(3, [&](int r) {
    const std::vector<float> in(4);
    std::vector<float> out(4);
    if (r == 1) return groups[1].reset();
    groups[static_cast<std::size_t>(r)]->run(call_on(CollectiveKind::all_reduce, in, out));
  });
  EXPECT_NE(messages[0].find("rank 1"), std::string::npos) << messages[0];
  EXPECT_NE(messages[2].find("rank 1"), std::string::npos) << messages[2];
}

TEST_F(GroupTest, ARankThatFailsSaysWhyToAllAndForEver) {
  for (const int failing : {0, 1}) {
    const Groups groups = make(3);
    const auto messages = run_all(3, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(12);
      if (r == failing) return groups[static_cast<std::size_t>(r)]->abort("the disk is full");
      for (int again = 0; again < 2; ++again) {
        try {
          groups[static_cast<std::size_t>(r)]->run(call_on(CollectiveKind::all_gather, in, out));
          ADD_FAILURE() << "a rank is missing";
        } catch (const Error& e) {
          EXPECT_EQ(e.code(), ErrorCode::runtime);
          if (again == 1) throw;
        }
      }
    });
    const std::string told = "rank " + std::to_string(failing) + " has failed: the disk is full";
    for (int r = 0; r < 3; ++r) {
      if (r == failing) continue;
      const std::string& m = messages[static_cast<std::size_t>(r)];
      EXPECT_NE(m.find(told), std::string::npos) << m;
    }
  }
}

TEST_F(GroupTest, WaitingHasAnEnd) {
  const Groups groups = make(2, milliseconds(200));
  const std::vector<float> in(4);
  std::vector<float> out(4);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(groups[0]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);
  EXPECT_THROW(groups[1]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);  // the group is over
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(GroupTest, CallsThatNoGroupCanMakeAreRefused) {
  struct Wrong {
    std::function<void(Collective&)> change;
    const char* message;
  };
  const Wrong wrong[] = {
      {[](Collective& c) { c.count = -1; }, "do not fit in memory"},
      {[](Collective& c) { c.count = std::numeric_limits<std::int64_t>::max(); }, "do not fit in memory"},
      {[](Collective& c) { c.dtype = DType::invalid; }, "this element type is not supported"},
      {[](Collective& c) { c.dtype = DType::f4_e2m1; }, "this element type is not supported"},
      {[](Collective& c) { c.reduce = ReduceOp::band; }, "not defined"},
      {[](Collective& c) { c.dtype = DType::i32, c.reduce = ReduceOp::avg; }, "not defined"},
      {[](Collective& c) { c.kind = CollectiveKind::reduce_scatter, c.count = 3; }, "parts would not be equal"},
      {[](Collective& c) { c.kind = CollectiveKind::broadcast, c.root = 2; }, "the root rank does not exist"},
      {[](Collective& c) { c.kind = static_cast<CollectiveKind>(99); }, "this collective does not exist"},
  };
  for (const Wrong& w : wrong) {
    const Groups groups = make(2);
    const auto messages = run_all(2, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(4);
      Collective c = call_on(CollectiveKind::all_reduce, in, out);
      w.change(c);
      groups[static_cast<std::size_t>(r)]->run(c);
    });
    for (const std::string& m : messages) EXPECT_NE(m.find(w.message), std::string::npos) << m;
  }
}

TestProgram sum_program(std::int64_t groups, const char* name = "0") {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  p.output(p.b().add(Op::collective, {x},
                     {attr(AttrKey::kind, Dim(0)), attr(AttrKey::groups, Dim(groups)), attr_text(AttrKey::text, "sum"),
                      attr_text(AttrKey::name, name), attr(AttrKey::k, Dim(0))}));
  return p;
}

std::string failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
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
      std::memset(c.out, 0, static_cast<std::size_t>(c.count) * 2 * sizeof(std::int64_t));
      return;
    }
    thread = std::this_thread::get_id();
    if (fails) fail(ErrorCode::runtime, "the cable is cut");
    std::this_thread::sleep_for(milliseconds(50));
    const auto* in = static_cast<const float*>(c.in);
    for (std::int64_t i = 0; i < c.count; ++i) static_cast<float*>(c.out)[i] = 10 * in[i];
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
      groups[1]->run({.kind = CollectiveKind::all_gather, .dtype = DType::i64, .count = 3, .in = offer, .out = offers});
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
  c.in_parts = given;
  c.out_parts = taken;
  EXPECT_NE(failure_of([&] { local_group(1)[0]->run(c); }).find("gets what it gives"), std::string::npos);
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
  const std::string path = ::testing::TempDir() + "/beside_" + std::to_string(getpid()) + ".json";
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
  const std::string path = ::testing::TempDir() + "/numbers_" + std::to_string(getpid()) + ".json";
  const Groups groups = local_group(2, kCollectiveSoon);
  const Prepared prepared = program_beside().model().prepare();
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
  const Prepared prepared = program_beside().model().prepare();
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

Collective message(CollectiveKind kind, int other, int tag, std::vector<float>& data) {
  Collective c = call_on(kind, data, data);
  c.root = other;
  c.tag = tag;
  return c;
}

TEST_F(GroupTest, MessagesOfDifferentSizesMeetByTheirTags) {
  constexpr auto kSend = CollectiveKind::send, kReceive = CollectiveKind::receive;
  const Groups groups = make(2);
  const auto messages = run_all(2, [&](int r) {
    std::vector<float> a(4, static_cast<float>(1 - r)), b(8, static_cast<float>(2 - 2 * r));
    ProcessGroup& group = *groups[static_cast<std::size_t>(r)];
    if (r == 0) {
      group.run_batch(std::vector<Collective>{message(kSend, 1, 1, a), message(kSend, 1, 2, b)});
      for (int i = 0; i < 1000; ++i) {
        group.run(message(kSend, 1, 0, a));
        group.run(message(kSend, 1, 0, b));
      }
    } else {
      group.run_batch(std::vector<Collective>{message(kReceive, 0, 2, b), message(kReceive, 0, 1, a)});
      EXPECT_EQ(a, std::vector<float>(4, 1));
      EXPECT_EQ(b, std::vector<float>(8, 2));
      for (int i = 0; i < 1000; ++i) {
        group.run(message(kReceive, 0, 0, a));
        group.run(message(kReceive, 0, 0, b));
      }
    }
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

TEST_F(GroupTest, AMessageOfAnotherSizeIsAnError) {
  const Groups groups = make(2);
  const auto messages = run_all(2, [&](int r) {
    std::vector<float> same(2), data(r == 0 ? 4 : 8);
    const auto kind = r == 0 ? CollectiveKind::send : CollectiveKind::receive;
    groups[static_cast<std::size_t>(r)]->run(message(kind, 1 - r, 1, same));
    groups[static_cast<std::size_t>(r)]->run(message(kind, 1 - r, 1, data));
  });
  for (const std::string& m : messages) EXPECT_NE(m.find("send of 4 float32"), std::string::npos) << m;
}

TEST_F(GroupTest, ARankThatLeavesEndsOnlyMessagesWithItself) {
  for (const int awaited : {0, 2}) {
    Groups groups = make(3);
    const auto messages = run_all(3, [&](int r) {
      std::vector<float> data(4, 5);
      if (r == 1) {
        groups[1]->run(message(CollectiveKind::receive, awaited, 0, data));
      } else {
        std::this_thread::sleep_for(milliseconds(50));  // rank 1 waits by now
        if (r == 2) return groups[2].reset();
        std::this_thread::sleep_for(milliseconds(50));
        if (awaited == 0) groups[0]->run(message(CollectiveKind::send, 1, 0, data));
      }
    });
    const std::string told = awaited == 0 ? "" : "rank 2 has left";
    EXPECT_EQ(messages[0], "");
    EXPECT_EQ(messages[1].empty(), told.empty()) << messages[1];
    EXPECT_NE(messages[1].find(told), std::string::npos) << messages[1];
  }
}

namespace fs = std::filesystem;

TEST_F(GroupTest, FlightRecordsAreWrittenByManyThreadsAndNotForAChild) {
  const fs::path folder = fs::temp_directory_path() / ("tern_flight_test_" + std::to_string(getpid()));
  const auto messages = run_all(8, [&](int) {
    for (int i = 0; i < 10; ++i) write_flight_record(folder.string(), 3);
  });
  EXPECT_EQ(messages, std::vector<std::string>(8));
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1);
  fs::remove_all(folder);
  set_flight_folder(folder.string());
  const pid_t child = fork();
  if (child == 0) {
    raise(SIGUSR2);
    _exit(0);
  }
  ASSERT_GT(child, 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  std::this_thread::sleep_for(milliseconds(100));
  EXPECT_FALSE(fs::exists(folder));
  raise(SIGUSR2);
  for (int i = 0; i < 100 && !fs::exists(folder); ++i) std::this_thread::sleep_for(milliseconds(50));
  EXPECT_TRUE(fs::exists(folder));
  set_flight_folder("");
  std::this_thread::sleep_for(milliseconds(50));
  fs::remove_all(folder);
}

GroupOptions options_of(int rank) {
  GroupOptions o;
  o.rank = rank;
  o.size = 2;
  o.address = "127.0.0.1:" + std::to_string(20000 + getpid() % 10000);
  o.timeout = kCollectiveSoon;
  return o;
}

TEST(Controls, AStrangerThatSaysNothingHoldsNobody) {
  std::jthread first([] { Control::connect(options_of(0)); });
  const Socket stranger = Socket::connect(options_of(0).address, std::chrono::steady_clock::now() + kCollectiveSoon);
  const auto begin = std::chrono::steady_clock::now();
  const std::unique_ptr<Control> second = Control::connect(options_of(1));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3000));
  const std::vector<std::byte> large(1 << 17);
  EXPECT_NE(failure_of([&] { second->put("key", large); }).find("131072 bytes"), std::string::npos);
}

TEST(Controls, NoRankWaitsForOthersThatAreKnownNotToCome) {
  const auto begin = std::chrono::steady_clock::now();
  const auto lost = [&] {
    return std::chrono::steady_clock::now() - begin < milliseconds(200) ? "" : "a rank has ended";
  };
  for (const int rank : {0, 1}) {
    const std::string why = failure_of([&] { Control::connect(options_of(rank), {}, lost); });
    EXPECT_NE(why.find("a rank has ended"), std::string::npos) << why;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kCollectiveSoon / 2);
}

/// Error messages of four ranks started after the given delays (ms); rank 2 has another size.
std::vector<std::string> reasons_of_another_size(const std::array<int, 4>& delays) {
  std::vector<std::string> reasons(4);
  std::vector<std::jthread> ranks;
  for (int r = 0; r < 4; ++r)
    ranks.emplace_back([&, r] {
      std::this_thread::sleep_for(milliseconds(delays[static_cast<std::size_t>(r)]));
      GroupOptions o = options_of(r);
      o.size = r == 2 ? 5 : 4;
      reasons[static_cast<std::size_t>(r)] = failure_of([&] { Control::connect(o); });
    });
  ranks.clear();
  return reasons;
}

TEST(Controls, AllRanksHearOfAnotherSizeWheneverTheyCome) {
  const std::array<int, 4> orders[] = {
      {0, 0, 0, 0}, {0, 0, 0, 300}, {300, 0, 0, 0}, {0, 200, 100, 0}, {100, 200, 0, 300}};
  for (const std::array<int, 4>& delays : orders) {
    const auto begin = std::chrono::steady_clock::now();
    for (const std::string& why : reasons_of_another_size(delays))
      EXPECT_NE(why.find("rank 2 of 5 does not fit a group of 4"), std::string::npos) << why;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1500));
  }
}

TEST(Controls, ARankThatEndsBeforeAllHaveComeIsNamed) {
  std::string why;
  std::jthread first([&] {
    GroupOptions o = options_of(0);
    o.size = 3;
    why = failure_of([&] { Control::connect(o); });
  });
  const auto begin = std::chrono::steady_clock::now();
  {
    const Socket second = Socket::connect(options_of(0).address, begin + kCollectiveSoon);
    control::send(second, control::What::hello, 1, std::as_bytes(std::span("3", 1)), begin + kCollectiveSoon);
  }
  first.join();
  EXPECT_NE(why.find("rank 1 has ended"), std::string::npos) << why;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3500));
}

TEST_F(GroupTest, PartsOfDifferentSizesAreChecked) {
  const Groups groups = make(2);
  const auto messages = run_all(2, [&](int r) {
    const std::vector<float> in(4);
    std::vector<float> out(4);
    const std::int64_t given[] = {1, 3}, taken[] = {1, 3};  // rank 0 sends 3 but rank 1 expects 1, and the reverse
    Collective c = call_on(CollectiveKind::all_to_all, in, out);
    c.in_parts = given;
    c.out_parts = taken;
    groups[static_cast<std::size_t>(r)]->run(c);
  });
  for (const std::string& m : messages)
    EXPECT_TRUE(m.find("rank 0 sends 3 elements to rank 1, which expects 1") != std::string::npos ||
                m.find("rank 1 sends 1 elements to rank 0, which expects 3") != std::string::npos)
        << m;
}

struct Environment {
  using Variables = std::vector<std::pair<const char*, const char*>>;
  explicit Environment(const Variables& set) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NODELIST",
          "SLURM_JOB_ID", "SLURM_STEP_ID", "TERN_GROUP_ADDRESS", "TORCHELASTIC_RUN_ID"})
      unsetenv(name);
    for (const auto& [name, value] : set) setenv(name, value, 1);
  }
};

TEST(Launchers, SetRankSizeAndAddress) {
  {
    const Environment e({{"RANK", "2"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "1"},
                         {"MASTER_ADDR", "10.0.0.1"},
                         {"MASTER_PORT", "29500"}});
    const GroupOptions o = launched_group_options();
    EXPECT_EQ(o.rank, 2);
    EXPECT_EQ(o.size, 4);
    EXPECT_EQ(o.local_rank, 1);
    EXPECT_EQ(o.address, "10.0.0.1:29501");
  }
  {
    const Environment e({{"SLURM_PROCID", "1"},
                         {"SLURM_NTASKS", "2"},
                         {"SLURM_STEP_NODELIST", "n[07-08,11]-ib,login"},
                         {"SLURM_JOB_ID", "5"},
                         {"SLURM_STEP_ID", "0"}});
    EXPECT_EQ(launched_group_options().address.substr(0, 7), "n07-ib:");
  }
  const Environment e(
      {{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(launched_group_options().address.substr(0, 10), "127.0.0.1:");
  EXPECT_EQ(launched_group_options().launcher, "mpirun");
}

TEST(Launchers, ContradictionsNameTheVariables) {
  const auto said = [] { return failure_of([] { launched_group_options(); }); };
  {
    const Environment e(Environment::Variables{});
    EXPECT_NE(said().find("RANK (torchrun"), std::string::npos);
  }
  {
    const Environment e({{"RANK", "0"}, {"LOCAL_RANK", "0"}});
    EXPECT_NE(said().find("RANK is set, and WORLD_SIZE is not"), std::string::npos);
  }
  {
    const Environment e({{"RANK", "4"}, {"WORLD_SIZE", "4"}});
    EXPECT_NE(said().find("RANK=4 does not fit WORLD_SIZE=4"), std::string::npos);
  }
  {
    const Environment e({{"RANK", "x"}, {"WORLD_SIZE", "4"}});
    EXPECT_NE(said().find("RANK='x'"), std::string::npos);
  }
  const Environment e(
      {{"RANK", "0"}, {"WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_NE(said().find("RANK=0 and WORLD_SIZE=4 contradict OMPI_COMM_WORLD_RANK=1"), std::string::npos);
}

TEST(Engines, OneThatIsMissingNamesItsPackage) {
  GroupOptions o;
  o.size = 2;
  o.address = "127.0.0.1:1";
  EXPECT_NE(failure_of([&] { connect_group("carrier pigeon", o); }).find("there is no engine 'carrier pigeon'"),
            std::string::npos);
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
