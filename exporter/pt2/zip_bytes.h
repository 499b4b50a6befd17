// Little-endian fields of zip records, and the extra fields behind a name; used by the zip_*.cpp files alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tern::pt2::zip {

inline constexpr std::uint32_t kLocalHeader = 0x04034b50;
inline constexpr std::uint32_t kCentralHeader = 0x02014b50;
inline constexpr std::uint32_t kDataDescriptor = 0x08074b50;
inline constexpr std::uint32_t kEnd = 0x06054b50;
inline constexpr std::uint32_t kEnd64 = 0x06064b50;
inline constexpr std::uint32_t kEnd64Locator = 0x07064b50;
inline constexpr std::size_t kLocalHeaderBytes = 30;
inline constexpr std::size_t kCentralHeaderBytes = 46;
inline constexpr std::size_t kEndBytes = 22;
inline constexpr std::size_t kEnd64Bytes = 56;
inline constexpr std::size_t kEnd64LocatorBytes = 20;

inline constexpr std::uint16_t kFlagEncrypted = 1 << 0;
inline constexpr std::uint16_t kFlagDescriptor = 1 << 3;  ///< CRC and sizes follow the data
inline constexpr std::uint16_t kFlagUtf8 = 1 << 11;
inline constexpr std::uint16_t kExtraZip64 = 0x0001;
inline constexpr std::uint32_t kIn64 = 0xffffffff;  ///< the true value is in the zip64 extra field

/// True if [offset, offset + size) lies in `file`.
inline bool inside(std::span<const std::byte> file, std::uint64_t offset, std::uint64_t size) {
  return offset <= file.size() && size <= file.size() - offset;
}

/// The caller has checked the range.
template <class T>
T field(std::span<const std::byte> file, std::uint64_t offset) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<T>(file[offset + i]) << (8 * i)));
  return value;
}

struct Extra {
  bool well_formed = false;  ///< the fields fill the space exactly, and zip64 occurs at most once
  std::optional<std::span<const std::byte>> zip64;
};

/// The extra fields (each: id, length, bytes) in `space`.
inline Extra read_extra(std::span<const std::byte> space) {
  Extra extra;
  std::size_t index = 0;
  while (index < space.size()) {
    if (!inside(space, index, 4)) return extra;
    const auto id = field<std::uint16_t>(space, index);
    const auto length = field<std::uint16_t>(space, index + 2);
    if (!inside(space, index + 4, length)) return extra;
    if (id == kExtraZip64) {
      if (extra.zip64) return extra;
      extra.zip64 = space.subspan(index + 4, length);
    }
    index += 4 + std::size_t{length};
  }
  extra.well_formed = true;
  return extra;
}

}  // namespace tern::pt2::zip
