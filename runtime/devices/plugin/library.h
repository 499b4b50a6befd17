// The device plugins of this process (tern/device.h): found in folders, loaded when a device or target asks, and kept.
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
  bool loaded = false, counted = false;       ///< loading starts no driver; counting does

  std::string name() const { return table == nullptr ? std::string() : table->name; }
};

/// Every library in the folder for plugins beside this one, and in TERN_DEVICE_PATH, loaded and with its devices
/// counted: this starts every driver. Never fails: what is wrong with a library is its `problem`. Valid for the life of
/// the process.
const std::vector<Plugin>& device_plugins();

/// The plugin whose devices have this name, or null. A library libtern_NAME.so has devices NAME and is loaded for no
/// other name: two vendors' compilers may not share a process. Its devices are counted with `count`.
const Plugin* device_plugin(const std::string& name, bool count);

/// The files of plugins, in the order of search, and the plugin of one of them, with its devices counted.
std::vector<std::string> plugin_paths();
const Plugin& plugin_of_file(const std::string& path);

/// "cuda, xpu": the plugins by their names, or files not yet loaded by theirs. Loads nothing.
std::string plugin_names();

}  // namespace tern
