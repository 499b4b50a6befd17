// The device plugins of this process (tern/device.h): found in folders, loaded once, and kept.
#pragma once

#include <tern/device.h>

#include <string>
#include <vector>

namespace tern {

struct Plugin {
  std::string path;
  const tern_device_plugin* table = nullptr;  ///< null when it was not loaded
  std::string problem;                        ///< why it was not loaded, or why it has no devices
  int count = 0;                              ///< of devices

  std::string name() const { return table == nullptr ? std::string() : table->name; }
};

/// Every library in the folder for plugins beside this one, and what TERN_DEVICE_PATH names; looked for at the first
/// call. Never fails: what is wrong with a library is its `problem`. Valid for the life of the process.
const std::vector<Plugin>& device_plugins();

}  // namespace tern
