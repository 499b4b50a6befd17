// Attacks of other local users on compiled programs on disk, and folders in bad states.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>
#include <cstring>

#include "devices/program_cache/program_cache.h"
#include "tests/runtime/weight_cache/temporary_folder.h"

namespace tern::testing {
namespace {

constexpr uid_t kOtherUser = 12345;
constexpr std::uint64_t kTwoGigabytes = std::uint64_t{2} << 30;
constexpr int kStoresUntilTrim = 64;

/// Runs `body` in a process of its own, as `user` if that is not 0. True if `body` returns true.
bool is_true_in_process(const std::function<bool()>& body, uid_t user = 0) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit((user == 0 || (::setgid(user) == 0 && ::setuid(user) == 0)) && body() ? 0 : 1);
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool change_owner(const std::string& path, uid_t user) {
  return ::lchown(path.c_str(), user, user) == 0;
}

double seconds_of(const std::function<void()>& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

class ProgramCacheAttack : public ::testing::Test {
 protected:
  std::string programs() const { return there_.path("programs"); }
  std::vector<std::string> files() const {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(programs())) paths.push_back(entry.path());
    return paths;
  }
  /// Stores a program in an empty folder. Returns the path of its file.
  std::string store(const std::string& identity, const std::string& program) {
    std::filesystem::remove_all(programs());
    store_program(identity, program);
    const std::vector<std::string> paths = files();
    EXPECT_EQ(paths.size(), 1u);
    return paths.empty() ? std::string() : paths[0];
  }

  // 100,000 files in memory take a second, on a busy disk a minute.
  Variable temporary_{"TMPDIR", ::access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp"};
  TemporaryFolder there_;
  Variable cache_{"TERN_CACHE", there_.path().c_str()};
};

TEST_F(ProgramCacheAttack, WholeProgramsOfAnotherUserAreReplaced) {
  const std::string path = store("a", "hostile code");
  if (!change_owner(path, kOtherUser)) GTEST_SKIP() << "needs root";
  for (const unsigned mode : {0600U, 0644U, 0666U, 0444U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(cached_program("a"), "") << mode;
  }
  store_program("a", "own code");
  EXPECT_EQ(cached_program("a"), "own code");
}

TEST_F(ProgramCacheAttack, ModesThatLetOthersWriteAreRefused) {
  const std::string path = store("a", "code");
  for (const unsigned mode : {0620U, 0602U, 0660U, 0666U, 0777U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_EQ(cached_program("a"), "") << mode;
  }
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  EXPECT_EQ(cached_program("a"), "code") << "others may read";
}

TEST_F(ProgramCacheAttack, HardLinksAreNotWrittenThrough) {
  const std::string path = store("a", "code");
  const std::string precious = there_.path("precious"), second = there_.path("second");
  write_file(precious, "precious");
  std::filesystem::rename(path, second);
  ASSERT_EQ(::link(precious.c_str(), path.c_str()), 0);
  EXPECT_EQ(cached_program("a"), "");
  store_program("a", "other code");
  EXPECT_EQ(read_file(precious), "precious");
  EXPECT_EQ(cached_program("a"), "other code");
  const std::string before = read_file(second);
  std::filesystem::remove(path);
  ASSERT_EQ(::link(second.c_str(), path.c_str()), 0);
  store_program("a", "third code");
  EXPECT_EQ(read_file(second), before) << "the second name still has the old program";
  EXPECT_EQ(cached_program("a"), "third code");
}

TEST_F(ProgramCacheAttack, FoldersAndPipesInPlaceOfAProgramHoldUpNothing) {
  const std::string path = store("a", "code");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cached_program("a"), "");
  store_program("a", "code");
  EXPECT_EQ(cached_program("a"), "code");
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  store_program("a", "code");
  EXPECT_EQ(cached_program("a"), "");
  EXPECT_EQ(files().size(), 1u) << "no unfinished file remains";
}

TEST_F(ProgramCacheAttack, AReplacedFolderIsNotUsed) {
  store("a", "code");
  std::filesystem::rename(programs(), there_.path("elsewhere"));
  ASSERT_EQ(::symlink("elsewhere", programs().c_str()), 0);
  EXPECT_EQ(cached_program("a"), "");
  store_program("b", "code");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(there_.path("elsewhere")), {}), 1);
  std::filesystem::remove(programs());
  write_file(programs(), "no folder");
  EXPECT_EQ(cached_program("a"), "");
  store_program("b", "code");
  EXPECT_EQ(read_file(programs()), "no folder");
  std::filesystem::remove(programs());
  std::filesystem::rename(there_.path("elsewhere"), programs());
  EXPECT_EQ(cached_program("a"), "code");
  if (!change_owner(programs(), kOtherUser)) GTEST_SKIP() << "needs root";
  EXPECT_EQ(cached_program("a"), "");
  store_program("b", "code");
  EXPECT_EQ(files().size(), 1u);
}

/// XXH3 is no cryptographic hash: an archive's numbers are text of its kernels, and may be chosen for a collision.
TEST_F(ProgramCacheAttack, AProgramOfAnotherKernelWithTheSameHashIsNotTaken) {
  const std::string mine = store("kernel 1", "code 1");
  std::filesystem::rename(mine, there_.path("mine"));
  store_program("kernel 2", "code 2");
  const std::string path = files().at(0);
  // The name holds the hash's digits, the high half first; the file holds the low half first, behind 8 bytes.
  const std::string digits = std::filesystem::path(path).filename();
  const std::uint64_t halves[2] = {std::stoull(digits.substr(16, 16), nullptr, 16),
                                   std::stoull(digits.substr(0, 16), nullptr, 16)};
  std::string bytes = read_file(there_.path("mine"));
  ASSERT_EQ(std::memcmp(read_file(path).data() + 8, halves, sizeof halves), 0);
  std::memcpy(bytes.data() + 8, halves, sizeof halves);
  write_file(path, bytes);
  EXPECT_EQ(cached_program("kernel 2"), "");
  store_program("kernel 2", "code 2");
  EXPECT_EQ(cached_program("kernel 2"), "code 2");
}

TEST_F(ProgramCacheAttack, ARenamedProgramIsNotTaken) {
  const std::string mine = store("kernel 1", "code 1");
  std::filesystem::rename(mine, there_.path("mine"));
  store_program("kernel 2", "code 2");
  std::filesystem::rename(there_.path("mine"), files().at(0));
  EXPECT_EQ(cached_program("kernel 2"), "");
}

TEST_F(ProgramCacheAttack, SparseFilesAreNeitherReadNorPushOthersOut) {
  const std::string path = store("a", "code");
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(kTwoGigabytes)), 0);
  EXPECT_LT(seconds_of([] { EXPECT_EQ(cached_program("a"), ""); }), 1.0);
  store_program("b", "code of b");
  for (const std::string& other : files()) set_age(other, other == path ? 0 : 1000);
  for (int i = 0; i < kStoresUntilTrim; ++i) store_program("c", "code of c");
  EXPECT_EQ(cached_program("b"), "code of b");
  EXPECT_FALSE(std::filesystem::exists(path)) << "larger than any program";
}

