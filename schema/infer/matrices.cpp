#include "schema/infer/matrices.h"

#include "schema/infer/checks.h"

namespace tern {

DType real_part(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}
DType complex_of(DType t) {
  return t == DType::f32 ? DType::c64 : t == DType::f64 ? DType::c128 : t;
}

Dims shape_of(Dims batch, std::initializer_list<Dim> sizes) {
  batch.insert(batch.end(), sizes);
  return batch;
}

Matrices matrices(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  const bool has_linalg_dtype =
      t.dtype == DType::f32 || t.dtype == DType::f64 || t.dtype == DType::c64 || t.dtype == DType::c128;
  c.require(has_linalg_dtype, "needs float32, float64, complex64 or complex128");
  c.require(t.rank() >= 2, "needs at least two axes");
  Matrices m{t.dtype, Dims(t.shape.begin(), t.shape.end() - 2), t.shape[t.shape.size() - 2], t.shape.back()};
  for (Dim d : {m.rows, m.columns}) {
    c.require(c.pool.bounds(d).min <= kMaxMatrix, "a matrix is too large for linear algebra");
  }
  return m;
}

Matrices square_matrices(const Inference& c, std::size_t i) {
  Matrices m = matrices(c, i);
  c.require_equal(m.rows, m.columns, "the rows and columns of a square matrix");
  if (m.columns.is_const()) m.rows = m.columns;
  return m;
}

void require_same_type(const Inference& c, std::size_t a, std::size_t b) {
  c.require(c.in(a).dtype == c.in(b).dtype, "the operands must have the same type");
}

}  // namespace tern
