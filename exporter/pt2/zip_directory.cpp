#include "exporter/pt2/zip_directory.h"

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/pt2/text.h"
#include "exporter/pt2/zip_bytes.h"

namespace tern::pt2 {

using namespace zip;
using Bytes = std::span<const std::byte>;

namespace {

struct EndRecord {
  std::uint64_t count;
  std::uint64_t size;
  std::uint64_t offset;
  std::uint64_t limit;  ///< required end of the directory
};

struct ZipDirectoryReader {
  Bytes file;
  const std::string& label;

  [[noreturn]] void bad(std::uint64_t offset, const std::string& problem) const {
    fail(ErrorCode::bad_file, fmt::format("{}: offset {}: {}", label, offset, problem));
  }

  [[noreturn]] void not_a_zip() const {
    const bool starts_as_zip = file.size() >= 4 && field<std::uint32_t>(file, 0) == kLocalHeader;
    if (starts_as_zip)
      bad(file.size(),
          "the zip archive does not end with its directory: the file is cut short or has bytes after its end; copy it "
          "again");
    if (file.empty()) bad(0, "the file is empty");
    bad(0, "not a zip archive; a .pt2 file is what torch.export.save writes");
  }

  EndRecord read_end() const {
    if (file.size() < kEndBytes) not_a_zip();
    const std::uint64_t end_offset = file.size() - kEndBytes;
    if (field<std::uint32_t>(file, end_offset) != kEnd || field<std::uint16_t>(file, end_offset + 20) != 0) not_a_zip();
    if (field<std::uint16_t>(file, end_offset + 4) != 0 || field<std::uint16_t>(file, end_offset + 6) != 0)
      bad(end_offset + 4, "the archive is split over several disks");
    const auto count = field<std::uint16_t>(file, end_offset + 10);
    const auto size = field<std::uint32_t>(file, end_offset + 12);
    const auto offset = field<std::uint32_t>(file, end_offset + 16);
    if (field<std::uint16_t>(file, end_offset + 8) != count) bad(end_offset + 8, "the two counts of entries differ");
    const bool has64 = end_offset >= kEnd64LocatorBytes &&
                       field<std::uint32_t>(file, end_offset - kEnd64LocatorBytes) == kEnd64Locator;
    if (has64) return read_end64(end_offset - kEnd64LocatorBytes, count, size, offset);
    if (count == 0xffff || size == kIn64 || offset == kIn64) bad(end_offset, "the zip64 end record is missing");
    return {count, size, offset, end_offset};
  }

  EndRecord read_end64(std::uint64_t locator, std::uint16_t count, std::uint32_t size, std::uint32_t offset) const {
    if (field<std::uint32_t>(file, locator + 4) != 0 || field<std::uint32_t>(file, locator + 16) != 1)
      bad(locator, "the archive is split over several disks");
    const auto end64_offset = field<std::uint64_t>(file, locator + 8);
    if (locator < kEnd64Bytes || end64_offset != locator - kEnd64Bytes ||
        field<std::uint32_t>(file, end64_offset) != kEnd64)
      bad(locator + 8, "the zip64 end record is not right before its locator");
    if (field<std::uint64_t>(file, end64_offset + 4) != kEnd64Bytes - 12)
      bad(end64_offset + 4, "the zip64 end record has a wrong size");
    if (field<std::uint32_t>(file, end64_offset + 16) != 0 || field<std::uint32_t>(file, end64_offset + 20) != 0)
      bad(end64_offset + 16, "the archive is split over several disks");
    EndRecord end{field<std::uint64_t>(file, end64_offset + 32), field<std::uint64_t>(file, end64_offset + 40),
                  field<std::uint64_t>(file, end64_offset + 48), end64_offset};
    if (field<std::uint64_t>(file, end64_offset + 24) != end.count)
      bad(end64_offset + 24, "the two counts of entries differ");
    if ((count != 0xffff && count != end.count) || (size != kIn64 && size != end.size) ||
        (offset != kIn64 && offset != end.offset))
      bad(end64_offset + 32, "the zip64 end record and the end record differ");
    return end;
  }

