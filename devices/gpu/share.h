// Shares of a device for streams.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

/// A stream's share of a device. Must outlive the stream.
struct StreamPart {
  virtual ~StreamPart() = default;
  /// Creates another stream on the same share.
  virtual Status make_stream(Stream* stream) const = 0;
  Context context = nullptr;  ///< context of the share (CUDA only)
};

}  // namespace tern::gpu
