// Groups of some ranks: members, concurrent groups, and operators that call groups by name.
#include <gtest/gtest.h>
#include <tern/custom_op.h>
#include <tern/subgroup.h>

#include <functional>
#include <thread>

#include "schema/custom_arguments.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;
using Group = std::shared_ptr<ProcessGroup>;

constexpr std::chrono::milliseconds kSubgroupSoon{20000};

/// Error message of each rank's thread, or "".
std::vector<std::string> run_all(int ranks, const std::function<void(Group)>& work) {
  const auto groups = local_group(ranks, kSubgroupSoon);
  std::vector<std::string> messages(groups.size());
  std::vector<std::jthread> threads;
  for (std::size_t r = 0; r < groups.size(); ++r) {
    threads.emplace_back([&, r] {
      try {
        work(groups[r]);
      } catch (const Error& e) {
        messages[r] = e.what();
      }
    });
  }
  threads.clear();
  return messages;
}

const std::vector<std::string> kNoFailure4(4);

float sum(ProcessGroup& group, float x) {
  group.run({.dtype = DType::f32, .count = 1, .input = &x, .output = &x});
  return x;
}

TEST(Subgroup, RanksOfOneColorAreAGroup) {
  const auto messages = run_all(5, [](const Group& world) {
    const int rank = world->rank();
    const Group part = split_group(*world, rank == 4 ? -1 : rank % 2, "parity");
    EXPECT_EQ(part == nullptr, rank == 4);
    if (part == nullptr) return;
    EXPECT_EQ(part->size(), 2);
    EXPECT_EQ(part->rank(), rank / 2);
    EXPECT_EQ(sum(*part, static_cast<float>(rank)), rank % 2 == 0 ? 2.f : 4.f);
  });
  EXPECT_EQ(messages, std::vector<std::string>(5));
}

TEST(Subgroup, APartIsDividedAgain) {
  const auto messages = run_all(4, [](const Group& world) {
    const Group half = split_group(*world, world->rank() / 2, "half");
    const Group alone = split_group(*half, half->rank(), "alone");
    EXPECT_EQ(alone->size(), 1);
    EXPECT_EQ(sum(*alone, 7), 7.f);
    EXPECT_EQ(sum(*half, 1), 2.f);
    EXPECT_EQ(sum(*world, 1), 4.f);
  });
  EXPECT_EQ(messages, kNoFailure4);
}

TEST(Subgroup, NewGroupHasTheseRanksInAscendingOrder) {
  const auto messages = run_all(4, [](const Group& world) {
    constexpr int kRanks[] = {3, 1};
    const Group group = new_group(*world, kRanks, "odd");
    EXPECT_EQ(group == nullptr, world->rank() % 2 == 0);
    if (group == nullptr) return;
    EXPECT_EQ(group->rank(), world->rank() == 1 ? 0 : 1);
    EXPECT_EQ(sum(*group, static_cast<float>(world->rank())), 4.f);
  });
  EXPECT_EQ(messages, kNoFailure4);
}

TEST(Subgroup, DivisionsThatDifferFailOnAllRanks) {
  const auto names = run_all(2, [](const Group& w) { split_group(*w, 0, w->rank() == 0 ? "a" : "b"); });
  for (const std::string& m : names)
    EXPECT_EQ(m, "ranks 0 and 1 divide their group differently: they ask for other names");
  const auto lists = run_all(2, [](const Group& w) {
    const int ranks[] = {0, 1};
    new_group(*w, std::span(ranks, w->rank() == 0 ? 1 : 2), "a");
  });
  for (const std::string& m : lists)
    EXPECT_EQ(m, "ranks 0 and 1 divide their group differently: they ask for other ranks");
  const auto twice = run_all(1, [](const Group& w) { new_group(*w, std::vector<int>{0, 0}, "a"); });
  EXPECT_EQ(twice[0], "the new group 'a' has rank 0 twice");
  const auto missing = run_all(1, [](const Group& w) { new_group(*w, std::vector<int>{1}, "a"); });
  EXPECT_EQ(missing[0], "there is no rank 1 in a group of 1");
}

