// Folders of checkpoints belong to one process at a time.
#include "tools/train/folder.h"

#include <gtest/gtest.h>

#include <optional>

#include "tests/tools/support.h"

namespace tern::train {
namespace {

using test::error_of;
using test::TempFolder;

TEST(TrainFolder, IsHeldByOne) {
  const TempFolder folder;
  std::optional<HeldFolder> first(std::in_place, folder / "a/b", true);
  for (const bool needed : {true, false}) {
    EXPECT_NE(
        error_of([&] { HeldFolder second(folder / "a/b", needed); }, ErrorCode::io).find("another process trains"),
        std::string::npos);
  }
  first.reset();
  EXPECT_FALSE(std::filesystem::exists(folder / "a/b"));  // removed, since empty
  EXPECT_EQ(error_of([&] { HeldFolder second(folder / "a/b", true); }), "no error");
}

TEST(TrainFolder, StaysIfItWasThereOrHoldsSomething) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "mine");
  { const HeldFolder held(folder / "mine", true); }
  EXPECT_TRUE(std::filesystem::exists(folder / "mine"));
  {
    const HeldFolder held(folder / "used", true);
    test::write_bytes(folder / "used/checkpoint", "");
  }
  EXPECT_TRUE(std::filesystem::exists(folder / "used/checkpoint"));
}

TEST(TrainFolder, ThatCannotBeIsAnErrorWhereItIsNeeded) {
  const TempFolder folder;
  test::write_bytes(folder / "file", "");
  for (const std::string& path : {folder / "file", folder / "file/below", std::string("/proc/none")}) {
    EXPECT_NE(error_of([&] { HeldFolder held(path, true); }, ErrorCode::io).find("cannot make the folder"),
              std::string::npos)
        << path;
    EXPECT_EQ(error_of([&] { HeldFolder held(path, false); }), "no error") << path;
  }
}

}  // namespace
}  // namespace tern::train
