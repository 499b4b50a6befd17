// Writes zip archives in PyTorch's layout, and broken archives.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::pt2::test {

struct ZipItem {
  std::string name;
  std::string data;
  bool descriptor = true;  ///< CRC and sizes after the data, zero in the local header
  bool zip64 = false;      ///< sizes in zip64 fields
  std::uint16_t method = 0;
  std::uint16_t flags = 0;  ///< more flags
  std::uint64_t hole = 0;   ///< length of the gap after the data, zeros in a file
  std::string comment = {};
};

/// The position of a field ignored by readers.
struct Range {
  std::size_t begin, end;
};

class ZipWriter {
 public:
  bool zip64_end = true;
  bool align = true;
  std::string gap = {};  ///< bytes before the directory

  void add(const ZipItem& item) {
    Central central{item, offset_, 0};
    const bool descriptor = item.descriptor && size_of(item) > 0;
    const std::uint16_t flags = static_cast<std::uint16_t>(0x0800 | item.flags | (descriptor ? 8 : 0));
    central.flags = flags;
    central.crc =
        static_cast<std::uint32_t>(crc32_z(0, reinterpret_cast<const Bytef*>(item.data.data()), item.data.size()));
    std::string extra;
    if (item.zip64) {
      append(extra, 1, 2), append(extra, 16, 2);
      append(extra, descriptor ? 0 : size_of(item), 8), append(extra, descriptor ? 0 : size_of(item), 8);
    }
    const std::size_t fixed = offset_ + 30 + item.name.size() + extra.size() + 4;
    const std::size_t padding = align ? (64 - fixed % 64) % 64 : 0;
    const std::size_t padding_at = fixed;
    if (align) extra += "FB", append(extra, padding, 2), extra.append(padding, 'Z');
    std::string header;
    append(header, 0x04034b50, 4), append(header, 0, 2), append(header, flags, 2), append(header, item.method, 2),
        append(header, 0, 4);
    const std::uint64_t size = item.zip64 ? 0xffffffff : size_of(item);
    append(header, descriptor ? 0 : central.crc, 4), append(header, descriptor ? 0 : size, 4),
        append(header, descriptor ? 0 : size, 4);
    append(header, item.name.size(), 2), append(header, extra.size(), 2);
    ignored.push_back({offset_ + 4, offset_ + 6});    // version needed
    ignored.push_back({offset_ + 10, offset_ + 14});  // time and date
    // The padding may have any id except zip64's.
    ignored.push_back({padding_at - 4, padding_at - 2});
    ignored.push_back({padding_at, padding_at + padding});
    write(header + item.name + extra);
    payloads.push_back({offset_, offset_ + item.data.size()});
    write(item.data);
    offset_ += item.hole;
    if (descriptor) {
      std::string after;
      append(after, 0x08074b50, 4), append(after, central.crc, 4);
      append(after, size_of(item), item.zip64 ? 8 : 4), append(after, size_of(item), item.zip64 ? 8 : 4);
      write(after);
    }
    directory_.push_back(central);
  }

  void finish() {
    write(gap);
    const std::size_t start = offset_;
    for (const auto& central : directory_) write_central(central);
    const std::size_t size = offset_ - start;
    const std::size_t end64 = offset_;
    if (zip64_end) {
      std::string record;
      append(record, 0x06064b50, 4), append(record, 44, 8), append(record, 0x031e, 2), append(record, 0x002d, 2),
          append(record, 0, 8);
      append(record, directory_.size(), 8), append(record, directory_.size(), 8), append(record, size, 8),
          append(record, start, 8);
      append(record, 0x07064b50, 4), append(record, 0, 4), append(record, end64, 8), append(record, 1, 4);
      ignored.push_back({end64 + 12, end64 + 16});  // versions
      write(record);
    }
    std::string end;
    const bool large = start >= 0xffffffff;
    append(end, 0x06054b50, 4), append(end, 0, 4), append(end, directory_.size(), 2), append(end, directory_.size(), 2);
    append(end, size, 4), append(end, large ? 0xffffffff : start, 4), append(end, 0, 2);
    write(end);
  }

  /// All bytes; only without holes.
  std::string bytes() const {
    std::string all;
    for (const auto& [offset, text] : chunks_) all.resize(offset), all += text;
    return all;
  }

  /// Writes a file with sparse gaps.
  void save(const std::string& path) const {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    for (const auto& [offset, text] : chunks_) {
      std::fseek(file, static_cast<long>(offset), SEEK_SET);
      std::fwrite(text.data(), 1, text.size(), file);
    }
    std::fclose(file);
  }

  std::vector<Range> payloads;
  std::vector<Range> ignored;

 private:
  struct Central {
    ZipItem item;
    std::size_t offset;
    std::uint32_t crc;
    std::uint16_t flags = 0;
  };

  static std::uint64_t size_of(const ZipItem& item) { return item.data.size() + item.hole; }
  static void append(std::string& out, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
  }
  void write(const std::string& text) {
    if (!text.empty()) chunks_.emplace_back(offset_, text);
    offset_ += text.size();
  }

  void write_central(const Central& central) {
    const std::uint64_t size = size_of(central.item);
    const bool far = central.offset >= 0xffffffff;
    std::string extra;
    if (central.item.zip64 || far) {
      append(extra, 1, 2), append(extra, (central.item.zip64 ? 16 : 0) + (far ? 8 : 0), 2);
      if (central.item.zip64) append(extra, size, 8), append(extra, size, 8);
      if (far) append(extra, central.offset, 8);
    }
    ignored.push_back({offset_ + 4, offset_ + 8});    // versions
    ignored.push_back({offset_ + 12, offset_ + 16});  // time and date
    ignored.push_back({offset_ + 36, offset_ + 42});  // attributes
    std::string record;
    append(record, 0x02014b50, 4), append(record, 0, 4), append(record, central.flags, 2),
        append(record, central.item.method, 2);
    append(record, 0, 4), append(record, central.crc, 4);
    append(record, central.item.zip64 ? 0xffffffff : size, 4),
        append(record, central.item.zip64 ? 0xffffffff : size, 4);
    append(record, central.item.name.size(), 2), append(record, extra.size(), 2),
        append(record, central.item.comment.size(), 2);
    append(record, 0, 2), append(record, 0, 2), append(record, 0, 4),
        append(record, far ? 0xffffffff : central.offset, 4);
    write(record + central.item.name + extra + central.item.comment);
  }

  std::size_t offset_ = 0;
  std::vector<std::pair<std::size_t, std::string>> chunks_;
  std::vector<Central> directory_;
};

inline std::string write_zip(const std::vector<ZipItem>& items) {
  ZipWriter writer;
  for (const auto& item : items) writer.add(item);
  writer.finish();
  return writer.bytes();
}

inline std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace tern::pt2::test
