// Lowerings of systems of equations: solve, inverse, triangular, tensorsolve, least squares.
#include <array>
#include <cmath>

#include "exporter/lower/contraction.h"
#include "exporter/lower/linalg.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// True if B is a vector for each matrix: the shape of A without the last size.
bool is_vector(Builder& b, ValueId a, ValueId rhs) {
  if (b.rank(rhs) == 1) return true;
  if (b.rank(rhs) != b.rank(a) - 1) return false;
  for (int i = 0; i < b.rank(rhs); ++i) {
    if (!b.pool().proved_equal(b.size(a, i), b.size(rhs, i))) return false;
  }
  return true;
}

struct Solution {
  ValueId x, lu, pivots, info;
};

/// `of_transposed`: the factors of A^T instead of A.
Solution solve(Builder& b, const Call& c, ValueId a, ValueId rhs, bool check, bool of_transposed = false) {
  const bool left = c.flag_or("left", true), vector = is_vector(b, a, rhs);
  if (vector && !left) c.unsupported("a vector needs left=True");
  const Values f = lu_factor(b, of_transposed ? transposed(b, a) : a, check);
  ValueId x = lu_solve(b, f[0], f[1], vector ? b.unsqueeze(rhs, -1) : rhs, left,
                       of_transposed ? TransposeKind::transpose : TransposeKind::none);
  if (vector) x = b.squeeze(x, -1);
  return {x, f[0], f[1], f[2]};
}

Values linalg_solve(Builder& b, const Call& c) {
  return {solve(b, c, c.tensor("A"), c.tensor("B"), true).x};
}
Values linalg_solve_ex(Builder& b, const Call& c) {
  const Solution s = solve(b, c, c.tensor("A"), c.tensor("B"), c.flag("check_errors"));
  return {s.x, s.info};
}
Values linalg_solve_parts(Builder& b, const Call& c) {
  const Solution s = solve(b, c, c.tensor("A"), c.tensor("B"), c.flag("check_errors"), factors_transpose(b, c));
  return {s.x, s.lu, s.pivots, s.info};
}

Values linalg_lu_solve(Builder& b, const Call& c) {
  const auto op = c.flag("adjoint") ? TransposeKind::adjoint : TransposeKind::none;
  return {lu_solve(b, c.tensor("LU"), c.tensor("pivots"), c.tensor("B"), c.flag("left"), op)};
}
Values lu_solve_old(Builder& b, const Call& c) {
  return {lu_solve(b, c.tensor("LU_data"), c.tensor("LU_pivots"), c.tensor("self"), true, TransposeKind::none)};
}

Values linalg_inv(Builder& b, const Call& c) {
  return {inverse(b, c.tensor("A"), true).first};
}
Values inverse_old(Builder& b, const Call& c) {
  return {inverse(b, c.tensor("self"), true).first};
}
Values linalg_inv_ex(Builder& b, const Call& c) {
  const auto [x, info] = inverse(b, c.tensor("A"), c.flag("check_errors"));
  return {x, info};
}

Values linalg_solve_triangular(Builder& b, const Call& c) {
  return {triangular_solve(
      b, c.tensor("self"), c.tensor("B"),
      {.upper = c.flag("upper"), .left = c.flag("left"), .unit = c.flag("unitriangular"), .op = TransposeKind::none})};
}
Values triangular_solve_old(Builder& b, const Call& c) {
  const ValueId a = c.tensor("A");
  const auto op = c.flag("transpose") ? TransposeKind::transpose : TransposeKind::none;
  const ValueId x = triangular_solve(
      b, a, c.tensor("self"), {.upper = c.flag("upper"), .left = true, .unit = c.flag("unitriangular"), .op = op});
  return {x, b.expand(a, append_sizes(batch_of(b, x), {b.size(a, -2), b.size(a, -1)}))};
}

Dim product_of(Builder& b, const Dims& sizes, std::size_t begin, std::size_t end) {
  return b.pool().product({sizes.data() + begin, end - begin});
}

Values linalg_tensorinv(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t index = c.integer("ind");
  const Dims& sizes = b.shape(x);
  if (index <= 0 || index > b.rank(x)) c.unsupported("ind is outside the tensor's axes");
  const auto k = static_cast<std::size_t>(index);
  Dims shape(sizes.begin() + index, sizes.end());
  shape.insert(shape.end(), sizes.begin(), sizes.begin() + index);
  const ValueId matrix = b.reshape(x, {product_of(b, sizes, 0, k), product_of(b, sizes, k, sizes.size())});
  return {b.reshape(inverse(b, matrix, true).first, shape)};
}

