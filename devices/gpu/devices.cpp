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
    d.problem = error != kSuccess ? error_text(error) : describe_device(d);
    if (!d.problem.empty()) {
      f.devices.push_back(d);  // device indices equal the driver's
      continue;
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

const GpuDevice* find_device(std::int32_t device) {
  std::string why;
  const std::vector<GpuDevice>& all = devices(&why);
  if (device < 0 || static_cast<std::size_t>(device) >= all.size()) {
    failed(TERN_DEVICE_INVALID, "there is no device " + std::to_string(device) + (why.empty() ? "" : ": " + why));
    return nullptr;
  }
  const GpuDevice& d = all[static_cast<std::size_t>(device)];
  if (d.problem.empty()) return &d;
  failed(TERN_DEVICE_FAILED, "device " + std::to_string(device) + " cannot be used: " + d.problem);
  return nullptr;
}

DeviceScope::DeviceScope(std::int32_t device) {
  const GpuDevice* const d = find_device(device);
  if (d == nullptr) {
    status_ = TERN_DEVICE_INVALID;
  } else if (const Status error = enter_device(*d, caller_); error != kSuccess) {
    status_ = checked(error, ("device " + std::to_string(device) + " cannot be used").c_str());
  } else if (is_lost()) {
    status_ = lost();
  } else {
    device_ = d;
  }
}

DeviceScope::~DeviceScope() {
  leave_device(caller_);
}

}  // namespace tern::gpu
