// scan: lines along an axis, one item each.
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

void declare_lines(Launch& k, const TensorView& x, const TensorView& y, int axis) {
  const Axes from = axes_without(x, axis), to = axes_without(y, axis);
  from.declare(k.source, "from");
  to.declare(k.source, "to");
  k.parameter("lines", from.count);
  k.parameter("length", x.size(axis));
  k.parameter("x_step", x.stride(axis));
  k.parameter("y_step", y.stride(axis));
}

void extremum(const KernelCall& c, Launches& list, bool max) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const int axis = axis_of(*c.node, x.rank);
  const DType t = number_type(x.dtype);
  Launch k("scan_extremum");
  k.type("VALUE_T", t);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  k.source.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
  k.source.define("REACHES(a, b)", max ? "((a) >= (b))" : "((a) <= (b))");
  k.source.define("VALUES", c.wants(0) ? 1 : 0);
  k.source.define("INDICES", c.wants(1) ? 1 : 0);
  if (c.wants(0)) k.output("y", 0, y.dtype);
  if (c.wants(1)) k.output("indices", 1, DType::i64);
  const TensorView shape = c.wants(0) ? y : as_line(c.out[1]);
  declare_lines(k, x, shape, axis);
  list.add(std::move(k), shape.numel() == 0 ? 0 : axes_without(x, axis).count);
}

void scan(const KernelCall& c, Launches& list) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  if (kind == ScanKind::cummax || kind == ScanKind::cummin) return extremum(c, list, kind == ScanKind::cummax);
  const DType read = number_type(y.dtype);
  const DType acc = wide_type(read, list.target().has_double);
  const int axis = axis_of(*c.node, x.rank);
  Launch k("scan");
  k.source.arithmetic("ACC", acc);
  std::string join = kind == ScanKind::cumprod ? "ACC_MUL(a, b)" : "ACC_ADD(a, b)";
  if (acc == DType::i64) {  // wraps
    join = kind == ScanKind::cumprod ? "(tern_i64)((tern_u64)(a) * (tern_u64)(b))"
                                     : "(tern_i64)((tern_u64)(a) + (tern_u64)(b))";
  }
  if (kind == ScanKind::logcumsumexp) {
    k.source.use((is_complex(acc) ? "log_add_complex:" : "log_add:") + type_name(acc));
    join = "tern_log_add_" + type_name(acc) + "(b, a)";
  }
  k.source.define("JOIN(a, b)", join);
  k.input("x", 0, x.dtype);
  k.source.load("LOAD_X", x.dtype, read, acc);
  k.output("y", 0, y.dtype);
  k.store("STORE", acc, y.dtype);
  declare_lines(k, x, y, axis);
  list.add(std::move(k), y.numel() == 0 ? 0 : axes_without(x, axis).count);
}

/// Of sums the result's, which `dtype` may have widened; of extrema the operand's.
DType type_of_input(const KernelCall& c, std::size_t) {
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  return number_type(kind == ScanKind::cummax || kind == ScanKind::cummin ? c.in[0].dtype : c.out[0].dtype);
}
DType type_of_output(const KernelCall& c, std::size_t k) {
  return number_type(c.out[k].dtype);
}

constexpr std::string_view kScanSamples[] = {
    "T=f32|f64|c64|c128: T[4]; axis=0, kind=cumsum|cumprod|logcumsumexp",
    "T=i64|u64: T[4]; axis=0, kind=cumsum|cumprod",
    "T=f32|f64|i64|u64: T[4]; axis=0, kind=cummax|cummin",
};

}  // namespace

void define_scans(Definitions& d) {
  d.set(Op::scan, kernel<scan>(), {.samples = kScanSamples, .input = type_of_input, .output = type_of_output});
}

}  // namespace tern::portable
