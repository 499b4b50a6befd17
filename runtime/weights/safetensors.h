// Tensors of a safetensors file, read in place.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loader/file_bytes.h"

namespace tern {

struct FileTensor {
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> bytes;  ///< bytes in the file, row-major without gaps
};

struct WeightFile {
  std::shared_ptr<const FileBytes> file;
  std::map<std::string, FileTensor, std::less<>> tensors;
};

/// Maps the file. Safe on any bytes: throws Error (io, bad_file, unsupported) naming the tensor or the offset.
WeightFile open_weights(const std::string& path);
/// Reads tensors from bytes; the bytes must outlive the tensors. Errors name `file`.
std::map<std::string, FileTensor, std::less<>> read_weights(std::span<const std::byte> bytes, const std::string& file);

}  // namespace tern
