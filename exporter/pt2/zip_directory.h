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

/// One entry as the central directory has it.
struct ZipRecord {
  std::string name;
  std::uint16_t flags = 0;
  std::uint16_t method = 0;
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t size = 0;
  std::uint64_t header_offset = 0;  ///< of the local header
  std::uint64_t data_offset = 0;    ///< set by check_local_headers
};

struct ZipDirectory {
  std::vector<ZipRecord> records;  ///< in the order of the directory
  std::uint64_t offset = 0;        ///< of the central directory, where the entries end
};

/// Reads the central directory, which must end the file without a comment. Compressed entries are read too, so that
/// archives of other kinds can be recognised by their names. Throws Error: bad_file.
ZipDirectory read_zip_directory(std::span<const std::byte> file, const std::string& label);

/// Checks that every entry is stored and not encrypted, that its local header and data descriptor agree with the
/// directory, that no name occurs twice, and that the entries fill the file up to the directory without a gap or an
/// overlap. Sets data_offset.
void check_local_headers(std::span<const std::byte> file, ZipDirectory& directory, const std::string& label);

}  // namespace tern::pt2
