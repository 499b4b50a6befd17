// Division of a matrix among the items of a group on a device with groups (text/matrix_groups.inc), used if an item for
// each matrix is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// A group's work per matrix.
struct MatrixWork {
  std::int64_t count;      ///< matrices
  std::int64_t side;       ///< the longer side
  std::int64_t elements;   ///< average number of elements processed at the same time
  std::int64_t columns;    ///< columns with adjacent elements
  std::int64_t bytes = 0;  ///< local memory per item
};

class MatrixGroups {
 public:
  /// Empty on devices without groups, and for many small matrices, where an item for each matrix is as fast.
  static std::optional<MatrixGroups> choose(const Target& target, const MatrixWork& work);

  /// Declares the texts of groups, before the kernel's own text. Call before `keep`.
  void declare(KernelSource& s) const;
  /// NAME(line, k) is element k of a line of the matrix, of type W_T or R_T `t`; NAME_MEMORY declares its memory: local
  /// memory if large enough (then NAME_KEPT is 1), else `buffer`, scratch with consecutive matrices. Returns true for
  /// local memory.
  bool place_in_local(KernelSource& s, const std::string& name, const std::string& buffer, std::int64_t lines,
                      std::int64_t length, DType t);
  /// Columns factored before the rest of a matrix: PANEL, and P(r, q) for their elements, if W is not local. Returns
  /// the number of elements of the scratch `panel` needed per matrix.
  std::int64_t keep_panel(KernelSource& s, std::int64_t rows, bool whole, DType t);
  void add(Launches& list, Launch k) const;

 private:
  std::int64_t count_ = 0, width_ = 0, across_ = 0, scanners_ = 0, room_ = 0;
};

/// Adds a kernel with an item for each of `count` matrices of `side` rows or columns. On a processor each item is a
/// group, to keep the compiler from vectorising across matrices.
void add_items(Launches& list, Launch k, std::int64_t count, std::int64_t side);
inline void add_matrices(Launches& list, Launch k, const std::optional<MatrixGroups>& groups, std::int64_t count,
                         std::int64_t side) {
  groups ? groups->add(list, std::move(k)) : add_items(list, std::move(k), count, side);
}

}  // namespace tern::portable
