// Cholesky, LU and QR of tern/linalg.h.
#include <tern/linalg.h>

#include "runtime/linalg/nodes.h"
#include "schema/linalg_kinds.h"

namespace tern::linalg {
namespace {

static_assert(static_cast<int>(QrMode::r) == static_cast<int>(tern::QrMode::r));
static_assert(static_cast<int>(Transpose::adjoint) == static_cast<int>(tern::Transpose::adjoint));

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
  // The factor that stands to the left in A is inverted first.
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

QrResult qr(const Tensor& a, const QrOptions& options) {
  const Nodes nodes("qr", options.threads);
  if (options.mode > QrMode::r) nodes.refuse("there is no such mode");
  std::vector<Tensor> r = nodes.run(Op::qr, {a}, {attr(AttrKey::mode, static_cast<std::int64_t>(options.mode))});
  return {r[0], r[1]};
}

}  // namespace tern::linalg
