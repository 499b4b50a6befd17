// Division of row-wise work on a device (text/row_parts.inc), used if an item for each row is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/portable/axes.h"
#include "kernels/portable/launcher.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

/// Memory layout of the elements of rows: strides within a row, and strides of rows.
struct RowGeometry {
  RowGeometry(const Axes& rows, const Axes& columns);
  std::int64_t count, length;
  bool dense;   ///< a row's elements are adjacent
  bool nearer;  ///< elements of a row are nearer to each other than to other rows
};

/// Division of few long rows among several groups: all parts but the last have `run` elements, a multiple of 512 if
/// there are several. A single part if a group processes the whole row.
struct RowParts {
  std::int64_t run, count;
};
RowParts row_parts(const Target& target, const RowGeometry& layout);

class RowItems {
 public:
  /// Groups of items on devices with groups, vectors on processors running OpenCL C; empty if an item for each row is
  /// as fast: short rows, and rows with strided elements. `t` is the type of computation; `kept`: the kernel keeps
  /// elements between passes.
  static std::optional<RowItems> choose(const Target& target, const RowGeometry& layout, DType t, bool kept);

  /// True if elements are kept, to read each once.
  bool caches_elements() const { return cached_elements_ > 0; }

  /// Declares the texts of rows, before the kernel's own text. `neutral`: joining with the start value of ordered sums
  /// changes no bit.
  void declare(KernelSource& s, bool neutral = true) const;
  /// NAME of KernelSource::type, NAME_V, NAME_OF(v) of other lanes, NAME_SHUFFLE(v, mask).
  void type(KernelSource& s, const std::string& name, DType t) const;
  /// NAME of KernelSource::load, NAME_LANES(p, at, PLACE, k): for each lane the element at + PLACE(k + lane).
  void load(KernelSource& s, const std::string& name, DType from, DType by, DType to) const;
  /// NAME of KernelSource::store, NAME_LANES(p, at, PLACE, k, v).
  void store(KernelSource& s, const std::string& name, DType from, DType to) const;
  /// MACRO as KernelSource::math, MACRO_LANES(exp)(v).
  void math(KernelSource& s, const std::string& macro, DType t) const;
  void add(Launches& list, Launch k, std::int64_t rows) const;

 private:
  /// Smallest number of items of a multiprocessor: fewer items have more registers.
  std::int64_t items_at_once() const;
  bool groups_ = false;  ///< else vectors
  bool wide_ = false;    ///< elements of more than 4 bytes
  std::int64_t slots_ = 1, chunks_ = 0, cached_elements_ = 0;
  std::int64_t rows_ = 1, together_ = 1;  ///< rows fitting in a group, and rows in use
};

}  // namespace tern::portable
