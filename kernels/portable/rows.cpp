#include "kernels/portable/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>

namespace tern::portable {
namespace {

constexpr std::int64_t kRowsLanes = 16, kRowsPart = 512;  // constants of text/parts.inc
constexpr std::int64_t kLeastOfGroup = kRowsLanes;        // elements: shorter rows leave lanes idle
constexpr std::int64_t kLeastOfVectors = 32;
constexpr std::int64_t kMostSlots = 16, kUsualItems = 128;
constexpr std::int64_t kRowsLong = 4096;  // row length for sharing a row among several groups, if there are few rows
constexpr std::int64_t kFewGroups = 132;  // a group for each multiprocessor of an H100: fewer groups are made smaller
constexpr std::int64_t kLeastChunks = 4;  // chunks of 16 elements kept in registers by an item
constexpr std::int64_t kFewChunks = 8;    // take few registers
constexpr std::int64_t kRowsManyItems = 1024;  // items of a multiprocessor, with 64 registers each
constexpr std::int64_t kMostKeptBytes = 8;     // largest element size: an item keeps 32 elements
constexpr std::int64_t kMostKept = 4096;       // elements kept by an item
constexpr std::int64_t kFewKept = 1024;

std::int64_t rounded_up_rows(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n)));
}

/// Smallest number of work-items that any supported device runs in lockstep.
std::int64_t least_items(Dialect dialect) {
  return dialect == Dialect::hip ? 64 : 32;
}

/// The smallest distance between neighbours of an axis; empty without neighbours.
std::optional<std::int64_t> step_of(const Axes& axes) {
  std::optional<std::int64_t> least;
  for (std::size_t i = 0; i < axes.sizes.size(); ++i) {
    const std::int64_t step = std::abs(axes.strides[i]);
    if (axes.sizes[i] > 1 && (!least || step < *least)) least = step;
  }
  return least;
}

bool is_dense(const Axes& axes) {
  std::int64_t expected = 1;
  for (std::size_t i = axes.sizes.size(); i-- > 0;) {
    if (axes.sizes[i] == 1) continue;
    if (axes.strides[i] != expected) return false;
    expected *= axes.sizes[i];
  }
  return true;
}

std::string vector_of(DType t) {
  return t == DType::i64 ? "long16" : t == DType::u64 ? "ulong16" : t == DType::f64 ? "double16" : "float16";
}

/// Element i of p for lanes inside the row, else zero: all lanes convert, because branches around more than a load are
/// slow.
std::string element_if_there(DType t) {
  const std::string element = t == DType::f4_e2m1 ? "(p)[(i) >> 1] >> (4 * ((i)&1)) & 15" : "(p)[i]";
  if (is_complex(t) && t != DType::c32) return fmt::format("(tern_in ? {} : {})", element, literal(t, 0.0, 0.0));
  return fmt::format("(({})(tern_in ? {} : 0))", c_type(t), element);
}

bool has_vector(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::i64 || t == DType::u64;
}

}  // namespace

RowGeometry::RowGeometry(const Axes& rows, const Axes& columns)
    : count(rows.count), length(columns.count), dense(is_dense(columns)) {
  const std::optional<std::int64_t> own = step_of(columns), others = step_of(rows);
  nearer = !own || !others || *own <= *others;
}

RowParts row_parts(const Target& target, const RowGeometry& layout) {
  const RowParts whole{layout.length, 1};
  if (!target.groups || !layout.nearer || layout.count == 0 || layout.count >= kFewGroups || layout.length < kRowsLong)
    return whole;
  return {kRowsPart, (layout.length + kRowsPart - 1) / kRowsPart};
}

std::optional<RowItems> RowItems::choose(const Target& target, const RowGeometry& layout, DType t, bool kept) {
  RowItems r;
  if (layout.count == 0 || !layout.nearer) return std::nullopt;
  if (target.groups) {
    if (layout.length < kLeastOfGroup) return std::nullopt;
    r.groups_ = true;
    r.wide_ = element_size(t) > 4;
    r.slots_ = std::min(rounded_up_rows((layout.length + kRowsPart - 1) / kRowsPart), kMostSlots);
    r.rows_ = std::max(kUsualItems / (kRowsLanes * r.slots_), std::int64_t{1});  // a single text for any count
    r.together_ = r.rows_;
    if (layout.count < kFewGroups * r.rows_)
      r.together_ = std::max(least_items(target.dialect) / (kRowsLanes * r.slots_), std::int64_t{1});
    r.chunks_ = std::clamp(rounded_up_rows((layout.length + kRowsLanes - 1) / kRowsLanes), kLeastChunks,
                           kRowsPart / kRowsLanes);
    const std::int64_t room = r.slots_ * r.chunks_ * kRowsLanes;
    if (kept && layout.length <= room && element_size(t) <= kMostKeptBytes) r.cached_elements_ = room;
    return r;
  }
  if (target.dialect != Dialect::opencl || target.vector_floats < 4 || !has_vector(t) || !layout.dense ||
      layout.length < kLeastOfVectors)
    return std::nullopt;
  if (kept && layout.length <= kMostKept) r.cached_elements_ = layout.length <= kFewKept ? kFewKept : kMostKept;
  return r;
}

