// The safetensors format: [u64 length of the header][header: JSON][data]. Read strictly, written as its library does.
#pragma once

#include <tern/dtype.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/files/byte_source.h"
#include "tools/files/host_tensor.h"

namespace tern {

struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::invalid;
  std::vector<std::int64_t> sizes;
  std::uint64_t begin = 0;  ///< within the data
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  ///< in the order of their data, which they cover without hole or overlap
  std::map<std::string, std::string> metadata;
};

/// Checks every rule: JSON in UTF-8, the known fields alone, unique names, sizes that fit their range, ranges that tile
/// the data exactly. data_offset is where in the file the data begins; errors count from the start of the file.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, std::string_view file);

/// The format's own limit on the header.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;

NamedTensors read_safetensors(ByteSource& source);
NamedTensors read_safetensors(const std::string& path);

/// Data are ordered by element type, the widest first, then by name, so that each tensor is aligned to its elements.
/// complex32 and complex128 are written as "C32" and "C128", names that the format's own library does not know yet.
void write_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace tern
