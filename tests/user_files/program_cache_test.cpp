// Compiled programs on disk: only the process's user can plant native code.
#include "devices/program_cache/program_cache.h"

#include <gtest/gtest.h>

#include "tests/runtime/weight_cache/temporary_folder.h"

namespace tern::testing {
namespace {

class ProgramCache : public ::testing::Test {
 protected:
  std::string programs() const { return there_.path("programs"); }
  /// The folder's only file.
  std::string file() const { return std::filesystem::directory_iterator(programs())->path(); }

  TemporaryFolder there_;
  Variable cache_{"TERN_CACHE", there_.path().c_str()};
};

TEST_F(ProgramCache, KeepsPrograms) {
  EXPECT_EQ(cached_program("a"), "");
  store_program("a", "code of a");
  store_program("b", "code of b");
  EXPECT_EQ(cached_program("a"), "code of a");
  EXPECT_EQ(cached_program("b"), "code of b");
  EXPECT_EQ(std::filesystem::status(programs()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(ProgramCache, DamagedFilesAreNotTaken) {
  store_program("a", "code of a");
  const std::string path = file(), bytes = read_file(path);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    write_file(path, changed);
    EXPECT_EQ(cached_program("a"), "") << i;
    write_file(path, bytes.substr(0, i));
    EXPECT_EQ(cached_program("a"), "") << i;
  }
  write_file(path, bytes + "x");
  EXPECT_EQ(cached_program("a"), "");
  write_file(path, bytes);
  EXPECT_EQ(cached_program("a"), "code of a");
}

TEST_F(ProgramCache, FilesAndFoldersThatOthersCanWriteToAreNotTaken) {
  store_program("a", "code of a");
  ASSERT_EQ(::chmod(file().c_str(), 0666), 0);
  EXPECT_EQ(cached_program("a"), "");
  store_program("a", "code of a");  // replaces the other
  EXPECT_EQ(cached_program("a"), "code of a");
  ASSERT_EQ(::chmod(programs().c_str(), 0777), 0);
  EXPECT_EQ(cached_program("a"), "");
  ASSERT_EQ(::chmod(programs().c_str(), 0700), 0);
  if (::chown(file().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  EXPECT_EQ(cached_program("a"), "");
  ASSERT_EQ(::chown(programs().c_str(), 12345, 12345), 0);
  EXPECT_EQ(cached_program("a"), "");
}

TEST_F(ProgramCache, PipesAndLinksAreNeitherReadNorWritten) {
  store_program("a", "code of a");
  const std::string path = file();
  write_file(there_.path("precious"), read_file(path));
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(cached_program("a"), "");
  std::filesystem::remove(path);
  ASSERT_EQ(::symlink(there_.path("precious").c_str(), path.c_str()), 0);
  EXPECT_EQ(cached_program("a"), "");
  const std::string before = read_file(there_.path("precious"));
  store_program("a", "other code of a");
  EXPECT_EQ(read_file(there_.path("precious")), before);
  EXPECT_EQ(cached_program("a"), "other code of a");
  std::filesystem::rename(programs(), there_.path("elsewhere"));
  ASSERT_EQ(::symlink("elsewhere", programs().c_str()), 0);
  EXPECT_EQ(cached_program("a"), "");
}

TEST_F(ProgramCache, RelativeFoldersAreNotUsed) {
  for (const char* path : {"", "relative"}) {
    const Variable relative("TERN_CACHE", path);
    store_program("a", "code of a");
    EXPECT_EQ(cached_program("a"), "");
    EXPECT_FALSE(std::filesystem::exists("relative"));
  }
}

/// Number of stored programs between two checks of the total size.
constexpr int kStoresPerTrim = 64;

TEST_F(ProgramCache, OnlyItsOwnFilesAreDeleted) {
  store_program("old", "code");
  const std::string old = file();
  ASSERT_EQ(::truncate(old.c_str(), 300 << 20), 0);
  set_age(old, 100000);
  const std::string foreign = programs() + "/holiday.iso", unfinished = programs() + "/0123456789abcdef.program.tmp";
  for (const std::string& path : {foreign, unfinished}) {
    write_file(path, "");
    set_age(path, 1000000);
  }
  ASSERT_EQ(::truncate(foreign.c_str(), 300 << 20), 0);
  for (int i = 0; i < kStoresPerTrim; ++i) store_program("new", "code");
  EXPECT_TRUE(std::filesystem::exists(foreign));
  EXPECT_FALSE(std::filesystem::exists(old));
  EXPECT_FALSE(std::filesystem::exists(unfinished));
  EXPECT_EQ(cached_program("new"), "code");
}

}  // namespace
}  // namespace tern::testing
