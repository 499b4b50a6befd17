// Tensors in a file of any supported kind, detected by the file's extension or its first bytes.
#pragma once

#include <string>
#include <string_view>

#include "tools/files/host_tensor.h"

namespace tern {

/// The extensions of the formats: ".safetensors", ".npz", ".npy".
bool is_tensor_file(const std::string& path);

/// Reads .safetensors, .npz, or .npy, with the single tensor named after the file without the extension; "-" reads
/// standard input and detects the format by the first bytes.
/// `unnamed`, if not null, is set for files without tensor names (.npy).
NamedTensors read_tensors(const std::string& path, bool* unnamed = nullptr);

/// `format` is a format name without the dot, or empty: then the path's extension decides, and "-" is safetensors. .npy
/// takes exactly one tensor. Only .safetensors keeps metadata. "-" is standard output, which must not be a terminal;
/// devices and pipes receive the bytes directly.
void write_tensors(const std::string& path, const NamedTensors& tensors, const std::string& format = {});

/// Fails (invalid_argument) for an unknown format, and for a path without a known format. Call before work with results
/// to write.
void check_output(const std::string& path, const std::string& format);

/// Fails (invalid_argument) for "-": archives and .pt2 files are mapped, and must be files. Fails for files of other
/// kinds, naming the kind and the step accepting the file.
void check_program_file(const std::string& path);

}  // namespace tern
