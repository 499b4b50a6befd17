// Launches of 2^32 work items and more on emulated GPUs, recorded and not run.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/devices/emulated_driver.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

class LargeLaunchTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Gpus, LargeLaunchTest, ::testing::Values("cuda", "rocm"), name_of_case);

TEST_P(LargeLaunchTest, TheDriverTakesThem) {
  const std::vector<std::string> devices = all_devices();
  if (std::ranges::find(devices, GetParam()) == devices.end()) GTEST_SKIP() << "there is no such device";
  const EmulatedDriver driver(GetParam());
  if (driver.calls == nullptr) GTEST_SKIP() << "the driver is not an emulated one";
  const bool is_cuda = GetParam() == "cuda";
  PluginDevice& d = open_plugin_device(GetParam());
  const portable::KernelHandle kernel = d.kernel("large_launch", "large_launch", [&] {
    return std::string("extern \"C\" __global__ void large_launch(unsigned* out") +
           (is_cuda ? "" : ", long long first_block") + ") { out[0] = 1; }";
  });
  const std::shared_ptr<DeviceStream> stream = d.open_stream({});
  std::byte* const out = d.allocate(4);
  const portable::LaunchArgument argument{&out, sizeof out, true};
  const char* const function = is_cuda ? "cuLaunchKernel" : "hipModuleLaunchKernel";
  for (const std::uint32_t group : {0U, 64U, 256U}) {
    const std::uint64_t calls = driver.calls(function), mistakes = driver.figures().mistakes;
    const auto graph = stream->graphs()->record([&] {
      stream->launcher().launch(kernel, {&argument, 1}, (std::int64_t{1} << 32) + 3 * 256, group);
    });
    EXPECT_NE(graph, nullptr);
    EXPECT_EQ(driver.calls(function) - calls, is_cuda ? 1U : 2U);
    EXPECT_EQ(driver.figures().mistakes, mistakes) << driver.report();
  }
  d.free(out);
}

}  // namespace
}  // namespace tern
