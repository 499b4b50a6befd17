// Tensors created from numbers and sizes alone; an uninitialized tensor holds zeros.
#include <cmath>

#include "exporter/lower/call_argument.h"
#include "schema/work.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Fills a tensor with `operand`: a number, a (symbolic) integer, or a tensor of one element.
ValueId filled(Builder& b, const CallArgument& operand, Dims sizes, DType dtype) {
  if (operand.kind == CallArgumentKind::tensor) {
    return b.expand(b.cast(b.reshape(operand.value, {}), dtype), std::move(sizes));
  }
  if (operand.kind == CallArgumentKind::integer || operand.kind == CallArgumentKind::boolean) {
    return b.add(
        Op::full, {},
        {attr(AttrKey::sizes, std::move(sizes)), attr(AttrKey::value, Dims{operand.integer}), attr_dtype(dtype)});
  }
  return b.full(std::move(sizes), {operand.number, operand.imaginary}, dtype);
}

Values zeros(Builder& b, const Call& c) {
  return {b.full(c.dims("size"), 0, c.result_dtype())};
}
Values ones(Builder& b, const Call& c) {
  return {b.full(c.dims("size"), 1, c.result_dtype())};
}
Values full(Builder& b, const Call& c) {
  return {filled(b, c.arg("fill_value"), c.dims("size"), c.result_dtype())};
}
Values zeros_like(Builder& b, const Call& c) {
  return {b.full(b.shape(c.tensor("self")), 0, c.result_dtype())};
}
Values ones_like(Builder& b, const Call& c) {
  return {b.full(b.shape(c.tensor("self")), 1, c.result_dtype())};
}
Values full_like(Builder& b, const Call& c) {
  return {filled(b, c.arg("fill_value"), b.shape(c.tensor("self")), c.result_dtype())};
}
Values fill_creation(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  return {filled(b, c.arg("value"), b.shape(x), b.dtype(x))};
}
Values scalar_tensor(Builder& b, const Call& c) {
  return {filled(b, c.arg("s"), {}, c.result_dtype())};
}

/// start, start + step, ... before end. Integer arguments may be symbolic.
Values arange_of(Builder& b, const Call& c, const CallArgument& start, const CallArgument& end,
                 const CallArgument& step) {
  const DType t = c.result_dtype();
  const auto is_integer = [](const CallArgument& o) {
    return o.kind == CallArgumentKind::integer || o.kind == CallArgumentKind::boolean;
  };
  if (is_integer(start) && is_integer(end) && is_integer(step)) {
    ExprPool& pool = b.pool();
    Dim n = pool.sub(end.integer, start.integer);
    if (!step.integer.is(1)) n = pool.ceildiv(n, step.integer);
    if (pool.bounds(n).min < 0) n = pool.max(n, 0);
    return {
        b.add(Op::iota, {},
              {attr(AttrKey::sizes, Dims{n}), attr(AttrKey::value, Dims{start.integer, step.integer}), attr_dtype(t)})};
  }
  const auto is_symbolic = [&](const CallArgument& o) { return is_integer(o) && !o.integer.is_const(); };
  const auto number = [&](const CallArgument& o) {
    return is_integer(o) ? static_cast<double>(o.integer.value()) : o.number;
  };
  if (is_symbolic(start) || is_symbolic(end) || is_symbolic(step)) {
    // The file has the number of elements.
    const auto operand = [&](std::string_view name, const CallArgument& o) {
      return is_symbolic(o) ? ExprArg(name, b.from_dim(o.integer)) : ExprArg(name, number(o));
    };
    const ValueId i = b.iota(c.declared.at(0).shape.at(0), DType::i64);
    return {b.expr("s + d * i", {{"i", i}, operand("s", start), operand("d", step)}, DType::f64, t)};
  }
  const double first = number(start), increment = number(step), n = std::ceil((number(end) - first) / increment);
  if (!(n >= 0 && n < 9e15)) c.unsupported("the range does not have a valid size");
  return {b.iota(static_cast<std::int64_t>(n), t, first, increment)};
}
Values arange(Builder& b, const Call& c) {
  return arange_of(b, c, integer_argument(0), c.arg("end"), integer_argument(1));
}
Values arange_start(Builder& b, const Call& c) {
  return arange_of(b, c, c.arg("start"), c.arg("end"), integer_argument(1));
}
Values arange_step(Builder& b, const Call& c) {
  return arange_of(b, c, c.arg("start"), c.arg("end"), c.arg("step"));
}

/// arange with an inclusive end.
Values range_of(Builder& b, const Call& c, double step) {
  const double start = c.number("start"), n = std::floor((c.number("end") - start) / step) + 1;
  if (!(n >= 0 && n < 9e15)) c.unsupported("the range does not have a valid size");
  return {b.iota(static_cast<std::int64_t>(n), c.result_dtype(), start, step)};
}
Values range(Builder& b, const Call& c) {
  return range_of(b, c, 1);
}
Values range_step(Builder& b, const Call& c) {
  return range_of(b, c, c.number("step"));
}

