// Groups on the host, in threads and over TCP: what they compute, and what they say where ranks disagree or fail.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <tern/collective.h>
#include <unistd.h>

#include <functional>
#include <numeric>
#include <thread>

#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;
using Groups = std::vector<std::shared_ptr<ProcessGroup>>;

constexpr milliseconds kSoon{20000};

/// A port of this machine that nobody uses at the moment.
std::string free_address() {
  const int s = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof a;
  EXPECT_EQ(bind(s, reinterpret_cast<sockaddr*>(&a), size), 0);
  EXPECT_EQ(getsockname(s, reinterpret_cast<sockaddr*>(&a), &size), 0);
  close(s);
  return "127.0.0.1:" + std::to_string(ntohs(a.sin_port));
}

/// What each rank's thread fails with, or "".
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

Groups connected(int size, milliseconds timeout = kSoon) {
  const std::string address = free_address();
  Groups groups(static_cast<std::size_t>(size));
  const auto messages = run_all(
      groups.size(), [&](int r) { groups[static_cast<std::size_t>(r)] = connect_group(address, r, size, timeout); });
  for (const std::string& m : messages) EXPECT_EQ(m, "");
  return groups;
}

/// Both kinds of groups.
class GroupTest : public ::testing::TestWithParam<std::string> {
 protected:
  static Groups make(int size, milliseconds timeout = kSoon) {
    return GetParam() == "local" ? local_group(size, timeout) : connected(size, timeout);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, GroupTest, ::testing::Values("local", "connected"),
                         [](const auto& info) { return info.param; });

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

TEST_P(GroupTest, EachKindGivesWhatItSays) {
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

TEST_P(GroupTest, LargeTensorsAreAddedInTheOrderOfRanks) {
  constexpr std::size_t kCount = 300001;  // more than a piece, and none of its multiples
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

TEST_P(GroupTest, CallsThatDifferAreAnErrorThatNamesBoth) {
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
      EXPECT_NE(m.find(std::string("rank 0 ") + "all_reduce"), std::string::npos) << m;
      EXPECT_NE(m.find(d.first), std::string::npos) << m;
      EXPECT_NE(m.find(std::string("rank 2 ")), std::string::npos) << m;
      EXPECT_NE(m.find(d.second), std::string::npos) << m;
    }
  }
}

TEST_P(GroupTest, ARankThatGoesAwayIsNotWaitedFor) {
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

TEST_P(GroupTest, ARankThatFailsSaysWhyToAllAndForEver) {
  for (const int failing : {0, 1}) {
    const Groups groups = make(3);
    const auto messages = run_all(3, [&](int r) {
      const std::vector<float> in(4);
      std::vector<float> out(4);
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

TEST_P(GroupTest, WaitingHasAnEnd) {
  const Groups groups = make(2, milliseconds(200));
  const std::vector<float> in(4);
  std::vector<float> out(4);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(groups[0]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);
  EXPECT_THROW(groups[1]->run(call_on(CollectiveKind::all_reduce, in, out)), Error);  // the group is over
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST_P(GroupTest, CallsThatNoGroupCanMakeAreRefused) {
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
      {[](Collective& c) { c.kind = static_cast<CollectiveKind>(9); }, "this collective does not exist"},
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

TEST(ConnectedGroup, StrangersAndRanksTooManyAreSentAway) {
  const std::string address = free_address();
  const int port = std::stoi(address.substr(address.find(':') + 1));
  Groups groups(2);
  std::vector<std::string> refused(2);
  {
    std::jthread zero([&] { groups[0] = connect_group(address, 0, 2, kSoon); });
    // Somebody who says something else.
    sockaddr_in a{};
    a.sin_family = AF_INET;
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    a.sin_port = htons(static_cast<std::uint16_t>(port));
    int s = -1;
    for (int tries = 0; tries < 200; ++tries) {
      s = socket(AF_INET, SOCK_STREAM, 0);
      if (connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) break;
      close(s);
      s = -1;
      std::this_thread::sleep_for(milliseconds(20));
    }
    ASSERT_GE(s, 0);
    const std::string text = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
    EXPECT_EQ(send(s, text.data(), text.size(), MSG_NOSIGNAL), static_cast<ssize_t>(text.size()));
    for (const int size : {3, 2}) {  // rank 1 of 3, and rank 1 of 2
      try {
        auto group = connect_group(address, 1, size, kSoon);
        EXPECT_EQ(size, 2);
        groups[1] = group;
      } catch (const Error& e) {
        EXPECT_EQ(size, 3);
        EXPECT_NE(std::string(e.what()).find("rank 1 of 3 is already connected, or does not exist, in a group of 2"),
                  std::string::npos)
            << e.what();
      }
    }
    close(s);
  }
  const auto messages = run_all(2, [&](int r) {
    const auto in = input_of(r, 4);
    std::vector<float> out(4);
    groups[static_cast<std::size_t>(r)]->run(call_on(CollectiveKind::all_reduce, in, out));
    EXPECT_EQ(out, (std::vector<float>{102, 104, 106, 108}));
  });
  EXPECT_EQ(messages, std::vector<std::string>(2));
}

TEST(ConnectedGroup, WhoIsMissingIsSaid) {
  try {
    connect_group(free_address(), 0, 3, milliseconds(100));
    ADD_FAILURE() << "nobody has come";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io);
    EXPECT_NE(std::string(e.what()).find("2 of 3 ranks are missing"), std::string::npos) << e.what();
  }
  EXPECT_THROW(connect_group(free_address(), 1, 3, milliseconds(100)), Error);
  for (const char* wrong : {"", "localhost", "localhost:", ":80", "no host of this name:80"})
    EXPECT_THROW(connect_group(wrong, 0, 2, milliseconds(100)), Error) << wrong;
  EXPECT_THROW(connect_group(free_address(), 2, 2), Error);
  EXPECT_THROW(local_group(0), Error);
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
  s.set_group(wrong[0]);        // for all that have none of their own
  s.set_group(right[0], "tp");  // which this one has
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
