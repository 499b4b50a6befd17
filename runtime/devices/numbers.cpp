#include "runtime/devices/numbers.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "runtime/devices/device.h"

namespace tern {
namespace {

struct DeviceNumbers {
  std::mutex mutex;
  std::deque<Device*> devices{&cpu_device()};
};

DeviceNumbers& device_numbers() {
  static auto& all = *new DeviceNumbers;  // never destroyed, like devices
  return all;
}

}  // namespace

std::uint16_t number_of(Device& device) {
  DeviceNumbers& n = device_numbers();
  const std::lock_guard lock(n.mutex);
  auto found = std::ranges::find(n.devices, &device);
  if (found == n.devices.end()) found = n.devices.insert(n.devices.end(), &device);
  return static_cast<std::uint16_t>(found - n.devices.begin());
}

Device& numbered_device(std::uint16_t number) {
  DeviceNumbers& n = device_numbers();
  const std::lock_guard lock(n.mutex);
  return *n.devices[number];
}

}  // namespace tern
