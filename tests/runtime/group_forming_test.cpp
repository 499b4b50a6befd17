// Forming a group: the control connection, launchers' variables, engines.
#include <gtest/gtest.h>
#include <tern/collective.h>

#include <array>
#include <cstdlib>
#include <span>
#include <thread>

#include "platform/environment.h"
#include "platform/machine.h"
#include "runtime/collective/control.h"
#include "runtime/collective/control_wire.h"
#include "runtime/collective/socket.h"
#include "tests/runtime/group_support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;

GroupOptions options_of(int rank) {
  GroupOptions o;
  o.rank = rank;
  o.size = 2;
  o.address = "127.0.0.1:" + std::to_string(20000 + platform::process_number() % 10000);
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
  EXPECT_NE(failure_of([&] { second->set("key", large); }).find("131072 bytes"), std::string::npos);
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
    control::send(second, control::MessageKind::hello, 1, std::as_bytes(std::span("3", 1)), begin + kCollectiveSoon);
  }
  first.join();
  EXPECT_NE(why.find("rank 1 has ended"), std::string::npos) << why;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(3500));
}

TEST(Controls, ALateRankHearsOfTheRankThatHasEnded) {
  for (int turn = 0; turn < 40; ++turn) {
    const auto ranked = [](int rank) {
      GroupOptions o = options_of(rank);
      o.size = 3;
      o.timeout = milliseconds(3000);
      return o;
    };
    std::jthread first([&] { failure_of([&] { Control::connect(ranked(0)); }); });
    const Deadline end = std::chrono::steady_clock::now() + kCollectiveSoon;
    {
      const Socket second = Socket::connect(ranked(1).address, end);
      control::send(second, control::MessageKind::hello, 1, std::as_bytes(std::span("3", 1)), end);
    }
    std::this_thread::sleep_for(milliseconds(20));
    const std::string why = failure_of([&] { Control::connect(ranked(2)); });
    ASSERT_NE(why.find("rank 1 has ended"), std::string::npos) << why << ", turn " << turn;
  }
}

struct Environment {
  using Variables = std::vector<std::pair<const char*, const char*>>;
  explicit Environment(const Variables& set) {
    for (const char* name :
         {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_RANK",
          "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NODELIST",
          "SLURM_JOB_ID", "SLURM_STEP_ID", "TERN_GROUP_ADDRESS", "TORCHELASTIC_RUN_ID"})
      platform::set_variable(name, nullptr);
    for (const auto& [name, value] : set) platform::set_variable(name, value);
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
    EXPECT_NE(said().find("RANK is set, but WORLD_SIZE is not"), std::string::npos);
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
  EXPECT_NE(failure_of([&] { connect_group("carrier pigeon", o); }).find("unknown engine 'carrier pigeon'"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
