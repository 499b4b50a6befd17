// The records of a zip archive, read and checked byte by byte (APPNOTE.TXT 6.3, sections 4.3 to 4.5).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tern::pt2 {

inline constexpr std::uint64_t kMaxZipEntries = 1'000'000;
inline constexpr std::size_t kMaxZipNameBytes = 4096;

/// Entry of the central directory.
struct ZipRecord {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;  ///< offset of the local header
  std::uint64_t data_offset = 0;    ///< set by check_local_headers
};

struct ZipDirectory {
  std::vector<ZipRecord> records;  ///< directory order
  std::uint64_t offset = 0;        ///< start of the central directory, the end of the entries
};

/// Reads the central directory; it must end the file without a comment. Accepts compressed entries too, to recognise
/// archives of other kinds by their names. Throws Error: bad_file.
ZipDirectory read_zip_directory(std::span<const std::byte> file, const std::string& label);

/// Checks every entry: stored, not encrypted, local header and data descriptor equal to the directory, unique name.
/// Entries must fill the file up to the directory without gap or overlap. Sets data_offset.
void check_local_headers(std::span<const std::byte> file, ZipDirectory& directory, const std::string& label);

}  // namespace tern::pt2
