// Files of the system.
#include "platform/file.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>

#include "platform/error.h"
#include "platform/memory.h"
#include "tests/platform/temporary_folder.h"

namespace tern::platform {
namespace {

TEST(Files, BytesComeBack) {
  const TestFolder there;
  const std::string text("a\r\nb\x1a\0c\n", 8);
  {
    File file = create_file(there.path("a"));
    ASSERT_TRUE(file.is_open());
    EXPECT_TRUE(file.write(bytes_of(text)));
    EXPECT_TRUE(file.write_at(1, bytes_of("__")));
    EXPECT_TRUE(file.write(bytes_of("end")));  // a write at an offset does not move the position
    EXPECT_TRUE(file.close());
  }
  const File file = open_to_read(there.path("a"));
  std::string read(20, '?');
  ASSERT_EQ(file.read(std::as_writable_bytes(std::span(read))), 11);
  EXPECT_EQ(read.substr(0, 11), std::string("a__b\x1a\0c\nend", 11));
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(read))), 0);
  ASSERT_EQ(file.read_at(8, std::as_writable_bytes(std::span(read).first(2))), 2);
  EXPECT_EQ(read.substr(0, 2), "en");
}

TEST(Files, ExtendingAddsZeros) {
  const TestFolder there;
  {
    const File file = create_file(there.path("a"));
    EXPECT_TRUE(file.write(bytes_of("x")) && file.extend(5) && file.write(bytes_of("y")));
  }
  EXPECT_EQ(read_text(there.path("a")), std::string("x\0\0\0\0y", 6));
}

TEST(Files, OffsetsHaveMoreThan32Bits) {
  const TestFolder there;
  constexpr std::uint64_t kEnd = (std::uint64_t{5} << 30) + 3;
  {
    const File file = create_file(there.path("a"));
    ASSERT_TRUE(file.extend(kEnd));
    EXPECT_TRUE(file.write_at(kEnd - 3, bytes_of("end")));
  }
  const File file = open_to_read(there.path("a"));
  EXPECT_EQ(file.info()->size, kEnd);
  std::string read(5, '?');
  EXPECT_EQ(file.read_at(kEnd - 3, std::as_writable_bytes(std::span(read))), 3);
  EXPECT_EQ(read.substr(0, 3), "end");
  const std::byte* const bytes = map_file(file, kEnd, false);
  ASSERT_NE(bytes, nullptr);
  EXPECT_EQ(bytes[0], std::byte{0});
  EXPECT_EQ(bytes[kEnd - 1], std::byte{'d'});
  unmap_file(bytes, kEnd);
}

TEST(Files, ErrorsHaveTheirKinds) {
  const TestFolder there;
  EXPECT_FALSE(open_to_read(there.path("none")).is_open());
  EXPECT_TRUE(is_missing(last_error()));
  EXPECT_FALSE(error_text(last_error()).empty());
  write_text(there.path("a"), "");
  EXPECT_FALSE(create_file(there.path("a")).is_open());
  EXPECT_TRUE(is_existing(last_error()));
  EXPECT_FALSE(info_of(there.path("none")).has_value());
}

TEST(Files, FactsNameTheFile) {
  const TestFolder there;
  write_text(there.path("a"), "12345");
  write_text(there.path("b"), "12345");
  const auto a = info_of(there.path("a")), b = info_of(there.path("b")), folder = info_of(there.path());
  ASSERT_TRUE(a && b && folder);
  EXPECT_TRUE(a->is_regular());
  EXPECT_EQ(a->size, 5u);
  EXPECT_EQ(a->volume, b->volume);
  EXPECT_NE(a->number, b->number);
  EXPECT_EQ(folder->kind, FileInfo::Kind::folder);
  const FileTime now = file_time_now();
  EXPECT_NEAR(static_cast<double>(a->modified.seconds), static_cast<double>(now.seconds), 5);
  EXPECT_LT(now.nanoseconds, 1'000'000'000);
  std::filesystem::last_write_time(path_of(there.path("a")),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const File file = open_to_read(there.path("a"));
  EXPECT_NEAR(static_cast<double>(file.info()->modified.seconds), static_cast<double>(now.seconds - 7200), 5);
}

TEST(Files, TouchMarksUse) {
  const TestFolder there;
  write_text(there.path("a"), "");
  std::filesystem::last_write_time(path_of(there.path("a")),
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  const Folder folder(there.path());
  const File file = folder.open_file("a");
  file.touch();
  EXPECT_NEAR(static_cast<double>(file.info()->modified.seconds), static_cast<double>(file_time_now().seconds), 5);
}

TEST(Files, LocksExcludeOtherOpenedFiles) {
  const TestFolder there;
  File first = create_file(there.path("a"));
  EXPECT_EQ(first.lock(), Lock::acquired);
  const Folder folder(there.path());
  const File second = folder.open_file("a", Access::write);
  EXPECT_EQ(second.lock(), Lock::busy);
  EXPECT_TRUE(first.write(bytes_of("text")));  // a lock keeps nobody from the bytes
  std::string read(4, '?');
  EXPECT_EQ(second.read(std::as_writable_bytes(std::span(read))), 4);
  first.close();
  EXPECT_EQ(second.lock(), Lock::acquired);
}

TEST(Files, ReplacingKeepsTheBytesOfOpenFiles) {
  const TestFolder there;
  write_text(there.path("a"), "old");
  write_text(there.path("b"), "new");
  const File open = open_to_read(there.path("a"));
  EXPECT_TRUE(replace_file(there.path("b"), there.path("a")));
  EXPECT_EQ(read_text(there.path("a")), "new");
  EXPECT_FALSE(info_of(there.path("b")).has_value());
  std::string read(3, '?');
  EXPECT_EQ(open.read(std::as_writable_bytes(std::span(read))), 3);
  EXPECT_EQ(read, "old");
  EXPECT_FALSE(replace_file(there.path("none"), there.path("a")));
  EXPECT_EQ(read_text(there.path("a")), "new");
}

TEST(Files, NamesAreUtf8) {
  const TestFolder there;
  const std::string name = "größe 模型 🙂";
  EXPECT_TRUE(create_file(there.path(name)).write(bytes_of("x")));
  EXPECT_EQ(read_text(there.path(name)), "x");
  EXPECT_EQ(Folder(there.path()).names(), std::vector<std::string>{name});
  EXPECT_EQ(text_of(path_of(name)), name);
  EXPECT_TRUE(sync_folder_of(there.path(name)));
}

TEST(Files, LongPathsWork) {
  const TestFolder there;
  std::string path = there.path();
  for (int i = 0; i < 20; ++i) {
    path += "/a folder with a long name";
    make_folder(path);
  }
  EXPECT_TRUE(create_file(path + "/file").write(bytes_of("x")));
  EXPECT_EQ(read_text(path + "/file"), "x");
  EXPECT_EQ(info_of(path + "/file")->size, 1u);
  EXPECT_FALSE(resolved_path(path + "/file").empty());
  EXPECT_TRUE(remove_file(path + "/file"));
}

TEST(Paths, ListsSplit) {
  const std::string separator = has_folder("a\\b") ? ";" : ":";
  EXPECT_EQ(split_paths("a" + separator + separator + "b c"), (std::vector<std::string>{"a", "b c"}));
  EXPECT_TRUE(split_paths("").empty());
  EXPECT_TRUE(has_folder("./a"));
  EXPECT_FALSE(has_folder("a"));
  EXPECT_EQ(resolved_path("no such file"), "");
}

}  // namespace
}  // namespace tern::platform
