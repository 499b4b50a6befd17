// Tensors in a file of any kind that Tern reads: by the ending of its name, or by its first bytes.
#pragma once

#include <string>
#include <string_view>

#include "tools/files/host_tensor.h"

namespace tern {

/// The endings of the formats: ".safetensors", ".npz", ".npy".
bool is_tensor_file(const std::string& path);

/// .safetensors, .npz, or .npy, whose one tensor is named after the file without the ending; "-" reads standard input,
/// whose first bytes tell the format.
/// `unnamed`, where it is not null, tells that the file itself names no tensor (.npy).
NamedTensors read_tensors(const std::string& path, bool* unnamed = nullptr);

/// `format` is one of the names without the dot, or empty: then the ending of the path decides, and "-" is safetensors.
/// .npy takes exactly one tensor. Metadata are kept by .safetensors alone. "-" is standard output, which must not be a
/// terminal; devices and pipes get the bytes as they are.
void write_tensors(const std::string& path, const NamedTensors& tensors, const std::string& format = {});

/// Fails (invalid_argument) on a format that write_tensors does not know, and on a path from which it cannot tell one:
/// before work is done whose results would be lost.
void check_output(const std::string& path, const std::string& format);

/// Fails (invalid_argument) on "-": archives and .pt2 files are mapped, so they have to be files. Fails on files of
/// other kinds, naming the kind and the step that takes it.
void check_program_file(const std::string& path);

}  // namespace tern
