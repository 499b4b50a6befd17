// The folder for packed weights, and the rejection of unsafe folders.
#include "runtime/weight_cache/folder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "tests/runtime/weight_cache/temporary_folder.h"

namespace tern::testing {
namespace {

class CacheFolderTest : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  Variable choice_{"TERN_WEIGHT_CACHE", nullptr}, size_{"TERN_WEIGHT_CACHE_MB", nullptr},
      cache_{"XDG_CACHE_HOME", nullptr}, home_{"HOME", folder_.path().c_str()};
};

bool mentions(const CacheFolder& folder, const std::string& text) {
  return !folder.usable() && !folder.folder().is_open() && folder.problem().find(text) != std::string::npos;
}

mode_t mode_of(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST_F(CacheFolderTest, TheHomeFolderHasTheDefault) {
  const CacheFolder cache("");
  EXPECT_TRUE(cache.usable());
  EXPECT_EQ(cache.problem(), "");
  EXPECT_EQ(cache.path(), folder_.path(".cache/tern/weights"));
  EXPECT_EQ(cache.limit(), std::uint64_t{8192} << 20);
  for (const char* made : {".cache", ".cache/tern", ".cache/tern/weights"})
    EXPECT_EQ(mode_of(folder_.path(made)), 0700u) << made;
}

TEST_F(CacheFolderTest, VariablesChangeTheDefault) {
  const Variable xdg("XDG_CACHE_HOME", folder_.path("xdg").c_str());
  EXPECT_EQ(CacheFolder("").path(), folder_.path("xdg/tern/weights"));
  const Variable own("TERN_WEIGHT_CACHE", folder_.path("own").c_str());
  EXPECT_EQ(CacheFolder("").path(), folder_.path("own"));
  EXPECT_EQ(CacheFolder(folder_.path("option")).path(), folder_.path("option"));
}

TEST_F(CacheFolderTest, RelativeVariablesAreIgnored) {
  const Variable xdg("XDG_CACHE_HOME", "xdg");
  EXPECT_EQ(CacheFolder("").path(), folder_.path(".cache/tern/weights"));
  const Variable own("TERN_WEIGHT_CACHE", "own");
  EXPECT_EQ(CacheFolder("").path(), folder_.path(".cache/tern/weights"));
  const Variable home("HOME", "home");
  EXPECT_TRUE(mentions(CacheFolder(""), "no home folder"));
}

TEST_F(CacheFolderTest, Off) {
  EXPECT_TRUE(mentions(CacheFolder("off"), "off"));
  const Variable own("TERN_WEIGHT_CACHE", "off");
  EXPECT_TRUE(mentions(CacheFolder(""), "off"));
  EXPECT_TRUE(CacheFolder(folder_.path("option")).usable());  // the option has precedence
  EXPECT_EQ(folder_.names(), std::vector<std::string>{"option"});
}

TEST_F(CacheFolderTest, Limit) {
  const auto limit = [](const char* text) {
    const Variable size("TERN_WEIGHT_CACHE_MB", text);
    return CacheFolder("off").limit();
  };
  EXPECT_EQ(limit("3"), std::uint64_t{3} << 20);
  EXPECT_EQ(limit("0"), 0u);
  EXPECT_EQ(limit("18446744073709551615"), ~std::uint64_t{0} >> 20 << 20);
  for (const char* wrong : {"", "-1", "8 GB", "18446744073709551616", "x"})
    EXPECT_EQ(limit(wrong), std::uint64_t{8192} << 20) << wrong;
}

TEST_F(CacheFolderTest, FoldersThatOthersCanWriteToAreNotUsed) {
  for (const mode_t mode : {0770, 0702, 01777}) {
    const std::string path = folder_.path("shared");
    ::mkdir(path.c_str(), 0700);
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(mentions(CacheFolder(path), "others than its owner")) << std::oct << mode;
  }
  ASSERT_EQ(::chmod(folder_.path("shared").c_str(), 0755), 0);  // reading is harmless
  EXPECT_TRUE(CacheFolder(folder_.path("shared")).usable());
}

TEST_F(CacheFolderTest, FoldersOfOthersAreNotUsed) {
  const std::string path = folder_.path("theirs");
  ASSERT_EQ(::mkdir(path.c_str(), 0700), 0);
  if (::chown(path.c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  EXPECT_TRUE(mentions(CacheFolder(path), "belongs to user 12345"));
  const Variable home("HOME", path.c_str());
  EXPECT_TRUE(mentions(CacheFolder(""), "no home folder"));
  EXPECT_FALSE(std::filesystem::exists(path + "/.cache"));
}

TEST_F(CacheFolderTest, WhatIsNoFolderIsNotUsed) {
  ASSERT_EQ(::mkdir(folder_.path("real").c_str(), 0700), 0);
  ASSERT_EQ(::symlink("real", folder_.path("link").c_str()), 0);
  EXPECT_TRUE(mentions(CacheFolder(folder_.path("link")), "cannot open"));
  EXPECT_TRUE(mentions(CacheFolder(folder_.path("link/")), "cannot open"));
  write_file(folder_.path("file"), "text");
  EXPECT_TRUE(mentions(CacheFolder(folder_.path("file")), "cannot open"));
  EXPECT_TRUE(mentions(CacheFolder(folder_.path("file/below")), "cannot open"));
  EXPECT_TRUE(mentions(CacheFolder("/proc/no/such"), "cannot open"));
}

TEST_F(CacheFolderTest, TheFolderThatWasCheckedIsTheOneThatIsUsed) {
  const std::string path = folder_.path("cache");
  const CacheFolder cache(path);
  ASSERT_EQ(::rename(path.c_str(), folder_.path("moved").c_str()), 0);
  ASSERT_EQ(::mkdir(path.c_str(), 0777), 0);
  ASSERT_TRUE(cache.folder().create_file("file", 0600).is_open());
  EXPECT_TRUE(std::filesystem::exists(folder_.path("moved/file")));
}

}  // namespace
}  // namespace tern::testing