std::int64_t RowItems::items_at_once() const {
  return chunks_ <= kFewChunks ? kRowsManyItems : wide_ ? kRowsManyItems / 4 : kRowsManyItems / 2;
}

void RowItems::declare(KernelSource& s, bool neutral) const {
  s.add_library("parts");
  s.add_library("row_parts");
  s.add_library(groups_ ? "row_groups" : "row_vectors");
  s.define("SLOTS", slots_);
  s.define("ROWS", rows_);
  s.define("KEPT", cached_elements_);
  if (!groups_) return;
  s.define("CHUNKS", chunks_);
  s.define("NEUTRAL", neutral ? 1 : 0);
  s.define("LEAST_ITEMS", items_at_once());
  s.parameter("together", together_);
}

void RowItems::type(KernelSource& s, const std::string& name, DType t) const {
  s.type(name, t);
  s.define(name + "_V", groups_ ? name : vector_of(t));
  s.define(name + "_OF(v)", groups_ ? fmt::format("(({})(v))", name) : fmt::format("convert_{}(v)", vector_of(t)));
  s.define(name + "_SHUFFLE(v, mask)",
           is_complex(t)
               ? fmt::format("tern_make_{}(TERN_SHUFFLE_XOR((v).x, mask), TERN_SHUFFLE_XOR((v).y, mask))", type_name(t))
           : t == DType::boolean ? "((tern_boolean)TERN_SHUFFLE_XOR((int)(v), mask))"
                                 : "TERN_SHUFFLE_XOR(v, mask)");
}

void RowItems::load(KernelSource& s, const std::string& name, DType from, DType by, DType to) const {
  s.load(name, from, by, to);
  const std::string lanes = name + "_LANES(p, at, PLACE, k)";
  if (groups_) {
    s.define(name + "_IF(p, i)", converted(by, to, converted(from, by, element_if_there(from))));
    return s.define(lanes, name + "_IF(p, (at) + PLACE((k) + tern_lane))");
  }
  const bool same = from == by && has_vector(from);
  if (same) {
    const std::string elements = "vload16(0, (p) + (at) + (k))";
    return s.define(lanes, from == to ? elements : fmt::format("convert_{}({})", vector_of(to), elements));
  }
  s.add(
      fmt::format("TERN_FN {0} tern_{1}_lanes(TERN_GLOBAL const {2}* p) {{\n  {3} v[16];\n  TERN_UNROLL\n"
                  "  for (int j = 0; j < 16; ++j) v[j] = {1}(p, j);\n  return vload16(0, v);\n}}\n",
                  vector_of(to), name, c_type(from), c_type(to)));
  s.define(lanes, fmt::format("tern_{}_lanes((p) + (at) + (k))", name));
}

void RowItems::store(KernelSource& s, const std::string& name, DType from, DType to) const {
  s.store(name, from, to);
  const std::string lanes = name + "_LANES(p, at, PLACE, k, v)";
  if (groups_)
    return s.define(lanes, fmt::format("{{ const {} stored_ = {}; if (tern_there && tern_in) "
                                       "(p)[(at) + PLACE((k) + tern_lane)] = stored_; }}",
                                       c_type(to), converted(from, to, "(v)")));
  if (from == to) return s.define(lanes, "vstore16(v, 0, (p) + (at) + (k))");
  s.add(
      fmt::format("TERN_FN void tern_{1}_lanes(TERN_GLOBAL {2}* p, {0} lanes) {{\n  {3} v[16];\n"
                  "  vstore16(lanes, 0, v);\n  TERN_UNROLL\n  for (int j = 0; j < 16; ++j) {1}(p, j, v[j]);\n}}\n",
                  vector_of(from), name, c_type(to), c_type(from)));
  s.define(lanes, fmt::format("tern_{}_lanes((p) + (at) + (k), v)", name));
}

void RowItems::math(KernelSource& s, const std::string& macro, DType t) const {
  s.math(macro, t);
  if (!groups_) s.add_library("exp_lanes");
  s.define(macro + "_LANES(name)", std::string("tern_##name##_") + (groups_ ? "" : "lanes_") + type_name(t));
}

void RowItems::add(Launches& list, Launch k, std::int64_t rows) const {
  if (!groups_) return list.add(std::move(k), rows, 1);
  const std::int64_t items = together_ * slots_ * kRowsLanes;
  list.add(std::move(k), (rows + together_ - 1) / together_ * items, static_cast<std::uint32_t>(items));
}

}  // namespace tern::portable
