// Folders and files written only by the process's user.
#include "user_files/user_folder.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <chrono>

#include "tests/runtime/weight_cache/temporary_folder.h"
#include "user_files/pending_file.h"

namespace tern::testing {
namespace {

std::span<const std::byte> bytes_of(const std::string& s) {
  return std::as_bytes(std::span(s));
}

bool is_taken(const UserFolder& folder, const std::string& name) {
  const platform::File file = folder.folder().open_file(name);
  const auto info = file.is_open() ? file.info() : std::nullopt;
  return info && info->is_own_file();
}

TEST(UserFolders, FilesOfOthersLinksAndPipesAreNotTaken) {
  const TemporaryFolder there;
  const UserFolder folder(there.path());
  ASSERT_TRUE(folder.usable()) << folder.problem();
  write_file(there.path("own"), "x");
  EXPECT_TRUE(is_taken(folder, "own"));
  ASSERT_EQ(::chmod(there.path("own").c_str(), 0620), 0);
  EXPECT_FALSE(is_taken(folder, "own"));
  ASSERT_EQ(::symlink("own", there.path("link").c_str()), 0);
  EXPECT_FALSE(is_taken(folder, "link"));
  ASSERT_EQ(::mkfifo(there.path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_taken(folder, "pipe"));  // and nothing waits
  if (::chown(there.path("own").c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(there.path("own").c_str(), 0600), 0);
  EXPECT_FALSE(is_taken(folder, "own"));
}

TEST(UserFolders, AnEmptyPathIsNone) {
  EXPECT_FALSE(UserFolder("").usable());
}

TEST(PendingFiles, GetTheirNameOnceComplete) {
  const TemporaryFolder there;
  const UserFolder folder(there.path());
  {
    PendingFile file(folder.folder(), ".tmp", 4);
    ASSERT_TRUE(file.is_open());
    EXPECT_TRUE(is_numbered(file.name(), 16, ".tmp"));
    EXPECT_TRUE(file.write(bytes_of("text")));
    EXPECT_TRUE(file.rename("name"));
  }
  EXPECT_EQ(read_file(there.path("name")), "text");
  PendingFile(folder.folder(), ".tmp", 4).write(bytes_of("text"));
  EXPECT_EQ(there.names(), std::vector<std::string>{"name"});
  const platform::Folder none;
  EXPECT_FALSE(PendingFile(none, ".tmp", 4).is_open());
}

TEST(PendingFiles, RenamingReplacesALinkAndNotItsTarget) {
  const TemporaryFolder there;
  const UserFolder folder(there.path());
  write_file(there.path("precious"), "precious");
  ASSERT_EQ(::symlink("precious", there.path("name").c_str()), 0);
  PendingFile file(folder.folder(), ".tmp", 4);
  EXPECT_TRUE(file.write(bytes_of("text")) && file.rename("name"));
  EXPECT_EQ(read_file(there.path("precious")), "precious");
  EXPECT_EQ(read_file(there.path("name")), "text");
}

}  // namespace
}  // namespace tern::testing
