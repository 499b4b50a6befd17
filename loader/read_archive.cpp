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
  explicit IndexOffsets(const IndexReader& in) : in_(in), root_(*in.root()) {}
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
    return in_.offset_of(v->Get(static_cast<flatbuffers::uoffset_t>(i)));
  }
  const IndexReader& in_;
  const archive::Index& root_;
};

void check_storages(const ReadArchive& a, const ProgramOffsets& offsets, Findings& findings) {
  std::vector<bool> used(a.segments.size());
  for (std::size_t i = 0; i < a.segment_of.size(); ++i) {
    const std::int32_t segment = a.segment_of[i];
    const std::uint64_t size = a.program->storages[i].size;
    const auto wrong = [&](std::string message) {
      findings.add("storages.segment", offsets.storage(i), fmt::format("storage {}", i), std::move(message));
    };
    if (segment < 0) {
      if (size != 0) wrong(fmt::format("it has {} bytes, but no segment", size));
    } else if (static_cast<std::size_t>(segment) >= a.segments.size()) {
      wrong(fmt::format("segment {} does not exist; there are {}", segment, a.segments.size()));
    } else {
      used[static_cast<std::size_t>(segment)] = true;
      const std::uint64_t have = a.segments[static_cast<std::size_t>(segment)].size;
      if (have != size) wrong(fmt::format("it has {} bytes, but its segment has {}", size, have));
    }
  }
  std::uint64_t decoded = 0;
  for (std::size_t i = 0; i < a.segments.size(); ++i) {
    const SegmentInfo& s = a.segments[i];
    if (!used[i]) findings.add("segments.unused", s.table_offset, fmt::format("segment {}", i), "no storage uses it");
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
    auto& parts = a.segments[static_cast<std::size_t>(segment)].booleans;
    const std::pair<std::uint64_t, std::uint64_t> part(s.offset, end);
    if (!empty && (parts.empty() || parts.back() != part)) parts.push_back(part);
  }
  for (SegmentInfo& s : a.segments) {
    std::ranges::sort(s.booleans);
    std::size_t kept = 0;
    for (const auto& part : s.booleans) {
      if (kept > 0 && part.first <= s.booleans[kept - 1].second) {
        s.booleans[kept - 1].second = std::max(s.booleans[kept - 1].second, part.second);
      } else {
        s.booleans[kept++] = part;
      }
    }
    s.booleans.resize(kept);
  }
}

/// Stops at features of newer versions, because the tables behind them may have another meaning. This version has none.
void check_features(IndexReader& in) {
  const auto* names = in.root()->features();
  const std::size_t n = in.count(names);
  for (std::size_t i = 0; i < n; ++i) {
    const std::string name = in.name(names->Get(static_cast<flatbuffers::uoffset_t>(i)), names);
    in.findings().add("index.features", in.offset_of(names), fmt::format("feature {}", i),
                      fmt::format("the archive needs '{}', which this version of Tern does not have; use a newer "
                                  "version, or export the program again with this one",
                                  name),
                      ErrorCode::unsupported);
  }
  if (n > 0) throw IndexReader::Stop();
}

void read(ReadArchive& a, Findings& findings) {
  const ArchiveContainer container = read_container(a.file->bytes(), findings);
  a.prologue = container.prologue;
  if (container.index.empty()) {
    if (findings.list().empty()) {
      findings.add("prologue.index", PrologueField::index_size, "prologue", "the index is empty");
    }
    return;
  }
  IndexReader in(container.index, a.prologue.index_offset, findings);
  if (in.root() == nullptr) return;
  const IndexOffsets offsets(in);
  a.program = std::make_shared<Program>();
  const std::size_t broken = findings.broken();  // continues after a wrong hash to find further errors
  try {
    in.read_texts();
    check_features(in);
    a.segments = read_segments(in);
    read_expressions(in, a.program->pool);
    in.set_expressions(&a.program->pool.nodes());
    in.read_types();
    a.segment_of = read_storages(in, *a.program);
    read_states(in, *a.program);
    read_packings(in, *a.program);
    read_kernels(in, *a.program);
    read_files(in, *a.program);
    read_origins(in, *a.program);
    read_functions(in, *a.program);
    read_tunings(in, *a.program);
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
    read(a, findings);
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
    const auto stored = stored_bytes(file, s);
    const auto wrong = [&](const char* rule, std::string message) {
      findings.add(rule, s.offset, fmt::format("segment {} {}", i, names[i]), std::move(message));
    };
    if (!(segment_hash(stored) == s.hash)) {
      wrong("segments.hash", "its hash is wrong: it was changed or damaged");
    } else if (a.stage == ReadStage::program) {
      const std::string message = s.compressed ? check_frames(stored, s) : boolean_problem(s, stored);
      if (!message.empty()) wrong(message.starts_with("byte") ? "segments.boolean" : "segments.frames", message);
    }
    a.file->release(stored);
  }
  if (a.stage != ReadStage::program) return;
  check_modules(a, findings);
  check_files(a, findings);
}

}  // namespace tern
