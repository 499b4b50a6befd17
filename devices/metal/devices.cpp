#include "devices/metal/devices.h"

#include <utility>

#include "devices/metal/memory.h"
#include "devices/metal/metal4.h"
#include "devices/metal/status.h"
#include "platform/environment.h"

namespace tern::metal {
namespace {

struct FoundMetalDevices {
  std::vector<MetalDevice> devices;
  std::string why_none;
};

/// TERN_METAL_VERSION=3 selects Metal 3 commands on newer systems.
bool wants_metal4() {
  return platform::trusted_variable("TERN_METAL_VERSION") != "3";
}

/// Returns an empty string if the device is usable.
std::string add(MTL::Device* device, const std::string& system, FoundMetalDevices& found) {
  MetalDevice d;
  d.device = share(device);
  d.name = text(device->name());
  if (!device->supportsFamily(MTL::GPUFamilyMetal3)) return d.name + " does not support Metal 3";
  if (!device->hasUnifiedMemory())
    return d.name + " has its own memory; this plugin runs on Apple silicon, whose GPUs use the host's memory";
  d.metal4 = wants_metal4() && has_metal4(*device);
  if (d.metal4) d.residency = new_residency(*device);
  if (d.metal4 && !d.residency) return d.name + " has no residency set";
  d.driver = (d.metal4 ? "Metal 4, macOS " : "Metal 3, macOS ") + system;
  d.memory = device->recommendedMaxWorkingSetSize();
  d.largest = device->maxBufferLength();
  d.math_modes = system_is(15);
  constexpr std::uint64_t kNothing = 256;
  d.nothing = new_buffer(d, kNothing);
  if (!d.nothing) return d.name + " has no memory left";
  found.devices.push_back(std::move(d));
  return {};
}

FoundMetalDevices find_all() {
  const Pool pool;
  FoundMetalDevices found;
  const std::string system = text(NS::ProcessInfo::processInfo()->operatingSystemVersionString());
  const Owned<NS::Array> all = adopt(MTL::CopyAllDevices());
  const NS::UInteger count = all ? all->count() : 0;
  for (NS::UInteger i = 0; i < count; ++i) {
    const std::string why_not = add(all->object<MTL::Device>(i), system, found);
    if (!why_not.empty()) found.why_none += (found.why_none.empty() ? "" : "; ") + why_not;
  }
  if (count == 0) found.why_none = "Metal finds no GPU on this machine";
  return found;
}

}  // namespace

const std::vector<MetalDevice>& devices(std::string* why_none) {
  // Never destroyed: other threads and libraries may still use Metal while the process ends.
  static const FoundMetalDevices& found = *std::make_unique<FoundMetalDevices>(find_all()).release();
  if (why_none != nullptr) *why_none = found.why_none;
  return found.devices;
}

const MetalDevice* find(std::int32_t device) {
  const auto& all = devices();
  if (device >= 0 && static_cast<std::size_t>(device) < all.size()) return &all[static_cast<std::size_t>(device)];
  failed(TERN_DEVICE_INVALID, "there is no device " + std::to_string(device));
  return nullptr;
}

}  // namespace tern::metal
