// Eigenvalues, singular values, functions derived from them, and the matrix exponential (tern/linalg.h).
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/partial_results.h"

namespace tern::linalg {
namespace {

constexpr unsigned kValuesOfEig = 0b10, kValuesOfSvd = 0b101;  // bit masks of results not computed

std::vector<Tensor> eigh_of(const Nodes& nodes, const Tensor& a, bool upper, unsigned unwanted = 0) {
  return nodes.run(Op::eigh, {a}, {attr(AttrKey::upper, upper)}, unwanted);
}
std::vector<Tensor> svd_of(const Nodes& nodes, const Tensor& a, bool full, unsigned unwanted = 0) {
  return nodes.run(Op::svd, {a}, {attr(AttrKey::full, full)}, unwanted);
}

PartialResults eigh_ex_of(const char* function, const Tensor& a, const TriangleOptions& o, unsigned unwanted = 0) {
  const Nodes nodes(function, o.threads);
  nodes.require_matrices(a);
  return run_partially(a, o.upper ? ReadElements::upper : ReadElements::lower,
                       [&](const Tensor& some) { return eigh_of(nodes, some, o.upper, unwanted); });
}
PartialResults eig_ex_of(const char* function, const Tensor& a, const Options& o, unsigned unwanted = 0) {
  const Nodes nodes(function, o.threads);
  nodes.require_matrices(a);
  return run_partially(a, ReadElements::all,
                       [&](const Tensor& some) { return nodes.run(Op::eig, {some}, {}, unwanted); });
}
PartialResults svd_ex_of(const char* function, const Tensor& a, bool full, int threads, unsigned unwanted = 0) {
  const Nodes nodes(function, threads);
  nodes.require_matrices(a);
  return run_partially(a, ReadElements::all, [&](const Tensor& some) { return svd_of(nodes, some, full, unwanted); });
}

/// Calls f(i, s, counts) for every singular value or eigenvalue s with its number i; `counts` is true for values other
/// than zero within tolerance.
template <class F>
void visit_values(const Tensor& a, const Tensor& values, const ToleranceOptions& o, F f) {
  const std::int64_t m = a.sizes()[a.sizes().size() - 2], n = a.sizes().back();
  const double standard = o.atol > 0 ? 0 : epsilon(a.dtype()) * static_cast<double>(std::max(m, n));
  visit(values.dtype(), [&](auto tag) {
    using R = typename RealOf<decltype(tag)>::type;
    const auto s = values.span<R>();
    const auto k = static_cast<std::size_t>(values.sizes().back());
    for (std::size_t first = 0; first < s.size(); first += k) {
      R largest = 0;
      for (std::size_t i = first; i < first + k; ++i) largest = std::max(largest, std::abs(s[i]));
      const auto limit = std::max(static_cast<R>(o.atol), static_cast<R>(o.rtol < 0 ? standard : o.rtol) * largest);
      for (std::size_t i = first; i < first + k; ++i) f(i, s[i], std::abs(s[i]) > limit);
    }
  });
}

}  // namespace

EighResult eigh(const Tensor& a, const TriangleOptions& options) {
  std::vector<Tensor> r = eigh_of(Nodes("eigh", options.threads), a, options.upper);
  return {r[0], r[1]};
}
Tensor eigvalsh(const Tensor& a, const TriangleOptions& options) {
  return eigh_of(Nodes("eigvalsh", options.threads), a, options.upper, kValuesOfEig)[0];
}

EighExResult eigh_ex(const Tensor& a, const TriangleOptions& options) {
  const PartialResults r = eigh_ex_of("eigh_ex", a, options);
  return {r.results[0], r.results[1], r.info};
}
ValuesExResult eigvalsh_ex(const Tensor& a, const TriangleOptions& options) {
  const PartialResults r = eigh_ex_of("eigvalsh_ex", a, options, kValuesOfEig);
  return {r.results[0], r.info};
}

EigResult eig(const Tensor& a, const Options& options) {
  std::vector<Tensor> r = Nodes("eig", options.threads).run(Op::eig, {a});
  return {r[0], r[1]};
}
Tensor eigvals(const Tensor& a, const Options& options) {
  return Nodes("eigvals", options.threads).run(Op::eig, {a}, {}, kValuesOfEig)[0];
}

EigExResult eig_ex(const Tensor& a, const Options& options) {
  const PartialResults r = eig_ex_of("eig_ex", a, options);
  return {r.results[0], r.results[1], r.info};
}
ValuesExResult eigvals_ex(const Tensor& a, const Options& options) {
  const PartialResults r = eig_ex_of("eigvals_ex", a, options, kValuesOfEig);
  return {r.results[0], r.info};
}

SvdResult svd(const Tensor& a, const SvdOptions& options) {
  std::vector<Tensor> r = svd_of(Nodes("svd", options.threads), a, options.full_matrices);
  return {r[0], r[1], r[2]};
}
Tensor svdvals(const Tensor& a, const Options& options) {
  return svd_of(Nodes("svdvals", options.threads), a, false, kValuesOfSvd)[1];
}

SvdExResult svd_ex(const Tensor& a, const SvdOptions& options) {
  const PartialResults r = svd_ex_of("svd_ex", a, options.full_matrices, options.threads);
  return {r.results[0], r.results[1], r.results[2], r.info};
}
ValuesExResult svdvals_ex(const Tensor& a, const Options& options) {
  const PartialResults r = svd_ex_of("svdvals_ex", a, false, options.threads, kValuesOfSvd);
  return {r.results[1], r.info};
}

/// Computes V diag(1 / s) U^H for A = U diag(s) V^H, dropping values s treated as zero.
Tensor pinv(const Tensor& a, const ToleranceOptions& options) {
  const Nodes nodes("pinv", options.threads);
  Tensor left, values, right;
  if (options.hermitian) {
    std::vector<Tensor> r = eigh_of(nodes, a, false);
    left = r[1];
    values = r[0];
    right = adjoint(r[1]);
  } else {
    std::vector<Tensor> r = svd_of(nodes, a, false);
    left = adjoint(r[2]);
    values = r[1];
    right = adjoint(r[0]);
  }
  visit_values(a, values, options,
               [&](std::size_t i, auto s, bool counts) { values.span<decltype(s)>()[i] = counts ? 1 / s : 0; });
  scale_columns(left, values);
  return nodes.run(Op::matmul, {left, right})[0];
}

Tensor matrix_rank(const Tensor& a, const ToleranceOptions& options) {
  const Nodes nodes("matrix_rank", options.threads);
  const Tensor values =
      options.hermitian ? eigh_of(nodes, a, false, kValuesOfEig)[0] : svd_of(nodes, a, false, kValuesOfSvd)[1];
  Tensor ranks(DType::i64, {values.sizes().begin(), values.sizes().end() - 1});
  const auto k = static_cast<std::size_t>(values.sizes().back());
  visit_values(a, values, options,
               [&](std::size_t i, auto, bool counts) { ranks.span<std::int64_t>()[i / k] += counts ? 1 : 0; });
  return ranks;
}

Tensor matrix_exp(const Tensor& a, const Options& options) {
  return Nodes("matrix_exp", options.threads).run(Op::matrix_exp, {a})[0];
}

}  // namespace tern::linalg
