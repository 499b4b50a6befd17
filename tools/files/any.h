// Tensors in a file of any kind that Tern reads: by the ending of its name.
#pragma once

#include <string>

#include "tools/files/host_tensor.h"

namespace tern {

/// .safetensors, .npz, or .npy, whose one tensor is named after the file without the ending.
NamedTensors read_tensors(const std::string& path);

/// The same endings; .npy takes exactly one tensor. Metadata are kept by .safetensors alone.
void write_tensors(const std::string& path, const NamedTensors& tensors);

}  // namespace tern
