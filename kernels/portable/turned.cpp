#include "kernels/portable/turned.h"

#include <fmt/format.h>

#include <cstdlib>

namespace tern::portable {
namespace {

constexpr std::int64_t kTurnedTile = 32, kTurnedGroup = 256;  // constants of text/turned.inc
constexpr std::int64_t kTileElements = kTurnedTile * (kTurnedTile + 1);
constexpr std::int64_t kTurnedLeast = 16;             // elements along both axes: tiles would be mostly empty below
constexpr std::int64_t kTurnedLocalBytes = 20 << 10;  // every device has 32 KiB
constexpr std::size_t kMostViews = 64;

/// The contiguous axis of `v`, if different from the result's last axis, `last`.
std::optional<int> turned_axis(const TensorView& v, int last) {
  if (v.dtype == DType::invalid || v.dtype == DType::f4_e2m1 || std::abs(v.stride(last)) <= 1) return std::nullopt;
  for (int a = 0; a < last; ++a) {
    if (v.size(a) >= kTurnedLeast && std::abs(v.stride(a)) == 1) return a;
  }
  return std::nullopt;
}

}  // namespace

std::optional<Turned> Turned::choose(const Target& target, const TensorView& out, std::span<const TensorView> views) {
  if (!target.groups || views.size() > kMostViews) return std::nullopt;
  int last = out.rank - 1;
  while (last > 0 && out.size(last) == 1) --last;
  if (last <= 0 || out.size(last) < kTurnedLeast) return std::nullopt;
  Turned t;
  std::optional<int> axis;
  std::int64_t bytes = 0;
  for (std::size_t k = 0; k < views.size(); ++k) {
    const std::optional<int> found = turned_axis(views[k], last);
    if (!found || (axis && *axis != *found)) continue;
    bytes += kTileElements * element_size(views[k].dtype);
    if (bytes > kTurnedLocalBytes) break;
    axis = found;
    t.turned_ |= std::uint64_t{1} << k;
  }
  if (!axis) return std::nullopt;
  for (int a = 0; a < last; ++a) {
    if (a != *axis) t.batches_ *= out.size(a);
    if (a > *axis) t.inner_items_ *= out.size(a);
  }
  t.down_ = out.size(*axis);
  t.across_ = out.size(last);
  return t;
}

void Turned::tile(Launch& k, const std::string& name, DType t, const std::string& offset) {
  tiles_ += fmt::format("TERN_LOCAL {} {}_tile[{}]; ", c_type(t), name, kTileElements);
  turn_text_ += fmt::format("{0}_tile[at] = {0}[{1}at_{0}(i, &p)]; ", name, offset);
}

void Turned::add(Launches& list, Launch k) const {
  k.source.define("GROUP", kTurnedGroup);
  k.source.define("TILES", tiles_);
  k.source.define("TURN(i, at)", turn_text_);
  k.parameter("down", down_);
  k.parameter("across", across_);
  k.parameter("between", inner_items_);
  k.parameter("step", inner_items_ * across_);
  const std::int64_t tiles = (down_ + kTurnedTile - 1) / kTurnedTile * ((across_ + kTurnedTile - 1) / kTurnedTile);
  list.add(std::move(k), batches_ * tiles * kTurnedGroup, static_cast<std::uint32_t>(kTurnedGroup));
}

}  // namespace tern::portable
