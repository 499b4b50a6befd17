// Communicating sessions in threads, each on its own device: on the CPU, through the host, and directly between
// devices.
#include <gtest/gtest.h>
#include <tern/collective.h>

#include <atomic>
#include <functional>
#include <thread>

#include "dtypes/convert.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;

constexpr milliseconds kSoon{20000};

ValueId add_collective(Builder& b, ValueId x, CollectiveKind kind, std::int64_t groups, const char* reduce,
                       int root = 0) {
  return b.add(Op::collective, {x},
               {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind))), attr(AttrKey::groups, Dim(groups)),
                attr_text(AttrKey::text, reduce), attr_text(AttrKey::name, "0"), attr(AttrKey::k, Dim(root))});
}

/// (x): the sum over all ranks of 2 x, plus x; all rows; this rank's maximum; the last rank's x, through the host; a
/// state that counts sums.
TestProgram program_of_all(int ranks) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {4}), half = p.input(DType::f16, {4});
  const ValueId count = p.state({4}, {0, 0, 0, 0}, true);
  const ValueId sum = add_collective(b, b.expr("x * 2", {{"x", x}}, DType::f32), CollectiveKind::all_reduce, 0, "sum");
  p.output(b.expr("s + x", {{"s", sum}, {"x", x}}, DType::f32));
  p.output(add_collective(b, x, CollectiveKind::all_gather, ranks, ""));
  p.output(add_collective(b, x, CollectiveKind::reduce_scatter, ranks, "max"));
  p.output(add_collective(b, x, CollectiveKind::broadcast, 0, "", ranks - 1));
  p.output(b.cast(add_collective(b, half, CollectiveKind::all_reduce, 0, "avg"), DType::f32));
  const ValueId next = b.expr("c + s", {{"c", count}, {"s", sum}}, DType::f32);
  p.write_back(0, next);
  p.output(next);
  return p;
}

constexpr float kInputs[] = {1, -2, 3, 4};

std::vector<float> input_of(int rank) {
  std::vector<float> x;
  for (const float v : kInputs) x.push_back(v * static_cast<float>(rank + 1));
  return x;
}

/// Results of rank `r` of `ranks` in run `run`, from 1 on.
std::vector<std::vector<float>> expected(int r, int ranks, int run) {
  const float total = static_cast<float>(ranks * (ranks + 1) / 2);
  std::vector<std::vector<float>> out(6);
  for (std::size_t i = 0; i < 4; ++i) {
    const float v = kInputs[i];
    out[0].push_back(2 * v * total + v * static_cast<float>(r + 1));
    out[3].push_back(v * static_cast<float>(ranks));
    out[4].push_back(v * total / static_cast<float>(ranks));
    out[5].push_back(2 * v * total * static_cast<float>(run));
  }
  for (int q = 0; q < ranks; ++q) {
    const auto x = input_of(q);
    out[1].insert(out[1].end(), x.begin(), x.end());
  }
  const int part = 4 / ranks;
  for (int i = r * part; i < (r + 1) * part; ++i)
    out[2].push_back(kInputs[i] * static_cast<float>(kInputs[i] > 0 ? ranks : 1));
  return out;
}

/// A rank's session, and its work.
struct Rank {
  Rank(const std::string& device, int number, int ranks, bool reproducible = false) : rank(number), size(ranks) {
    PrepareOptions options = options_on(device);
    options.reproducible = reproducible;
    stream.emplace(device);
    session.emplace(program_of_all(ranks).model().prepare(options), *stream);
    inputs = {floats({4}, input_of(rank)), Tensor(DType::f16, {4})};
    convert(input_of(rank).data(), DType::f32, inputs[1].data(), DType::f16, 4);
  }
  void check(const std::vector<Tensor>& outputs, int run) const {
    const auto want = expected(rank, size, run);
    for (std::size_t i = 0; i < want.size(); ++i)
      EXPECT_EQ(values_of(outputs[i]), want[i]) << "rank " << rank << ", output " << i;
  }
  /// Two runs, and a run by a graph.
  void run() {
    session->reset_state();
    check(session->run(inputs), 1);
    check(session->run(inputs), 2);
    Graph graph;
    graph.capture_begin(*stream);
    const std::vector<Tensor>& outputs = session->run(inputs);
    graph.capture_end();
    graph.replay();
    stream->synchronize();
    check(outputs, 3);
  }

  int rank, size;
  std::optional<Stream> stream;
  std::optional<Session> session;
  std::vector<Tensor> inputs;
};

using Ranks = std::vector<std::unique_ptr<Rank>>;

Ranks ranks_on(const std::vector<std::string>& devices, bool reproducible = false) {
  Ranks ranks;
  for (std::size_t r = 0; r < devices.size(); ++r)
    ranks.push_back(
        std::make_unique<Rank>(devices[r], static_cast<int>(r), static_cast<int>(devices.size()), reproducible));
  return ranks;
}