/// An end of linspace: a number known here, or a tensor of no dimensions.
ExprArg end_arg(Builder& b, const Call& c, ArgumentName argument, std::string_view name) {
  const CallArgument& o = c.arg(argument);
  if (o.kind == CallArgumentKind::tensor) return {name, b.reshape(o.value, {})};
  if (o.kind == CallArgumentKind::integer && !o.integer.is_const()) return {name, b.from_dim(o.integer)};
  if (o.kind == CallArgumentKind::integer) return {name, static_cast<double>(o.integer.value())};
  return {name, std::complex<double>(o.number, o.imaginary)};
}

/// `steps` numbers between two ends, each computed from the nearer end, as PyTorch's kernels do; or the powers of
/// `base` with these exponents.
Values spaced(Builder& b, const Call& c, bool powers) {
  const std::int64_t steps = c.integer("steps");
  const DType t = c.result_dtype();
  const DType compute_dtype = is_floating(t) || is_complex(t) ? compute_type(t) : DType::f64;
  const double base = powers ? c.number("base") : 0;
  const ExprArg start = end_arg(b, c, "start", "s"), end = end_arg(b, c, "end", "e");
  if (steps <= 1) {
    const ValueId single_element = b.expr(powers ? "pow(base, s)" : "s", {start, {"base", base}}, compute_dtype, t);
    return {b.expand(single_element, {steps})};
  }
  const ValueId i = b.iota(steps, DType::i64);
  const ValueId lower = b.expr("i < h", {{"i", i}, {"h", static_cast<double>(steps / 2)}}, DType::i64, DType::boolean);
  const ValueId position = b.cast(i, is_complex(compute_dtype) ? DType::f64 : compute_dtype);
  const std::vector<ExprArg> args = {
      {"lower", lower}, {"i", position}, {"n", static_cast<double>(steps - 1)}, start, end, {"base", base}};
  return {b.expr(powers ? "d = (e - s) / n; pow(base, lower ? s + d * i : e - d * (n - i))"
                        : "d = (e - s) / n; lower ? s + d * i : e - d * (n - i)",
                 args, compute_dtype, t)};
}
Values linspace(Builder& b, const Call& c) {
  return spaced(b, c, false);
}
Values logspace(Builder& b, const Call& c) {
  return spaced(b, c, true);
}

/// True for numbers whose differences float32 holds exactly.
bool is_exact_in_float32(Dim d) {
  constexpr std::int64_t kMost = std::int64_t{1} << 22;
  return d.is_const() && d.value() >= -kMost && d.value() <= kMost;
}

/// Compares column - row with d, as `text` says: boolean [rows, columns]. Float32 fills twice as many lanes as
/// integers.
ValueId band(Builder& b, std::string_view text, Dim rows, Dim columns, Dim diagonal) {
  const bool in_floats = is_exact_in_float32(rows) && is_exact_in_float32(columns) && is_exact_in_float32(diagonal);
  const DType t = in_floats ? DType::f32 : DType::i64;
  const ValueId r = b.reshape(b.iota(rows, t), {rows, 1}), k = b.iota(columns, t);
  ExprArg d("d", static_cast<double>(diagonal.is_const() ? diagonal.value() : 0));
  if (!diagonal.is_const()) d.value = b.from_dim(diagonal);
  return b.expr(text, {{"c", k}, {"r", r}, d}, t, DType::boolean);
}

Values eye_of(Builder& b, const Call& c, Dim n, Dim m) {
  return {b.cast(band(b, "c - r == d", n, m, 0), c.result_dtype())};
}
Values eye(Builder& b, const Call& c) {
  return eye_of(b, c, c.dim("n"), c.dim("n"));
}
Values eye_m(Builder& b, const Call& c) {
  return eye_of(b, c, c.dim("n"), c.dim("m"));
}
Values triangle(Builder& b, const Call& c, std::string_view text) {
  const ValueId x = c.tensor("self");
  const ValueId is_kept = band(b, text, b.size(x, -2), b.size(x, -1), c.dim("diagonal"));
  return {b.expr("k ? x : 0", {{"k", is_kept}, {"x", x}}, b.dtype(x))};
}
Values tril(Builder& b, const Call& c) {
  return triangle(b, c, "c - r <= d");
}
Values triu(Builder& b, const Call& c) {
  return triangle(b, c, "c - r >= d");
}

/// Rows and columns of a triangle of a matrix of known sizes.
Values triangle_indices(Builder& b, const Call& c, bool lower) {
  const std::int64_t rows = c.integer("row"), columns = c.integer("col"), offset = c.integer("offset");
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  if (rows < 0 || columns < 0 || (columns > 0 && rows > kMost / columns)) c.unsupported("the matrix is too large");
  std::vector<std::int64_t> r, k;
  for (std::int64_t i = 0; i < rows && columns > 0; ++i) {
    charge_work(static_cast<std::uint64_t>(columns));
    for (std::int64_t j = 0; j < columns; ++j) {
      if (lower ? j - i > offset : j - i < offset) continue;
      charge_work(2 * sizeof(std::int64_t));
      r.push_back(i);
      k.push_back(j);
    }
  }
  const auto n = static_cast<std::int64_t>(r.size());
  if (n == 0) return {b.full({2, 0}, 0, c.result_dtype())};
  r.insert(r.end(), k.begin(), k.end());
  return {b.cast(b.constant(DType::i64, {2, n}, r.data()), c.result_dtype())};
}
Values tril_indices(Builder& b, const Call& c) {
  return triangle_indices(b, c, true);
}
Values triu_indices(Builder& b, const Call& c) {
  return triangle_indices(b, c, false);
}

