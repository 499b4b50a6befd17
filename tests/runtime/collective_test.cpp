// Groups on the host, in threads and over TCP: results, and errors when ranks disagree or fail.
#include <gtest/gtest.h>
#include <tern/collective.h>

#include <functional>
#include <limits>
#include <thread>

#include "tests/runtime/group_support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;

class GroupTest : public ::testing::Test {
 protected:
  static Groups make_groups(int size, milliseconds timeout = kCollectiveSoon) { return local_group(size, timeout); }
};

std::vector<float> input_of(int rank, std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(100 * rank + static_cast<int>(i) + 1);
  return x;
}

TEST_F(GroupTest, EachKindGivesWhatItSays) {
  for (const int size : {1, 2, 3, 5}) {
    const Groups groups = make_groups(size);
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
  const Groups groups = make_groups(2);  // a blocking wait would last kSoon
  const auto begin = std::chrono::steady_clock::now();
  const auto failures = run_all(2, [&](int r) {
    float a = 1, b[2] = {2, 3};
    const std::int64_t count = r == 0 ? 2 : 1;  // count of the second message
    const auto kind = r == 0 ? CollectiveKind::send : CollectiveKind::receive;
    const auto message = [&](float* data, std::int64_t n) {
      return Collective{.kind = kind, .dtype = DType::f32, .count = n, .root = 1 - r, .input = data, .output = data};
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
  const Groups groups = make_groups(3);
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
    std::function<void(Collective&)> edit;
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
    const Groups groups = make_groups(3);
    const auto messages = run_all(3, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(4);
      Collective c = call_on(CollectiveKind::all_reduce, in, out);
      if (r == 2) d.edit(c);
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
  Groups groups = make_groups(3);
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
    const Groups groups = make_groups(3);
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
  const Groups groups = make_groups(2, milliseconds(200));
  const std::vector<float> in(4);
  std::vector<float> out(4);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(groups[0]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);
  EXPECT_THROW(groups[1]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);  // the group is over
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_F(GroupTest, CallsThatNoGroupCanMakeAreRefused) {
  struct Wrong {
    std::function<void(Collective&)> edit;
    const char* message;
  };
  const Wrong wrong[] = {
      {[](Collective& c) { c.count = -1; }, "do not fit in memory"},
      {[](Collective& c) { c.count = std::numeric_limits<std::int64_t>::max(); }, "do not fit in memory"},
      {[](Collective& c) { c.dtype = DType::invalid; }, "this element type is not supported"},
      {[](Collective& c) { c.dtype = DType::f4_e2m1; }, "this element type is not supported"},
      {[](Collective& c) { c.reduce = ReduceOp::band; }, "not defined"},
      {[](Collective& c) { c.dtype = DType::i32, c.reduce = ReduceOp::avg; }, "not defined"},
      {[](Collective& c) { c.kind = CollectiveKind::reduce_scatter, c.count = 3; }, "ranks cannot have equal parts"},
      {[](Collective& c) { c.kind = CollectiveKind::broadcast, c.root = 2; }, "the root rank does not exist"},
      {[](Collective& c) { c.kind = static_cast<CollectiveKind>(99); }, "this collective does not exist"},
  };
  for (const Wrong& w : wrong) {
    const Groups groups = make_groups(2);
    const auto messages = run_all(2, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(4);
      Collective c = call_on(CollectiveKind::all_reduce, in, out);
      w.edit(c);
      groups[static_cast<std::size_t>(r)]->run(c);
    });
    for (const std::string& m : messages) EXPECT_NE(m.find(w.message), std::string::npos) << m;
  }
}

Collective message(CollectiveKind kind, int other, int tag, std::vector<float>& data) {
  Collective c = call_on(kind, data, data);
  c.root = other;
  c.tag = tag;
  return c;
}

TEST_F(GroupTest, MessagesOfDifferentSizesMeetByTheirTags) {
  constexpr auto kSend = CollectiveKind::send, kReceive = CollectiveKind::receive;
  const Groups groups = make_groups(2);
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
  const Groups groups = make_groups(2);
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
    Groups groups = make_groups(3);
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

TEST_F(GroupTest, PartsOfDifferentSizesAreChecked) {
  const Groups groups = make_groups(2);
  const auto messages = run_all(2, [&](int r) {
    const std::vector<float> in(4);
    std::vector<float> out(4);
    const std::int64_t given[] = {1, 3}, taken[] = {1, 3};  // rank 0 sends 3 but rank 1 expects 1, and the reverse
    Collective c = call_on(CollectiveKind::all_to_all, in, out);
    c.input_splits = given;
    c.output_splits = taken;
    groups[static_cast<std::size_t>(r)]->run(c);
  });
  for (const std::string& m : messages)
    EXPECT_TRUE(m.find("rank 0 sends 3 elements to rank 1, which expects 1") != std::string::npos ||
                m.find("rank 1 sends 1 elements to rank 0, which expects 3") != std::string::npos)
        << m;
}

}  // namespace
}  // namespace tern
