// Plugins reported absent by `tern devices`, and the reasons.
#include "tools/absent_plugins.h"

#include <gtest/gtest.h>

namespace tern {
namespace {

const KnownPlugin kBuilt{"xpu", "OpenCL", ""};
const KnownPlugin kLeftOut{"cuda", "NVIDIA GPUs", "nvcc was not found"};

TEST(AbsentPlugins, NoneIsAbsentIfItsLibraryIsThere) {
  const KnownPlugin known[] = {kBuilt};
  const std::string paths[] = {"/usr/lib/tern/devices/libtern_xpu.so"};
  EXPECT_TRUE(absent_plugins(known, paths).empty());
}

TEST(AbsentPlugins, ALibraryThatTheBuildLeftOutMayComeFromElsewhere) {
  const KnownPlugin known[] = {kLeftOut};
  const std::string paths[] = {"/opt/devices/libtern_cuda.so"};
  EXPECT_TRUE(absent_plugins(known, paths).empty());
}

TEST(AbsentPlugins, SaysWhatTheBuildDidNotFindAndWhatInstallsIt) {
  const KnownPlugin known[] = {kBuilt, kLeftOut};
  const std::string paths[] = {"/build/devices/libtern_xpu.so", "/opt/other.so"};
  const std::vector<AbsentPlugin> absent = absent_plugins(known, paths);
  ASSERT_EQ(absent.size(), 1);
  EXPECT_EQ(absent[0].name, "cuda");
  EXPECT_NE(absent[0].problem.find("nvcc was not found"), std::string::npos);
  EXPECT_NE(absent[0].problem.find("./dev setup devices"), std::string::npos);
}

TEST(AbsentPlugins, SaysWhatBuildsAPluginThatHasItsToolkit) {
  const KnownPlugin known[] = {kBuilt};
  const std::vector<AbsentPlugin> absent = absent_plugins(known, {});
  ASSERT_EQ(absent.size(), 1);
  EXPECT_NE(absent[0].problem.find("libtern_xpu.so"), std::string::npos);
  EXPECT_NE(absent[0].problem.find("./dev build"), std::string::npos);
}

TEST(AbsentPlugins, TheSourceHasAPluginForOpenCL) {
  ASSERT_FALSE(known_plugins().empty());
  EXPECT_EQ(known_plugins()[0].name, "xpu");
}

}  // namespace
}  // namespace tern
