// Flight record files of several processes in a shared folder.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <tern/collective.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tern {
namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A lock held by another open file stands for a running process.
TEST(FlightRecord, DoesNotReplaceThatOfARunningProcess) {
  const fs::path folder = fs::temp_directory_path() / ("tern_flight_lock_" + std::to_string(getpid()));
  fs::create_directory(folder);
  const fs::path name = folder / "tern_flight_3";
  std::ofstream(name) << "another's";
  const int other = open(name.c_str(), O_RDONLY);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  const std::string path = write_flight_record(folder.string(), 3);
  EXPECT_NE(path, name.string());
  EXPECT_EQ(text_of(name), "another's");
  EXPECT_FALSE(text_of(path).empty());
  EXPECT_EQ(write_flight_record(folder.string(), 3), path);
  close(other);  // the other process ends
  EXPECT_EQ(write_flight_record(folder.string(), 3), name.string());
  EXPECT_NE(text_of(name), "another's");
  const int reader = open(name.c_str(), O_RDONLY);
  EXPECT_NE(flock(reader, LOCK_SH | LOCK_NB), 0);
  close(reader);
  EXPECT_EQ(write_flight_record(folder.string(), 3), name.string());
  fs::remove_all(folder);
}

/// The test below runs this test in a separate process.
TEST(FlightRecord, DISABLED_RaisesTheSignal) {
  raise(SIGUSR2);
}

TEST(FlightRecord, ASignalBeforeTheGroupIsHarmless) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("TERN_FLIGHT_FOLDER", fs::temp_directory_path().c_str(), 1);
    execl("/proc/self/exe", "test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=FlightRecord.DISABLED_RaisesTheSignal", static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(FlightRecord, DoesNotFollowLinksThatOthersHavePlanted) {
  const fs::path folder = fs::temp_directory_path() / ("tern_flight_links_" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "precious") << "precious";
  fs::create_symlink("precious", folder / "tern_flight_3");
  fs::create_symlink("precious", folder / ("tern_flight_3." + std::to_string(getpid()) + ".part"));
  ASSERT_EQ(mkfifo((folder / "tern_flight_4").c_str(), 0600), 0);
  for (const int rank : {3, 4}) {
    const fs::path path = write_flight_record(folder.string(), rank);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << rank;
    EXPECT_FALSE(text_of(path).empty());
  }
  EXPECT_EQ(text_of(folder / "precious"), "precious");
  fs::remove_all(folder);
}

/// Processes of the same rank write at the same time, as after a signal, and then wait until `held` closes.
TEST(FlightRecord, ProcessesThatWriteAtOnceHaveAFileEach) {
  constexpr int kProcesses = 8;
  const fs::path folder = fs::temp_directory_path() / ("tern_flight_race_" + std::to_string(getpid()));
  fs::create_directory(folder);
  std::ofstream(folder / "tern_flight_3") << "of a process that has ended";
  for (int turn = 0; turn < 5; ++turn) {
    int begun[2], held[2], paths[2];
    ASSERT_EQ(pipe(begun) + pipe(held) + pipe(paths), 0);
    std::vector<pid_t> children;
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) {
        char byte = 0;
        close(begun[1]);
        close(held[1]);
        ssize_t n = read(begun[0], &byte, 1);
        const std::string path = write_flight_record(folder.string(), 3) + "\n";
        n += write(paths[1], path.data(), path.size());
        n += read(held[0], &byte, 1);
        _exit(n == static_cast<ssize_t>(path.size()) ? 0 : 1);
      }
      ASSERT_GT(child, 0);
      children.push_back(child);
    }
    for (const int end : {begun[0], begun[1], held[0], paths[1]}) close(end);  // starts all processes
    std::set<std::string> found;
    std::string line;
    for (int lines = 0; lines < kProcesses;) {
      char c = 0;
      ASSERT_EQ(read(paths[0], &c, 1), 1);
      if (c != '\n') {
        line += c;
        continue;
      }
      ++lines;
      EXPECT_TRUE(found.insert(std::exchange(line, "")).second);
    }
    EXPECT_EQ(found.count((folder / "tern_flight_3").string()), 1U);
    for (const std::string& path : found) EXPECT_FALSE(text_of(path).empty());
    close(held[1]);
    close(paths[0]);
    for (const pid_t child : children) {
      int status = -1;
      waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tern
