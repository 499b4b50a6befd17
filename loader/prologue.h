// The first 64 bytes of an archive.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "loader/format.h"
#include "loader/hash.h"

namespace tern {

struct Prologue {
  std::uint16_t major = kMajorVersion, minor = kMinorVersion;
  std::uint64_t index_offset = 0, index_size = 0;
  Hash128 hash;  ///< hash of the preceding 32 bytes, followed by the index
};

/// Offsets of fields, for messages.
struct PrologueField {
  static constexpr std::uint64_t magic = 0, major = 8, minor = 10, reserved = 12, index_offset = 16, index_size = 24,
                                 hash = 32, reserved_end = 48;
};

using PrologueBytes = std::array<std::byte, kPrologueSize>;
PrologueBytes encode(const Prologue& prologue);
/// Decodes the fields without any checks.
Prologue decode_prologue(std::span<const std::byte, kPrologueSize> bytes);
Hash128 index_hash(std::span<const std::byte, kPrologueSize> prologue, std::span<const std::byte> index);

}  // namespace tern