TEST(Subgroup, OnlyTernsOwnGroupsAreDivided) {
  class ApplicationGroup : public ProcessGroup {
    int rank() const override { return 0; }
    int size() const override { return 1; }
    void run(const Collective&) override {}
  } other;
  EXPECT_THROW(split_group(other, 0, "a"), Error);
}

TEST(Subgroup, AFailureInOneIsNoneInAnother) {
  const auto messages = run_all(4, [](const Group& world) {
    const Group rows = split_group(*world, world->rank() / 2, "rows");
    const Group columns = split_group(*world, world->rank() % 2, "columns");
    if (world->rank() == 0) rows->abort("the disk is full");
    if (world->rank() == 1) {
      EXPECT_THROW(sum(*rows, 1), Error);
    }
    EXPECT_EQ(sum(*columns, 1), 2.f);
    EXPECT_EQ(sum(*world, 1), 4.f);
  });
  EXPECT_EQ(messages, kNoFailure4);
}

TEST(Subgroup, GroupsWorkAtTheSameTime) {
  constexpr std::size_t kCount = 40000;
  constexpr int kTurns = 20;
  const auto messages = run_all(4, [](const Group& world) {
    const std::vector<Group> groups = {world, split_group(*world, world->rank() / 2, "rows"),
                                       split_group(*world, world->rank() % 2, "columns")};
    std::vector<std::jthread> threads;
    for (const Group& group : groups) {
      threads.emplace_back([&group] {
        std::vector<float> x(kCount, 1);
        for (int i = 0; i < kTurns; ++i) {
          group->run({.dtype = DType::f32, .count = kCount, .input = x.data(), .output = x.data()});
          for (float& v : x) v /= static_cast<float>(group->size());
        }
        EXPECT_EQ(x, std::vector<float>(kCount, 1));
      });
    }
  });
  EXPECT_EQ(messages, kNoFailure4);
}

/// x: the sum over the named group, times its size, plus this rank.
Model model_of(const std::vector<std::string>& names) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  for (const std::string& name : names) {
    Node n;
    n.op = Op::custom;
    n.inputs = {x};
    n.set(AttrKey::name, std::string("tests::group_sum"));
    n.set(AttrKey::text,
          format_custom_arguments({{"x", CustomArgument::Kind::tensors, 1, ""},
                                   {"group_name", CustomArgument::Kind::text, static_cast<int>(name.size()), name}}));
    n.set(AttrKey::dtype, Dims{static_cast<std::int64_t>(DType::f32)});
    n.set(AttrKey::counts, Dims{1});
    n.set(AttrKey::sizes, Dims{2});
    p.output(p.b().add(std::move(n))[0]);
  }
  return p.model();
}

TEST(Subgroup, AnOperatorOfALibraryCallsItsGroupByName) {
  load_ops(TERN_TEST_OPS);
  const PreparedModel prepared = model_of({"rows", "0"}).prepare();
  const auto messages = run_all(4, [&](const Group& world) {
    Session session(prepared);
    session.set_group(world);
    session.set_group(split_group(*world, world->rank() / 2, "rows"), "rows");
    const auto rank = static_cast<float>(world->rank());
    const auto& out = session.run({floats({2}, {rank, 1})});
    const float row = rank < 2 ? 1 : 5, in_row = static_cast<float>(world->rank() % 2);
    EXPECT_EQ(values_of(out[0]), (std::vector<float>{row * 2 + in_row, 2 * 2 + in_row}));
    EXPECT_EQ(values_of(out[1]), (std::vector<float>{6 * 4 + rank, 4 * 4 + rank}));
  });
  EXPECT_EQ(messages, kNoFailure4);
}

TEST(Subgroup, AnOperatorWithoutItsGroupFailsWithItsName) {
  load_ops(TERN_TEST_OPS);
  Session session(model_of({"rows"}).prepare());
  try {
    session.run({floats({2}, {1, 1})});
    FAIL();
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("of the group 'rows', but the session has no group"), std::string::npos)
        << e.what();
  }
  EXPECT_THROW(session.set_group(local_group(1)[0], "columns"), Error);
}

}  // namespace
}  // namespace tern
