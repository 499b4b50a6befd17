// Every function of a device fails once at every call: a clear error, no leak, and the same session continues.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "tests/devices/everything.h"
#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

/// Live objects, zero after everything is released.
std::int64_t live_objects(const DeviceCounts& c) {
  return c.streams + c.events + c.graphs + c.overrides + c.profiles + c.pinned + c.pieces + c.partitions +
         c.communicators + c.allocations;
}

class FailureTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FailureTest, AtEveryCall) {
  const std::string function = GetParam();
  const bool once_per_device = function == "properties" || function == "segment_piece" ||
                               function == "segment_reserve" || function.starts_with("module_");
  // Functions that release a handle have no caller to inform. Memory is freed after waiting for its users: a later wait
  // would repeat a real failure, but the test's failure comes only once.
  const bool ends = function.ends_with("_destroy") || function == "profiler_end" || function == "pinned_free" ||
                    function == "partition_release";
  const bool silent = ends || function.ends_with("_synchronize");
  // Devices with mapped memory never call allocate.
  const char* plugin = function == "allocate" || function == "free" ? "plain"
                       : function.starts_with("partition_")         ? "parts"
                                                                    : "full";
  std::string device = fresh_device(plugin);
  const DeviceControl& control = control_of(plugin);
  const std::int64_t before = live_objects(control.counts());  // counts of other devices
  int failures = 0, told = 0;
  for (int n = 1; n < 200; ++n) {
    if (once_per_device) device = fresh_device(plugin);
    SCOPED_TRACE(function + ", call " + std::to_string(n));
    std::string message;
    {
      Setting s;
      control.fail(function.c_str(), n, TERN_DEVICE_FAILED);
      try {
        s.run(device);
      } catch (const Error& e) {
        message = e.what();
        EXPECT_EQ(e.code(), ErrorCode::runtime) << message;
      }
      if (control.failed() && !(silent && message.empty())) {
        ++told;
        EXPECT_NE(message.find("the test wants " + function + " to fail"), std::string::npos) << message;
        EXPECT_NE(message.find(device), std::string::npos) << message;
      }
      if (control.failed()) s.run(device);  // the same session, if one exists
    }
    try {
      release_device_memory(device);
    } catch (const Error& e) {
      message = e.what();
      EXPECT_TRUE(function == "free" || function == "segment_unmap") << message;
    }
    const bool came = control.failed();
    control.fail("", 0, TERN_DEVICE_OK);
    if (!came) break;
    ++failures;
    if (!silent) {
      EXPECT_FALSE(message.empty());
    }
    release_device_memory(device);
    // A block that the device fails to free stays with the device.
    EXPECT_EQ(live_objects(control.counts()), before + (function == "free" ? failures : 0));
  }
  EXPECT_GT(failures, 0);
  EXPECT_LT(failures, 199);
  EXPECT_TRUE(told > 0 || ends || function == "free" || function == "segment_unmap");
}
INSTANTIATE_TEST_SUITE_P(Functions, FailureTest,
                         ::testing::Values("properties", "allocate", "copy_to_device", "copy_to_host", "copy_within",
                                           "stream_create", "stream_destroy", "stream_synchronize",
                                           "share_stream_create", "event_create", "event_destroy", "event_record",
                                           "event_synchronize", "stream_wait", "module_load", "module_kernel", "launch",
                                           "graph_begin", "graph_end", "graph_launch", "begin_if", "begin_else",
                                           "end_body", "override_prepare", "override_run", "pinned_allocate",
                                           "pinned_free", "partition_choose", "partition_compile", "partition_run",
                                           "partition_release", "segment_piece", "segment_reserve", "segment_map",
                                           "segment_unmap", "profiler_begin", "profiler_mark", "profiler_take",
                                           "profiler_end", "free"),
                         name_of_case);

TEST(Failures, APluginThatFindsNoDriverSaysSo) {
  const auto& plugins = all_plugins();
  const auto broken = std::ranges::find_if(plugins, [](const Plugin& p) { return p.name() == "broken"; });
  ASSERT_NE(broken, plugins.end());
  EXPECT_EQ(broken->problem, "the driver is missing");
  try {
    Device::open("broken");
    ADD_FAILURE() << "there is a device";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("the driver is missing"), std::string::npos) << e.what();
  }
}

constexpr std::int64_t kLarge = std::int64_t{1} << 21;  // 8 MiB of floats

