// Every function of an emulated GPU's driver fails once at every call of a session: a clear error or none, no wrong
// call afterwards, no leak, and the same session continues. Needs the stand-ins of tests/gpu.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "tests/devices/emulated_driver.h"
#include "tests/devices/everything.h"

namespace tern {
namespace {

using namespace testing;

struct Gpu {
  const char *plugin, *error;
};
constexpr Gpu kGpus[] = {{"cuda", "CUDA error"}, {"rocm", "HIP error"}};

class DriverFailureTest : public ::testing::TestWithParam<Gpu> {};
INSTANTIATE_TEST_SUITE_P(Gpus, DriverFailureTest, ::testing::ValuesIn(kGpus),
                         [](const auto& info) { return std::string(info.param.plugin); });

/// Objects owned by a session. Modules, and addresses and memory shared between sessions, live with the device.
std::uint64_t alive(const tern_emulator_figures& f) {
  return f.streams + f.events + f.graphs + f.executables + f.allocations + f.mappings + f.memory_objects +
         f.pinned_allocations;
}

bool names_one_of(const std::string& function, std::initializer_list<const char*> words) {
  return std::ranges::any_of(words, [&](const char* w) { return function.find(w) != std::string::npos; });
}

/// Functions that leak their object on failure.
bool ends_something(const std::string& function) {
  return names_one_of(function, {"Destroy", "Free", "Unmap", "Release", "Unload"});
}

/// Functions that make a device current, before every call, and the caller's device afterwards. A destroying call
/// without a current device leaks its object. A failure to restore leaves the device current, so no later call
/// changes it.
bool makes_current(const std::string& function) {
  return names_one_of(function, {"CtxGetCurrent", "CtxPushCurrent", "CtxPopCurrent", "GetDevice", "SetDevice"});
}

/// Functions with possibly silent failures: releases, repeated waits, and measurements.
bool may_be_silent(const std::string& function) {
  return ends_something(function) || makes_current(function) ||
         names_one_of(function, {"Synchronize", "Event", "HostAlloc", "HostMalloc"});
}

/// Optional functions: other host memory replaces theirs.
bool is_spare(const std::string& function) {
  return names_one_of(function, {"Elapsed", "Query", "HostAlloc", "HostMalloc"});
}

TEST_P(DriverFailureTest, AtEveryCall) {
  const Gpu gpu = GetParam();
  const std::vector<std::string> devices = all_devices();
  if (std::ranges::find(devices, gpu.plugin) == devices.end()) GTEST_SKIP() << "there is no such device";
  const EmulatedDriver driver(gpu.plugin);
  if (driver.fail == nullptr) GTEST_SKIP() << "the driver is not an emulated one";

  const std::string device = gpu.plugin;
  { Setting().run(device); }  // compiles, opens the device
  const std::map<std::string, std::uint64_t> before_all = driver.all_calls();
  { Setting().run(device); }
  release_device_memory(device);
  std::map<std::string, std::uint64_t> of_one_setting = driver.all_calls();
  for (auto& [name, count] : of_one_setting)
    if (const auto at = before_all.find(name); at != before_all.end()) count -= at->second;
  ASSERT_GT(of_one_setting.size(), 15u) << driver.report();

  int failures = 0;
  for (const auto& [function, count] : of_one_setting) {
    int told = 0;
    for (std::uint64_t n = 1; n <= count; ++n) {
      SCOPED_TRACE(function + ", call " + std::to_string(n) + " of " + std::to_string(count));
      release_device_memory(device);
      const tern_emulator_figures before = driver.figures();
      const std::uint64_t calls = driver.calls(function.c_str());
      std::string message;
      bool came = false;
      {
        Setting s;
        driver.fail(function.c_str(), n);
        try {
          s.run(device);
        } catch (const Error& e) {
          message = e.what();
        }
        came = driver.calls(function.c_str()) - calls >= n;
        if (came && !message.empty()) {
          EXPECT_TRUE(message.find(gpu.error) != std::string::npos || message.find("to measure") != std::string::npos)
              << message;
          EXPECT_NE(message.find(device), std::string::npos) << message;
        }
        try {
          if (came) s.run(device);
        } catch (const Error& e) {
          ADD_FAILURE() << "the same session does not go on: " << e.what() << "; first: " << message;
        }
      }
      try {
        release_device_memory(device);
      } catch (const Error& e) {
        message = e.what();
      }
      if (!came) came = driver.calls(function.c_str()) - calls >= n;  // the session's end
      driver.fail(function.c_str(), 0);
      if (!came) break;
      ++failures;
      const tern_emulator_figures after = driver.figures();
      EXPECT_EQ(after.mistakes, before.mistakes) << driver.report();
      if (ends_something(function) || makes_current(function)) {
        EXPECT_LE(alive(after), alive(before) + 2) << "a mapping and its memory, at most";
      } else {
        EXPECT_EQ(alive(after), alive(before)) << driver.report();
      }
      told += message.empty() ? 0 : 1;
      EXPECT_TRUE(may_be_silent(function) || !message.empty());
    }
    EXPECT_TRUE(told > 0 || ends_something(function) || makes_current(function) || is_spare(function) || count == 0)
        << function;
  }
  EXPECT_GT(failures, 50);
}

}  // namespace
}  // namespace tern
