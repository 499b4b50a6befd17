#include "kernels/portable/columns.h"

#include <algorithm>

namespace tern::portable {
namespace {

constexpr std::int64_t kLanes = 16, kPart = 512;  // constants of text/parts.inc
constexpr std::int64_t kLeast = 2 * kLanes;       // minimum column length: shorter columns leave lanes idle
constexpr std::int64_t kFill = 264;               // groups: two for each multiprocessor of an H100
constexpr std::int64_t kSector = 32;              // bytes of a memory transaction
constexpr std::int64_t kLeastAcross = 4, kMostAcross = 16;

}  // namespace

std::optional<Columns> Columns::choose(const Target& target, const RowLayout& layout, DType x) {
  if (!target.groups || layout.nearer || layout.length < kLeast) return std::nullopt;
  Columns c;
  c.across_ = kMostAcross;
  const auto blocks = [&] { return (layout.count + c.across_ - 1) / c.across_; };
  if (blocks() < kFill) c.across_ = std::clamp(kSector / element_size(x), kLeastAcross, kMostAcross);
  c.blocks_ = blocks();
  c.parts_ = c.blocks_ < kFill ? std::clamp(layout.length / kPart, std::int64_t{1}, kFill / c.blocks_ + 1) : 1;
  return c;
}

void Columns::add(Launches& list, Launch k, std::int64_t parts) const {
  const std::int64_t items = kLanes * across_;
  list.add(std::move(k), blocks_ * parts * items, static_cast<std::uint32_t>(items));
}

}  // namespace tern::portable
