// Identities of files and storages in cache keys.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "loader/archive.h"
#include "loader/file_bytes.h"
#include "platform/folder.h"
#include "platform/path.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

namespace fs = std::filesystem;

class Identity : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = platform::path_of(platform::make_temporary_folder("tern-identity-"));
    ASSERT_FALSE(folder_.empty());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string identity_of(const std::string& path, Access access = Access::map) {
    return FileBytes::open(path, access)->identity();
  }
  /// The time of the last change cannot be set: the test waits until the file is old.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(2050)); }

  fs::path folder_;
};

TEST_F(Identity, OfFiles) {
  for (const char* name : {"a", "b", "changed", "replaced", "dated"}) std::ofstream(path(name)) << "some bytes";
  EXPECT_EQ(identity_of(path("a")), "");  // changed recently: the next change may leave the times unchanged
  settle();
  const std::string a = identity_of(path("a")), changed = identity_of(path("changed")),
                    replaced = identity_of(path("replaced")), dated = identity_of(path("dated"));
  EXPECT_NE(a, "");
  EXPECT_EQ(a, identity_of(path("a"), Access::read));
  EXPECT_EQ(a, identity_of(path("a"), Access::populate));
  EXPECT_EQ((std::set{a, identity_of(path("b")), changed, replaced, dated}.size()), 5u);
  EXPECT_EQ(FileBytes::borrow(FileBytes::open(path("a"), Access::read)->bytes())->identity(), "");
  // Equal size and equal bytes; a file even with its old time.
  std::ofstream(path("changed")) << "more bytes";
  std::ofstream(path("new")) << "some bytes";
  fs::rename(path("new"), path("replaced"));
  const auto time = fs::last_write_time(path("dated"));
  std::ofstream(path("dated")) << "more bytes";
  fs::last_write_time(path("dated"), time);
  // Times in the future.
  fs::last_write_time(path("b"), fs::last_write_time(path("b")) + std::chrono::hours(1));
  settle();
  EXPECT_EQ(identity_of(path("a")), a);
  for (const auto& [name, before] : {std::pair("changed", changed), {"replaced", replaced}, {"dated", dated}}) {
    EXPECT_NE(identity_of(path(name)), "");
    EXPECT_NE(identity_of(path(name)), before);
  }
  EXPECT_EQ(identity_of(path("b")), "");
}

TEST_F(Identity, OfStorages) {
  write_archive(sample_program(), path("plain"));
  write_archive(sample_program(), path("packed"), {WriteOptions::Codec::zstd, 3, {}});
  EXPECT_EQ(open_archive(path("plain"), {})->source->identity(0), "");  // a new file
  settle();
  std::set<std::string> identities;
  std::size_t stored = 0;
  for (const char* name : {"plain", "packed"}) {
    const auto program = open_archive(path(name), {});
    const auto unchecked = open_archive(path(name), {Access::map, Verify::never});
    const auto checked = open_archive(path(name), {Access::read, Verify::now});
    for (std::uint32_t i = 0; i < program->storages.size(); ++i) {
      const std::string identity = program->source->identity(i);
      EXPECT_EQ(identity.empty(), program->storages[i].size == 0) << i;
      EXPECT_EQ(identity, checked->source->identity(i));
      EXPECT_EQ(unchecked->source->identity(i), "");
      if (identity.empty()) continue;
      identities.insert(identity);
      ++stored;
    }
    EXPECT_EQ(program->source->identity(~0u), "");
  }
  // Equal bytes share a segment; everything else differs.
  EXPECT_GT(stored, 4u);
  EXPECT_GT(identities.size(), 4u);
  EXPECT_EQ(identities.count(""), 0u);
  EXPECT_EQ(sample_program().source->identity(0), "");
  const std::vector<std::byte> bytes = archive_bytes(sample_program());
  EXPECT_EQ(open_archive(bytes, {})->source->identity(0), "");
}

}  // namespace
}  // namespace tern::test
