// Files of the safetensors format, read strictly (runtime/weights/safetensors_header.h) and written as its library
// does.
#pragma once

#include <string>

#include "tools/files/byte_source.h"
#include "tools/files/host_tensor.h"

namespace tern {

NamedTensors read_safetensors(ByteSource& source);
NamedTensors read_safetensors(const std::string& path);

/// Data are ordered by element type, the widest first, then by name, so that each tensor is aligned to its elements.
/// complex32 and complex128 are written as "C32" and "C128", names that the format's own library does not know yet.
/// `durable`: returns once the file is on the disk (AtomicFile::commit_durably).
void write_safetensors(const std::string& path, const NamedTensors& tensors, bool durable = false);

}  // namespace tern
