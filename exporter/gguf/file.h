// Reads the header of a GGUF file: metadata and the list of tensors, with every length checked against the file.
// The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tern::gguf {

/// Types of metadata; the numbers are the file's.
enum class ValueType : std::uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  text = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12,
};

/// A value of the metadata, in the file's bytes.
struct MetadataValue {
  ValueType type{};
  ValueType element{};               ///< type of the elements of an array
  std::uint64_t count = 1;           ///< elements of an array
  std::uint64_t offset = 0;          ///< file offset of the value
  std::span<const std::byte> bytes;  ///< the value, or the elements of the array
};

struct TensorRecord {
  std::string_view name;
  std::vector<std::int64_t> sizes;  ///< the outermost first, as in PyTorch; the file has them in reverse
  std::uint32_t type = 0;           ///< a number of GGML's types (exporter/gguf/types.h)
  std::uint64_t record_offset = 0;  ///< file offset of the record
  std::uint64_t offset = 0;         ///< file offset of the data
  std::span<const std::byte> bytes;
};

/// A checked header. Cheap to copy: copies share the mapping, and views stay valid as long as a copy lives.
class File {
 public:
  /// Maps the file. Throws Error: io, bad_file with the file offset, or unsupported for a version or a tensor type that
  /// this reader does not know.
  static File open(const std::string& path);
  /// Reads bytes that outlive all copies. `label` replaces the path in messages.
  static File borrow(std::span<const std::byte> bytes, std::string label = "memory");

  const std::string& label() const;
  std::span<const std::byte> bytes() const;
  std::uint32_t version() const;
  /// Keys in the file's order.
  const std::vector<std::pair<std::string_view, MetadataValue>>& metadata() const;
  const std::vector<TensorRecord>& tensors() const;
  /// Null if absent.
  const MetadataValue* find(std::string_view key) const;
  const TensorRecord* tensor(std::string_view name) const;

 private:
  struct State;
  explicit File(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace tern::gguf
