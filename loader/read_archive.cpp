#include "loader/read_archive.h"

#include <fmt/format.h>

#include <algorithm>

#include "loader/index_reader.h"
#include "loader/segment_source.h"
#include "loader/validate.h"
#include "schema/work.h"

namespace tern {
namespace {

class IndexOffsets : public ProgramOffsets {
 public:
  explicit IndexOffsets(const IndexReader& reader) : reader_(reader), root_(*reader.root()) {}
  std::uint64_t storage(std::size_t i) const override { return offset_at(root_.storages(), i); }
  std::uint64_t state(std::size_t i) const override { return offset_at(root_.states(), i); }
  std::uint64_t function(std::size_t f) const override { return offset_at(root_.functions(), f); }
  std::uint64_t input(std::size_t f, std::size_t i) const override { return offset_at(row(f)->inputs(), i); }
  std::uint64_t output(std::size_t f, std::size_t i) const override { return offset_at(row(f)->outputs(), i); }
  std::uint64_t writeback(std::size_t f, std::size_t i) const override { return offset_at(row(f)->writebacks(), i); }
  std::uint64_t node(std::size_t f, std::size_t i) const override { return offset_at(row(f)->nodes(), i); }

 private:
  const archive::Function* row(std::size_t f) const {
    return root_.functions()->Get(static_cast<flatbuffers::uoffset_t>(f));
  }
  template <class Vector>
  std::uint64_t offset_at(const Vector* v, std::size_t i) const {
    return reader_.offset_of(v->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
  const IndexReader& reader_;
  const archive::Index& root_;
};

void check_storages(const ReadArchive& a, const ProgramOffsets& offsets, Findings& findings) {
  std::vector<bool> is_used(a.segments.size());
  for (std::size_t i = 0; i < a.segment_of.size(); ++i) {
    const std::int32_t segment = a.segment_of[i];
    const std::uint64_t size = a.program->storages[i].size;
    const auto add_finding = [&](std::string message) {
      findings.add("storages.segment", offsets.storage(i), fmt::format("storage {}", i), std::move(message));
    };
    if (segment < 0) {
      if (size != 0) add_finding(fmt::format("it has {} bytes, but no segment", size));
    } else if (static_cast<std::size_t>(segment) >= a.segments.size()) {
      add_finding(fmt::format("segment {} does not exist; there are {}", segment, a.segments.size()));
    } else {
      is_used[static_cast<std::size_t>(segment)] = true;
      const std::uint64_t segment_size = a.segments[static_cast<std::size_t>(segment)].size;
      if (segment_size != size) add_finding(fmt::format("it has {} bytes, but its segment has {}", size, segment_size));
    }
  }
  std::uint64_t decoded = 0;
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    const SegmentInfo& s = a.segments[i];
    if (!is_used[i])
      findings.add("segments.unused", s.table_offset, fmt::format("segment {}", i), "no storage uses it");
    if (s.compressed && __builtin_add_overflow(decoded, s.size, &decoded)) decoded = ~std::uint64_t{0};
  }
  const std::uint64_t limit = a.file->bytes().size() * kMaxExpansion + kFreeExpansion;
  if (decoded > limit) {
    findings.add("segments.expansion", a.segments[0].table_offset, "segments",
                 fmt::format("they decode to {} bytes in total, more than the limit of {} for a file of {}", decoded,
                             limit, a.file->bytes().size()));
  }
}

/// Requires all rules to hold: every state lies in its storage.
void note_booleans(ReadArchive& a) {
  for (const State& s : a.program->states) {
    const std::int32_t segment = a.segment_of[s.storage];
    if (s.type.dtype != DType::boolean || segment < 0) continue;
    auto end = static_cast<std::uint64_t>(s.offset) + 1;
    for (std::size_t i = 0; i < s.strides.size(); ++i) {
      const std::int64_t size = s.type.shape[i].value();
      end += size == 0 ? 0 : static_cast<std::uint64_t>(size - 1) * static_cast<std::uint64_t>(s.strides[i]);
    }
    const bool empty = std::ranges::any_of(s.type.shape, [](Dim d) { return d.is(0); });
    auto& boolean_ranges = a.segments[static_cast<std::size_t>(segment)].booleans;
    const std::pair<std::uint64_t, std::uint64_t> boolean_range(s.offset, end);
    if (!empty && (boolean_ranges.empty() || boolean_ranges.back() != boolean_range))
      boolean_ranges.push_back(boolean_range);
  }
  for (SegmentInfo& s : a.segments) {
    std::ranges::sort(s.booleans);
    std::size_t merged_count = 0;
    for (const auto& boolean_range : s.booleans) {
      if (merged_count > 0 && boolean_range.first <= s.booleans[merged_count - 1].second) {
        s.booleans[merged_count - 1].second = std::max(s.booleans[merged_count - 1].second, boolean_range.second);
      } else {
        s.booleans[merged_count++] = boolean_range;
      }
    }
    s.booleans.resize(merged_count);
  }
}

/// Stops at features of newer versions, because the tables behind them may have another meaning. This version has none.
void check_features(IndexReader& reader) {
  const auto* names = reader.root()->features();
  const std::size_t n = reader.count(names);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string name = reader.name(names->Get(static_cast<flatbuffers::uoffset_t>(i)), names);
    reader.findings().add("index.features", reader.offset_of(names), fmt::format("feature {}", i),
                          fmt::format("the archive needs '{}', which this version of Tern does not have; use a newer "
                                      "version, or export the program again with this one",
                                      name),
                          ErrorCode::unsupported);
  }
  if (n > 0) throw IndexReader::Stop();
}

void read_index(ReadArchive& a, Findings& findings) {
  const ArchiveContainer container = read_container(a.file->bytes(), findings);
  a.prologue = container.prologue;
  if (container.index.empty()) {
    if (findings.list().empty()) {
      findings.add("prologue.index", PrologueField::index_size, "prologue", "the index is empty");
    }
    return;
  }
  IndexReader reader(container.index, a.prologue.index_offset, findings);
  if (reader.root() == nullptr) return;
  const IndexOffsets offsets(reader);
  a.program = std::make_shared<Program>();
  const std::size_t broken = findings.broken();  // continues after a wrong hash to find further errors
  try {
    reader.read_texts();
    check_features(reader);
    a.segments = read_segments(reader);
    read_expressions(reader, a.program->pool);
    reader.set_expressions(&a.program->pool.nodes());
    reader.read_types();
    a.segment_of = read_storages(reader, *a.program);
    read_states(reader, *a.program);
    read_packings(reader, *a.program);
    read_kernels(reader, *a.program);
    read_files(reader, *a.program);
    read_origins(reader, *a.program);
    read_functions(reader, *a.program);
    read_tunings(reader, *a.program);
  } catch (const IndexReader::Stop&) {
    a.program.reset();
    return;
  }
  a.stage = ReadStage::index;
  check_tiling(a.file->bytes(), a.prologue, a.segments, findings);
  check_storages(a, offsets, findings);
  if (findings.broken() > broken) return;
  validate(*a.program, findings, offsets, work_of(a.prologue.index_size));
  if (findings.broken() > broken || findings.full()) return;
  a.stage = ReadStage::program;
  note_booleans(a);
}

}  // namespace

ReadArchive read_archive(std::shared_ptr<const FileBytes> file, Findings& findings) {
  ReadArchive a;
  a.file = std::move(file);
  try {
    read_index(a, findings);
  } catch (const Findings::Full&) {
    if (a.stage == ReadStage::container) a.program.reset();
  }
  return a;
}

std::vector<std::string> segment_names(const ReadArchive& a) {
  std::vector<std::string> names(a.segments.size());
  for (const State& s : a.program->states) {
    if (s.storage >= a.segment_of.size()) continue;
    const auto segment = static_cast<std::size_t>(a.segment_of[s.storage]);
    if (segment < names.size() && names[segment].empty()) names[segment] = "of '" + s.name + "'";
  }
  for (const AttachedFile& f : a.program->files) {
    if (f.storage >= a.segment_of.size()) continue;
    const auto segment = static_cast<std::size_t>(a.segment_of[f.storage]);
    if (segment < names.size() && names[segment].empty()) names[segment] = "of " + f.name;
  }
  return names;
}

void check_segments(const ReadArchive& a, Findings& findings) {
  if (a.program == nullptr) return;
  const std::vector<std::string> names = segment_names(a);
  const auto file = a.file->bytes();
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    const SegmentInfo& s = a.segments[i];
    if (s.offset > file.size() || s.stored_size > file.size() - s.offset) continue;  // reported already
    const auto segment_bytes = stored_bytes(file, s);
    const auto add_finding = [&](const char* rule, std::string message) {
      findings.add(rule, s.offset, fmt::format("segment {} {}", i, names[i]), std::move(message));
    };
    if (!(segment_hash(segment_bytes) == s.hash)) {
      add_finding("segments.hash", "its hash is wrong: it was changed or damaged");
    } else if (a.stage == ReadStage::program) {
      const std::string message = s.compressed ? check_frames(segment_bytes, s) : boolean_problem(s, segment_bytes);
      if (!message.empty()) add_finding(message.starts_with("byte") ? "segments.boolean" : "segments.frames", message);
    }
    a.file->release(segment_bytes);
  }
  if (a.stage != ReadStage::program) return;
  check_modules(a, findings);
  check_files(a, findings);
}

}  // namespace tern
