// eigh, svd by Jacobi's rotations, matrix_exp: a matrix for each item.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/portable/linalg.h"

namespace tern::portable {
namespace {

double epsilon_of(DType real) {
  return real == DType::f64 ? std::numeric_limits<double>::epsilon()
                            : static_cast<double>(std::numeric_limits<float>::epsilon());
}

void eigh(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const Numbers w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  const bool upper = c.node->integer(AttrKey::upper) != 0, vectors = c.wants(1);
  Launch k("eigh");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  // What the upper triangle holds is the adjoint's lower one.
  declare_matrix(k, "a", a, a, 2, 2, upper);
  k.scratch("work", list.scratch(w.bytes(a.numel())), w.number, true);
  k.source.define("UPPER", upper ? 1 : 0);
  k.source.define("VALUES", c.wants(0) ? 1 : 0);
  k.source.define("VECTORS", vectors ? 1 : 0);
  if (c.wants(0)) {
    k.output("values", 0, c.out[0].dtype);
    k.store("STORE_VALUE", w.real, c.out[0].dtype);
  }
  if (vectors) {
    k.scratch("basis", list.scratch(w.bytes(a.numel())), w.number, true);
    k.output("vectors", 1, a.dtype);
    k.store("STORE", w.number, a.dtype);
  }
  k.may_fail();
  k.parameter("count", count);
  k.parameter("n", n);
  k.source.parameter("epsilon", w.real, epsilon_of(w.real));
  list.add(std::move(k), n == 0 ? 0 : count);
}

void svd(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const Numbers w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  const std::int64_t length = std::max(rows, columns), n = std::min(rows, columns);
  const bool full = c.node->integer(AttrKey::full) != 0, wide = rows < columns;
  const bool vectors = c.wants(0) || c.wants(2);
  const std::int64_t basis = full && vectors ? length : n;  // columns that are orthogonal in the end
  Launch k("svd");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_matrix(k, "a", a, a, 2, 2, wide);
  k.scratch("work", list.scratch(w.bytes(count * length * basis)), w.number, true);
  k.scratch("right", list.scratch(w.bytes(count * n * n)), w.number, true);
  k.scratch("lengths", list.scratch(w.real_bytes(count * basis)), w.real, true);
  k.source.define("WIDE", wide ? 1 : 0);
  k.source.define("VECTORS", vectors ? 1 : 0);
  k.source.define("U", c.wants(0) ? 1 : 0);
  k.source.define("VALUES", c.wants(1) ? 1 : 0);
  k.source.define("VH", c.wants(2) ? 1 : 0);
  if (c.wants(0)) k.output("u", 0, a.dtype);
  if (c.wants(1)) {
    k.output("values", 1, c.out[1].dtype);
    k.store("STORE_VALUE", w.real, c.out[1].dtype);
  }
  if (c.wants(2)) k.output("vh", 2, a.dtype);
  k.store("STORE", w.number, a.dtype);
  k.may_fail();
  k.parameter("count", count);
  k.parameter("length", length);
  k.parameter("n", n);
  k.parameter("basis", basis);
  const double epsilon = epsilon_of(w.real);
  k.source.parameter("epsilon", w.real, epsilon);
  k.source.parameter("tolerance", w.real, epsilon * std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1))));
  list.add(std::move(k), count);
}

void matrix_exp(const KernelCall& c, Launches& list) {
  constexpr std::int64_t kMatrices = 7;  // that the text works with
  const TensorView& a = c.in[0];
  const Numbers w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  Launch k("matrix_exp");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_matrix(k, "a", a, a);
  k.scratch("work", list.scratch(w.bytes(kMatrices * a.numel())), w.number, true);
  k.output("out", 0, a.dtype);
  k.store("STORE", w.number, a.dtype);
  k.parameter("count", count);
  k.parameter("n", n);
  list.add(std::move(k), n == 0 ? 0 : count);
}

}  // namespace

void register_spectra(KernelTable& t) {
  t.set(Op::eigh, kernel<eigh>());
  t.set(Op::svd, kernel<svd>());
  t.set(Op::matrix_exp, kernel<matrix_exp>());
}

}  // namespace tern::portable