Values linalg_tensorsolve(Builder& b, const Call& c) {
  ValueId a = c.tensor("self");
  const ValueId rhs = c.tensor("other");
  if (c.has_argument("dims")) {  // moved to the end, in their order
    std::vector<std::int64_t> moved = c.integers("dims"), order;
    for (std::int64_t& d : moved) d = b.normal_axis(a, d);
    for (std::int64_t i = 0; i < b.rank(a); ++i) {
      if (std::find(moved.begin(), moved.end(), i) == moved.end()) order.push_back(i);
    }
    order.insert(order.end(), moved.begin(), moved.end());
    a = b.permute(a, order);
  }
  if (b.rank(rhs) > b.rank(a)) c.unsupported("the right-hand side has more axes than the tensor");
  const Dims sizes(b.shape(a).begin() + b.rank(rhs), b.shape(a).end());
  const ValueId matrix = b.reshape(a, {b.numel(rhs), b.pool().product(sizes)});
  const Values f = lu_factor(b, matrix, true);
  const ValueId x = lu_solve(b, f[0], f[1], b.reshape(rhs, {b.numel(rhs), 1}), true, TransposeKind::none);
  return {b.reshape(x, sizes)};
}

Values linalg_lstsq(Builder& b, const Call& c) {
  ValueId a = c.tensor("self"), rhs = c.tensor("b");
  const bool vector = is_vector(b, a, rhs);
  if (vector) rhs = b.unsqueeze(rhs, -1);
  const std::string name = c.text_or("driver", "gelsy");
  constexpr std::array<std::string_view, kLstsqKinds> kDriverNames = {"gels", "gelsy", "gelsd", "gelss"};
  const auto it = std::find(kDriverNames.begin(), kDriverNames.end(), name);
  if (it == kDriverNames.end()) c.unsupported("unsupported driver '" + name + "'");
  std::vector<Attr> attrs = {attr(AttrKey::mode, Dim(it - kDriverNames.begin()))};
  if (c.has_argument("rcond")) {
    attrs.push_back(attr_number(AttrKey::epsilon, c.number("rcond")));
  } else {
    const Dim n = b.pool().max(b.size(a, -1), b.size(a, -2));
    if (!n.is_const()) c.unsupported("symbolic sizes need rcond");
    attrs.push_back(attr_number(AttrKey::epsilon, machine_epsilon(b.dtype(a)) * static_cast<double>(n.value())));
  }
  Values r = b.add_all(Op::lstsq, {a, rhs}, std::move(attrs));
  if (vector) {
    r[0] = b.squeeze(r[0], -1);
    if (!b.shape(r[1]).empty() && !b.shape(r[1])[0].is(0)) r[1] = b.squeeze(r[1], -1);
  }
  return r;
}

/// Fails the run after a failed factorization.
Values check_errors(Builder& b, const Call& c) {
  const ValueId info = c.tensor("info");
  const ValueId failed = b.reduce(b.expr("i != 0", {{"i", info}}, DType::i64, DType::boolean), "any", b.all_axes(info),
                                  false, DType::boolean);
  const Dim found = b.pool().new_symbol("info", 0, 1);
  b.add_all(Op::item, {failed}, {attr(AttrKey::symbols, found)});
  b.add_all(Op::assert_dim, {},
            {attr(AttrKey::dim, b.pool().eq(found, 0)),
             attr_text(AttrKey::text, c.text("api_name") + ": a matrix is singular or not positive definite")});
  return {};
}

constexpr Lowering kLinalgSolveLowerings[] = {
    {"aten.linalg_solve.default", linalg_solve},
    {"aten.linalg_solve_ex.default", linalg_solve_ex},
    {"aten._linalg_solve_ex.default", linalg_solve_parts},
    {"aten.linalg_lu_solve.default", linalg_lu_solve},
    {"aten.lu_solve.default", lu_solve_old},
    {"aten.linalg_inv.default", linalg_inv},
    {"aten.inverse.default", inverse_old},
    {"aten.linalg_inv_ex.default", linalg_inv_ex},
    {"aten.linalg_solve_triangular.default", linalg_solve_triangular},
    {"aten.triangular_solve.default", triangular_solve_old},
    {"aten.linalg_tensorinv.default", linalg_tensorinv},
    {"aten.linalg_tensorsolve.default", linalg_tensorsolve},
    {"aten.linalg_lstsq.default", linalg_lstsq},
    {"aten._linalg_check_errors.default", check_errors},
};

}  // namespace

std::span<const Lowering> solve_lowerings() {
  return kLinalgSolveLowerings;
}

}  // namespace tern
