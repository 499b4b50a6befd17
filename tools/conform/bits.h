// Hashes of a case's results, for comparison with another device, processor or machine.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "tools/conform/run.h"
#include "tools/files/host_tensor.h"

namespace tern {

/// Continues `hash` with dtype, sizes and elements. All NaN hash alike.
std::uint64_t hash_bits(std::uint64_t hash, const HostTensor& tensor);

/// Hashes by the case's op and name. A file has a line "HASH OP NAME" for each.
using BitsFile = std::map<std::string, std::uint64_t>;
BitsFile read_bits(const std::string& path);
/// Writes the hashes of passed cases.
void write_bits(const std::string& path, std::span<const ConformResult> results);
/// Marks results with a differing or missing hash as failed.
void compare_bits(const BitsFile& expected, std::span<ConformResult> results);

}  // namespace tern
