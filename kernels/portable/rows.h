// How a device divides what is done along rows (text/row_parts.inc), where an item for each row is slow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kernels/portable/axes.h"
#include "kernels/portable/launcher.h"
#include "kernels/portable/launches.h"

namespace tern::portable {

/// Where the elements of rows lie: a row's own, and the first of each row.
struct RowLayout {
  RowLayout(const Axes& rows, const Axes& columns);
  std::int64_t count, length;
  bool dense;   ///< a row's elements are neighbours
  bool nearer;  ///< to each other than to those of other rows
};

/// How a device with groups cuts each of few long rows among several groups: all parts but the last have `run`
/// elements, a multiple of 512 where there are several. One part where a group has the whole row.
struct RowParts {
  std::int64_t run, count;
};
RowParts row_parts(const Target& target, const RowLayout& layout);

class Rows {
 public:
  /// Groups of items on devices that have them, vectors on processors that run OpenCL C; none where an item for each
  /// row is as fast: rows that are short, or lie across each other. `t` is what elements are computed as; `kept`: the
  /// kernel keeps them between passes.
  static std::optional<Rows> choose(const Target& target, const RowLayout& layout, DType t, bool kept);

  /// Whether elements are kept, so that each is read once.
  bool keeps() const { return kept_ > 0; }

  /// The texts of rows, before the kernel's own. `neutral`: joining with what ordered sums start from changes no bit.
  void declare(Source& s, bool neutral = true) const;
  /// NAME as Source::type, NAME_V, NAME_OF(v) of other lanes, NAME_SHUFFLE(v, mask).
  void type(Source& s, const std::string& name, DType t) const;
  /// NAME as Source::load, NAME_LANES(p, at, PLACE, k): of each lane the element at + PLACE(k + lane).
  void load(Source& s, const std::string& name, DType from, DType by, DType to) const;
  /// NAME as Source::store, NAME_LANES(p, at, PLACE, k, v).
  void store(Source& s, const std::string& name, DType from, DType to) const;
  /// MACRO as Source::math, MACRO_LANES(exp)(v).
  void math(Source& s, const std::string& macro, DType t) const;
  void add(Launches& list, Launch k, std::int64_t rows) const;

 private:
  /// Items that a multiprocessor is to have at least: fewer have more registers.
  std::int64_t items_at_once() const;
  bool groups_ = false;  ///< else vectors
  bool wide_ = false;    ///< elements of more than 4 bytes
  std::int64_t slots_ = 1, chunks_ = 0, kept_ = 0;
  std::int64_t rows_ = 1, together_ = 1;  ///< that a group has room for, and that it has
};

}  // namespace tern::portable