  // Fields of all ones have their values in the zip64 extra field, in this order, without other contents (4.5.3).
  void read_zip64(ZipRecord& record, std::uint64_t offset, const Extra& extra) const {
    const Bytes space = extra.zip64.value_or(Bytes{});
    std::size_t field_offset = 0;
    for (std::uint64_t* value : {&record.size, &record.compressed_size, &record.header_offset}) {
      if (*value != kIn64) continue;
      if (!inside(space, field_offset, 8))
        bad(offset, fmt::format("entry {}: its zip64 field is missing or too short", quote(record.name)));
      *value = field<std::uint64_t>(space, field_offset);
      field_offset += 8;
    }
    if (field_offset != space.size())
      bad(offset, fmt::format("entry {}: its zip64 field has unneeded values", quote(record.name)));
  }

  std::uint64_t read_record(std::uint64_t offset, std::uint64_t end, ZipRecord& record) const {
    if (end - offset < kCentralHeaderBytes || field<std::uint32_t>(file, offset) != kCentralHeader)
      bad(offset, "an entry of the zip directory is missing");
    const std::size_t name_bytes = field<std::uint16_t>(file, offset + 28);
    const std::size_t extra_bytes = field<std::uint16_t>(file, offset + 30);
    const std::size_t comment_bytes = field<std::uint16_t>(file, offset + 32);
    const std::uint64_t total = kCentralHeaderBytes + name_bytes + extra_bytes + comment_bytes;
    if (end - offset < total) bad(offset + 28, "an entry goes past the end of the zip directory");
    const char* name = reinterpret_cast<const char*>(file.data() + offset + kCentralHeaderBytes);
    if (name_bytes == 0 || name_bytes > kMaxZipNameBytes)
      bad(offset + 28, fmt::format("an entry's name has {} bytes; 1 to {} are allowed", name_bytes, kMaxZipNameBytes));
    record.name.assign(name, name_bytes);
    if (record.name.find('\0') != std::string::npos || !is_utf8(record.name))
      bad(offset + kCentralHeaderBytes, fmt::format("the entry's name {} is not valid UTF-8 text", quote(record.name)));
    if (comment_bytes != 0) bad(offset + 32, fmt::format("entry {} has a comment", quote(record.name)));
    if (field<std::uint16_t>(file, offset + 34) != 0) bad(offset + 34, "the archive is split over several disks");
    record.flags = field<std::uint16_t>(file, offset + 8);
    record.method = field<std::uint16_t>(file, offset + 10);
    record.crc = field<std::uint32_t>(file, offset + 16);
    record.compressed_size = field<std::uint32_t>(file, offset + 20);
    record.size = field<std::uint32_t>(file, offset + 24);
    record.header_offset = field<std::uint32_t>(file, offset + 42);
    const Extra extra = read_extra(file.subspan(offset + kCentralHeaderBytes + name_bytes, extra_bytes));
    if (!extra.well_formed)
      bad(offset + 30, fmt::format("entry {}: its extra fields are malformed", quote(record.name)));
    read_zip64(record, offset, extra);
    return offset + total;
  }
};

}  // namespace

ZipDirectory read_zip_directory(Bytes file, const std::string& label) {
  const ZipDirectoryReader reader{file, label};
  const EndRecord end = reader.read_end();
  if (end.offset > end.limit || end.size != end.limit - end.offset)
    reader.bad(end.limit,
               fmt::format("the zip directory (offset {}, {} bytes) does not end right before its end record",
                           end.offset, end.size));
  // Precedes any allocation: each record has at least its fixed fields.
  if (end.count > kMaxZipEntries || end.count > end.size / kCentralHeaderBytes)
    reader.bad(end.limit, fmt::format("{} entries exceed the capacity of the directory of {} bytes, or the limit of {}",
                                      end.count, end.size, kMaxZipEntries));
  ZipDirectory directory;
  directory.offset = end.offset;
  directory.records.resize(end.count);
  std::uint64_t offset = end.offset;
  for (auto& record : directory.records) offset = reader.read_record(offset, end.limit, record);
  if (offset != end.limit)
    reader.bad(offset, "there are bytes between the last entry of the zip directory and its end record");
  return directory;
}

}  // namespace tern::pt2
