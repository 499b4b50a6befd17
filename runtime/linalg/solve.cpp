// Linear systems of tern/linalg.h: solve, inverse, triangular, least squares.
#include <tern/linalg.h>

#include <algorithm>

#include "runtime/device_tensor.h"
#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "schema/linalg_kinds.h"

namespace tern::linalg {
namespace {

static_assert(static_cast<int>(LstsqDriver::gelss) == static_cast<int>(LstsqKind::gelss));

/// True if B holds one vector per matrix, by the rule of torch.linalg.solve.
bool is_vector(const Tensor& a, const Tensor& b) {
  if (b.sizes().size() == 1) return true;
  return std::equal(b.sizes().begin(), b.sizes().end(), a.sizes().begin(), a.sizes().end() - 1);
}

/// Views the same memory with or without a trailing axis of size 1.
Tensor append_column_axis(const Tensor& b) {
  std::vector<std::int64_t> sizes = b.sizes(), strides;
  sizes.push_back(1);
  if (!b.is_contiguous()) {
    strides = b.strides();
    strides.push_back(1);
  }
  return TensorMemory::assign_device(
      Tensor::borrow(b.data(), b.dtype(), std::move(sizes), std::move(strides), std::make_shared<Tensor>(b)),
      TensorMemory::device(b));
}
Tensor remove_column_axis(const Tensor& x) {
  std::vector<std::int64_t> sizes(x.sizes().begin(), x.sizes().end() - 1);
  Tensor owner = x;
  return Tensor::borrow(owner.data(), x.dtype(), std::move(sizes), {}, std::make_shared<Tensor>(x));
}

Tensor solve_factored(const Nodes& nodes, const std::vector<Tensor>& lu, const Tensor& b, bool left) {
  return nodes.run(Op::lu_solve, {lu[0], lu[1], b}, {attr(AttrKey::left, left)})[0];
}

SolveResult solve_of(const char* function, const Tensor& a, const Tensor& b, const SolveOptions& o, bool check) {
  const Nodes nodes(function, o.threads);
  nodes.require_matrices(a);
  const bool vector = is_vector(a, b);
  if (vector && !o.left) nodes.refuse("vectors need left = true");
  const Tensor columns = vector ? append_column_axis(b) : b;
  std::vector<Tensor> lu = nodes.run(Op::lu_factor, {a}, {attr(AttrKey::check, 0)});
  const Tensor x = solve_factored(nodes, lu, columns, o.left);
  if (check) nodes.require_factored(lu[2], kSingular);  // checked after the sizes
  return {vector ? remove_column_axis(x) : x, lu[2]};
}

InverseResult inverse_of(const char* function, const Tensor& a, const Options& o, bool check) {
  const Nodes nodes(function, o.threads);
  nodes.require_matrices(a);
  std::vector<Tensor> lu = nodes.run(Op::lu_factor, {a}, {attr(AttrKey::check, 0)});
  const Tensor inverse = solve_factored(nodes, lu, identity(a.dtype(), a.sizes().back()), true);
  if (check) nodes.require_factored(lu[2], kSingular);
  return {inverse, lu[2]};
}

}  // namespace

Tensor solve(const Tensor& a, const Tensor& b, const SolveOptions& options) {
  return solve_of("solve", a, b, options, true).x;
}
SolveResult solve_ex(const Tensor& a, const Tensor& b, const SolveOptions& options) {
  return solve_of("solve_ex", a, b, options, false);
}

Tensor inv(const Tensor& a, const Options& options) {
  return inverse_of("inv", a, options, true).inverse;
}
InverseResult inv_ex(const Tensor& a, const Options& options) {
  return inverse_of("inv_ex", a, options, false);
}

Tensor triangular_solve(const Tensor& a, const Tensor& b, const TriangularOptions& options) {
  const auto transpose = static_cast<std::int64_t>(options.transpose);
  return Nodes("triangular_solve", options.threads)
      .run(Op::triangular_solve, {a, b},
           {attr(AttrKey::upper, options.upper), attr(AttrKey::unit, options.unitriangular),
            attr(AttrKey::left, options.left), attr(AttrKey::transpose, transpose)})[0];
}

LstsqResult lstsq(const Tensor& a, const Tensor& b, const LstsqOptions& options) {
  const Nodes nodes("lstsq", options.threads);
  nodes.require_matrices(a);
  const bool vector = is_vector(a, b);
  const std::int64_t m = a.sizes()[a.sizes().size() - 2], n = a.sizes().back();
  const double rcond = options.rcond < 0 ? epsilon(a.dtype()) * static_cast<double>(std::max(m, n)) : options.rcond;
  std::vector<Tensor> r =
      nodes.run(Op::lstsq, {a, vector ? append_column_axis(b) : b},
                {attr(AttrKey::mode, static_cast<std::int64_t>(options.driver)), attr_number(AttrKey::epsilon, rcond)});
  if (!vector) return {r[0], r[1], r[2], r[3]};
  const bool residuals = options.driver != LstsqDriver::gelsy && m > n;
  return {remove_column_axis(r[0]), residuals ? remove_column_axis(r[1]) : r[1], r[2], r[3]};
}

}  // namespace tern::linalg
