// The names of element types in safetensors files.
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <string_view>

namespace tern {

/// invalid when there is no such name.
DType dtype_from_safetensors(std::string_view name);
std::string_view safetensors_name(DType dtype);
/// The place of the type in the order in which the format's own library writes tensors, ascending.
int safetensors_rank(DType dtype);
/// Bits of one element in the file.
int safetensors_bits(DType dtype);

}  // namespace tern
