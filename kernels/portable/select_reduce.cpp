#include <tern/error.h>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/extremes.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

void select_reduce(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]);
  const auto kind = c.node->integer(AttrKey::kind);
  const int axis = axis_of(*c.node, x.rank);
  const DType t = number_type(x.dtype);
  const Axes from = axes_without(x, axis);
  const std::int64_t length = x.size(axis);
  if (length == 0 && from.count > 0) fail(ErrorCode::runtime, "an axis without elements has nothing to select");
  if (kind <= static_cast<std::int64_t>(SelectKind::min)) {
    Axes along;
    along.add(length, x.stride(axis));
    const auto results = [&](Launch& k) {
      k.source.define("FOUND", std::string(c.wants(0) ? "out_values[item] = EXTREME;" : "") +
                                   (c.wants(1) ? " indices[item] = PLACE;" : ""));
      if (c.wants(0)) k.output("out_values", 0, c.out[0].dtype);
      if (c.wants(1)) k.output("indices", 1, DType::i64);
    };
    if (add_argument(c, list, from, along, t, kind == static_cast<std::int64_t>(SelectKind::max), results)) return;
  }
  Launch k("select_reduce");
  k.type("VALUE_T", t);
  k.source.define("KIND", kind);
  k.source.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
  k.source.use("order");
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  if (kind > static_cast<std::int64_t>(SelectKind::min)) {
    const auto elements = static_cast<std::uint64_t>(from.count * length);
    k.scratch("line_values", list.scratch(elements * static_cast<std::uint64_t>(element_size(t))), t, true);
    k.scratch("line_places", list.scratch(elements * sizeof(std::int64_t)), DType::i64, true);
  }
  k.source.define("VALUES", c.wants(0) ? 1 : 0);
  k.source.define("INDICES", c.wants(1) ? 1 : 0);
  if (c.wants(0)) k.output("out_values", 0, c.out[0].dtype);
  if (c.wants(1)) k.output("indices", 1, DType::i64);
  from.declare(k.source, "from");
  k.parameter("lines", from.count);
  k.parameter("length", length);
  k.parameter("x_step", x.stride(axis));
  k.parameter("k", c.node->integer(AttrKey::k));
  list.add(std::move(k), from.count);
}

}  // namespace

void define_selections(Definitions& d) {
  d.set(Op::select_reduce, kernel<select_reduce>());
}

}  // namespace tern::portable
