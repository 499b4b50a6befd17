// scan: lines along an axis, by groups or an item each.
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/launches.h"
#include "kernels/portable/rows.h"
#include "kernels/portable/scan_groups.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kManyLines =
    4096;  // enough to fill a device with an item each, for strided lines: neighbours read neighbours

bool uses_groups(const Launches& list, const TensorView& x, int axis) {
  Axes along;
  along.add(x.size(axis), x.stride(axis));
  const RowGeometry layout(axes_without(x, axis), along);
  return scans_by_groups(list.target(), layout.length) && layout.count > 0 &&
         (layout.nearer || layout.count < kManyLines);
}

void declare_lines(Launch& k, const TensorView& x, const TensorView& y, int axis) {
  const Axes from = axes_without(x, axis), to = axes_without(y, axis);
  from.declare(k.source, "from");
  to.declare(k.source, "to");
  k.parameter("lines", from.count);
  k.parameter("length", x.size(axis));
  k.parameter("x_step", x.stride(axis));
  k.parameter("y_step", y.stride(axis));
}

void read_lines(Launch& k, const TensorView& x, int axis, DType by, DType t, const char* place) {
  k.input("x", 0, x.dtype);
  k.source.load("LOAD_X", x.dtype, by, t);
  axes_without(x, axis).declare(k.source, "from");
  k.parameter("x_step", x.stride(axis));
  k.source.define("READ(line, k, v, place)",
                  std::string("v = LOAD_X(x, at_from(line, &p) + (k) * p.x_step); ") + place);
}

void write_lines(Launch& k, const TensorView& y, int axis) {
  axes_without(y, axis).declare(k.source, "to");
  k.parameter("y_step", y.stride(axis));
}

void extremum(const KernelCall& c, Launches& list, bool max) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const int axis = axis_of(*c.node, x.rank);
  const DType t = number_type(x.dtype);
  const auto order = [&](KernelSource& s) {
    s.define("IS_NAN(a)", is_floating(t) ? "((a) != (a))" : "0");
    s.define("REACHES(a, b)", max ? "((a) >= (b))" : "((a) <= (b))");
  };
  const TensorView shape = c.wants_output(0) ? y : as_line(c.out[1]);
  if (shape.numel() > 0 && uses_groups(list, x, axis)) {
    ScannedLines lines{axes_without(x, axis).count, x.size(axis), t, true, order, {}, {}};
    lines.read = [&](Launch& k) { read_lines(k, x, axis, t, t, "place = (int)(k);"); };
    lines.write = [&](Launch& k) {
      write_lines(k, shape, axis);
      std::string write = "const tern_i64 to_ = at_to(line, &p) + (k) * p.y_step;";
      if (c.wants_output(0)) {
        k.output("y", 0, y.dtype);
        k.store("STORE", t, y.dtype);
        write += " STORE(y, to_, v);";
      }
      if (c.wants_output(1)) {
        k.output("indices", 1, DType::i64);
        write += " indices[to_] = place;";
      }
      k.source.define("WRITE(line, k, v, place)", write);
    };
    return scan_by_groups(list, lines);
  }
  Launch k("scan_extremum");
  k.type("VALUE_T", t);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, t);
  order(k.source);
  k.source.define("VALUES", c.wants_output(0) ? 1 : 0);
  k.source.define("INDICES", c.wants_output(1) ? 1 : 0);
  if (c.wants_output(0)) k.output("y", 0, y.dtype);
  if (c.wants_output(1)) k.output("indices", 1, DType::i64);
  declare_lines(k, x, shape, axis);
  list.add(std::move(k), shape.numel() == 0 ? 0 : axes_without(x, axis).count);
}

constexpr std::int64_t kScanTile = 1024, kChainItems = 256, kLinesOfChain = 32;

