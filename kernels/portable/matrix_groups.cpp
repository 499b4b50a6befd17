#include "kernels/portable/matrix_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace tern::portable {
namespace {

// An item for each matrix keeps all items busy if there are enough matrices; a group leaves items idle for small
// matrices, and synchronises at each step. The counts fill an H100: its 8,448 warps, at about equal numbers of
// instructions per matrix in both forms.
struct GroupCrossover {
  std::int64_t side, count;
};
constexpr GroupCrossover kMatrixGroupsItems[] = {{1, 1}, {2, 32}, {4, 1024}, {8, 65536}};

// All items read the results of the searching items: about the square root of a column's elements.
constexpr std::int64_t kScanners = 8, kFewScanners = 4, kMatrixGroupsFewRows = 32;
constexpr std::int64_t kSearchBytes = 2 * kScanners * (8 + 4) + 64;

// A processor's registers serve several matrices up to this side: their elements are in a few cache lines.
constexpr std::int64_t kMostOfLanes = 4;

// Uses the widest panel fitting in local memory; if none fits, caches must serve.
constexpr std::int64_t kPanels[] = {16, 8, 4, 16};

// OpenCL's kernels declare the size of their groups. A Metal pipeline may allow fewer items; launching the kernel then
// fails with an error.
constexpr std::int64_t kLeastItems = 32, kMostItems = 256, kMatrixGroupsMostAcross = 16;
constexpr std::int64_t kMostElements = std::int64_t{1} << 30;  // places are int
constexpr std::int64_t kMostOfMetal = std::int64_t{1} << 31;   // limit of Metal's item count

std::int64_t rounded_up(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}

/// Rounds up to four sizes between powers of two, because each size is a text.
std::int64_t room_for(std::int64_t elements) {
  const std::int64_t step = std::max<std::int64_t>(rounded_up(elements) / 8, 1);
  return (elements + step - 1) / step * step;
}

}  // namespace

std::optional<MatrixGroups> MatrixGroups::choose(const Target& target, const MatrixWork& work) {
  if (!target.groups || work.count == 0 || work.side == 0 || work.side > kMostElements / work.side) return std::nullopt;
  const auto* items =
      std::ranges::find_if(kMatrixGroupsItems, [&](const GroupCrossover& c) { return work.side <= c.side; });
  if (items != std::end(kMatrixGroupsItems) && work.count >= items->count) return std::nullopt;
  MatrixGroups g;
  g.count_ = work.count;
  g.width_ = std::clamp(rounded_up(work.elements), kLeastItems, kMostItems);
  if (target.dialect == Dialect::metal && work.count >= kMostOfMetal / g.width_) return std::nullopt;
  g.scanners_ = work.side <= kMatrixGroupsFewRows ? kFewScanners : kScanners;
  g.across_ = std::min(rounded_up(work.columns), kMatrixGroupsMostAcross);
  g.room_ = local_memory_bytes(target.dialect) - kSearchBytes - g.width_ * work.bytes;
  return g;
}

void MatrixGroups::declare(KernelSource& s) const {
  s.add_library("matrix_groups");
  s.define("WIDTH", width_);
  s.define("ACROSS", across_);
  s.define("SCANNERS", scanners_);
}

bool MatrixGroups::place_in_local(KernelSource& s, const std::string& name, const std::string& buffer,
                                  std::int64_t lines, std::int64_t length, DType t) {
  const std::int64_t padded = length | 1;  // places elements of neighbouring lines in different banks
  const std::int64_t elements = std::max<std::int64_t>(room_for(lines * padded), 1), bytes = elements * element_size(t);
  const bool kept = bytes <= room_;
  s.define(name + "_KEPT", kept ? 1 : 0);
  const std::string element = name + "(line, k)", step = name + "_step";
  s.parameter(step, kept ? padded : length);
  if (kept) {
    room_ -= bytes;
    s.define(name + "_MEMORY", fmt::format("TERN_LOCAL {} kept_{}[{}];", c_type(t), name, elements));
    s.define(element, fmt::format("kept_{}[(line) * (int)p.{} + (k)]", name, step));
  } else {
    s.define(name + "_MEMORY", "");
    s.parameter(name + "_size", lines * length);
    s.define(element, fmt::format("{0}[b * p.{1}_size + ((line) * (int)p.{2} + (k))]", buffer, name, step));
  }
  return kept;
}

std::int64_t MatrixGroups::keep_panel(KernelSource& s, std::int64_t rows, bool whole, DType t) {
  std::int64_t panel = rows <= kPanels[0] ? kPanels[0] : kPanels[1];
  if (!whole) {
    for (const std::int64_t columns : kPanels) {
      panel = columns;
      if (room_for(rows * (columns | 1)) * element_size(t) <= room_) break;
    }
  }
  s.define("PANEL", panel);
  return whole || place_in_local(s, "P", "panel", rows, panel, t) ? 0 : rows * panel;
}

void MatrixGroups::add(Launches& list, Launch k) const {
  list.add(std::move(k), count_ * width_, static_cast<std::uint32_t>(width_));
}

void add_items(Launches& list, Launch k, std::int64_t count, std::int64_t side) {
  const bool processor = list.target().dialect == Dialect::opencl && list.target().vector_floats > 0;
  list.add(std::move(k), count, processor && side > kMostOfLanes ? 1 : 0);
}

}  // namespace tern::portable
