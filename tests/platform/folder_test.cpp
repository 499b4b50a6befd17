// Folders that stay the same whatever happens to their paths.
#include "platform/folder.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "platform/error.h"
#include "platform/random.h"
#include "tests/platform/temporary_folder.h"

namespace tern::platform {
namespace {

TEST(Folders, HoldFiles) {
  const TestFolder there;
  const Folder folder(there.path());
  ASSERT_TRUE(folder.is_open());
  EXPECT_TRUE(folder.create_file("a", 0600).write(bytes_of("one")));
  EXPECT_FALSE(folder.create_file("a", 0600).is_open());
  EXPECT_TRUE(is_existing(last_error()));
  EXPECT_EQ(folder.info_of("a")->size, 3u);
  EXPECT_TRUE(folder.info_of("a")->is_own_file());
  EXPECT_TRUE(folder.rename("a", "b"));
  EXPECT_TRUE(folder.link("b", "c"));
  EXPECT_EQ(folder.info_of("b")->number, folder.info_of("c")->number);
  EXPECT_FALSE(folder.link("b", "c"));
  EXPECT_TRUE(is_existing(last_error()));
  std::vector<std::string> names = folder.names();
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"b", "c"}));
  EXPECT_TRUE(folder.remove("b") && folder.remove("c"));
  EXPECT_FALSE(folder.remove("b"));
  EXPECT_GT(folder.free_bytes(), 0u);
}

TEST(Folders, LinksAreNotFollowed) {
  const TestFolder there;
  std::error_code error;
  write_text(there.path("target"), "x");
  std::filesystem::create_symlink("target", path_of(there.path("link")), error);
  if (error || !std::filesystem::is_symlink(path_of(there.path("link")))) GTEST_SKIP() << "this system makes no links";
  std::filesystem::create_directory_symlink(path_of(there.path()), path_of(there.path("here")), error);
  const Folder folder(there.path());
  EXPECT_FALSE(folder.open_file("link").is_open());
  EXPECT_TRUE(is_symbolic_link(last_error()));
  EXPECT_EQ(folder.info_of("link")->kind, FileInfo::Kind::link);
  EXPECT_TRUE(Folder(there.path("here")).is_open());
  EXPECT_FALSE(Folder(there.path("here"), false).is_open());
  EXPECT_FALSE(Folder(there.path("target")).is_open());
}

TEST(Folders, PrivateFoldersBelongToTheUser) {
  const TestFolder there;
  make_private_folders(there.path("a/b"));
  const Folder folder(there.path("a/b"));
  ASSERT_TRUE(folder.is_open());
  EXPECT_EQ(folder.info()->sharing, "");
  EXPECT_TRUE(can_write_folder(there.path("a/b")));
  EXPECT_FALSE(can_write_folder(there.path("none")));
}

TEST(Folders, LocksExcludeOthers) {
  const TestFolder there;
  make_folder(there.path("a"));
  {
    Folder first(there.path("a")), second(there.path("a"));
    EXPECT_EQ(first.lock(), Lock::acquired);
    EXPECT_EQ(second.lock(), Lock::busy);
  }
  Folder third(there.path("a"));
  EXPECT_EQ(third.lock(), Lock::acquired);
  third.sync();
  third.remove_if_empty();
  EXPECT_FALSE(info_of(there.path("a")).has_value());
}

TEST(RandomNumbers, Differ) {
  EXPECT_NE(random_number(), random_number());
}

}  // namespace
}  // namespace tern::platform
