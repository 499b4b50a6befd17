#include "loader/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tern {
namespace {

bool zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

/// Returns false if no structure after the prologue can be located.
bool check_prologue(std::span<const std::byte> file, const Prologue& p, Findings& findings) {
  const auto head = file.first(kPrologueSize);
  const auto add = [&](const char* rule, std::uint64_t offset, std::string message,
                       ErrorCode code = ErrorCode::bad_file) {
    findings.add(rule, offset, "prologue", std::move(message), code);
  };
  if (!reads_version(p.major, p.minor)) {
    add("prologue.version", PrologueField::major,
        fmt::format(
            "the file has format version {}.{}, but this build reads 0.1 and {}.0 to {}.{}; use a newer version "
            "of Tern, or export again",
            p.major, p.minor, kMajorVersion, kMajorVersion, kMinorVersion),
        ErrorCode::unsupported);
    return false;
  }
  if (!zero(head.subspan(PrologueField::reserved, 4)) || !zero(head.subspan(PrologueField::reserved_end, 16))) {
    add("prologue.reserved", PrologueField::reserved, "reserved bytes are not zero");
  }
  if (p.index_size > kMaxIndexSize) {
    add("prologue.index", PrologueField::index_size,
        fmt::format("the index has {} bytes, more than {}", p.index_size, kMaxIndexSize));
    return false;
  }
  if (p.index_offset < kPrologueSize || p.index_offset > file.size() || p.index_size > file.size() - p.index_offset) {
    add("prologue.index", PrologueField::index_offset,
        fmt::format("the index at {} with {} bytes goes past the end of the file at {} bytes; is the file cut off?",
                    p.index_offset, p.index_size, file.size()));
    return false;
  }
  if (p.index_offset % kIndexAlignment != 0) {
    add("prologue.index", PrologueField::index_offset,
        fmt::format("the index at {} is not aligned to {}", p.index_offset, kIndexAlignment));
  }
  if (p.index_size < file.size() - p.index_offset) {
    add("file.end", p.index_offset + p.index_size,
        fmt::format("{} bytes follow the index", file.size() - p.index_offset - p.index_size));
  }
  return true;
}

}  // namespace

ArchiveContainer read_container(std::span<const std::byte> file, Findings& findings) {
  ArchiveContainer c;
  const std::size_t magic_bytes = std::min<std::size_t>(file.size(), kMagic.size());
  if (magic_bytes == 0 || std::memcmp(file.data(), kMagic.data(), magic_bytes) != 0) {
    findings.add("prologue.magic", 0, "prologue",
                 file.empty() ? "the file is empty"
                              : "this is not a Tern archive: its first bytes differ; 'tern export FILE.pt2 -o "
                                "FILE.tern' makes one, 'tern inspect' says what another file is");
    return c;
  }
  if (file.size() < kPrologueSize) {
    findings.add("prologue.size", 0, "prologue",
                 fmt::format("the file has {} bytes, fewer than its prologue of {}", file.size(), kPrologueSize));
    return c;
  }
  PrologueBytes head;
  std::memcpy(head.data(), file.data(), head.size());
  c.prologue = decode_prologue(head);
  if (!check_prologue(file, c.prologue, findings)) return c;
  c.memory = MemoryPages(c.prologue.index_size);
  std::ranges::copy(file.subspan(c.prologue.index_offset, c.prologue.index_size), c.memory.bytes().begin());
  c.index = c.memory.bytes();
  if (!(index_hash(head, c.index) == c.prologue.hash)) {
    findings.add("prologue.hash", PrologueField::hash, "prologue",
                 "the hash of the prologue and the index is wrong: the file was changed or damaged");
  }
  return c;
}

void check_tiling(std::span<const std::byte> file, const Prologue& prologue, const std::vector<SegmentInfo>& segments,
                  Findings& findings) {
  std::uint64_t end = kPrologueSize;  // end of the previous segment; at most index_offset, which lies in the file
  const auto check_gap = [&](std::uint64_t begin, std::uint64_t alignment, const std::string& segment_name) {
    if (begin < end) {
      findings.add("segments.overlap", begin, segment_name,
                   fmt::format("begins at {}, but the part before it ends at {}", begin, end));
    } else if (begin - end >= alignment) {
      findings.add("segments.tiling", end, segment_name, fmt::format("{} unused bytes lie before it", begin - end));
    } else if (!zero(file.subspan(end, begin - end))) {
      findings.add("segments.padding", end, segment_name, "the padding before it is not zero");
    }
  };
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const SegmentInfo& s = segments[i];
    const std::string segment_name = fmt::format("segment {}", i);
    if (s.offset > prologue.index_offset || s.stored_size > prologue.index_offset - s.offset) {
      findings.add("segments.inside", s.table_offset, segment_name,
                   fmt::format("{} bytes at {} do not end before the index at {}", s.stored_size, s.offset,
                               prologue.index_offset));
      continue;
    }
    if (s.offset % s.alignment != 0) {
      findings.add("segments.alignment", s.table_offset, segment_name,
                   fmt::format("its offset {} is not a multiple of its alignment {}", s.offset, s.alignment));
    }
    check_gap(s.offset, s.alignment, segment_name);
    end = std::max(end, s.offset + s.stored_size);
  }
  check_gap(prologue.index_offset, kIndexAlignment, "index");
}

}  // namespace tern
