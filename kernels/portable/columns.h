// How a device with groups joins elements where neighbouring results, not the elements of one, are neighbours
// (text/reduce_columns.inc): sums of columns.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {

class Columns {
 public:
  /// None on devices without groups, and where columns are short. `layout`: columns of elements of `x`.
  static std::optional<Columns> choose(const Target& target, const RowLayout& layout, DType x);
  /// Parts of each column that fill a device, where parts have whole multiples of 512 elements.
  std::int64_t parts() const { return parts_; }
  void declare(Source& s) const { s.define("ACROSS", across_); }
  void add(Launches& list, Launch k, std::int64_t parts) const;

 private:
  std::int64_t across_ = 0, blocks_ = 0, parts_ = 1;
};

}  // namespace tern::portable
