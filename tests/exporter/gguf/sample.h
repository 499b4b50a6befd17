// Bytes of GGUF files for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/gguf/file.h"

namespace tern::gguf::testing {

/// Appends the parts of a file in their order. All functions return the writer.
class FileWriter {
 public:
  FileWriter& number(auto value) {
    const auto* at = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
    return *this;
  }
  FileWriter& u32(std::uint64_t n) { return number(static_cast<std::uint32_t>(n)); }
  FileWriter& u64(std::uint64_t n) { return number(n); }
  FileWriter& text(std::string_view t) {
    u64(t.size());
    for (const char c : t) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  FileWriter& begin(std::uint64_t tensors, std::uint64_t entries, std::uint32_t version = 3) {
    for (const char c : std::string_view("GGUF")) bytes_.push_back(static_cast<std::byte>(c));
    return u32(version).u64(tensors).u64(entries);
  }
  FileWriter& entry(std::string_view key, ValueType type) { return text(key).u32(static_cast<std::uint32_t>(type)); }
  FileWriter& entry(std::string_view key, std::string_view value) { return entry(key, ValueType::text).text(value); }
  FileWriter& entry(std::string_view key, std::uint32_t value) { return entry(key, ValueType::u32).u32(value); }
  FileWriter& tensor(std::string_view name, std::vector<std::uint64_t> sizes, std::uint32_t type,
                     std::uint64_t offset) {
    text(name).u32(sizes.size());
    for (const std::uint64_t s : sizes) u64(s);
    return u32(type).u64(offset);
  }
  /// Zeros up to a multiple of 32, then `size` more.
  FileWriter& data(std::size_t size) {
    bytes_.resize((bytes_.size() + 31) / 32 * 32 + size);
    return *this;
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tern::gguf::testing
