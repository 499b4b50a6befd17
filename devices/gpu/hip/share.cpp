// Shares of AMD's GPUs by compute unit masks of streams.
#include "devices/gpu/share.h"

#include <map>

#include "devices/gpu/groups.h"
#include "devices/gpu/hip/masked_stream.h"
#include "devices/gpu/library.h"
#include "devices/gpu/status.h"
#include "devices/gpu/vendor.h"

namespace tern::gpu {
namespace {

/// Compute units of each device.
Groups& units_of(const GpuDevice& d) {
  static std::mutex mutex;
  static std::map<int, Groups> all;
  const std::lock_guard lock(mutex);
  return all.try_emplace(d.id, d.units).first->second;
}

MaskedStreamCreate masked_stream_create() {
  static const auto found = reinterpret_cast<MaskedStreamCreate>(driver_symbol(kMaskedStreamCreate));
  return found;
}

struct MaskedUnits : StreamPart {
  std::shared_ptr<const std::vector<std::size_t>> units;
  std::vector<std::uint32_t> mask;  ///< bit mask of compute units
  Status make_stream(Stream* stream) const override {
    return masked_stream_create()(stream, static_cast<std::uint32_t>(mask.size()), mask.data());
  }
};

}  // namespace

bool has_parts() {
  std::string why;
  return api(&why) != nullptr && masked_stream_create() != nullptr;
}

tern_device_status take_part(const GpuDevice& d, tern_device_share& share, std::shared_ptr<StreamPart>& part) {
  auto made = std::make_shared<MaskedUnits>();
  made->units = units_of(d).acquire(share.units);
  made->mask.assign((d.units + 31) / 32, 0);
  for (const std::size_t i : *made->units) made->mask[i / 32] |= std::uint32_t{1} << i % 32;
  share.queues = 0;  // the driver cannot limit queues
  part = std::move(made);
  return TERN_DEVICE_OK;
}

}  // namespace tern::gpu
