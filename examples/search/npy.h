// Writes a float32 tensor as .npy, which NumPy reads.
#pragma once

#include <tern/tensor.h>

#include <string>

/// Writes to a file beside `path` first, which then takes its name. Throws std::runtime_error.
void write_npy(const std::string& path, const tern::Tensor& tensor);
