// The names of element types in safetensors files.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <string_view>

namespace tern {

/// invalid for an unknown name.
DType dtype_from_safetensors(std::string_view name);
std::string_view safetensors_name(DType dtype);
/// Rank of the type in the order of tensors written by the format's own library, ascending.
int safetensors_rank(DType dtype);
/// Bits of an element in the file.
int safetensors_bits(DType dtype);

}  // namespace tern