TEST_F(ProgramCacheAttack, ForeignFilesCostNoTimeAndStay) {
  store("a", "code");
  const auto digits_of = [](int number) {
    std::string digits = std::to_string(number);
    return std::string(32 - digits.size(), '0') + digits;
  };
  constexpr int kFiles = 100000;
  for (int i = 0; i < kFiles; ++i) {
    const std::string name = i % 2 == 0 ? "/foreign" + std::to_string(i) : "/" + digits_of(i) + ".program";
    ASSERT_EQ(::symlink("/nowhere", (programs() + name).c_str()), 0);
  }
  EXPECT_LT(seconds_of([] {
              for (int i = 0; i < kStoresUntilTrim; ++i) store_program("a", "new code");
            }),
            10.0);
  EXPECT_LT(seconds_of([] { EXPECT_EQ(cached_program("a"), "new code"); }), 1.0);
  EXPECT_EQ(files().size(), kFiles + 1u);
}

TEST_F(ProgramCacheAttack, WritersOfOneProgramLeaveAWholeOne) {
  store("a", std::string(100000, '0'));
  constexpr int kWriters = 4, kRounds = 100;
  std::vector<pid_t> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.push_back(::fork());
    if (writers.back() != 0) continue;
    for (int i = 0; i < kRounds; ++i) store_program("a", std::string(100000 + 1000 * w, static_cast<char>('0' + w)));
    ::_exit(0);
  }
  int running = kWriters;
  do {
    const std::string program = cached_program("a");
    ASSERT_FALSE(program.empty()) << "a name always has a whole program";
    ASSERT_EQ(program, std::string(100000 + 1000 * (program[0] - '0'), program[0]));
    while (running > 0 && ::waitpid(-1, nullptr, WNOHANG) > 0) --running;
  } while (running > 0);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(ProgramCacheAttack, UnwritableFoldersAreReadAndLeftAlone) {
  const std::string path = store("a", "code");
  const uid_t user = ::geteuid() == 0 ? kOtherUser : 0;
  if (user != 0) {
    for (const std::string& name : {there_.path(), programs(), path}) ASSERT_TRUE(change_owner(name, user));
  }
  ASSERT_EQ(::chmod(programs().c_str(), 0500), 0);
  EXPECT_TRUE(is_true_in_process(
      [] {
        store_program("b", "code of b");
        return cached_program("a") == "code" && cached_program("b").empty();
      },
      user));
  EXPECT_EQ(files().size(), 1u);
  ASSERT_EQ(::chmod(programs().c_str(), 0700), 0);
}

TEST_F(ProgramCacheAttack, AFullDiskLeavesNothing) {
  std::filesystem::create_directory(programs());
  std::filesystem::permissions(programs(), std::filesystem::perms::owner_all);
  const std::string quoted = "'" + programs() + "'";
  if (std::system(("mount -t tmpfs -o size=64k,mode=700 none " + quoted + " 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "needs root and mounts";
  store_program("large", std::string(100000, 'x'));
  EXPECT_EQ(cached_program("large"), "");
  EXPECT_EQ(files().size(), 0u);
  store_program("small", "code");
  store_program("large", std::string(100000, 'x'));
  EXPECT_EQ(cached_program("small"), "code");
  EXPECT_EQ(files().size(), 1u);
  EXPECT_EQ(std::system(("umount " + quoted).c_str()), 0);
}

}  // namespace
}  // namespace tern::testing
