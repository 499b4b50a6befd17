// "share": streams on a share of the device.
#include "devices/gpu/share.h"

#include <string>

#include "devices/gpu/devices.h"
#include "devices/gpu/handles.h"
#include "devices/gpu/profiler.h"
#include "devices/gpu/status.h"
#include "devices/gpu/tables.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

tern_device_status too_many_units(std::uint32_t asked, std::uint32_t there) {
  return failed(TERN_DEVICE_INVALID, "a part of " + std::to_string(asked) +
                                         " multiprocessors was requested; the device has " + std::to_string(there));
}

tern_device_status create_with_share(std::int32_t device, tern_device_share* share, tern_device_stream* stream) {
  TERN_GPU_ENTER(device);
  if (share->size < sizeof *share) return failed(TERN_DEVICE_INVALID, "tern_device_share is too small");
  if (share->units == 0 || share->units > d->units) return too_many_units(share->units, d->units);
  std::shared_ptr<StreamPart> part;
  TERN_GPU_TRY(take_part(*d, *share, part));
  Stream made = nullptr;
  TERN_GPU_TRY(checked(part->make_stream(&made), "making a stream on a part of the device"));
  *stream = new tern_device_stream_s{made, false, {}, nullptr, std::move(part)};
  return TERN_DEVICE_OK;
}

constexpr tern_device_share_functions kShares = {sizeof kShares, 0, create_with_share};

}  // namespace

const tern_device_share_functions* share_functions() {
  return has_parts() ? &kShares : nullptr;
}

}  // namespace tern::gpu