/// Runs all ranks concurrently in a new group; returns each rank's error, or "".
std::vector<std::string> run_together(
    Ranks& ranks, const std::function<void(Rank&)>& work = [](Rank& r) { r.run(); }) {
  const auto groups = local_group(static_cast<int>(ranks.size()), kSoon);
  std::vector<std::string> messages(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        ranks[r]->session->set_group(groups[r]);
        work(*ranks[r]);
        ranks[r]->session->set_group(nullptr);  // leaves before the other ranks
      } catch (const Error& e) {
        messages[r] = e.what();
        groups[r]->abort(e.what());  // the failure may lie outside a run
      }
    });
  }
  threads.clear();
  return messages;
}

std::vector<std::string> fresh_devices(const std::string& plugin, int ranks) {
  std::vector<std::string> devices;
  for (int r = 0; r < ranks; ++r) devices.push_back(plugin == "cpu" ? plugin : fresh_device(plugin));
  return devices;
}

class CollectiveTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, CollectiveTest, ::testing::Values("cpu", "plain", "graph", "full"), name_of_case);

TEST_P(CollectiveTest, RanksGetEachOthersValues) {
  for (const int size : {1, 2, 4}) {
    Ranks ranks = ranks_on(fresh_devices(GetParam(), size));
    EXPECT_EQ(run_together(ranks), std::vector<std::string>(ranks.size()));
    EXPECT_EQ(run_together(ranks), std::vector<std::string>(ranks.size()));  // a second group
  }
}

TEST(Collective, DevicesWithTheTableCommunicateByThemselves) {
  const DeviceControl& control = control_of("full");
  const auto by_table = [&](Ranks ranks) {
    const std::uint64_t before = control.collectives();
    EXPECT_EQ(run_together(ranks), std::vector<std::string>(ranks.size()));
    return control.collectives() - before;
  };
  // Three of the five in a run; the plugin takes no broadcast and no float16.
  EXPECT_EQ(by_table(ranks_on(fresh_devices("full", 2))), 2u * 3 * 3);
  EXPECT_EQ(by_table(ranks_on(fresh_devices("full", 2), true)), 0u);  // reproducible
  EXPECT_EQ(by_table(ranks_on({fresh_device("full"), "cpu"})), 0u);
  EXPECT_EQ(by_table(ranks_on({fresh_device("full"), fresh_device("plain")})), 0u);
  const std::string shared = fresh_device("full");
  EXPECT_EQ(by_table(ranks_on({shared, shared})), 0u);
  EXPECT_EQ(control.counts().communicators, 0);
}

/// A group that counts its calls.
class CountedGroup : public ProcessGroup {
 public:
  explicit CountedGroup(std::shared_ptr<ProcessGroup> group) : group_(std::move(group)) {}
  int rank() const override { return group_->rank(); }
  int size() const override { return group_->size(); }
  void run(const Collective& call) override {
    ++calls;
    group_->run(call);
  }
  void abort(const std::string& why) noexcept override { group_->abort(why); }
  std::atomic<int> calls = 0;

 private:
  std::shared_ptr<ProcessGroup> group_;
};

TEST(Collective, ConnectedDevicesExchangeNothingOnTheHostLater) {
  const DeviceControl& control = control_of("full");
  const auto devices = fresh_devices("full", 2);
  const auto groups = local_group(2, kSoon);
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      TestProgram p;
      const ValueId x = p.input(DType::f32, {4});
      p.output(add_collective(p.b(), x, CollectiveKind::all_reduce, 2, "sum"));
      Session s(p.model().prepare(options_on(devices[r])));
      const auto group = std::make_shared<CountedGroup>(groups[r]);
      s.set_group(group);
      s.connect_groups();
      EXPECT_EQ(control.counts().communicators, 2) << "both ranks have joined when the call returns";
      const int connecting = group->calls;
      EXPECT_GT(connecting, 0);
      s.connect_groups();
      EXPECT_EQ(values_of(s.run({floats({4}, {1, 2, 3, 4})})[0]), (std::vector<float>{2, 4, 6, 8}));
      EXPECT_EQ(group->calls, connecting) << "the first collective has connected something";
      s.set_group(nullptr);
    });
  }
  threads.clear();
}

