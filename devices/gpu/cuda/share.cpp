// Shares of NVIDIA's GPUs by green contexts.
#include "devices/gpu/share.h"

#include <map>
#include <memory>
#include <optional>

#include "devices/gpu/cuda/green_api.h"
#include "devices/gpu/groups.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

const GreenApi& green() {
  static const GreenApi found = [] {
    GreenApi a;
    TERN_GPU_GREEN(TERN_GPU_LOAD_NEWER)
    return a;
  }();
  return found;
}

/// A device's multiprocessors in the smallest groups supported by the driver. A descriptor may combine several groups
/// of one split, so parts of any size are disjoint.
struct SplitDevice {
  std::vector<Resource> groups;       ///< all of equal size
  std::optional<Resource> remainder;  ///< fewer than a group, for parts larger than all groups
  std::unique_ptr<Groups> users;
};

tern_device_status split(const GpuDevice& d, SplitDevice& s) {
  constexpr const char* kWhat = "dividing the device's multiprocessors";
  Resource all;
  Resource remainder;
  unsigned count = 0;
  TERN_GPU_TRY(checked(green().resource(d.id, &all, ResourceType::multiprocessors), kWhat));
  TERN_GPU_TRY(checked(green().split(nullptr, &count, &all, nullptr, 0, 1), kWhat));
  if (count == 0) return failed(TERN_DEVICE_UNSUPPORTED, "the driver does not support parts of this device");
  s.groups.resize(count);
  TERN_GPU_TRY(checked(green().split(s.groups.data(), &count, &all, &remainder, 0, 1), kWhat));
  s.groups.resize(count);
  if (remainder.type == ResourceType::multiprocessors && remainder.multiprocessors.count > 0) s.remainder = remainder;
  s.users = std::make_unique<Groups>(s.groups.size());
  return TERN_DEVICE_OK;
}

/// Returns the device's division, made once; null with a message if the driver refuses.
SplitDevice* split_of(const GpuDevice& d) {
  static std::mutex mutex;
  static std::map<int, SplitDevice> all;
  const std::lock_guard lock(mutex);
  const auto found = all.find(d.id);
  if (found != all.end()) return &found->second;
  SplitDevice made;
  return split(d, made) == TERN_DEVICE_OK ? &all.emplace(d.id, std::move(made)).first->second : nullptr;
}

struct GreenPart : StreamPart {
  GreenContext green_context = nullptr;
  std::shared_ptr<const std::vector<std::size_t>> groups;
  ~GreenPart() override {
    if (green_context != nullptr) green().destroy(green_context);
  }
  Status make_stream(Stream* stream) const override {
    return green().stream_create(stream, green_context, kNonBlocking, 0);
  }
};

/// Takes groups with at least `units` multiprocessors.
std::vector<Resource> acquire_groups(SplitDevice& device, unsigned units,
                                     std::shared_ptr<const std::vector<std::size_t>>& taken) {
  const unsigned group_units = device.groups.front().multiprocessors.count;
  const std::size_t count = (units + group_units - 1) / group_units;
  taken = device.users->acquire(count);
  std::vector<Resource> resources;
  for (const std::size_t i : *taken) resources.push_back(device.groups[i]);
  if (count > device.groups.size() && device.remainder) resources.push_back(*device.remainder);
  return resources;
}

/// Adds a limit on work queues, if supported by the driver.
void add_queues(const GpuDevice& d, tern_device_share& share, std::vector<Resource>& resources) {
  Resource queues;
  const bool known = share.queues != 0 && green().resource(d.id, &queues, ResourceType::queues) == kSuccess;
  if (!known) {
    share.queues = 0;
    return;
  }
  queues.queues.limit = share.queues;
  queues.queues.scope = kBalancedQueues;
  resources.push_back(queues);
}

}  // namespace

bool has_parts() {
  std::string why;
  return api(&why) != nullptr && green().complete;
}

tern_device_status take_part(const GpuDevice& d, tern_device_share& share, std::shared_ptr<StreamPart>& part) {
  SplitDevice* device = split_of(d);
  if (device == nullptr) return TERN_DEVICE_FAILED;
  auto made = std::make_shared<GreenPart>();
  std::vector<Resource> resources = acquire_groups(*device, share.units, made->groups);
  share.units = 0;
  for (const Resource& r : resources) share.units += r.multiprocessors.count;
  add_queues(d, share, resources);
  ResourceDescriptor descriptor = nullptr;  // never destroyed
  TERN_GPU_TRY(checked(green().describe(&descriptor, resources.data(), static_cast<unsigned>(resources.size())),
                       "describing a part of the device"));
  TERN_GPU_TRY(checked(green().create(&made->green_context, descriptor, d.id, kGreenDefaultStream),
                       "making a part of the device"));
  TERN_GPU_TRY(checked(green().as_context(&made->context, made->green_context), "the context of a part of the device"));
  part = std::move(made);
  return TERN_DEVICE_OK;
}

}  // namespace tern::gpu