TestProgram large_program() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {kLarge});
  p.output(p.b().reduce(p.b().expr("x + 1", {{"x", x}}, DType::f32), "max", {0}, false, DType::f32));
  return p;
}

TEST(DeviceMemory, WhereThereIsNoneLeftARunFailsAndTheNextSucceeds) {
  const std::string device = fresh_device("plain");
  const DeviceControl& control = control_of(device);
  const TestProgram p = large_program();
  Session session(p.model().prepare(options_on(device)));
  const std::vector<Tensor> input = {Tensor(DType::f32, {kLarge})};
  control.set_memory(control.counts().bytes + (9 << 20));
  try {
    session.run(input);
    ADD_FAILURE() << "16 MiB lie in 9";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(e.what()).find(device + ": "), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find("could not be allocated"), std::string::npos) << e.what();
  }
  EXPECT_GT(device_memory(device).out_of_memory, 0u);
  control.set_memory(std::uint64_t{1} << 40);
  EXPECT_EQ(values_of(session.run(input)[0]), std::vector<float>{1});
}

TEST(DeviceMemory, UnusedSegmentsGoBackBeforeARunFails) {
  const std::string device = fresh_device("plain");
  const DeviceControl& control = control_of(device);
  const TestProgram p = large_program();
  const std::vector<Tensor> input = {Tensor(DType::f32, {kLarge})};
  { Session(p.model().prepare(options_on(device))).run(input); }
  const DeviceMemoryStats kept = device_memory(device);
  EXPECT_EQ(kept.used, 0u);
  EXPECT_GT(kept.reserved, 0u);
  EXPECT_GE(kept.peak, 2u * kLarge * sizeof(float));
  // Other sizes, absent from the cached segments.
  control.set_memory(control.counts().bytes + (1 << 20));
  TestProgram other;
  const ValueId x = other.input(DType::f32, {kLarge * 2});
  other.output(other.b().reduce(x, "max", {0}, false, DType::f32));
  EXPECT_EQ(values_of(Session(other.model().prepare(options_on(device))).run({Tensor(DType::f32, {kLarge * 2})})[0]),
            std::vector<float>{0});
  control.set_memory(std::uint64_t{1} << 40);
  release_device_memory(device);
  EXPECT_EQ(device_memory(device).reserved, 0u);
}

TEST(DeviceMemory, OneRefusalIsTriedAgain) {
  const std::string device = fresh_device("plain");
  const DeviceControl& control = control_of(device);
  const TestProgram p = large_program();
  Session session(p.model().prepare(options_on(device)));
  control.fail("allocate", 1, TERN_DEVICE_OUT_OF_MEMORY);
  EXPECT_EQ(values_of(session.run({Tensor(DType::f32, {kLarge})})[0]), std::vector<float>{1});
  EXPECT_TRUE(control.failed());
}

TEST(DeviceMemory, ALimitHoldsAndIsNamed) {
  const std::string device = fresh_device("plain");
  set_device_memory_limit(device, 9 << 20);
  const TestProgram p = large_program();
  Session session(p.model().prepare(options_on(device)));
  const std::vector<Tensor> input = {Tensor(DType::f32, {kLarge})};
  try {
    session.run(input);
    ADD_FAILURE() << "16 MiB lie in 9";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("the limit is 9437184"), std::string::npos) << e.what();
  }
  EXPECT_LE(device_memory(device).reserved, 9u << 20);
  set_device_memory_limit(device, 0);
  EXPECT_EQ(values_of(session.run(input)[0]), std::vector<float>{1});
}

TEST(DeviceMemory, TheEnvironmentSetsTheLimitOfADeviceThatIsOpened) {
  all_plugins();
  setenv("TERN_DEVICE_MEMORY", "9M", 1);
  EXPECT_EQ(device_memory(fresh_device("plain")).limit, 9u << 20);
  for (const char* wrong : {"many", "9Q", "-1", "99999999999999T"}) {
    setenv("TERN_DEVICE_MEMORY", wrong, 1);
    try {
      device_memory(fresh_device("plain"));
      ADD_FAILURE() << wrong;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(e.what()).find("TERN_DEVICE_MEMORY"), std::string::npos) << e.what();
    }
  }
  unsetenv("TERN_DEVICE_MEMORY");
}

TEST(DeviceMemory, TheHostsIsNotDivided) {
  EXPECT_THROW(device_memory("cpu"), Error);
}

}  // namespace
}  // namespace tern
