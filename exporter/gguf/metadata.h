// Typed access to a GGUF file's metadata. Errors name the file, the offset and the key.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/gguf/file.h"

namespace tern::gguf {

class Metadata {
 public:
  /// Keys that begin with a dot follow the file's architecture: ".block_count" is "llama.block_count".
  explicit Metadata(const File& file);

  const std::string& architecture() const { return architecture_; }
  bool has_key(std::string_view key) const { return find(key) != nullptr; }

  /// Empty if absent. Fails (bad_file) for a value of another type, or out of range.
  std::optional<std::int64_t> integer(std::string_view key, std::int64_t lower, std::int64_t upper) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> text(std::string_view key) const;
  std::vector<std::string_view> texts(std::string_view key) const;
  std::vector<std::int64_t> integers(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;

  /// An integer for each layer: one for all, or an array.
  std::vector<std::int64_t> each_layer(std::string_view key, std::int64_t layers, std::int64_t lower,
                                       std::int64_t upper) const;

  /// The same, but absence fails.
  std::int64_t required_integer(std::string_view key, std::int64_t lower, std::int64_t upper) const;

  [[noreturn]] void refuse(std::string_view key, const std::string& problem) const;

 private:
  const MetadataValue* find(std::string_view key) const;
  std::string full(std::string_view key) const;
  const File& file_;
  std::string architecture_;
};

}  // namespace tern::gguf
