// Parts of a device, for streams.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

/// A stream's share of a device. Must outlive the stream.
struct StreamPart {
  virtual ~StreamPart() = default;
  /// Another stream with the same part.
  virtual Status make_stream(Stream* stream) const = 0;
  Context context = nullptr;  ///< CUDA's, of the part
};

}  // namespace tern::gpu
