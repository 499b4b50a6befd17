#include "runtime/devices/plugin/open.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace tern {
PluginDevice& plugin_device(const Plugin& plugin, int index) {
  static std::mutex mutex;
  // Never destroyed: drivers may end before static objects, and free their memory themselves.
  static auto& devices = *new std::map<std::pair<const Plugin*, int>, std::unique_ptr<PluginDevice>>;
  const std::lock_guard lock(mutex);
  auto& device = devices[{&plugin, index}];
  if (device == nullptr) device = std::make_unique<PluginDevice>(plugin, index);
  return *device;
}

PluginDevice& open_plugin_device(const std::string& name) {
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  std::size_t index = 0;
  if (colon != std::string::npos) {
    const std::string digits = name.substr(colon + 1);
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail(ErrorCode::invalid_argument,
           fmt::format("'{}' is not a device name such as '{}:0'; 'tern devices' lists the devices", name, kind));
    index = std::stoul(digits);
  }
  const Plugin* p = device_plugin(kind, true);
  if (p == nullptr) {
    const std::string names = plugin_names();
    fail(ErrorCode::invalid_argument, fmt::format("there is no device '{}'; there are: cpu{}{}. 'tern devices' lists "
                                                  "the plugins that were not loaded, and the reasons",
                                                  name, names.empty() ? "" : ", and devices of the plugins ", names));
  }
  if (index >= static_cast<std::size_t>(p->count)) {
    fail(ErrorCode::invalid_argument,
         fmt::format("there is no device '{}': {}", name,
                     p->problem.empty() ? fmt::format("the plugin {} has {}", kind, p->count) : p->problem));
  }
  return plugin_device(*p, static_cast<int>(index));
}

}  // namespace tern
