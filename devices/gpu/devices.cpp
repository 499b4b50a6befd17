#include "devices/gpu/devices.h"

#include <memory>

#include "devices/gpu/libraries/symmetric.h"
#include "devices/gpu/library.h"
#include "devices/gpu/memory.h"
#include "devices/gpu/status.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

struct FoundGpus {
  std::vector<GpuDevice> devices;
  std::string why;  ///< reason for an empty list
};

FoundGpus find_devices() {
  FoundGpus f;
  const Api* a = api(&f.why);
  if (a == nullptr) return f;
  int count = 0;
  int version = 0;
  Status error = a->device_count(&count);
  if (error == kSuccess) error = a->driver_version(&version);
  if (error != kSuccess && error != kNoDevice) {
    f.why = std::string(names::kDriver) + " lists no devices: " + error_text(error);
    return f;
  }
  for (int i = 0; i < count; ++i) {
    GpuDevice d;
    char name[128] = {};
    std::size_t bytes = 0;
    error = a->device_get(&d.id, i);
    if (error == kSuccess) error = a->device_name(name, sizeof name - 1, d.id);
    if (error == kSuccess) error = a->device_memory(&bytes, d.id);
    d.name = name;
    d.memory = bytes;
    d.driver_number = version;
    d.driver = version_text(version);
    std::string problem = error != kSuccess ? error_text(error) : open_device(d);
    if (!problem.empty()) {
      f.devices.clear();  // device indices must equal the driver's
      f.why = "device " + std::to_string(i) + ": " + problem;
      return f;
    }
    int units = 0;
    int local_bytes = 0;
    a->device_attribute(&units, names::kUnits, d.id);
    a->device_attribute(&local_bytes, names::kLocalBytes, d.id);
    d.units = static_cast<std::uint32_t>(units);
    d.local_bytes = static_cast<std::uint32_t>(local_bytes);
    d.piece = piece_of(d);
    f.devices.push_back(d);
  }
  if (f.devices.empty()) f.why = std::string(names::kDriver) + " finds no device";
  return f;
}

}  // namespace

const std::vector<GpuDevice>& devices(std::string* why) {
  // Never destroyed: sessions in static objects may outlive static objects of this library.
  static const FoundGpus& found = *std::make_unique<FoundGpus>(find_devices()).release();
  if (why != nullptr) *why = found.why;
  return found.devices;
}

const GpuDevice* enter(std::int32_t device) {
  std::string why;
  const std::vector<GpuDevice>& all = devices(&why);
  if (device < 0 || static_cast<std::size_t>(device) >= all.size()) {
    failed(TERN_DEVICE_INVALID, "there is no device " + std::to_string(device) + (why.empty() ? "" : ": " + why));
    return nullptr;
  }
  const GpuDevice& d = all[static_cast<std::size_t>(device)];
  if (const Status error = enter_device(d); error != kSuccess) {
    failed(TERN_DEVICE_FAILED, "device " + std::to_string(device) + " cannot be used: " + error_text(error));
    return nullptr;
  }
  if (is_lost()) {
    lost();
    return nullptr;
  }
  return &d;
}

}  // namespace tern::gpu
