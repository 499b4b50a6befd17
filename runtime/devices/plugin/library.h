// Device plugins of this process (tern/device.h): found in folders, loaded on demand, never unloaded.
#pragma once

#include <tern/device.h>

#include <string>
#include <vector>

namespace tern {

struct Plugin {
  std::string path;
  const tern_device_plugin* table = nullptr;  ///< null if not loaded
  std::string problem;                        ///< reason for not being loaded or for having no devices
  int count = 0;                              ///< number of devices
  bool loaded = false, counted = false;       ///< loading starts no driver; counting does

  std::string name() const { return table == nullptr ? std::string() : table->name; }
};

/// Loads every library in the plugin folder next to this library and in TERN_DEVICE_PATH, and counts their devices:
/// this starts every driver. Never fails: `problem` describes a library's fault. Valid until the process ends.
const std::vector<Plugin>& device_plugins();

/// Returns the plugin with devices of this name, or null. The library libtern_NAME.so has devices NAME and is loaded
/// for no other name: two vendors' compilers may not share a process. `count`: also counts the devices.
const Plugin* device_plugin(const std::string& name, bool count);

/// Files of plugins in search order; the plugin of such a file, with counted devices. Throws invalid_argument for other
/// files.
std::vector<std::string> plugin_paths();
const Plugin& plugin_of_file(const std::string& path);

/// Lists the plugins, "cuda, xpu", by name; files not yet loaded by file name. Loads nothing.
std::string plugin_names();

}  // namespace tern
