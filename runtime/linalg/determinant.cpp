// Determinants of tern/linalg.h: the product of U's diagonal, times -1 for each row swap.
#include <tern/linalg.h>

#include <cmath>
#include <utility>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"

namespace tern::linalg {
namespace {

/// Calls f(i, sign, lu) for matrix i: `sign` is the sign of the row swaps, 1 or -1, and lu[k * (n + 1)] is U[k, k].
template <class T, class F>
void visit_factors(const std::vector<Tensor>& lu, F f) {
  const auto n = static_cast<std::size_t>(lu[0].sizes().back());
  const auto matrices = lu[0].span<T>();
  const auto pivots = lu[1].span<std::int32_t>();
  const auto count = static_cast<std::size_t>(lu[2].numel());
  for (std::size_t i = 0; i < count; ++i) {
    bool is_odd_permutation = false;
    for (std::size_t k = 0; k < n; ++k) is_odd_permutation ^= pivots[i * n + k] != static_cast<std::int32_t>(k) + 1;
    f(i, T(is_odd_permutation ? -1 : 1), matrices.subspan(i * n * n, n * n));
  }
}

std::vector<Tensor> lu_factors(const Nodes& nodes, const Tensor& a) {
  nodes.require_matrices(a);
  if (a.sizes().back() != a.sizes()[a.sizes().size() - 2]) nodes.refuse("only square matrices have determinants");
  return nodes.run(Op::lu_factor, {a}, {attr(AttrKey::check, 0)});
}

}  // namespace

Tensor det(const Tensor& a, const Options& options) {
  const std::vector<Tensor> lu = lu_factors(Nodes("det", options.threads), a);
  Tensor result(a.dtype(), lu[2].sizes());
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    const auto determinants = result.span<T>();
    const auto n = static_cast<std::size_t>(a.sizes().back());
    visit_factors<T>(lu, [&](std::size_t i, T product, std::span<const T> u) {
      for (std::size_t k = 0; k < n; ++k) product *= u[k * (n + 1)];
      determinants[i] = product;
    });
  });
  return result;
}

SlogdetResult slogdet(const Tensor& a, const Options& options) {
  const std::vector<Tensor> lu = lu_factors(Nodes("slogdet", options.threads), a);
  SlogdetResult result{Tensor(a.dtype(), lu[2].sizes()), Tensor(real_type(a.dtype()), lu[2].sizes())};
  visit(a.dtype(), [&](auto tag) {
    using T = decltype(tag);
    using R = typename RealOf<T>::type;
    const auto signs = result.sign.span<T>();
    const auto logs = result.logabsdet.span<R>();
    const auto n = static_cast<std::size_t>(a.sizes().back());
    visit_factors<T>(lu, [&](std::size_t i, T sign, std::span<const T> u) {
      R log = 0;
      for (std::size_t k = 0; k < n; ++k) {
        const T pivot = u[k * (n + 1)];
        const R magnitude = std::abs(pivot);
        sign *= magnitude == 0 ? T(0) : pivot / magnitude;
        log += std::log(magnitude);
      }
      signs[i] = sign;
      logs[i] = log;
    });
  });
  return result;
}

}  // namespace tern::linalg
