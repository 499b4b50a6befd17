// Files of the safetensors format, read strictly (runtime/weights/safetensors_header.h) and written like the format's
// library.
#pragma once

#include <string>

#include "tools/files/byte_source.h"
#include "tools/files/host_tensor.h"

namespace tern {

NamedTensors read_safetensors(ByteSource& source);
NamedTensors read_safetensors(const std::string& path);

/// Data are ordered by element type, the widest first, then by name: each tensor is aligned to its elements. complex32
/// and complex128 are written as "C32" and "C128", names unknown to the format's library so far. `durable`: returns
/// after the file is on the disk (AtomicFile::commit_durably).
void write_safetensors(const std::string& path, const NamedTensors& tensors, bool durable = false);

}  // namespace tern
