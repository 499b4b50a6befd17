// Convolution in the terms of cuDNN and MIOpen: images with two or three spatial axes, any strides.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

struct Convolution {
  int dtype = 0;  ///< type of all operands: tern/dtype.h
  std::uint32_t bytes = 0;
  bool is_exact = false;  ///< float32 keeps all its digits; sums are float32
  Shape x, w, y;
  std::vector<std::int64_t> padding_before, padding_after, strides, dilations;
  bool has_bias = false, has_relu = false;

  bool operator==(const Convolution&) const = default;
};

/// Returns nothing for cases not given to the libraries: transposed convolutions, other types, empty operands,
/// non-positive strides.
std::optional<Convolution> convolution_of(const tern_device_op& op);

}  // namespace tern::gpu
