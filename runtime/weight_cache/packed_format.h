// Layout of a file with one packed weight, in the byte order of the writing machine:
//
//   0   8  magic: 89 'T' 'P' 'A' 'C' 'K' 0d 0a
//   8   4  version of this format
//  12   4  bytes of the key
//  16   8  bytes of the payload
//  24  16  hash of the payload (segment_hash of loader/hash.h), low half first
//  40   .  the key, and zeros up to the next multiple of 4096
//   .   .  the payload, up to the end of the file
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "loader/hash.h"

namespace tern {

/// Bytes before the payload.
std::size_t head_size(std::string_view key);
std::vector<std::byte> packed_head(std::string_view key, std::uint64_t payload_size, const Hash128& payload_hash);

bool is_packed_head(std::span<const std::byte> head, std::string_view key, std::uint64_t payload_size);
/// Returns the payload without checking its hash; empty if `file` does not begin with a matching header for this key
/// and file size.
std::span<const std::byte> find_payload(std::span<const std::byte> file, std::string_view key);
/// Like find_payload, and checks the payload's hash: empty if wrong. Uses as many threads as a run of this thread.
std::span<const std::byte> check_payload(std::span<const std::byte> file, std::string_view key);

}  // namespace tern
