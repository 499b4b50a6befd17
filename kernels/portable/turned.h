// Pointwise work and copies by tiles, on devices with groups, for operands contiguous along another axis than the
// result (text/turned.inc): items reading such an operand in order would each touch a different sector.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "kernels/portable/launches.h"

namespace tern::portable {

class Turned {
 public:
  /// `views` have the sizes of `out`; views without data type are absent. Empty if an item for each element is as fast.
  static std::optional<Turned> choose(const Target& target, const TensorView& out, std::span<const TensorView> views);
  /// True if view k goes through a tile.
  bool is_turned(std::size_t k) const { return (turned_ >> k & 1) != 0; }
  /// `name`: the buffer and the view of a turned operand, with its `offset`; its element is then NAME_tile[at].
  void tile(Launch& k, const std::string& name, DType t, const std::string& offset = "");
  /// Must follow all declarations.
  void add(Launches& list, Launch k) const;

 private:
  std::uint64_t turned_ = 0;
  std::int64_t batches_ = 1, inner_items_ = 1, down_ = 0, across_ = 0;
  std::string tiles_, turn_text_;
};

}  // namespace tern::portable
