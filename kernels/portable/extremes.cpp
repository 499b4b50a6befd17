#include "kernels/portable/extremes.h"

namespace tern::portable {
namespace {

struct Search {
  DType type;  ///< type of the comparisons
  bool max;    ///< finds the largest element, otherwise the smallest
};

/// A launch of kernel source argument_rows. Callers add operand x and the macros that use the position.
Launch argument_rows(const RowItems& row_kernel, const Search& search, DType x, const Axes& rows, const Axes& columns) {
  Launch k("argument_rows");
  const DType type = search.type;
  row_kernel.declare(k.source);
  row_kernel.type(k.source, "VALUE_T", type);
  row_kernel.load(k.source, "LOAD_X", x, x, type);
  k.source.define("START", lowest_or_highest(type, search.max));
  k.source.define("JOIN(a, b)", extreme(search.max));
  k.source.define("MATCHES(a)", is_floating(type) ? "(best != best ? (a) != (a) : (a) == best)" : "((a) == best)");
  rows.declare(k.source, "kept");
  columns.declare(k.source, "reduced");
  k.parameter("results", rows.count);
  k.parameter("count", columns.count);
  return k;
}

/// Splits few long rows into parts: the first launch finds the position in each part, the second the best part.
void add_two_stages(const KernelCall& c, Launches& list, const RowItems& row_kernel, const Search& search,
                    const Axes& rows, const Axes& columns, const RowParts& parts,
                    const std::function<void(Launch&)>& results) {
  const auto bytes = [&](DType type) {
    return list.scratch(static_cast<std::uint64_t>(rows.count * parts.count) *
                        static_cast<std::uint64_t>(element_size(type)));
  };
  const std::uint64_t part_values = bytes(search.type), part_positions = bytes(DType::i64);
  const DType x = c.in[0].dtype;
  Launch stage1 = argument_rows(row_kernel, search, x, rows, columns);
  stage1.source.define("PARTS", 1);
  stage1.parameter("parts", parts.count);
  stage1.parameter("run", parts.run);
  stage1.source.define("FOUND", "part_values[item] = best; part_places[item] = at;");
  stage1.input("x", 0, x);
  stage1.scratch("part_values", part_values, search.type, true);
  stage1.scratch("part_places", part_positions, DType::i64, true);
  row_kernel.add(list, std::move(stage1), rows.count * parts.count);
  Axes part_rows, part_columns;
  part_rows.add(rows.count, parts.count);
  part_columns.add(parts.count, 1);
  RowGeometry stage2_layout(part_rows, part_columns);
  stage2_layout.length = columns.count;  // gives one kernel source for all numbers of parts
  const RowItems stage2_kernel = *RowItems::choose(list.target(), stage2_layout, search.type, false);
  Launch stage2 = argument_rows(stage2_kernel, search, search.type, part_rows, part_columns);
  stage2.source.define("PARTS", std::int64_t{0});
  stage2.source.define("PLACE", "part_places[item * p.count + at]");
  stage2.source.define("EXTREME", "operand[at_row(item, &p) + at_element(PLACE, &p)]");
  stage2.scratch("x", part_values, search.type, false);
  stage2.scratch("part_places", part_positions, DType::i64, false);
  stage2.input("operand", 0, x);
  rows.declare(stage2.source, "row");
  columns.declare(stage2.source, "element");
  results(stage2);
  stage2_kernel.add(list, std::move(stage2), rows.count);
}

}  // namespace

std::string extreme(bool max) {
  return std::string(max ? "((b) > (a)" : "((b) < (a)") + " || (b) != (b) ? (b) : (a))";
}

bool add_argument(const KernelCall& c, Launches& list, const Axes& rows, const Axes& columns, DType type, bool max,
                  const std::function<void(Launch&)>& results) {
  RowGeometry layout(rows, columns);
  const RowParts parts = row_parts(list.target(), layout);
  layout.count *= parts.count;
  layout.length = parts.run;
  const auto row_kernel = RowItems::choose(list.target(), layout, type, true);
  if (!row_kernel) return false;
  const Search search{type, max};
  if (parts.count > 1) {
    add_two_stages(c, list, *row_kernel, search, rows, columns, parts, results);
    return true;
  }
  Launch k = argument_rows(*row_kernel, search, c.in[0].dtype, rows, columns);
  k.source.define("PARTS", std::int64_t{0});
  k.source.define("PLACE", "at");
  k.source.define("EXTREME", "x[base + ALONG(at)]");
  k.input("x", 0, c.in[0].dtype);
  results(k);
  row_kernel->add(list, std::move(k), rows.count);
  return true;
}

}  // namespace tern::portable
