#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

#include "exporter/pt2/text.h"
#include "exporter/pt2/zip_bytes.h"
#include "exporter/pt2/zip_directory.h"

namespace tern::pt2 {

using namespace zip;
using Bytes = std::span<const std::byte>;

namespace {

struct Checker {
  Bytes file;  ///< up to the central directory
  const std::string& label;

  [[noreturn]] void bad(const ZipRecord& record, std::uint64_t offset, const std::string& problem) const {
    fail(ErrorCode::bad_file, fmt::format("{}: offset {}: entry {}: {}", label, offset, quote(record.name), problem));
  }

  void check_kind(const ZipRecord& record) const {
    const std::uint64_t offset = record.header_offset;
    if (record.flags & kFlagEncrypted) bad(record, offset, "is encrypted");
    if (record.method != 0)
      bad(record, offset,
          fmt::format(
              "is compressed (method {}); torch.export.save stores entries as they are, so save the program again",
              record.method));
    if (record.flags & ~(kFlagDescriptor | kFlagUtf8))
      bad(record, offset, fmt::format("has unknown flags 0x{:04x}", record.flags));
    if (record.compressed_size != record.size)
      bad(record, offset,
          fmt::format("is stored, but its two sizes differ ({} and {})", record.compressed_size, record.size));
  }

  // The local zip64 field holds both sizes (zero if stored in the data descriptor), the offset, or all three.
  void check_zip64(const ZipRecord& record, Bytes space) const {
    const std::uint64_t offset = record.header_offset;
    if (space.size() != 8 && space.size() != 16 && space.size() != 24)
      bad(record, offset, "its local zip64 field has a wrong length");
    std::size_t field_offset = 0;
    if (space.size() >= 16)
      for (; field_offset < 16; field_offset += 8) {
        const auto size = field<std::uint64_t>(space, field_offset);
        if (size != record.size && !(size == 0 && (record.flags & kFlagDescriptor)))
          bad(record, offset, "its local zip64 size differs from the directory's");
      }
    if (field_offset < space.size() && field<std::uint64_t>(space, field_offset) != record.header_offset)
      bad(record, offset, "its local zip64 offset differs from the directory's");
  }

  // Returns the entry's end.
  std::uint64_t check(ZipRecord& record) const {
    check_kind(record);
    const std::uint64_t offset = record.header_offset;
    if (!inside(file, offset, kLocalHeaderBytes)) bad(record, offset, "its header lies outside the file");
    if (field<std::uint32_t>(file, offset) != kLocalHeader) bad(record, offset, "the local header is missing");
    if (field<std::uint16_t>(file, offset + 6) != record.flags)
      bad(record, offset + 6, "its flags differ from the directory's");
    if (field<std::uint16_t>(file, offset + 8) != record.method)
      bad(record, offset + 8, "its method differs from the directory's");
    const std::size_t name_bytes = field<std::uint16_t>(file, offset + 26);
    const std::size_t extra_bytes = field<std::uint16_t>(file, offset + 28);
    if (!inside(file, offset + kLocalHeaderBytes, name_bytes + extra_bytes))
      bad(record, offset + 26, "its header goes past the end");
    const Bytes name = file.subspan(offset + kLocalHeaderBytes, name_bytes);
    if (record.name != std::string_view(reinterpret_cast<const char*>(name.data()), name.size()))
      bad(record, offset + kLocalHeaderBytes, "its name differs from the directory's");
    const Extra extra = read_extra(file.subspan(offset + kLocalHeaderBytes + name_bytes, extra_bytes));
    if (!extra.well_formed) bad(record, offset + 28, "its extra fields are malformed");
    if (extra.zip64) check_zip64(record, *extra.zip64);
    check_local_sizes(record, extra);
    record.data_offset = offset + kLocalHeaderBytes + name_bytes + extra_bytes;
    if (!inside(file, record.data_offset, record.size))
      bad(record, record.data_offset, fmt::format("its {} bytes go past the end", record.size));
    const std::uint64_t end = record.data_offset + record.size;
    return record.flags & kFlagDescriptor ? check_descriptor(record, end, extra.zip64.has_value()) : end;
  }

  void check_local_sizes(const ZipRecord& record, const Extra& extra) const {
    const std::uint64_t offset = record.header_offset;
    const bool has_descriptor = record.flags & kFlagDescriptor;
    const auto crc = field<std::uint32_t>(file, offset + 14);
    if (crc != record.crc && !(has_descriptor && crc == 0))
      bad(record, offset + 14, "its CRC differs from the directory's");
    for (const std::uint64_t position : {offset + 18, offset + 22}) {
      const auto size = field<std::uint32_t>(file, position);
      const bool in_zip64 = size == kIn64 && extra.zip64 && extra.zip64->size() >= 16;
      if (size != record.size && !(has_descriptor && size == 0) && !in_zip64)
        bad(record, position, "its size differs from the directory's");
    }
  }

  // Signature, CRC and two sizes, each of 8 bytes for an entry with a zip64 field, else of 4.
  std::uint64_t check_descriptor(const ZipRecord& record, std::uint64_t offset, bool is_zip64) const {
    const std::size_t bytes = is_zip64 ? 24 : 16;
    if (!inside(file, offset, bytes) || field<std::uint32_t>(file, offset) != kDataDescriptor)
      bad(record, offset, "the data descriptor after its data is missing");
    if (field<std::uint32_t>(file, offset + 4) != record.crc)
      bad(record, offset + 4, "its data descriptor's CRC differs from the directory's");
    const std::size_t step = is_zip64 ? 8 : 4;
    for (const std::uint64_t position : {offset + 8, offset + 8 + step}) {
      const std::uint64_t size = is_zip64 ? field<std::uint64_t>(file, position) : field<std::uint32_t>(file, position);
      if (size != record.size) bad(record, position, "its data descriptor's size differs from the directory's");
    }
    return offset + bytes;
  }
};

void check_unique(const Checker& checker, const std::vector<ZipRecord>& records) {
  std::vector<const ZipRecord*> sorted;
  for (const auto& record : records) sorted.push_back(&record);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1]->name == sorted[i]->name) checker.bad(*sorted[i], sorted[i]->header_offset, "occurs twice");
}

}  // namespace

void check_local_headers(Bytes file, ZipDirectory& directory, const std::string& label) {
  const Checker checker{file.first(directory.offset), label};
  check_unique(checker, directory.records);
  struct Extent {
    std::uint64_t begin, end;
    const ZipRecord* record;
  };
  std::vector<Extent> extents;
  for (auto& record : directory.records) {
    const std::uint64_t end = checker.check(record);
    extents.push_back({record.header_offset, end, &record});
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::uint64_t offset = 0;
  for (const auto& extent : extents) {
    if (extent.begin < offset) checker.bad(*extent.record, extent.begin, "overlaps the entry before it");
    if (extent.begin > offset) checker.bad(*extent.record, offset, "bytes before it belong to no entry");
    offset = extent.end;
  }
  if (offset != directory.offset)
    fail(ErrorCode::bad_file,
         fmt::format("{}: offset {}: there are bytes between the last entry and the zip directory", label, offset));
}

}  // namespace tern::pt2
