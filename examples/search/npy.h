// Writes a float32 tensor as .npy, for NumPy.
#pragma once

#include <tern/tensor.h>

#include <string>

/// Writes to a temporary file in the same folder first, then renames the file. Throws std::runtime_error.
void write_npy(const std::string& path, const tern::Tensor& tensor);
