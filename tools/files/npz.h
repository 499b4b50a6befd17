// The .npz format of NumPy: a zip archive of .npy files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "tools/files/host_tensor.h"

namespace tern {

/// Entries are stored or deflated; each is an array "NAME.npy" with a verified checksum. All arrays together may take
/// 512 MiB plus 16 times the size of the file: a small file cannot fill the memory.
NamedTensors read_npz(const std::string& path);
/// The same from memory; `name` is for errors.
NamedTensors read_npz(std::span<const std::byte> bytes, const std::string& name);

/// Entries are stored, and dated 1980-01-01 like NumPy's: equal tensors give equal files. The format has no metadata.
void write_npz(const std::string& path, const NamedTensors& tensors);

}  // namespace tern
