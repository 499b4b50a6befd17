// Tables of linear algebra, joined, and their shared helpers.
#include "exporter/lower/linalg.h"

#include <limits>

#include "exporter/lower/contraction.h"
#include "exporter/lower/movement.h"

namespace tern {

DType real_type(DType t) {
  return t == DType::c32 ? DType::f16 : t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

double machine_epsilon(DType t) {
  switch (real_type(t)) {
    case DType::f64: return std::numeric_limits<double>::epsilon();
    case DType::f16: return 0x1p-10;
    case DType::bf16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

ValueId conj(Builder& b, ValueId x) {
  return conjugate(b, x);
}
ValueId transposed(Builder& b, ValueId x) {
  return b.transpose(x, -2, -1);
}
ValueId adjoint(Builder& b, ValueId x) {
  return transposed(b, conjugate(b, x));
}

Dims batch_of(Builder& b, ValueId x) {
  return Dims(b.shape(x).begin(), b.shape(x).end() - 2);
}
Dims append_sizes(Dims batch, std::initializer_list<Dim> sizes) {
  batch.insert(batch.end(), sizes);
  return batch;
}

ValueId identity(Builder& b, Dim n, DType t) {
  const ValueId column = b.iota(n, DType::i64), row = b.reshape(column, {n, 1});
  const ValueId is_diagonal = b.expr("c == r", {{"c", column}, {"r", row}}, DType::i64, DType::boolean);
  return b.cast(is_diagonal, t);
}

ValueId triangle(Builder& b, ValueId x, bool lower, std::int64_t offset) {
  const Dim rows = b.size(x, -2), columns = b.size(x, -1);
  const ValueId column = b.iota(columns, DType::i64), row = b.reshape(b.iota(rows, DType::i64), {rows, 1});
  const ValueId in_triangle =
      b.expr(lower ? "c - r <= d" : "c - r >= d", {{"c", column}, {"r", row}, {"d", static_cast<double>(offset)}},
             DType::i64, DType::boolean);
  return b.expr("k ? x : 0", {{"k", in_triangle}, {"x", x}}, b.dtype(x));
}

ValueId matrix_diagonal(Builder& b, ValueId x) {
  return diagonal(b, x, 0, -2, -1);
}

bool is_empty(Builder& b, ValueId x) {
  for (Dim d : b.shape(x)) {
    if (d.is(0)) return true;
  }
  return false;
}
ValueId no_result(Builder& b, DType t) {
  return b.full({0}, 0, t);
}

bool factors_transpose(Builder& b, const Call& c) {
  return c.arg("A").contiguous && !is_complex(b.dtype(c.tensor("A")));
}

std::vector<ValueId> lu_factor(Builder& b, ValueId a, bool check) {
  return b.add_all(Op::lu_factor, {a}, {attr(AttrKey::check, Dim(check))});
}

ValueId lu_solve(Builder& b, ValueId lu, ValueId pivots, ValueId rhs, bool left, TransposeKind op) {
  return b.add(Op::lu_solve, {lu, pivots, rhs},
               {attr(AttrKey::left, Dim(left)), attr(AttrKey::transpose, Dim(static_cast<int>(op)))});
}

ValueId triangular_solve(Builder& b, ValueId a, ValueId rhs, const Triangle& t) {
  return b.add(Op::triangular_solve, {a, rhs},
               {attr(AttrKey::upper, Dim(t.upper)), attr(AttrKey::left, Dim(t.left)), attr(AttrKey::unit, Dim(t.unit)),
                attr(AttrKey::transpose, Dim(static_cast<int>(t.op)))});
}

std::pair<ValueId, ValueId> inverse(Builder& b, ValueId a, bool check) {
  const std::vector<ValueId> f = lu_factor(b, a, check);
  return {lu_solve(b, f[0], f[1], identity(b, b.size(a, -1), b.dtype(a)), true, TransposeKind::none), f[2]};
}

std::vector<ValueId> svd(Builder& b, ValueId a, bool full) {
  return b.add_all(Op::svd, {a}, {attr(AttrKey::full, Dim(full))});
}
ValueId singular_values(Builder& b, ValueId a) {
  return svd(b, a, false)[1];
}
std::vector<ValueId> eigh(Builder& b, ValueId a, bool upper) {
  return b.add_all(Op::eigh, {a}, {attr(AttrKey::upper, Dim(upper))});
}

std::span<const Lowering> linalg_lowerings() {
  static const std::vector<Lowering> lowerings = [] {
    std::vector<Lowering> v;
    for (const auto table :
         {factor_lowerings(), solve_lowerings(), spectral_lowerings(), power_lowerings(), matrix_norm_lowerings()})
      v.insert(v.end(), table.begin(), table.end());
    return v;
  }();
  return lowerings;
}

}  // namespace tern
