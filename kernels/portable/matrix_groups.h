// How a device with groups divides a matrix among the items of a group (text/matrix_groups.inc), where an item for each
// matrix is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/portable/launches.h"

namespace tern::portable {

/// The work that a group has with a matrix.
struct MatrixWork {
  std::int64_t count;      ///< matrices
  std::int64_t side;       ///< the longer one
  std::int64_t elements;   ///< that have something done at the same time, in the mean
  std::int64_t columns;    ///< whose elements are neighbours
  std::int64_t bytes = 0;  ///< of local memory, for each item
};

class MatrixGroups {
 public:
  /// None on devices without groups, and where an item for each matrix is as fast: many small ones.
  static std::optional<MatrixGroups> choose(const Target& target, const MatrixWork& work);

  /// The texts of groups, before the kernel's own. Call it before `keep`.
  void declare(Source& s) const;
  /// NAME(line, k) is element k of a line of the matrix, W_T or R_T `t`, NAME_MEMORY declares its memory: local where
  /// there is room, and then NAME_KEPT is 1, else `buffer`, scratch whose matrices follow each other. Says whether it
  /// is local.
  bool keep(Source& s, const std::string& name, const std::string& buffer, std::int64_t lines, std::int64_t length,
            DType t);
  /// Columns that are factored before the rest of a matrix: PANEL, and P(r, q) of them, if W is not local. Says how
  /// many elements of the scratch `panel` each matrix needs.
  std::int64_t keep_panel(Source& s, std::int64_t rows, bool whole, DType t);
  void add(Launches& list, Launch k) const;

 private:
  std::int64_t count_ = 0, width_ = 0, across_ = 0, scanners_ = 0, room_ = 0;
};

/// Adds a kernel with an item for each of `count` matrices of `side` rows or columns. On a processor each item is a
/// group: its compiler would otherwise have neighbouring items go through different matrices in the lanes of one
/// register.
void add_items(Launches& list, Launch k, std::int64_t count, std::int64_t side);
inline void add_matrices(Launches& list, Launch k, const std::optional<MatrixGroups>& groups, std::int64_t count,
                         std::int64_t side) {
  groups ? groups->add(list, std::move(k)) : add_items(list, std::move(k), count, side);
}

}  // namespace tern::portable
