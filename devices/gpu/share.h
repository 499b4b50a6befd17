// Parts of a device, for streams.
#pragma once

#include <tern/device.h>

#include <cstdint>

#include "devices/gpu/api.h"

namespace tern::gpu {

/// What a stream has of a device. Ends after the stream.
struct StreamPart {
  virtual ~StreamPart() = default;
  /// Another stream with the same part.
  virtual Status make_stream(Stream* stream) const = 0;
  Context context = nullptr;  ///< CUDA's, of the part
};

/// The message where a part of more multiprocessors than the device has is asked for.
tern_device_status too_many_units(std::uint32_t asked, std::uint32_t there);

}  // namespace tern::gpu
