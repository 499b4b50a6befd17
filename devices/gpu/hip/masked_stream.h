// HIP function for streams on a subset of a device's compute units.
#pragma once

#include "devices/gpu/api.h"

namespace tern::gpu {

constexpr const char* kMaskedStreamCreate = "hipExtStreamCreateWithCUMask";
using MaskedStreamCreate = Status (*)(Stream* stream, std::uint32_t words, const std::uint32_t* mask);

}  // namespace tern::gpu
