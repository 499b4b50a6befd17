// Tensors of a mapped file, in place; the system loads pages on first read.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "loader/file_bytes.h"

namespace tern {

/// Row-major. The bytes may be unaligned: .npz files do not align arrays.
struct MappedTensor {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> bytes;
};

/// Immutable; copies share the mapping. The file must not shrink during the mapping's lifetime.
class MappedTensors {
 public:
  /// Opens .npz with stored entries (numpy.savez), or .safetensors: detected by the extension, else by the first bytes.
  /// Throws Error: io, bad_file, or unsupported for deflated entries (numpy.savez_compressed), arrays in column order,
  /// and elements sharing bytes. The CRCs of a .npz stay unchecked, because checking reads the whole file.
  static MappedTensors open(const std::string& path);
  /// The same for bytes outliving every copy.
  static MappedTensors npz(std::span<const std::byte> bytes, const std::string& file);
  static MappedTensors safetensors(std::span<const std::byte> bytes, const std::string& file);

  const std::string& file() const { return file_; }
  const std::vector<MappedTensor>& tensors() const { return tensors_; }
  /// Null if no tensor has this name.
  const MappedTensor* find(std::string_view name) const;

 private:
  std::string file_;  ///< name in messages
  std::shared_ptr<const FileBytes> bytes_;
  std::vector<MappedTensor> tensors_;
};

}  // namespace tern
