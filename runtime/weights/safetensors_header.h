// Strict reader of a safetensors file's header: [u64 length of the header][header: JSON][data].
// https://huggingface.co/docs/safetensors
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tern {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin = 0;  ///< offset within the data
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< ordered by data, tiling the data without gap or overlap
  std::map<std::string, std::string> metadata;
};

inline constexpr std::size_t kSafetensorsLength = 8;  ///< size of the header's length field
/// The format's own header limit.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;
inline constexpr std::size_t kMaxSafetensorsRank = 64;

/// Returns the header's length, from the file's first bytes. Throws bad_file if the header exceeds the limit or the
/// file.
std::uint64_t safetensors_header_length(std::span<const std::byte, kSafetensorsLength> field, std::uint64_t file_bytes,
                                        std::string_view file);

/// Checks every rule: UTF-8 JSON, known fields only, unique names, sizes matching their ranges, ranges tiling the data
/// exactly. Throws bad_file, or unsupported for an unknown dtype; errors name `file`, the tensor or the offset.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view file);

/// Checks the rules beyond JSON: sorts the entries by data, and checks names, sizes and ranges.
void check_safetensors_entries(std::vector<SafetensorsEntry>& entries, std::uint64_t data_offset,
                               std::uint64_t data_bytes, std::string_view file);

/// Formats a name from a file for messages.
std::string shown_name(std::string_view name);

}  // namespace tern
