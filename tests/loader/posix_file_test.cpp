// Special files, links and permissions of POSIX systems.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <tern/error.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "loader/archive.h"
#include "loader/atomic_file.h"
#include "platform/folder.h"

namespace tern::test {
namespace {

namespace fs = std::filesystem;

class PosixFiles : public testing::Test {
 protected:
  PosixFiles() : folder_(platform::make_temporary_folder("tern-posix-")) {}
  ~PosixFiles() override { fs::remove_all(folder_); }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  static ErrorCode code_of(const std::string& path) {
    try {
      open_archive(path, {});
    } catch (const Error& e) {
      return e.code();
    }
    return ErrorCode::internal;
  }

  fs::path folder_;
};

TEST_F(PosixFiles, SpecialFilesAreNoArchives) {
  EXPECT_EQ(code_of("/dev/null"), ErrorCode::io);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(code_of(path("pipe")), ErrorCode::io);  // no hang
}

TEST_F(PosixFiles, AtomicFilesKeepPermissionsAndFollowLinks) {
  fs::create_directory(path("b"));
  std::ofstream(path("b/target")) << "old";
  ::chmod(path("b/target").c_str(), 0640);
  fs::create_symlink("b/target", path("link"));
  AtomicFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  std::ifstream target(path("b/target"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(target), {}), "new");
  EXPECT_EQ(fs::status(path("b/target")).permissions(), static_cast<fs::perms>(0640));
}

TEST_F(PosixFiles, AtomicFilesWriteToDevicesDirectly) {
  AtomicFile file("/dev/null");
  file.write("x");
  file.commit();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_empty(folder_));
  AtomicFile full("/dev/full");
  EXPECT_THROW(full.write("x"), Error);
}

TEST_F(PosixFiles, AtomicFilesNameTheReason) {
  try {
    AtomicFile file(path("no/a"));
    ADD_FAILURE() << "the folder is missing";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("No such file or directory"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace tern::test
