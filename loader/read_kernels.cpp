// Compiled kernels of an archive.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "loader/format.h"
#include "loader/index_reader.h"
#include "loader/kernel_modules.h"
#include "loader/read_archive.h"
#include "loader/segment_source.h"

namespace tern {
namespace {

bool is_identifier(const std::string& name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && letter(name[0]) && std::ranges::all_of(name, [&](char c) { return letter(c) || digit(c); });
}

std::string target_of(IndexReader& reader, const archive::Kernel* row) {
  if (row->target_kind() == kSpirvTarget) return "xpu:spirv";
  return row->target_kind() == kNamedTarget ? reader.name(row->target(), row)
                                            : fmt::format("target kind {}", row->target_kind());
}

}  // namespace

void read_kernels(IndexReader& reader, Program& program) {
  const auto* rows = reader.root()->kernels();
  const std::size_t n = reader.count(rows);
  reader.expand(n * sizeof(DeviceKernel));
  program.kernels.reserve(n);
  std::set<std::tuple<std::string, std::uint64_t, std::uint64_t>> seen;
  for (std::size_t i = 0; i < n; ++i) {
    const auto* row = rows->Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto wrong = [&](const char* rule, std::string message) {
      reader.findings().add(rule, reader.offset_of(row), fmt::format("kernel {}", i), std::move(message));
    };
    DeviceKernel k{reader.name(row->name(), row), target_of(reader, row), row->text_low(), row->text_high(),
                   row->storage()};
    if (!is_identifier(k.name)) wrong("kernels.name", "its name must consist of letters, digits and _");
    if (row->target_kind() == kNamedTarget && !is_kernel_target(k.target))
      wrong("kernels.target", "its target must have a form such as cuda:sm_90");
    if (!seen.emplace(k.target, k.text_low, k.text_high).second)
      wrong("kernels.once", "an earlier module has the same target and text");
    if (k.storage >= program.storages.size()) {
      wrong("kernels.storage",
            fmt::format("storage {} does not exist; there are {}", k.storage, program.storages.size()));
      continue;
    }
    if (program.storages[k.storage].size == 0) wrong("kernels.storage", fmt::format("storage {} is empty", k.storage));
    program.kernels.push_back(std::move(k));
  }
}

void check_modules(const ReadArchive& a, Findings& findings) {
  std::set<std::pair<std::size_t, std::string>> seen;  // each segment once per target
  for (std::size_t i = 0; i < a.program->kernels.size(); ++i) {
    const DeviceKernel& k = a.program->kernels[i];
    const auto number = static_cast<std::size_t>(a.segment_of[k.storage]);
    if (!seen.emplace(number, k.target).second) continue;
    const SegmentInfo& segment = a.segments[number];
    auto bytes = stored_bytes(a.file->bytes(), segment);
    MemoryPages decoded;
    if (segment.size > kMaxModule) {
      findings.add("kernels.module", segment.offset, fmt::format("kernel {} '{}'", i, k.name),
                   fmt::format("it has {} bytes; a module has at most {}", segment.size, kMaxModule));
      continue;
    }
    if (segment.compressed) {
      decoded = MemoryPages(segment.size);
      if (!decode_frames(bytes, segment, decoded.bytes()).empty()) continue;  // reported already
      bytes = decoded.bytes();
    }
    if (std::string problem = module_problem(k.target, bytes); !problem.empty())
      findings.add("kernels.module", segment.offset, fmt::format("kernel {} '{}'", i, k.name), std::move(problem));
  }
}

}  // namespace tern
