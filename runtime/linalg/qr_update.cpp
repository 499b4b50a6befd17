// QR by reflections and its rank-one update (tern/linalg.h).
#include <tern/linalg.h>

#include <algorithm>
#include <cmath>

#include "runtime/linalg/elements.h"
#include "runtime/linalg/nodes.h"
#include "runtime/linalg/wide.h"
#include "schema/linalg_kinds.h"

namespace tern::linalg {
namespace {

using matrices::Complex;
using matrices::conjugate;
using matrices::MatrixRef;

template <class T>
struct GivensRotation {
  double cosine = 1;
  T sine = T(0);

  /// Turns (x, y) to (r, 0), and stores r in x.
  GivensRotation(T& x, T& y) {
    const double size = std::abs(x), length = std::hypot(size, std::abs(y));
    if (length == 0 || y == T(0)) return;
    const T direction = size == 0 ? T(1) : x / size;
    cosine = size / length;
    sine = direction * (conjugate(y) / length);
    x = direction * length;
    y = T(0);
  }
  void rotate(T& x, T& y) const {
    const T before = x;
    x = cosine * before + sine * y;
    y = cosine * y - conjugate(sine) * before;
  }
};

/// Turns rows k and k + 1 of R from column `begin`, and columns k and k + 1 of Q against it.
template <class T>
void apply_rotation(const GivensRotation<T>& g, std::int64_t k, std::int64_t begin, MatrixRef<T> q, MatrixRef<T> r) {
  for (std::int64_t c = begin; c < r.columns; ++c) g.rotate(r(k, c), r(k + 1, c));
  for (std::int64_t i = 0; i < q.rows; ++i) {
    T &x = q(i, k), &y = q(i, k + 1);
    const T before = x;
    x = before * g.cosine + y * conjugate(g.sine);
    y = y * g.cosine - before * g.sine;
  }
}

/// Makes Q [m, p] R [p, n] + Q w v^H upper triangular again, w [p] (Golub and Van Loan, Matrix Computations, 2013,
/// section 6.5.1).
template <class T>
void update(MatrixRef<T> q, MatrixRef<T> r, std::vector<T>& w, const T* v) {
  const std::int64_t p = r.rows, n = r.columns;
  for (std::int64_t k = p - 2; k >= 0; --k) {
    const GivensRotation<T> g(w[static_cast<std::size_t>(k)], w[static_cast<std::size_t>(k) + 1]);
    apply_rotation(g, k, std::min(k, n), q, r);
  }
  for (std::int64_t c = 0; p > 0 && c < n; ++c) r(0, c) += w[0] * conjugate(v[c]);
  for (std::int64_t k = 0; k + 1 < p && k < n; ++k) {
    const GivensRotation<T> g(r(k, k), r(k + 1, k));
    apply_rotation(g, k, k + 1, q, r);
  }
}

/// w = Q^H u. Subtracts Q w from u.
template <class T>
void project(MatrixRef<const T> q, std::vector<T>& u, std::vector<T>& w) {
  for (std::int64_t c = 0; c < q.columns; ++c) {
    T sum = T(0);
    for (std::int64_t i = 0; i < q.rows; ++i) sum += conjugate(q(i, c)) * u[static_cast<std::size_t>(i)];
    w[static_cast<std::size_t>(c)] = sum;
  }
  for (std::int64_t i = 0; i < q.rows; ++i) {
    for (std::int64_t c = 0; c < q.columns; ++c)
      u[static_cast<std::size_t>(i)] -= q(i, c) * w[static_cast<std::size_t>(c)];
  }
}

template <class T>
double length_of(const std::vector<T>& x) {
  double length = 0;
  for (const T e : x) length = std::hypot(length, std::abs(e));
  return length;
}

/// Updates the factors of one matrix in place.
template <class T>
void update_factors(MatrixRef<T> q, MatrixRef<T> r, const T* u, const T* v) {
  const std::int64_t m = q.rows, p = q.columns, n = r.columns;
  std::vector<T> rest(u, u + m), w(static_cast<std::size_t>(p) + 1);
  const double before = length_of(rest);
  project(MatrixRef<const T>(q.data, m, p), rest, w);
  if (p == m) {
    w.resize(static_cast<std::size_t>(p));
    return update(q, r, w, v);
  }
  // Q receives the part of u that it lacks as one more column (Daniel, Gragg, Kaufman and Stewart, 1976).
  std::vector<T> again(static_cast<std::size_t>(p) + 1);
  project(MatrixRef<const T>(q.data, m, p), rest, again);
  for (std::size_t k = 0; k < again.size(); ++k) w[k] += again[k];
  const double length = length_of(rest);
  const bool is_new = length > before * 1e-15;
  w[static_cast<std::size_t>(p)] = is_new ? T(length) : T(0);
  std::vector<T> more(static_cast<std::size_t>(m * (p + 1))), triangle(static_cast<std::size_t>((p + 1) * n));
  const MatrixRef<T> wide(more.data(), m, p + 1), tall(triangle.data(), p + 1, n);
  for (std::int64_t i = 0; i < m; ++i) {
    std::copy_n(q.row(i), p, wide.row(i));
    wide(i, p) = is_new ? rest[static_cast<std::size_t>(i)] / length : T(0);
  }
  std::copy_n(r.data, p * n, tall.data);
  update(wide, tall, w, v);
  for (std::int64_t i = 0; i < m; ++i) std::copy_n(wide.row(i), p, q.row(i));
  std::copy_n(tall.data, p * n, r.data);
}

}  // namespace

QrResult qr_update(const QrResult& factors, const Tensor& u, const Tensor& v, const Options& options) {
  const Nodes nodes("qr_update", options.threads);
  const Tensor &q = factors.q, &r = factors.r;
  nodes.require_matrices(q);
  require_same_batch(nodes, q, r);
  const std::int64_t m = q.sizes()[q.sizes().size() - 2], p = q.sizes().back(), n = r.sizes().back();
  if (r.sizes()[r.sizes().size() - 2] != p || p > m || (p < m && p != n))
    nodes.refuse("Q [m, m] needs R [m, n], and Q [m, n] needs R [n, n]");
  std::vector<std::int64_t> expected(q.sizes().begin(), q.sizes().end() - 1);
  const bool u_fits = u.dtype() == q.dtype() && u.sizes() == expected;
  expected.back() = n;
  if (!u_fits || v.dtype() != q.dtype() || v.sizes() != expected)
    nodes.refuse("u [m] and v [n] must have the type and batch of Q");
  Tensor wide_q = widened(q, false), wide_r = widened(r, false),
         info(DType::i32, {q.sizes().begin(), q.sizes().end() - 2});
  const Tensor wide_u = widened(u, false), wide_v = widened(v, false);
  visit_matrices(info, 12.0 * static_cast<double>(p * (m + n)), [&](std::int64_t i) {
    const auto run = [&](auto tag) {
      using T = decltype(tag);
      update_factors(matrix_of<T>(wide_q, i), matrix_of<T>(wide_r, i), wide_u.span<T>().data() + i * m,
                     wide_v.span<T>().data() + i * n);
    };
    wide_q.dtype() == DType::f64 ? run(double()) : run(Complex());
    return 0;
  });
  return {narrowed(wide_q, q.dtype()), narrowed(wide_r, q.dtype())};
}

QrReflectors geqrf(const Tensor& a, const Options& options) {
  const auto mode = static_cast<std::int64_t>(QrKind::reflectors);
  const std::vector<Tensor> r = Nodes("geqrf", options.threads).run(Op::qr, {a}, {attr(AttrKey::mode, mode)});
  return {r[0], r[1]};
}

Tensor ormqr(const QrReflectors& factors, const Tensor& c, const OrmqrOptions& options) {
  const auto kind = static_cast<std::int64_t>(HouseholderKind::multiply);
  const auto op = static_cast<std::int64_t>(options.adjoint ? TransposeKind::adjoint : TransposeKind::none);
  return Nodes("ormqr", options.threads)
      .run(Op::householder, {factors.a, factors.tau, c},
           {attr(AttrKey::kind, kind), attr(AttrKey::left, options.left), attr(AttrKey::transpose, op)})[0];
}

}  // namespace tern::linalg
