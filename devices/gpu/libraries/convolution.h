// Tern's convolution as cuDNN and MIOpen see it: images with two or three spatial axes, any strides.
#pragma once

#include <tern/device.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "devices/gpu/libraries/shape.h"

namespace tern::gpu {

struct Convolution {
  int dtype = 0;  ///< of all operands: tern/dtype.h
  std::uint32_t bytes = 0;
  bool is_exact = false;  ///< float32 keeps all its digits, and sums are of float32
  Shape x, w, y;
  std::vector<std::int64_t> before, after, strides, dilations;
  bool has_bias = false, has_relu = false;

  bool operator==(const Convolution&) const = default;
};

/// Nothing where the libraries are not asked: transposed convolutions, other types, empty operands, strides that are
/// not positive.
std::optional<Convolution> convolution_of(const tern_device_op& op);

}  // namespace tern::gpu
