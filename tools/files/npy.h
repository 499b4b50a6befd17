// The .npy format of NumPy: a single array. https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <tern/dtype.h>

#include <cstdint>
#include <span>
#include <string>

#include "tools/files/byte_source.h"
#include "tools/files/host_tensor.h"
#include "tools/files/npy_header.h"

namespace tern {

/// Reads versions 1 to 3, little-endian, C and Fortran order (copied to row-major). Refuses big-endian, structured,
/// text, date and object arrays; nothing is ever unpickled. The source must end with the array.
HostTensor read_npy(ByteSource& source);
HostTensor read_npy(const std::string& path);

/// The bytes before the data, identical to NumPy's. ErrorCode::unsupported for types missing in NumPy (bfloat16,
/// float8, complex32 ...); the message names .safetensors.
std::string npy_header(DType dtype, std::span<const std::int64_t> sizes);

void write_npy(const std::string& path, const HostTensor& tensor);

}  // namespace tern
