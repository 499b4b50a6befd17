// pointwise: a kernel for each expression and layout of its operands.
#include "kernels/portable/pointwise.h"

#include <fmt/format.h>

#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/turned.h"
#include "kernels/portable/wide.h"

namespace tern::portable {
namespace {

/// Joins the lines of a text to a single macro.
std::string one_macro(std::string text) {
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 3))
    text.replace(at, 1, " \\\n");
  return text;
}

void pointwise(const KernelCall& c, Launches& list) {
  const TensorView& out = c.out[0];
  const bool pairs = out.dtype == DType::f4_e2m1;
  std::vector<TensorView> views(c.in.size());
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (!c.has_input(i)) continue;
    views[i] = broadcast(c.in[i], out);
    views[i].dtype = c.in[i].dtype;
  }
  std::optional<Turned> turned;
  std::optional<WideItems> wide;
  if (!pairs) turned = Turned::choose(list.target(), out, views);
  if (!pairs && !turned) wide = WideItems::choose(list.target(), out, views, c.node->expr);
  Launch k(pairs ? "pointwise_pairs" : turned ? "turned" : wide ? "pointwise_wide" : "pointwise");
  const std::int64_t count = out.numel();
  k.parameter("count", count);
  std::vector<std::string> loads(c.in.size()), wide_loads(c.in.size()), positions(static_cast<std::size_t>(out.rank));
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    if (!c.has_input(i)) continue;
    const DType t = c.in[i].dtype;
    const std::string name = fmt::format("x{}", i);
    k.input(name, i, t);
    k.source.view(name, views[i]);
    k.source.load(fmt::format("LOAD{}", i), t, t);
    const bool turns = turned && turned->is_turned(i);
    loads[i] = turns ? fmt::format("LOAD{0}(x{0}_tile, at)", i) : fmt::format("LOAD{0}(x{0}, at_x{0}(i, &p))", i);
    if (turns) turned->tile(k, name, t);
    if (wide) wide_loads[i] = wide->load(i, name, views[i], loads[i]);
  }
  std::int64_t inner = 1;
  for (int a = out.rank; a-- > 0;) {
    positions[static_cast<std::size_t>(a)] = fmt::format("i / p.inner{0} % p.size{0}", a);
    for (const Instruction& x : c.node->expr.code) {
      if (x.op != Scalar::index || x.integer != a) continue;
      k.parameter(fmt::format("inner{}", a), inner);
      k.parameter(fmt::format("size{}", a), std::max<std::int64_t>(out.size(a), 1));
      break;
    }
    inner *= std::max<std::int64_t>(out.size(a), 1);
  }
  k.output("out", 0, out.dtype);
  std::string result;
  const std::string text = emit_expression(k.source, c.node->expr, loads, positions, &result);
  k.source.add("#define EXPRESSION \\\n" + one_macro(text) + "\n\n");
  k.source.define("RESULT", result);
  if (wide) {
    const std::string elements = emit_expression(k.source, c.node->expr, wide_loads, positions, &result);
    k.source.add("#define WIDE_EXPRESSION \\\n" + one_macro(elements) + "\n\n");
    return wide->add(list, std::move(k), out);
  }
  if (turned) {
    k.source.define("WRITE", "EXPRESSION out[i] = RESULT;");
    return turned->add(list, std::move(k));
  }
  list.add(std::move(k), pairs ? (count + 1) / 2 : count);
}

}  // namespace

void define_pointwise(Definitions& d) {
  Kernel k = kernel<pointwise>();
  k.in_place = 0;
  d.set(Op::pointwise, k);
}

}  // namespace tern::portable
