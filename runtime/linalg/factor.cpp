// Cholesky, LU, LDL and QR of tern/linalg.h.
#include <tern/linalg.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "schema/linalg_kinds.h"

namespace tern::linalg {
namespace {

static_assert(static_cast<int>(QrMode::r) == static_cast<int>(QrKind::r));
static_assert(static_cast<int>(Transpose::adjoint) == static_cast<int>(TransposeKind::adjoint));

CholeskyResult cholesky_of(const char* function, const Tensor& a, const TriangleOptions& o, bool check) {
  const Nodes nodes(function, o.threads);
  std::vector<Tensor> r = nodes.run(Op::cholesky, {a}, {attr(AttrKey::upper, o.upper), attr(AttrKey::check, 0)});
  if (check) nodes.require_factored(r[1], "is not positive definite: its leading minor of order {0} is not");
  return {r[0], r[1]};
}
LuFactors lu_of(const char* function, const Tensor& a, const Options& o, bool check) {
  const Nodes nodes(function, o.threads);
  std::vector<Tensor> r = nodes.run(Op::lu_factor, {a}, {attr(AttrKey::check, 0)});
  if (check) nodes.require_factored(r[2], kSingular);
  return {r[0], r[1], r[2]};
}

LdlFactors ldl_of(const char* function, const Tensor& a, const LdlOptions& o, bool check) {
  const Nodes nodes(function, o.threads);
  std::vector<Tensor> r =
      nodes.run(Op::ldl_factor, {a}, {attr(AttrKey::hermitian, o.hermitian), attr(AttrKey::check, 0)});
  if (check) nodes.require_factored(r[2], "is singular: D[{0}, {0}] of its LDL factors is zero");
  return {r[0], r[1], r[2]};
}

/// Extracts P of m rows, L and U for each matrix of a batch.
template <class T>
void unpack(const LuFactors& f, std::size_t m, std::size_t n, LuResult& to) {
  const std::size_t k = std::min(m, n);
  const auto x = f.lu.span<T>();
  const auto pivots = f.pivots.span<std::int32_t>();
  const auto p = to.p.span<T>(), l = to.l.span<T>(), u = to.u.span<T>();
  std::vector<std::size_t> rows(m);
  for (std::size_t i = 0; i < static_cast<std::size_t>(f.info.numel()); ++i) {
    std::iota(rows.begin(), rows.end(), std::size_t{0});
    for (std::size_t r = 0; r < k; ++r) std::swap(rows[r], rows[static_cast<std::size_t>(pivots[i * k + r] - 1)]);
    for (std::size_t r = 0; r < m; ++r) {
      p[(i * m + rows[r]) * m + r] = T(1);
      for (std::size_t c = 0; c < n; ++c) {
        const T value = x[(i * m + r) * n + c];
        if (c < r && c < k) l[(i * m + r) * k + c] = value;
        if (c >= r) u[(i * k + r) * n + c] = value;
      }
      if (r < k) l[(i * m + r) * k + r] = T(1);
    }
  }
}

Tensor zeros(DType t, std::vector<std::int64_t> sizes, std::int64_t rows, std::int64_t columns) {
  sizes[sizes.size() - 2] = rows, sizes.back() = columns;
  Tensor x(t, sizes);
  if (x.numel() > 0) std::memset(x.data(), 0, static_cast<std::size_t>(x.numel() * element_size(t)));
  return x;
}

}  // namespace

Tensor cholesky(const Tensor& a, const TriangleOptions& options) {
  return cholesky_of("cholesky", a, options, true).factor;
}
CholeskyResult cholesky_ex(const Tensor& a, const TriangleOptions& options) {
  return cholesky_of("cholesky_ex", a, options, false);
}
Tensor cholesky_solve(const Tensor& factor, const Tensor& b, const TriangleOptions& options) {
  const Nodes nodes("cholesky_solve", options.threads);
  Tensor x = b;
  // Inverts the left factor of A first.
  for (const bool adjoint : {options.upper, !options.upper}) {
    const auto transpose = static_cast<std::int64_t>(adjoint ? Transpose::adjoint : Transpose::none);
    x = nodes.run(
        Op::triangular_solve, {factor, x},
        {attr(AttrKey::upper, options.upper), attr(AttrKey::left, 1), attr(AttrKey::transpose, transpose)})[0];
  }
  return x;
}

LuFactors lu_factor(const Tensor& a, const Options& options) {
  return lu_of("lu_factor", a, options, true);
}
LuFactors lu_factor_ex(const Tensor& a, const Options& options) {
  return lu_of("lu_factor_ex", a, options, false);
}
Tensor lu_solve(const LuFactors& factors, const Tensor& b, const LuSolveOptions& options) {
  const auto transpose = static_cast<std::int64_t>(options.transpose);
  return Nodes("lu_solve", options.threads)
      .run(Op::lu_solve, {factors.lu, factors.pivots, b},
           {attr(AttrKey::left, options.left), attr(AttrKey::transpose, transpose)})[0];
}

LuResult lu(const Tensor& a, const Options& options) {
  const LuFactors f = lu_of("lu", a, options, false);
  const std::vector<std::int64_t> sizes(f.lu.sizes().begin(), f.lu.sizes().end());
  const std::int64_t m = sizes[sizes.size() - 2], n = sizes.back(), k = std::min(m, n);
  LuResult r{zeros(a.dtype(), sizes, m, m), zeros(a.dtype(), sizes, m, k), zeros(a.dtype(), sizes, k, n)};
  visit(a.dtype(),
        [&](auto tag) { unpack<decltype(tag)>(f, static_cast<std::size_t>(m), static_cast<std::size_t>(n), r); });
  return r;
}

LdlFactors ldl_factor(const Tensor& a, const LdlOptions& options) {
  return ldl_of("ldl_factor", a, options, true);
}
LdlFactors ldl_factor_ex(const Tensor& a, const LdlOptions& options) {
  return ldl_of("ldl_factor_ex", a, options, false);
}
Tensor ldl_solve(const LdlFactors& factors, const Tensor& b, const LdlOptions& options) {
  return Nodes("ldl_solve", options.threads)
      .run(Op::ldl_solve, {factors.ld, factors.pivots, b}, {attr(AttrKey::hermitian, options.hermitian)})[0];
}

Tensor householder_product(const Tensor& a, const Tensor& tau, const Options& options) {
  const auto kind = static_cast<std::int64_t>(HouseholderKind::product);
  return Nodes("householder_product", options.threads).run(Op::householder, {a, tau}, {attr(AttrKey::kind, kind)})[0];
}

QrResult qr(const Tensor& a, const QrOptions& options) {
  const Nodes nodes("qr", options.threads);
  if (options.mode > QrMode::r) nodes.refuse("unknown mode");
  std::vector<Tensor> r = nodes.run(Op::qr, {a}, {attr(AttrKey::mode, static_cast<std::int64_t>(options.mode))});
  return {r[0], r[1]};
}

}  // namespace tern::linalg
