// Reads the tensors of a safetensors file in place: [u64 length of the header][header: JSON][data].
// https://huggingface.co/docs/safetensors; the command's reader (tools/files) also checks that the data have no holes.
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
  std::span<const std::byte> bytes;  ///< row-major, without gaps; of the file
};

struct WeightFile {
  std::shared_ptr<const FileBytes> file;
  std::map<std::string, FileTensor, std::less<>> tensors;
};

/// Maps the file. Safe on any bytes: throws Error (io, bad_file, unsupported) with the offset in the file.
WeightFile open_weights(const std::string& path);
/// The same over bytes, which must outlive the tensors.
std::map<std::string, FileTensor, std::less<>> read_weights(std::span<const std::byte> bytes);

}  // namespace tern
