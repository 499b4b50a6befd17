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

  [[noreturn]] void bad(const ZipRecord& record, std::uint64_t offset, const std::string& what) const {
    fail(ErrorCode::bad_file, fmt::format("{}: offset {}: entry {}: {}", label, offset, quote(record.name), what));
  }

  void check_kind(const ZipRecord& record) const {
    const std::uint64_t at = record.header_offset;
    if (record.flags & kFlagEncrypted) bad(record, at, "is encrypted");
    if (record.method != 0)
      bad(record, at,
          fmt::format(
              "is compressed (method {}); torch.export.save stores entries as they are, so save the program again",
              record.method));
    if (record.flags & ~(kFlagDescriptor | kFlagUtf8))
      bad(record, at, fmt::format("has unknown flags 0x{:04x}", record.flags));
    if (record.compressed_size != record.size)
      bad(record, at,
          fmt::format("is stored, but its two sizes differ ({} and {})", record.compressed_size, record.size));
  }

  // The local zip64 field holds both sizes (zero if stored in the data descriptor), the offset, or all three.
  void check_zip64(const ZipRecord& record, Bytes space) const {
    const std::uint64_t at = record.header_offset;
    if (space.size() != 8 && space.size() != 16 && space.size() != 24)
      bad(record, at, "its local zip64 field has a wrong length");
    std::size_t used = 0;
    if (space.size() >= 16)
      for (; used < 16; used += 8) {
        const auto size = field<std::uint64_t>(space, used);
        if (size != record.size && !(size == 0 && (record.flags & kFlagDescriptor)))
          bad(record, at, "its local zip64 size differs from the directory's");
      }
    if (used < space.size() && field<std::uint64_t>(space, used) != record.header_offset)
      bad(record, at, "its local zip64 offset differs from the directory's");
  }

  // Returns the entry's end.
  std::uint64_t check(ZipRecord& record) const {
    check_kind(record);
    const std::uint64_t at = record.header_offset;
    if (!inside(file, at, kLocalHeaderBytes)) bad(record, at, "its header lies outside the file");
    if (field<std::uint32_t>(file, at) != kLocalHeader) bad(record, at, "the local header is missing");
    if (field<std::uint16_t>(file, at + 6) != record.flags)
      bad(record, at + 6, "its flags differ from the directory's");
    if (field<std::uint16_t>(file, at + 8) != record.method)
      bad(record, at + 8, "its method differs from the directory's");
    const std::size_t name_bytes = field<std::uint16_t>(file, at + 26);
    const std::size_t extra_bytes = field<std::uint16_t>(file, at + 28);
    if (!inside(file, at + kLocalHeaderBytes, name_bytes + extra_bytes))
      bad(record, at + 26, "its header goes past the end");
    const Bytes name = file.subspan(at + kLocalHeaderBytes, name_bytes);
    if (record.name != std::string_view(reinterpret_cast<const char*>(name.data()), name.size()))
      bad(record, at + kLocalHeaderBytes, "its name differs from the directory's");
    const Extra extra = read_extra(file.subspan(at + kLocalHeaderBytes + name_bytes, extra_bytes));
    if (!extra.well_formed) bad(record, at + 28, "its extra fields are malformed");
    if (extra.zip64) check_zip64(record, *extra.zip64);
    check_local_sizes(record, extra);
    record.data_offset = at + kLocalHeaderBytes + name_bytes + extra_bytes;
    if (!inside(file, record.data_offset, record.size))
      bad(record, record.data_offset, fmt::format("its {} bytes go past the end", record.size));
    const std::uint64_t end = record.data_offset + record.size;
    return record.flags & kFlagDescriptor ? check_descriptor(record, end, extra.zip64.has_value()) : end;
  }

  void check_local_sizes(const ZipRecord& record, const Extra& extra) const {
    const std::uint64_t at = record.header_offset;
    const bool later = record.flags & kFlagDescriptor;
    const auto crc = field<std::uint32_t>(file, at + 14);
    if (crc != record.crc && !(later && crc == 0)) bad(record, at + 14, "its CRC differs from the directory's");
    for (const std::uint64_t place : {at + 18, at + 22}) {
      const auto size = field<std::uint32_t>(file, place);
      const bool in_zip64 = size == kIn64 && extra.zip64 && extra.zip64->size() >= 16;
      if (size != record.size && !(later && size == 0) && !in_zip64)
        bad(record, place, "its size differs from the directory's");
    }
  }

  // Signature, CRC and two sizes, each of 8 bytes for an entry with a zip64 field, else of 4.
  std::uint64_t check_descriptor(const ZipRecord& record, std::uint64_t at, bool wide) const {
    const std::size_t bytes = wide ? 24 : 16;
    if (!inside(file, at, bytes) || field<std::uint32_t>(file, at) != kDataDescriptor)
      bad(record, at, "the data descriptor after its data is missing");
    if (field<std::uint32_t>(file, at + 4) != record.crc)
      bad(record, at + 4, "its data descriptor's CRC differs from the directory's");
    const std::size_t step = wide ? 8 : 4;
    for (const std::uint64_t place : {at + 8, at + 8 + step}) {
      const std::uint64_t size = wide ? field<std::uint64_t>(file, place) : field<std::uint32_t>(file, place);
      if (size != record.size) bad(record, place, "its data descriptor's size differs from the directory's");
    }
    return at + bytes;
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
  std::uint64_t at = 0;
  for (const auto& extent : extents) {
    if (extent.begin < at) checker.bad(*extent.record, extent.begin, "overlaps the entry before it");
    if (extent.begin > at) checker.bad(*extent.record, at, "bytes before it belong to no entry");
    at = extent.end;
  }
  if (at != directory.offset)
    fail(ErrorCode::bad_file,
         fmt::format("{}: offset {}: there are bytes between the last entry and the zip directory", label, at));
}

}  // namespace tern::pt2
