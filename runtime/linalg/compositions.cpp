// Functions of tern/linalg.h that compose decompositions: eigh_generalized, polar.
#include <tern/linalg.h>

#include <complex>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "schema/linalg_kinds.h"

namespace tern::linalg {
namespace {

/// The hermitian matrices of which `a` has the selected triangle.
Tensor whole_hermitian(const Tensor& a, bool upper) {
  Tensor to = a.clone();
  const std::int64_t n = a.sizes().back();
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto x = to.span<T>();
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(n * n)) {
      T* const matrix = x.data() + first;
      for (std::int64_t r = 0; r < n; ++r) {
        matrix[r * (n + 1)] = std::real(matrix[r * (n + 1)]);
        for (std::int64_t c = 0; c < r; ++c) {
          T &below = matrix[r * n + c], &above = matrix[c * n + r];
          T& other = upper ? below : above;
          other = upper ? above : below;
          if constexpr (!std::is_floating_point_v<T>) other = std::conj(other);
        }
      }
    }
  });
  return to;
}

Tensor solve_by(const Nodes& nodes, const Tensor& factor, const Tensor& x, bool left, TransposeKind op) {
  return nodes.run(
      Op::triangular_solve, {factor, x},
      {attr(AttrKey::upper, 0), attr(AttrKey::left, left), attr(AttrKey::transpose, static_cast<std::int64_t>(op))})[0];
}

}  // namespace

/// V = L^-H Z for the eigenvectors Z of L^-1 A L^-H, where B = L L^H.
EighResult eigh_generalized(const Tensor& a, const Tensor& b, const TriangleOptions& options) {
  const Nodes nodes("eigh_generalized", options.threads);
  nodes.require_matrices(a);
  nodes.require_matrices(b);
  if (a.sizes() != b.sizes() || a.dtype() != b.dtype()) nodes.refuse("A and B must have equal types and sizes");
  if (a.sizes().back() != a.sizes()[a.sizes().size() - 2]) nodes.refuse("A and B must be square");
  const std::vector<Tensor> l =
      nodes.run(Op::cholesky, {whole_hermitian(b, options.upper)}, {attr(AttrKey::upper, 0), attr(AttrKey::check, 0)});
  nodes.require_factored(l[1], "of B is not positive definite: its leading minor of order {0} is not");
  const Tensor half = solve_by(nodes, l[0], whole_hermitian(a, options.upper), true, TransposeKind::none);
  const Tensor reduced = solve_by(nodes, l[0], half, false, TransposeKind::adjoint);
  const std::vector<Tensor> r = nodes.run(Op::eigh, {reduced}, {attr(AttrKey::upper, 0)});
  return {r[0], solve_by(nodes, l[0], r[1], true, TransposeKind::adjoint)};
}

/// U = W V^H and H = V S V^H, where A = W S V^H.
PolarResult polar(const Tensor& a, const Options& options) {
  const Nodes nodes("polar", options.threads);
  nodes.require_matrices(a);
  const std::vector<Tensor> r = nodes.run(Op::svd, {a}, {attr(AttrKey::full, 0)});
  Tensor scaled = adjoint(r[2]);
  scale_columns(scaled, r[1]);
  return {nodes.run(Op::matmul, {r[0], r[2]})[0], nodes.run(Op::matmul, {scaled, r[2]})[0]};
}

}  // namespace tern::linalg
