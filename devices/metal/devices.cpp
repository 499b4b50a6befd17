#include "devices/metal/devices.h"

#include <utility>

#include "devices/metal/status.h"

namespace tern::metal {
namespace {

struct Found {
  std::vector<MetalDevice> devices;
  std::string why_none;
};

/// Empty where the device can be used.
std::string add(MTL::Device* device, const std::string& system, Found& found) {
  MetalDevice d;
  d.device = NS::RetainPtr(device);
  d.name = text(device->name());
  if (!device->supportsFamily(MTL::GPUFamilyMetal3)) return d.name + " does not support Metal 3";
  if (!device->hasUnifiedMemory())
    return d.name + " has memory of its own; this plugin runs on Apple silicon, whose GPUs use the host's memory";
  d.driver = "Metal 3, macOS " + system;
  d.memory = device->recommendedMaxWorkingSetSize();
  d.largest = device->maxBufferLength();
  d.math_modes = system_is(15);
  constexpr NS::UInteger kNothing = 256;
  d.nothing = NS::TransferPtr(device->newBuffer(kNothing, MTL::ResourceStorageModeShared));
  if (!d.nothing) return d.name + " has no memory left";
  found.devices.push_back(std::move(d));
  return {};
}

Found find_all() {
  const Pool pool;
  Found found;
  const std::string system = text(NS::ProcessInfo::processInfo()->operatingSystemVersionString());
  const NS::SharedPtr<NS::Array> all = NS::TransferPtr(MTL::CopyAllDevices());
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
  static const Found& found = *std::make_unique<Found>(find_all()).release();
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
