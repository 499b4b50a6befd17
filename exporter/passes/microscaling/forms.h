// The ways in which PyTorch's programs keep MX matrices as two ordinary tensors.
#pragma once

#include <tern/tensor.h>

#include <vector>

#include "schema/program.h"

namespace tern::microscaling {

/// Two states read as one MX value.
struct MicroscaledForm {
  std::uint32_t elements = 0, scales = 0;  ///< states
  TensorType type;                         ///< type of the MX value
};

/// Every way in which these states can be the elements and the scales of an MX value: by dtypes and sizes alone. Empty
/// when the states are more than these two and tables of a few numbers, or do not lie in row-major order.
std::vector<MicroscaledForm> possible_forms(const Program& program, const std::vector<std::uint32_t>& states);

/// The states' bytes as an MX value keeps them: the elements, then the scales.
std::vector<std::byte> packed_bytes(const Program& program, const MicroscaledForm& form);

/// Elements of six bits have no others set.
bool valid_elements(const Program& program, const MicroscaledForm& form);

/// `value`, in row-major order, is bit for bit what dequantize makes of the form; NaN equals NaN.
bool dequantizes_to(const Program& program, const MicroscaledForm& form, const Tensor& value);

}  // namespace tern::microscaling
