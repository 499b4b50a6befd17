// The .npy format of NumPy: one array. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <span>
#include <string>

#include "tools/files/byte_source.h"
#include "tools/files/host_tensor.h"
#include "tools/files/npy_header.h"

namespace tern {

/// Versions 1 to 3, little-endian, C and Fortran order (which is copied to row-major). Big-endian, structured, text,
/// date and object arrays are refused; nothing is ever unpickled. The source must end where the array ends.
HostTensor read_npy(ByteSource& source);
HostTensor read_npy(const std::string& path);

/// All that stands before the data, byte for byte as NumPy writes it. ErrorCode::unsupported for types that NumPy does
/// not have (bfloat16, float8, complex32 ...); the message names .safetensors.
std::string npy_header(DType dtype, std::span<const std::int64_t> sizes);

void write_npy(const std::string& path, const HostTensor& tensor);

}  // namespace tern