/// (x, like): this rank's result of an uneven all_to_all of x, and two messages x and x + 100 with tags 1 and 2; rank 1
/// receives the messages in reverse order.
TestProgram program_of_parts(int rank, const Dims& sizes, const Dims& counts, int to) {
  TestProgram p;
  Builder& b = p.b();
  const ValueId x = p.input(DType::f32, {4}), like = p.input(DType::f32, {4});
  p.output(b.add(
      Op::collective, {x},
      {attr(AttrKey::kind, Dim(static_cast<std::int64_t>(CollectiveKind::all_to_all))), attr(AttrKey::groups, Dim(2)),
       attr_text(AttrKey::name, "0"), attr(AttrKey::sizes, sizes), attr(AttrKey::counts, counts)}));
  const ValueId more = b.expr("x + 100", {{"x", x}}, DType::f32);
  const Dim other(to), first(rank == 0 ? 1 : 2), second(rank == 0 ? 2 : 1);
  const std::vector<ValueId> results =
      b.add_all(Op::exchange, {x, more, like, like},
                {attr(AttrKey::counts, Dims{Dim(0), Dim(0), Dim(1), Dim(1)}),
                 attr(AttrKey::sizes, Dims{other, other, other, other}),
                 attr(AttrKey::mapped, Dims{Dim(1), Dim(2), first, second}), attr_text(AttrKey::name, "0")});
  p.output(results[2]);
  p.output(results[3]);
  return p;
}

TEST_P(CollectiveTest, UnevenPartsMeetAndMessagesByTheirTags) {
  const auto devices = fresh_devices(GetParam(), 2);
  const auto groups = local_group(2, kSoon);
  const bool by_devices = GetParam() == "full";
  const std::uint64_t before = by_devices ? control_of("full").collectives() : 0;
  std::vector<std::jthread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      // Rank 0 keeps one row and sends three; rank 1 sends and keeps two.
      const Dims sizes = r == 0 ? Dims{1, 3} : Dims{2, 2}, counts = r == 0 ? Dims{1, 2} : Dims{3, 2};
      const auto rank = static_cast<std::size_t>(r);
      Session s(program_of_parts(r, sizes, counts, 1 - r).model().prepare(options_on(devices[rank])));
      s.set_group(groups[rank]);
      const float ten = r == 0 ? 0 : 10;
      const auto& out = s.run({floats({4}, {ten + 1, ten + 2, ten + 3, ten + 4}), floats({4}, {0, 0, 0, 0})});
      EXPECT_EQ(values_of(out[0]), r == 0 ? (std::vector<float>{1, 11, 12}) : (std::vector<float>{2, 3, 4, 13, 14}));
      EXPECT_EQ(values_of(out[1])[0], r == 0 ? 11.f : 101.f);  // tag 1; tag 2
      EXPECT_EQ(values_of(out[2])[0], r == 0 ? 111.f : 1.f);   // tag 2; tag 1
      s.set_group(nullptr);
    });
  }
  threads.clear();
  if (by_devices) {
    EXPECT_EQ(control_of("full").collectives() - before, 4u);
  }
}

TEST(Collective, ADeviceGetsNoMessageForARankThatDoesNotExist) {
  const auto devices = fresh_devices("full", 2);
  const auto groups = local_group(2, kSoon);
  std::string messages[2];
  std::vector<std::jthread> threads;
  for (int r = 0; r < 2; ++r) {
    threads.emplace_back([&, r] {
      const auto rank = static_cast<std::size_t>(r);
      Session s(program_of_parts(r, {2, 2}, {2, 2}, r == 0 ? 1 : 7).model().prepare(options_on(devices[rank])));
      s.set_group(groups[rank]);
      try {
        s.run({floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 0, 0})});
      } catch (const Error& e) {
        messages[r] = e.what();
      }
      s.set_group(nullptr);
    });
  }
  threads.clear();
  EXPECT_NE(messages[1].find("the root rank does not exist"), std::string::npos) << messages[1];
  EXPECT_NE(messages[0], "");
}

