// Files attached to a program.
#include <fmt/format.h>

#include <algorithm>

#include "loader/index_reader.h"
#include "loader/read_archive.h"
#include "loader/segment_source.h"
#include "loader/utf8.h"
#include "schema/attached_file.h"

namespace tern {

void read_files(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->files();
  const std::size_t n = reader.count(rows);
  if (n > kMaxFiles) {
    reader.findings().add("files.count", reader.offset_of(rows), "files",
                          fmt::format("there are {}; at most {} are allowed", n, kMaxFiles));
    throw IndexReader::Stop();
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    AttachedFile f{reader.name(row->name(), row), row->storage()};
    const auto add_finding = [&](const char* rule, std::string message) {
      reader.findings().add(rule, reader.offset_of(row), fmt::format("file {}", i), std::move(message));
    };
    if (!is_file_name(f.name)) {
      add_finding("files.name",
                  fmt::format("its name must have 1 to {} letters, digits, '.', '_' and '-', and begin without '.'",
                              kMaxFileName));
      continue;
    }
    if (find_file(program, f.name) != nullptr)
      add_finding("files.once", fmt::format("an earlier file is '{}', too", f.name));
    if (f.storage >= program.storages.size()) {
      add_finding("files.storage",
                  fmt::format("storage {} does not exist; there are {}", f.storage, program.storages.size()));
      continue;
    }
    if (const std::uint64_t size = program.storages[f.storage].size; size > kMaxFileSize)
      add_finding("files.storage", fmt::format("it has {} bytes; at most {} are allowed", size, kMaxFileSize));
    program.files.push_back(std::move(f));
  }
}

void check_files(const ReadArchive& a, Findings& findings) {
  for (std::size_t i = 0; i < a.program->files.size(); ++i) {
    const AttachedFile& f = a.program->files[i];
    const std::int32_t number = a.segment_of[f.storage];
    if (number < 0 || !is_text_file(f.name)) continue;
    const SegmentInfo& segment = a.segments[static_cast<std::size_t>(number)];
    const auto stored = stored_bytes(a.file->bytes(), segment);
    TextChecker checker;
    const auto add = [&](std::span<const std::byte> part) {
      checker.add({reinterpret_cast<const char*>(part.data()), part.size()});
    };
    if (!segment.compressed) {
      add(stored);
    } else if (!read_frames(stored, segment, add).empty()) {
      continue;  // reported already
    }
    if (!checker.finish())
      findings.add("files.text", segment.offset, fmt::format("file {} '{}'", i, f.name),
                   "it must be UTF-8 without zero bytes");
  }
}

}  // namespace tern
