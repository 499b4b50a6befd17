// Tensors of a file where they lie: the file is mapped, and the system loads the pages that are read.
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

/// Row by row. The bytes need not be aligned for their elements: .npz files do not align them.
struct MappedTensor {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::span<const std::byte> bytes;
};

/// Immutable; copies share the mapping. The file must not shrink while it is mapped.
class MappedTensors {
 public:
  /// .npz, whose entries must be stored (numpy.savez), or .safetensors: by the ending of the name, else by the first
  /// bytes. Throws Error: io, bad_file, or unsupported for deflated entries (numpy.savez_compressed), arrays in column
  /// order, and elements that share bytes. The CRCs of a .npz are not computed, which would read all of it.
  static MappedTensors open(const std::string& path);
  /// The same of bytes that outlive every copy.
  static MappedTensors npz(std::span<const std::byte> bytes, const std::string& file);
  static MappedTensors safetensors(std::span<const std::byte> bytes, const std::string& file);

  const std::string& file() const { return file_; }
  const std::vector<MappedTensor>& tensors() const { return tensors_; }
  /// Null when there is none of that name.
  const MappedTensor* find(std::string_view name) const;

 private:
  std::string file_;  ///< as messages show it
  std::shared_ptr<const FileBytes> bytes_;
  std::vector<MappedTensor> tensors_;
};

}  // namespace tern
