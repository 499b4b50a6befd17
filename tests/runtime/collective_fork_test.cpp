// Flight records of a process, and none of its copies by fork().
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <tern/collective.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/runtime/group_support.h"

namespace tern {
namespace {

using namespace testing;
using std::chrono::milliseconds;
namespace fs = std::filesystem;

TEST(CopiedProcesses, FlightRecordsAreWrittenByManyThreadsAndNotForAChild) {
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

}  // namespace
}  // namespace tern
