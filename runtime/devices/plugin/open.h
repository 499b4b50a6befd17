// The devices of plugins that are in use.
#pragma once

#include <string>

#include "runtime/devices/plugin/device.h"

namespace tern {

/// "xpu" (the first one) or "xpu:1". If the device does not exist, the error lists those that do.
PluginDevice& open_plugin_device(const std::string& name);
/// Device `index` of a plugin of device_plugins(). Opened once, for the life of the process.
PluginDevice& plugin_device(const Plugin& plugin, int index);

}  // namespace tern
