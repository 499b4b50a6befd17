// Files of packed weights: only written bytes are read back.
#include "runtime/weight_cache/packed_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "loader/hash.h"
#include "runtime/weight_cache/file_names.h"
#include "runtime/weight_cache/packed_format.h"
#include "runtime/weight_cache/write_packed.h"
#include "tests/runtime/weight_cache/temporary_folder.h"

namespace tern::testing {
namespace {

constexpr std::time_t kPackedFileHour = 3600;

class PackedFileTest : public ::testing::Test {
 protected:
  std::string path(const std::string& key = "key") const { return folder_.path(packed_name(key)); }
  std::shared_ptr<const PackedFile> open(const std::string& key = "key") const { return PackedFile::open(cache_, key); }
  static bool exists(const std::string& path) { return std::filesystem::exists(std::filesystem::symlink_status(path)); }
  /// True if these bytes, as the file of "key", are refused and deleted.
  bool refuses(const std::string& bytes) const {
    write_file(path(), bytes);
    return open() == nullptr && !exists(path());
  }

  TemporaryFolder folder_;
  CacheFolder cache_{folder_.path()};
};

TEST_F(PackedFileTest, WhatIsWrittenIsRead) {
  for (const std::size_t size : {1u, 64u, 4096u, 300'000u, 5'000'001u}) {
    for (const std::string& key : {std::string(), std::string("key"), std::string(9000, 'k')}) {
      const auto bytes = some_bytes(size);
      EXPECT_FALSE(has_packed(cache_, key));
      ASSERT_TRUE(write_packed(cache_, key, bytes));
      EXPECT_TRUE(has_packed(cache_, key));
      const auto file = open(key);
      ASSERT_NE(file, nullptr);
      EXPECT_TRUE(std::ranges::equal(file->bytes(), bytes));
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(file->bytes().data()) % 4096, 0u);
      struct stat info {};
      ASSERT_EQ(::stat(path(key).c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 0777, 0600u);
      ASSERT_EQ(::unlink(path(key).c_str()), 0);
      EXPECT_TRUE(std::ranges::equal(file->bytes(), bytes));  // mapped
    }
  }
  EXPECT_TRUE(folder_.names().empty());
}

// The file format, byte by byte: other builds of this version read the file.
TEST_F(PackedFileTest, Form) {
  const auto bytes = some_bytes(100);
  ASSERT_TRUE(write_packed(cache_, "key", bytes));
  const std::string file = read_file(path());
  ASSERT_EQ(file.size(), 4096u + 100);
  EXPECT_EQ(file.substr(0, 24), std::string("\x89TPACK\r\n\1\0\0\0\3\0\0\0\x64\0\0\0\0\0\0\0", 24));
  EXPECT_EQ(file.substr(40, 3), "key");
  EXPECT_TRUE(std::all_of(file.begin() + 43, file.begin() + 4096, [](char c) { return c == 0; }));
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(file).subspan(4096)), bytes));
}

TEST_F(PackedFileTest, EveryTruncationIsRefused) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  const std::string good = read_file(path());
  for (std::size_t size = 0; size < good.size(); ++size) ASSERT_TRUE(refuses(good.substr(0, size))) << size;
  EXPECT_TRUE(refuses(good + '\0'));
  write_file(path(), good);
  EXPECT_NE(open(), nullptr);
}

TEST_F(PackedFileTest, EveryFlippedByteIsRefused) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  const std::string good = read_file(path());
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const int bits : {0x01, 0x80, 0xff}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ bits);
      ASSERT_TRUE(refuses(bad)) << i;
    }
  }
}

// A crash of the system may leave a file with a size and no bytes.
TEST_F(PackedFileTest, HolesAreRefused) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100'000)));
  const std::string good = read_file(path());
  EXPECT_TRUE(refuses(std::string(good.size(), '\0')));
  EXPECT_TRUE(refuses(good.substr(0, 8192) + std::string(good.size() - 8192, '\0')));
}

TEST_F(PackedFileTest, TheKeyIsComparedNotOnlyItsHash) {
  ASSERT_TRUE(write_packed(cache_, "other", some_bytes(100)));
  ASSERT_EQ(::rename(path("other").c_str(), path().c_str()), 0);
  EXPECT_FALSE(has_packed(cache_, "key"));
  EXPECT_EQ(open(), nullptr);
  EXPECT_FALSE(exists(path()));
}