/// All choices of r elements of a list, in lexicographic order of positions.
Values combinations(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dim size = b.size(x, 0);
  if (!size.is_const()) c.unsupported("the number of elements must be constant");
  const std::int64_t n = size.value(), r = c.integer("r"), apart = c.flag("with_replacement") ? 0 : 1;
  if (r < 0) c.unsupported("r is negative");
  if (r == 0) return {b.full({0}, 0, b.dtype(x))};
  if (n == 0 || (apart == 1 && r > n)) return {b.full({0, r}, 0, b.dtype(x))};
  std::vector<std::int64_t> positions, combination;
  constexpr std::size_t kMost = std::size_t{1} << 24;
  if (static_cast<std::uint64_t>(r) > kMost) c.unsupported("there are too many combinations");
  charge_work(static_cast<std::uint64_t>(r) * sizeof(std::int64_t));
  // Depth first: `combination` is the choice so far, `next` the candidate for its end.
  std::int64_t next = 0;
  for (;;) {
    charge_work(1);
    if (static_cast<std::int64_t>(combination.size()) == r) {
      if (positions.size() > kMost) c.unsupported("there are too many combinations");
      charge_work(combination.size() * sizeof(std::int64_t));
      positions.insert(positions.end(), combination.begin(), combination.end());
    }
    // Distinct choices need enough remaining elements.
    const std::int64_t missing = r - static_cast<std::int64_t>(combination.size());
    if (missing > 0 && next + apart * (missing - 1) < n) {
      combination.push_back(next);
      next += apart;
    } else {
      if (combination.empty()) break;
      next = combination.back() + 1;
      combination.pop_back();
    }
  }
  const auto count = static_cast<std::int64_t>(positions.size()) / r;
  if (count == 0) return {b.full({0, r}, 0, b.dtype(x))};
  return {b.index_select(x, b.constant(DType::i64, {count, r}, positions.data()), 0)};
}

Values cartesian_prod(Builder& b, const Call& c) {
  const Values& xs = c.tensors("tensors");
  if (xs.size() == 1) return {xs[0]};
  Dims sizes;
  for (ValueId x : xs) sizes.push_back(b.numel(x));
  Values columns;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    Dims axis_shape(xs.size(), 1);
    axis_shape[i] = sizes[i];
    const ValueId grid = b.expand(b.reshape(b.cast(xs[i], c.result_dtype()), axis_shape), sizes);
    columns.push_back(b.reshape(grid, {b.pool().product(sizes), 1}));
  }
  return {b.concat(columns, 1)};
}

constexpr Lowering kCreationLowerings[] = {
    {"aten.zeros.default", zeros},
    {"aten.empty.memory_format", zeros},
    {"aten.empty_strided.default", zeros},
    {"aten.empty_permuted.default", zeros},
    {"aten._efficientzerotensor.default", zeros},
    {"aten.new_zeros.default", zeros},
    {"aten.new_empty.default", zeros},
    {"aten.new_empty_strided.default", zeros},
    {"aten.ones.default", ones},
    {"aten.new_ones.default", ones},
    {"aten.full.default", full},
    {"aten.new_full.default", full},
    {"aten.zeros_like.default", zeros_like},
    {"aten.empty_like.default", zeros_like},
    {"aten.zero.default", zeros_like},
    {"aten.ones_like.default", ones_like},
    {"aten.full_like.default", full_like},
    {"aten.fill.Scalar", fill_creation},
    {"aten.fill.Tensor", fill_creation},
    {"aten.scalar_tensor.default", scalar_tensor},
    {"aten.range.default", range},
    {"aten.range.step", range_step},
    {"aten.arange.default", arange},
    {"aten.arange.start", arange_start},
    {"aten.arange.start_step", arange_step},
    {"aten.linspace.default", linspace},
    {"aten.linspace.Tensor_Tensor", linspace},
    {"aten.linspace.Tensor_Scalar", linspace},
    {"aten.linspace.Scalar_Tensor", linspace},
    {"aten.logspace.default", logspace},
    {"aten.logspace.Tensor_Tensor", logspace},
    {"aten.logspace.Tensor_Scalar", logspace},
    {"aten.logspace.Scalar_Tensor", logspace},
    {"aten.eye.default", eye},
    {"aten.eye.m", eye_m},
    {"aten.tril.default", tril},
    {"aten.triu.default", triu},
    {"aten.tril_indices.default", tril_indices},
    {"aten.triu_indices.default", triu_indices},
    {"aten.combinations.default", combinations},
    {"aten.cartesian_prod.default", cartesian_prod},
};

}  // namespace

std::span<const Lowering> creation_lowerings() {
  return kCreationLowerings;
}

}  // namespace tern
