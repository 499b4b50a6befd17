// Files appear complete or not at all.
#include "loader/atomic_file.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "platform/folder.h"
#include "platform/machine.h"
#include "platform/path.h"

namespace tern {
namespace {

namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  AtomicFileTest() { folder_ = platform::path_of(platform::make_temporary_folder("tern-atomic-")); }
  ~AtomicFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  static std::string text(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_;
};

TEST_F(AtomicFileTest, AppearsOnCommit) {
  AtomicFile file(path("a"));
  EXPECT_EQ(file.temporary_path(), path("a.tmp." + std::to_string(platform::process_number())));
  file.write("hello ");
  file.write("world");
  EXPECT_EQ(file.size(), 11u);
  file.overwrite(0, std::as_bytes(std::span("J", 1)));
  EXPECT_FALSE(fs::exists(path("a")));
  file.commit();
  EXPECT_EQ(text(path("a")), "Jello world");
  EXPECT_EQ(files(), 1);
  EXPECT_THROW(file.commit(), Error);
}

TEST_F(AtomicFileTest, LeavesTheOldFileWhenNotCommitted) {
  std::ofstream(path("a")) << "old";
  {
    AtomicFile file(path("a"));
    file.write("new");
  }
  EXPECT_EQ(text(path("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, TwoWritersOfOneNameDoNotMix) {
  AtomicFile one(path("a"));
  AtomicFile two(path("a"));
  one.write("1");
  two.write("2");
  one.commit();
  EXPECT_EQ(text(path("a")), "1");
  two.commit();
  EXPECT_EQ(text(path("a")), "2");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFileTest, NamesPathAndReason) {
  const auto error = [](const std::string& path) -> std::string {
    try {
      AtomicFile file(path);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::io);
      return e.what();
    }
    return "no error";
  };
  EXPECT_NE(error(path("no/a")).find(path("no/a")), std::string::npos);
  EXPECT_NE(error(folder_.string()).find("it is a folder"), std::string::npos);
  AtomicFile file(path("a"));
  file.write("abc");
  EXPECT_THROW(file.overwrite(2, std::as_bytes(std::span("xy", 2))), Error);
}

}  // namespace
}  // namespace tern