TEST_F(PackedFileTest, LinksAndSpecialFilesAreNotFollowed) {
  const TemporaryFolder elsewhere;
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  const std::string good = elsewhere.path("good");
  ASSERT_EQ(::rename(path().c_str(), good.c_str()), 0);
  ASSERT_EQ(::symlink(good.c_str(), path().c_str()), 0);
  EXPECT_FALSE(has_packed(cache_, "key"));
  EXPECT_EQ(open(), nullptr);
  EXPECT_FALSE(exists(path()));
  EXPECT_TRUE(exists(good));
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(open(), nullptr);  // no hang
  EXPECT_FALSE(exists(path()));
  ASSERT_EQ(::mkdir(path().c_str(), 0700), 0);
  EXPECT_EQ(open(), nullptr);
  EXPECT_FALSE(write_packed(cache_, "key", some_bytes(100)));
  EXPECT_EQ(folder_.names(), std::vector<std::string>{packed_name("key")});  // no temporary file remains
}

TEST_F(PackedFileTest, WritingReplacesALinkNotItsTarget) {
  write_file(folder_.path("target"), "text");
  ASSERT_EQ(::symlink("target", path().c_str()), 0);
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  EXPECT_NE(open(), nullptr);
  EXPECT_EQ(read_file(folder_.path("target")), "text");
}

TEST_F(PackedFileTest, FilesOfOthersAreRefused) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  const std::string good = read_file(path());
  for (const mode_t mode : {0620, 0602}) {
    write_file(path(), good);
    ASSERT_EQ(::chmod(path().c_str(), mode), 0);
    EXPECT_FALSE(has_packed(cache_, "key"));
    EXPECT_EQ(open(), nullptr);
    EXPECT_FALSE(exists(path()));
  }
  write_file(path(), good);
  if (::chown(path().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(has_packed(cache_, "key"));
  EXPECT_EQ(open(), nullptr);
  EXPECT_FALSE(exists(path()));
}

TEST_F(PackedFileTest, AProcessMapsAFileOnce) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  const CacheFolder same(folder_.path());
  const auto first = open(), second = PackedFile::open(same, "key");
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  // A replaced file leaves earlier mappings alone.
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100, 7)));
  const auto third = open();
  ASSERT_NE(third, nullptr);
  EXPECT_TRUE(std::ranges::equal(third->bytes(), some_bytes(100, 7)));
  EXPECT_TRUE(std::ranges::equal(first->bytes(), some_bytes(100)));
}

TEST_F(PackedFileTest, UseIsNoted) {
  ASSERT_TRUE(write_packed(cache_, "key", some_bytes(100)));
  set_age(path(), 60);
  ASSERT_NE(open(), nullptr);
  EXPECT_GE(age_of(path()), 59);  // not at each use
  set_age(path(), kPackedFileHour);
  ASSERT_NE(open(), nullptr);
  EXPECT_LE(age_of(path()), 2);
}

TEST_F(PackedFileTest, WritersAtTheSameTime) {
  constexpr int kWriters = 4, kKeys = 8;
  std::vector<std::thread> writers;
  writers.reserve(kWriters);
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&] {
      for (std::uint32_t k = 0; k < kKeys; ++k)
        EXPECT_TRUE(write_packed(cache_, std::to_string(k), some_bytes(400'000, k)));
    });
  }
  // A reader sees whole files or none.
  for (bool all = false; !all;) {
    all = true;
    for (std::uint32_t k = 0; k < kKeys; ++k) {
      const auto file = open(std::to_string(k));
      all = all && file != nullptr;
      EXPECT_TRUE(file == nullptr || std::ranges::equal(file->bytes(), some_bytes(400'000, k)));
    }
  }
  for (std::thread& t : writers) t.join();
  EXPECT_EQ(folder_.names().size(), std::size_t{kKeys});
}

TEST_F(PackedFileTest, WhatCannotBeWrittenLeavesNothing) {
  EXPECT_FALSE(write_packed(CacheFolder("off"), "key", some_bytes(100)));
  EXPECT_FALSE(write_packed(cache_, "key", {}));
  const Variable limit("TERN_WEIGHT_CACHE_MB", "1");
  const CacheFolder small(folder_.path());
  EXPECT_FALSE(write_packed(small, "key", some_bytes((1 << 20) - 4095)));
  EXPECT_TRUE(write_packed(small, "key", some_bytes((1 << 20) - 4096)));
  EXPECT_EQ(folder_.names().size(), 1u);
}

// A file beyond the process's limit would end the process.
TEST_F(PackedFileTest, LimitOfTheProcess) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const struct rlimit limit { 8192, 8192 };
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const bool right = !write_packed(cache_, "key", some_bytes(4097)) && write_packed(cache_, "key", some_bytes(4096));
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(folder_.names().size(), 1u);
}

}  // namespace
}  // namespace tern::testing
