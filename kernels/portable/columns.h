// Reductions on a device with groups for adjacent results with strided elements (text/reduce_columns.inc): sums of
// columns.
#pragma once

#include <cstdint>
#include <optional>

#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"

namespace tern::portable {

class Columns {
 public:
  /// Empty on devices without groups, and for short columns. `layout`: columns of elements of `x`.
  static std::optional<Columns> choose(const Target& target, const RowGeometry& layout, DType x);
  /// Number of parts of each column needed to fill a device; parts have multiples of 512 elements.
  std::int64_t segment_count() const { return segment_count_; }
  void declare(KernelSource& s) const { s.define("ACROSS", across_); }
  void add(Launches& list, Launch k, std::int64_t parts) const;

 private:
  std::int64_t across_ = 0, blocks_ = 0, segment_count_ = 1;
};

}  // namespace tern::portable
