// The bound of a folder of packed weights.
#include "runtime/weight_cache/room.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/weight_cache/file_names.h"
#include "tests/runtime/weight_cache/temporary_folder.h"
#include "user_files/pending_file.h"

namespace tern::testing {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::time_t kRoomHour = 3600;

class RoomTest : public ::testing::Test {
 protected:
  std::string add(const std::string& name, std::size_t size, std::time_t age) {
    std::string path = folder_.path(name);
    write_file(path, "");
    EXPECT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
    set_age(path, age);
    return path;
  }
  std::string add_packed(const std::string& key, std::time_t age, std::size_t size = kMegabyte) {
    return add(packed_name(key), size, age);
  }
  static bool exists(const std::string& path) { return std::filesystem::exists(path); }

  TemporaryFolder folder_;
  Variable limit_{"TERN_WEIGHT_CACHE_MB", "4"};
  CacheFolder cache_{folder_.path()};
};

TEST(CacheFileNames, Kinds) {
  EXPECT_EQ(packed_name("").size(), 32u + 7);
  EXPECT_EQ(kind_of(packed_name("a")), CacheFileKind::packed);
  EXPECT_EQ(kind_of(temporary_name(kUnfinishedPacked)), CacheFileKind::temporary);
  EXPECT_NE(packed_name("a"), packed_name("b"));
  EXPECT_NE(temporary_name(kUnfinishedPacked), temporary_name(kUnfinishedPacked));
  for (const char* other : {"", ".", "..", ".packed", "notes.txt", "0123456789abcdef.packed",
                            "0123456789ABCDEF0123456789ABCDEF.packed", "0123456789abcdef.tmp"})
    EXPECT_EQ(kind_of(other), CacheFileKind::unrelated) << other;
}

TEST_F(RoomTest, LeastRecentlyUsedFilesGo) {
  const std::string second = add_packed("a", 5 * kRoomHour), first = add_packed("b", 9 * kRoomHour),
                    third = add_packed("c", 3 * kRoomHour);
  EXPECT_TRUE(make_room(cache_, kMegabyte));
  EXPECT_TRUE(exists(first));  // everything fits
  EXPECT_TRUE(make_room(cache_, kMegabyte + 1));
  EXPECT_FALSE(exists(first));
  EXPECT_TRUE(exists(second) && exists(third));
  EXPECT_TRUE(make_room(cache_, 4 * kMegabyte));
  EXPECT_FALSE(exists(second) || exists(third));
}

TEST_F(RoomTest, WhatDoesNotFitDeletesNothing) {
  const std::string old = add_packed("a", 5 * kRoomHour);
  EXPECT_FALSE(make_room(cache_, 4 * kMegabyte + 1));
  EXPECT_FALSE(make_room(cache_, ~std::uint64_t{0}));
  EXPECT_TRUE(exists(old));
}

TEST_F(RoomTest, RecentFilesStay) {
  const std::string old = add_packed("a", 2 * kRoomHour), recent = add_packed("b", kRoomHour / 2, 3 * kMegabyte);
  EXPECT_FALSE(make_room(cache_, 2 * kMegabyte));
  EXPECT_TRUE(exists(old) && exists(recent));
  EXPECT_TRUE(make_room(cache_, kMegabyte));
  EXPECT_FALSE(exists(old));
}

TEST_F(RoomTest, TimesInTheFutureAreNotForever) {
  const std::string later = add_packed("a", -48 * kRoomHour, 4 * kMegabyte);
  EXPECT_TRUE(make_room(cache_, kMegabyte));
  EXPECT_FALSE(exists(later));
}

TEST_F(RoomTest, OtherFilesAreLeftAlone) {
  const std::string text = add("notes.txt", 9 * kMegabyte, 9 * kRoomHour);
  ASSERT_EQ(::mkdir(folder_.path(packed_name("folder")).c_str(), 0700), 0);
  ASSERT_EQ(::symlink("notes.txt", folder_.path(packed_name("link")).c_str()), 0);
  EXPECT_TRUE(make_room(cache_, 4 * kMegabyte));
  EXPECT_EQ(folder_.names().size(), 3u);
  EXPECT_TRUE(exists(text));
}

TEST_F(RoomTest, TemporaryFilesThatNobodyWritesGo) {
  const std::string left = add(temporary_name(kUnfinishedPacked), kMegabyte, 120),
                    fresh = add(temporary_name(kUnfinishedPacked), kMegabyte, 1),
                    written = add(temporary_name(kUnfinishedPacked), kMegabyte, 9 * kRoomHour);
  const int fd = ::open(written.c_str(), O_WRONLY);
  ASSERT_EQ(::flock(fd, LOCK_EX), 0);
  EXPECT_TRUE(make_room(cache_, 2 * kMegabyte));
  EXPECT_FALSE(exists(left));
  EXPECT_TRUE(exists(fresh) && exists(written));
  EXPECT_FALSE(make_room(cache_, 2 * kMegabyte + 1));  // locked files count
  ::close(fd);
  EXPECT_TRUE(make_room(cache_, 3 * kMegabyte));
  EXPECT_FALSE(exists(written));
}

TEST_F(RoomTest, HalfOfTheFileSystemStaysFree) {
  const Variable limit("TERN_WEIGHT_CACHE_MB", "18446744073709551615");
  const CacheFolder cache(folder_.path());
  const std::uint64_t available = std::filesystem::space(folder_.path()).available;
  EXPECT_FALSE(make_room(cache, available / 2 + available / 4));
  EXPECT_TRUE(make_room(cache, available / 4));
}

TEST_F(RoomTest, NoFolderHasRoom) {
  EXPECT_FALSE(make_room(CacheFolder("off"), 1));
}

}  // namespace
}  // namespace tern::testing
