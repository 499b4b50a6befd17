// Open devices of plugins.
#pragma once

#include <string>

#include "runtime/devices/plugin/device.h"

namespace tern {

/// Opens "xpu" (the first device) or "xpu:1". If the device does not exist, the error lists the existing devices.
PluginDevice& open_plugin_device(const std::string& name);
/// Device `index` of a plugin of device_plugins(). Opened once, until the process ends.
PluginDevice& plugin_device(const Plugin& plugin, int index);

}  // namespace tern
