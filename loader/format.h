// Constants of the .tern format outside its FlatBuffer; docs/format.md shows the layout.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace tern {

static_assert(std::endian::native == std::endian::little, "archives are mapped as they are: little-endian");

/// Modelled on PNG's signature: not text, and damaged by every conversion of line ends.
inline constexpr std::array<unsigned char, 8> kMagic = {0x89, 'T', 'E', 'R', 'N', '\r', '\n', 0x1a};
inline constexpr std::uint16_t kMajorVersion = 1;
inline constexpr std::uint16_t kMinorVersion = 0;

/// Reports if this build reads archives of a version: 1.0 up to its own, and 0.1, whose tables mean the same.
constexpr bool reads_version(std::uint16_t major, std::uint16_t minor) {
  return (major == kMajorVersion && minor <= kMinorVersion) || (major == 0 && minor == 1);
}

/// archive::Kernel::target_kind. Archives of format 0.1 name no target of SPIR-V.
inline constexpr std::uint8_t kSpirvTarget = 0, kNamedTarget = 1;

inline constexpr std::uint64_t kPrologueSize = 64;
inline constexpr std::uint64_t kHashedPrologue = 32;  ///< size of the prologue covered by the hash

inline constexpr std::uint64_t kMaxIndexSize = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kIndexAlignment = 64;

inline constexpr std::uint64_t kSegmentAlignment = 64;
inline constexpr std::uint64_t kPageAlignment = 4096;        ///< segments of at least kPageAlignedFrom bytes
inline constexpr std::uint64_t kPageAlignedFrom = 64 << 10;  ///< stored bytes
inline constexpr std::uint64_t kHashPiece = 1 << 18;

inline constexpr std::uint32_t kFrameSize = 1 << 20;     ///< size used by the writer
inline constexpr std::uint32_t kMaxFrameSize = 1 << 24;  ///< limit accepted by the reader
inline constexpr std::uint64_t kMaxModule = 1 << 24;     ///< bytes of a kernel module
/// Decoded segments may have this many times the file's size, plus the constant.
inline constexpr std::uint64_t kMaxExpansion = 256;
inline constexpr std::uint64_t kFreeExpansion = std::uint64_t{1} << 30;

inline constexpr std::uint32_t kMaxExpressionDepth = 500;  ///< limits the recursion over chains of sums and products
inline constexpr std::size_t kMaxName = 4096;              ///< bytes of a name
inline constexpr std::size_t kMaxSymbolName = 256;         ///< smaller, because the text of a size may repeat symbols
inline constexpr std::size_t kMaxText = 1 << 24;           ///< bytes of other texts (metadata, the trees of inputs)

constexpr std::uint64_t align_up(std::uint64_t offset, std::uint64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}
constexpr std::uint64_t alignment_of(std::uint64_t stored_size) {
  return stored_size >= kPageAlignedFrom ? kPageAlignment : kSegmentAlignment;
}

}  // namespace tern
