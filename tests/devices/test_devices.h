// Devices for tests: the CPU, the test plugins, and the other devices of this machine.
#pragma once

#include <tern/graph.h>
#include <tern/memory.h>
#include <tern/tern.h>

#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/devices/plugin/open.h"
#include "tests/device_plugin/control.h"
#include "tests/runtime/support.h"

namespace tern::testing {

/// The plugins of this process, including the tests' own.
inline const std::vector<Plugin>& all_plugins() {
  static const std::vector<Plugin>* const plugins = [] {
    std::string path = TERN_TEST_DEVICES;
    if (const char* others = std::getenv("TERN_DEVICE_PATH")) path += std::string(":") + others;
    setenv("TERN_DEVICE_PATH", path.c_str(), 1);
    return &device_plugins();
  }();
  return *plugins;
}

/// "cpu", "plain", "graph", "full", and "xpu" if present.
inline std::vector<std::string> all_devices() {
  std::vector<std::string> names = {"cpu"};
  for (const Plugin& p : all_plugins()) {
    if (p.count > 0) names.push_back(p.name());
  }
  return names;
}

/// The name of an unused device of a test plugin, with no compiled kernels.
inline std::string fresh_device(const std::string& plugin) {
  static int next = 1;
  all_plugins();
  return plugin + ":" + std::to_string(next++);
}

inline const DeviceControl& control_of(std::string_view device) {
  all_plugins();
  return *static_cast<const DeviceControl*>(open_plugin_device(std::string(device)).plugin().get_extension("test", 1));
}

inline PrepareOptions options_on(const std::string& device) {
  PrepareOptions options;
  options.device = device;
  return options;
}

/// Names parametrised device tests.
inline std::string name_of_case(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

}  // namespace tern::testing