/// Scans in the definition's order: each group has a single line, or several lines if there are many.
void chain(Launches& list, Launch k, std::int64_t lines) {
  const std::int64_t together = lines < kManyLines ? 1 : kLinesOfChain;
  k.source.define("LINES", together);
  k.source.define("WIDTH", kScanTile / together);
  k.source.define("GROUP", kChainItems);
  list.add(std::move(k), (lines + together - 1) / together * kChainItems, static_cast<std::uint32_t>(kChainItems));
}

void join(const KernelCall& c, Launches& list, bool any_order) {
  const TensorView x = as_line(c.in[0]), y = as_line(c.out[0]);
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  if (kind == ScanKind::cummax || kind == ScanKind::cummin) return extremum(c, list, kind == ScanKind::cummax);
  if (y.numel() == 0) return;
  const DType read = number_type(y.dtype);
  const DType acc = wide_type(read, list.target().has_double);
  const int axis = axis_of(*c.node, x.rank);
  const auto arithmetic = [&](KernelSource& s) {
    s.arithmetic("ACC", acc);
    std::string join = kind == ScanKind::cumprod ? "ACC_MUL(a, b)" : "ACC_ADD(a, b)";
    if (acc == DType::i64) {  // wraps
      join = kind == ScanKind::cumprod ? "(tern_i64)((tern_u64)(a) * (tern_u64)(b))"
                                       : "(tern_i64)((tern_u64)(a) + (tern_u64)(b))";
    }
    if (kind == ScanKind::logcumsumexp) {
      s.add_library((is_complex(acc) ? "log_add_complex:" : "log_add:") + type_name(acc));
      join = "tern_log_add_" + type_name(acc) + "(b, a)";
    }
    s.define("JOIN(a, b)", join);
  };
  const bool groups = uses_groups(list, x, axis);
  const std::int64_t count = axes_without(x, axis).count;
  if (groups && (any_order || is_integral(acc))) {
    ScannedLines lines{count, x.size(axis), acc, false, arithmetic, {}, {}};
    lines.read = [&](Launch& k) { read_lines(k, x, axis, read, acc, ""); };
    lines.write = [&](Launch& k) {
      write_lines(k, y, axis);
      k.output("y", 0, y.dtype);
      k.store("STORE", acc, y.dtype);
      k.source.define("WRITE(line, k, v, place)", "STORE(y, at_to(line, &p) + (k) * p.y_step, v);");
    };
    return scan_by_groups(list, lines);
  }
  Launch k(groups ? "scan_chain" : "scan");
  arithmetic(k.source);
  k.input("x", 0, x.dtype);
  k.source.load("LOAD_X", x.dtype, read, acc);
  k.output("y", 0, y.dtype);
  k.store("STORE", acc, y.dtype);
  declare_lines(k, x, y, axis);
  if (groups) return chain(list, std::move(k), count);
  list.add(std::move(k), count);
}

void scan(const KernelCall& c, Launches& list) {
  join(c, list, false);
}
void scan_in_any_order(const KernelCall& c, Launches& list) {
  join(c, list, true);
}

/// Type of sums: the result's, possibly widened by `dtype`; type of extrema: the operand's.
DType type_of_input_scan(const KernelCall& c, std::size_t) {
  const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
  return number_type(kind == ScanKind::cummax || kind == ScanKind::cummin ? c.in[0].dtype : c.out[0].dtype);
}
DType type_of_output_scan(const KernelCall& c, std::size_t k) {
  return number_type(c.out[k].dtype);
}

constexpr std::string_view kScanSamples[] = {
    "T=f32|f64|c64|c128: T[4]; axis=0, kind=cumsum|cumprod|logcumsumexp",
    "T=i64|u64: T[4]; axis=0, kind=cumsum|cumprod",
    "T=f32|f64|i64|u64: T[4]; axis=0, kind=cummax|cummin",
};

}  // namespace

void define_scans(Definitions& d) {
  d.set(Op::scan, kernel<scan>(),
        {.samples = kScanSamples, .input = type_of_input_scan, .output = type_of_output_scan});
  d.set_faster(Op::scan, kernel<scan_in_any_order>());
}

}  // namespace tern::portable
