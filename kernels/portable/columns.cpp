#include "kernels/portable/columns.h"

#include <algorithm>

namespace tern::portable {
namespace {

constexpr std::int64_t kColumnsLanes = 16, kColumnsPart = 512;  // constants of text/parts.inc
constexpr std::int64_t kColumnsLeast = 2 * kColumnsLanes;  // minimum column length: shorter columns leave lanes idle
constexpr std::int64_t kFill = 264;                        // groups: two for each multiprocessor of an H100
constexpr std::int64_t kSector = 32;                       // bytes of a memory transaction
constexpr std::int64_t kLeastAcross = 4, kColumnsMostAcross = 16;

}  // namespace

std::optional<Columns> Columns::choose(const Target& target, const RowGeometry& layout, DType x) {
  if (!target.groups || layout.nearer || layout.length < kColumnsLeast) return std::nullopt;
  Columns c;
  c.across_ = kColumnsMostAcross;
  const auto blocks = [&] { return (layout.count + c.across_ - 1) / c.across_; };
  if (blocks() < kFill) c.across_ = std::clamp(kSector / element_size(x), kLeastAcross, kColumnsMostAcross);
  c.blocks_ = blocks();
  c.segment_count_ =
      c.blocks_ < kFill ? std::clamp(layout.length / kColumnsPart, std::int64_t{1}, kFill / c.blocks_ + 1) : 1;
  return c;
}

void Columns::add(Launches& list, Launch k, std::int64_t parts) const {
  const std::int64_t items = kColumnsLanes * across_;
  list.add(std::move(k), blocks_ * parts * items, static_cast<std::uint32_t>(items));
}

}  // namespace tern::portable
