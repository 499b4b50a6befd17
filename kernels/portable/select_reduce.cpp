#include <tern/error.h>

#include <algorithm>
#include <optional>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/extremes.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/sort_groups.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kSelectReduceGroup = 128;
constexpr std::int64_t kLeastInOrder = 16;  // smallest line to sort: an item selects from shorter lines

/// Sorted lines in the scratch.
struct Ordered {
  std::uint64_t values, indices;
  std::int64_t selected;
};

/// Empty if an item processes a whole line.
std::optional<Ordered> put_in_order(const KernelCall& c, Launches& list, const Axes& lines, int axis) {
  const TensorView x = as_line(c.in[0]);
  SortedLines sorted{0, x.dtype, lines, {}, false, x.size(axis)};
  sorted.along.add(x.size(axis), x.stride(axis));
  if (sorted.selected < kLeastInOrder || !sorts_by_groups(list.target(), x.dtype, sorted.selected)) return std::nullopt;
  if (c.node->integer(AttrKey::kind) == static_cast<std::int64_t>(SelectKind::kthvalue))
    sorted.selected =
        std::min(sorted.selected, c.node->integer(AttrKey::k) + 1);  // an additional element detects equal neighbours
  const DType t = number_type(x.dtype);
  const auto elements = static_cast<std::uint64_t>(lines.count * sorted.selected);
  const Ordered o{list.scratch(elements * static_cast<std::uint64_t>(element_size(t))),
                  list.scratch(elements * sizeof(std::int32_t)), sorted.selected};
  const auto results = [&](Launch& k) {
    k.scratch("sorted_values", o.values, t, true);
    k.scratch("sorted_places", o.indices, DType::i32, true);
    k.parameter("sorted", o.selected);
    k.source.define("FOUND(line, k, v, place)",
                    "sorted_values[(line) * p.sorted + (k)] = v; sorted_places[(line) * p.sorted + (k)] = place;");
  };
  sort_by_groups(list, sorted, results);
  return o;
}

void select_reduce(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]);
  const auto kind = c.node->integer(AttrKey::kind);
  const int axis = axis_of(*c.node, x.rank);
  const DType t = number_type(x.dtype);
  const Axes from = axes_without(x, axis);
  const std::int64_t length = x.size(axis);
  if (length == 0 && from.count > 0) fail(ErrorCode::runtime, "an axis without elements cannot be selected from");
  if (kind <= static_cast<std::int64_t>(SelectKind::min)) {
    Axes along;
    along.add(length, x.stride(axis));
    const auto results = [&](Launch& k) {
      k.source.define("FOUND", std::string(c.wants_output(0) ? "out_values[item] = EXTREME;" : "") +
                                   (c.wants_output(1) ? " indices[item] = PLACE;" : ""));
      if (c.wants_output(0)) k.output("out_values", 0, c.out[0].dtype);
      if (c.wants_output(1)) k.output("indices", 1, DType::i64);
    };
    if (add_argument(c, list, from, along, t, kind == static_cast<std::int64_t>(SelectKind::max), results)) return;
  }
  const bool chooses = kind > static_cast<std::int64_t>(SelectKind::min);
  const std::optional<Ordered> ordered = chooses ? put_in_order(c, list, from, axis) : std::nullopt;
  const auto declare = [&](Launch& k) {
    k.input("x", 0, x.dtype);
    k.source.define("VALUES", c.wants_output(0) ? 1 : 0);
    k.source.define("INDICES", c.wants_output(1) ? 1 : 0);
    if (c.wants_output(0)) k.output("out_values", 0, c.out[0].dtype);
    if (c.wants_output(1)) k.output("indices", 1, DType::i64);
    from.declare(k.source, "from");
    k.parameter("length", length);
    k.parameter("x_step", x.stride(axis));
    if (!ordered) return;
    k.scratch("sorted_values", ordered->values, t, false);
    k.scratch("sorted_places", ordered->indices, DType::i32, false);
    k.parameter("sorted", ordered->selected);
    k.parameter("wanted", (kind == static_cast<std::int64_t>(SelectKind::kthvalue) ? c.node->integer(AttrKey::k) - 1
                                                                                   : (length - 1) / 2));
  };
  if (ordered && kind == static_cast<std::int64_t>(SelectKind::mode)) {
    Launch k("mode_sorted");
    declare_order(k.source, t, false);
    k.source.define("GROUP", kSelectReduceGroup);
    declare(k);
    return list.add(std::move(k), from.count * kSelectReduceGroup, static_cast<std::uint32_t>(kSelectReduceGroup));
  }
  Launch k("select_reduce");
  declare_order(k.source, t, false);
  k.source.define("KIND", kind);
  k.source.define("SORTED", ordered ? 1 : 0);
  k.load("LOAD_X", x.dtype, t);
  if (chooses) {
    const auto elements = static_cast<std::uint64_t>(from.count * length);
    k.scratch("line_values", list.scratch(elements * static_cast<std::uint64_t>(element_size(t))), t, true);
    k.scratch("line_places", list.scratch(elements * sizeof(std::int64_t)), DType::i64, true);
  }
  declare(k);
  k.parameter("lines", from.count);
  k.parameter("k", c.node->integer(AttrKey::k));
  list.add(std::move(k), from.count);
}

}  // namespace

void define_selections(Definitions& d) {
  d.set(Op::select_reduce, kernel<select_reduce>());
}

}  // namespace tern::portable
