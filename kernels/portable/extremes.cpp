#include "kernels/portable/extremes.h"

namespace tern::portable {

std::string extreme(bool max) {
  return std::string(max ? "((b) > (a)" : "((b) < (a)") + " || (b) != (b) ? (b) : (a))";
}

Launch argument_rows(const KernelCall& c, const Rows& how, const Axes& rows, const Axes& columns, DType t, bool max,
                     const std::string& found) {
  const DType x = c.in[0].dtype;
  Launch k("argument_rows");
  how.declare(k.source);
  how.type(k.source, "VALUE_T", t);
  how.load(k.source, "LOAD_X", x, x, t);
  k.input("x", 0, x);
  k.source.define("START", lowest_or_highest(t, max));
  k.source.define("JOIN(a, b)", extreme(max));
  k.source.define("MATCHES(a)", is_floating(t) ? "(best != best ? (a) != (a) : (a) == best)" : "((a) == best)");
  k.source.define("FOUND", found);
  rows.declare(k.source, "kept");
  columns.declare(k.source, "reduced");
  k.parameter("results", rows.count);
  k.parameter("count", columns.count);
  return k;
}

}  // namespace tern::portable
