// The constants of the .tern format that stand outside its FlatBuffer; docs/format.md draws the file.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tern {

static_assert(std::endian::native == std::endian::little, "archives are mapped as they are: little-endian");

/// As PNG's: not text, and spoilt by every translation of line ends.
inline constexpr std::array<unsigned char, 8> kMagic = {0x89, 'T', 'E', 'R', 'N', '\r', '\n', 0x1a};
inline constexpr std::uint16_t kMajorVersion = 0;
inline constexpr std::uint16_t kMinorVersion = 1;

inline constexpr std::uint64_t kPrologueSize = 64;
inline constexpr std::uint64_t kHashedPrologue = 32;  ///< the bytes before the hash are covered by it

inline constexpr std::uint64_t kMaxIndexSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kIndexAlignment = 64;

inline constexpr std::uint64_t kSegmentAlignment = 64;
inline constexpr std::uint64_t kPageAlignment = 4096;        ///< of segments from kPageAlignedFrom bytes up
inline constexpr std::uint64_t kPageAlignedFrom = 64 << 10;  ///< stored bytes
inline constexpr std::uint64_t kHashPiece = 1 << 18;

inline constexpr std::uint32_t kFrameSize = 1 << 20;     ///< what the writer uses
inline constexpr std::uint32_t kMaxFrameSize = 1 << 24;  ///< what the reader takes
inline constexpr std::uint64_t kMaxModule = 1 << 24;     ///< bytes of a kernel's module
/// Decoded segments may be this many times the file, plus the constant.
inline constexpr std::uint64_t kMaxExpansion = 256;
inline constexpr std::uint64_t kFreeExpansion = std::uint64_t{1} << 30;

inline constexpr std::uint32_t kMaxExpressionDepth = 500;  ///< chains of sums and products are walked
inline constexpr std::size_t kMaxName = 4096;              ///< bytes of a name
inline constexpr std::size_t kMaxSymbolName = 256;         ///< symbols occur many times in the text of one size
inline constexpr std::size_t kMaxText = 1 << 24;           ///< bytes of other texts (metadata, the trees of inputs)

constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}
constexpr std::uint64_t alignment_of(std::uint64_t stored_size) {
  return stored_size >= kPageAlignedFrom ? kPageAlignment : kSegmentAlignment;
}

}  // namespace tern
