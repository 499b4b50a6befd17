#include "kernels/portable/extremes.h"

namespace tern::portable {
namespace {

struct Search {
  DType t;
  bool max;
};

/// The text argument_rows without x and without the use of the position.
Launch argument_rows(const RowItems& how, const Search& search, DType x, const Axes& rows, const Axes& columns) {
  Launch k("argument_rows");
  const DType t = search.t;
  how.declare(k.source);
  how.type(k.source, "VALUE_T", t);
  how.load(k.source, "LOAD_X", x, x, t);
  k.source.define("START", lowest_or_highest(t, search.max));
  k.source.define("JOIN(a, b)", extreme(search.max));
  k.source.define("MATCHES(a)", is_floating(t) ? "(best != best ? (a) != (a) : (a) == best)" : "((a) == best)");
  rows.declare(k.source, "kept");
  columns.declare(k.source, "reduced");
  k.parameter("results", rows.count);
  k.parameter("count", columns.count);
  return k;
}

/// Few long rows: finds the positions in parts first, then the best part.
void in_parts(const KernelCall& c, Launches& list, const RowItems& how, const Search& search, const Axes& rows,
              const Axes& columns, const RowParts& parts, const std::function<void(Launch&)>& results) {
  const auto bytes = [&](DType t) {
    return list.scratch(static_cast<std::uint64_t>(rows.count * parts.count) *
                        static_cast<std::uint64_t>(element_size(t)));
  };
  const std::uint64_t values = bytes(search.t), places = bytes(DType::i64);
  const DType x = c.in[0].dtype;
  Launch first = argument_rows(how, search, x, rows, columns);
  first.source.define("PARTS", 1);
  first.parameter("parts", parts.count);
  first.parameter("run", parts.run);
  first.source.define("FOUND", "part_values[item] = best; part_places[item] = at;");
  first.input("x", 0, x);
  first.scratch("part_values", values, search.t, true);
  first.scratch("part_places", places, DType::i64, true);
  how.add(list, std::move(first), rows.count * parts.count);
  Axes lines, line;
  lines.add(rows.count, parts.count);
  line.add(parts.count, 1);
  RowGeometry joined(lines, line);
  joined.length = columns.count;  // a single text for all counts of parts
  const RowItems join = *RowItems::choose(list.target(), joined, search.t, false);
  Launch last = argument_rows(join, search, search.t, lines, line);
  last.source.define("PARTS", std::int64_t{0});
  last.source.define("PLACE", "part_places[item * p.count + at]");
  last.source.define("EXTREME", "operand[at_row(item, &p) + at_element(PLACE, &p)]");
  last.scratch("x", values, search.t, false);
  last.scratch("part_places", places, DType::i64, false);
  last.input("operand", 0, x);
  rows.declare(last.source, "row");
  columns.declare(last.source, "element");
  results(last);
  join.add(list, std::move(last), rows.count);
}

}  // namespace

std::string extreme(bool max) {
  return std::string(max ? "((b) > (a)" : "((b) < (a)") + " || (b) != (b) ? (b) : (a))";
}

bool add_argument(const KernelCall& c, Launches& list, const Axes& rows, const Axes& columns, DType t, bool max,
                  const std::function<void(Launch&)>& results) {
  RowGeometry layout(rows, columns);
  const RowParts parts = row_parts(list.target(), layout);
  layout.count *= parts.count;
  layout.length = parts.run;
  const auto how = RowItems::choose(list.target(), layout, t, true);
  if (!how) return false;
  const Search search{t, max};
  if (parts.count > 1) {
    in_parts(c, list, *how, search, rows, columns, parts, results);
    return true;
  }
  Launch k = argument_rows(*how, search, c.in[0].dtype, rows, columns);
  k.source.define("PARTS", std::int64_t{0});
  k.source.define("PLACE", "at");
  k.source.define("EXTREME", "x[base + ALONG(at)]");
  k.input("x", 0, c.in[0].dtype);
  results(k);
  how->add(list, std::move(k), rows.count);
  return true;
}

}  // namespace tern::portable