TEST(Collective, InGraphsTernMakesTheStepsBetweenTheDevices) {
  Ranks ranks = ranks_on(fresh_devices("full", 2));
  const auto messages = run_together(ranks, [](Rank& r) {
    Graph graph;
    graph.capture_begin(*r.stream);
    const std::vector<Tensor>& outputs = r.session->run(r.inputs);
    graph.capture_end();
    EXPECT_GE(graph.device_graphs(), 2u);
    for (int run = 1; run < 20; ++run) {
      graph.replay();
      r.stream->synchronize();
      r.check(outputs, run);
    }
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

TEST(Collective, InsideControlFlow) {
  // Repeats `count` times: the maximum over all ranks, plus one.
  const auto program = [] {
    TestProgram p;
    const ValueId count = p.input(DType::i64, {}), x = p.input(DType::f32, {kVector});
    const std::uint32_t condition = p.add_body(), body = p.add_body();
    const ValueId n = p.input(DType::i64, {}, condition);
    p.input(DType::f32, {kVector}, condition);
    p.output(Builder(p.program(), condition).expr("n > 0", {{"n", n}}, DType::i64, DType::boolean), condition);
    const ValueId m = p.input(DType::i64, {}, body), v = p.input(DType::f32, {kVector}, body);
    Builder b(p.program(), body);
    const ValueId most = add_collective(b, v, CollectiveKind::all_reduce, 0, "max");
    p.output(b.expr("m - 1", {{"m", m}}, DType::i64), body);
    p.output(b.expr("v + 1", {{"v", most}}, DType::f32), body);
    p.output(add_control(p, 0, Op::while_loop, {count, x}, {condition, body}, {attr(AttrKey::carried, Dim(2))})[1]);
    return p;
  };
  for (const std::string plugin : {"cpu", "full"}) {
    const auto devices = fresh_devices(plugin, 2);
    const auto groups = local_group(2, kSoon);
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        Session s(program().model().prepare(options_on(devices[r])));
        s.set_group(groups[r]);
        Tensor count(DType::i64, {});
        count.span<std::int64_t>()[0] = 3;
        const float x = r == 0 ? 1.f : 5.f;
        EXPECT_EQ(values_of(s.run({count, floats({kVector}, {x, 2, 3, 4, 9})})[0]),
                  (std::vector<float>{8, 5, 6, 7, 12}));
        s.set_group(nullptr);
      });
    }
  }
}

/// Fails a function of a rank's device at each of its calls.
class CollectiveFailureTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Functions, CollectiveFailureTest,
                         ::testing::Values("collective_unique_id", "collective_join", "collective_run",
                                           "collective_leave", "launch", "copy_to_host", "copy_to_device",
                                           "stream_synchronize"),
                         name_of_case);

TEST_P(CollectiveFailureTest, NoRankWaitsForEver) {
  const DeviceControl& control = control_of("full");
  // Failures without a caller to inform, or repeated by a later wait.
  const bool silent = GetParam() == "collective_leave" || GetParam() == "stream_synchronize";
  Ranks ranks = ranks_on(fresh_devices("full", 2));
  EXPECT_EQ(run_together(ranks), std::vector<std::string>(2));  // kernels are compiled
  int failures = 0;
  for (int n = 1; n < 100; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    control.fail(GetParam().c_str(), n, TERN_DEVICE_FAILED);
    std::string told;
    for (const std::string& m : run_together(ranks)) told += m + "\n";
    const bool came = control.failed();
    control.fail("", 0, TERN_DEVICE_OK);
    if (!came) {
      EXPECT_EQ(told, "\n\n");
      break;
    }
    ++failures;
    if (!silent) {
      EXPECT_NE(told.find("the test wants " + GetParam() + " to fail"), std::string::npos) << told;
    }
    EXPECT_EQ(run_together(ranks), std::vector<std::string>(2))
        << "the sessions go on in another group, after: " << told;
    EXPECT_EQ(control.counts().communicators, 0);
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 99);
}

/// (x, index): the sum over all ranks of the elements at `index`.
TestProgram sum_of_chosen() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {4}), index = p.input(DType::i64, {1});
  p.output(add_collective(p.b(), p.b().index_select(x, index, 0), CollectiveKind::all_reduce, 2, "sum"));
  return p;
}

TEST_P(CollectiveTest, ARankThatFailsBeforeIsNotWaitedFor) {
  const auto devices = fresh_devices(GetParam(), 2);
  std::vector<std::unique_ptr<Session>> sessions;
  for (const std::string& d : devices)
    sessions.push_back(std::make_unique<Session>(sum_of_chosen().model().prepare(options_on(d))));
  // Indices of rank 1; the second is out of range.
  for (const std::int64_t at : {3, 9, 1}) {
    const auto groups = local_group(2, kSoon);
    std::string messages[2];
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < 2; ++r) {
      threads.emplace_back([&, r] {
        Tensor index(DType::i64, {1});
        index.span<std::int64_t>()[0] = r == 0 ? 0 : at;
        try {
          sessions[r]->set_group(groups[r]);
          const float sum = sessions[r]->run({floats({4}, {10, 20, 30, 40}), index})[0].span<const float>()[0];
          if (at < 4) {
            EXPECT_EQ(sum, 10.f + 10.f * static_cast<float>(at + 1));
          }
          sessions[r]->set_group(nullptr);
        } catch (const Error& e) {
          messages[r] = e.what();
        }
      });
    }
    threads.clear();
    EXPECT_EQ(messages[1].find("index") != std::string::npos, at == 9) << messages[1];
    // Devices with their own communication continue: the run reports the failure at its end.
    const bool told = messages[0].find("rank 1 has failed") != std::string::npos;
    EXPECT_EQ(told, at == 9 && GetParam() != "full") << messages[0];
  }
}

}  // namespace
}  // namespace tern
