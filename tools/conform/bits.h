// Hashes of a case's results: what another device, processor or machine has to give again.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "tools/conform/run.h"
#include "tools/files/host_tensor.h"

namespace tern {

/// Continues `hash` with dtype, sizes and elements. All NaN are one.
std::uint64_t hash_bits(std::uint64_t hash, const HostTensor& tensor);

/// By the case's op and name. A file has a line "HASH OP NAME" for each.
using BitsFile = std::map<std::string, std::uint64_t>;
BitsFile read_bits(const std::string& path);
/// Of the cases that passed.
void write_bits(const std::string& path, std::span<const ConformResult> results);
/// Those with other hashes, or with none in the file, have failed.
void compare_bits(const BitsFile& expected, std::span<ConformResult> results);

}  // namespace tern
