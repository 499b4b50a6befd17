// lu_factor, cholesky: a matrix for each item.
#include <algorithm>

#include "kernels/portable/linalg.h"

namespace tern::portable {
namespace {

void lu_factor(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const Numbers w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  Launch k("lu_factor");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_matrix(k, "a", a, a);
  k.scratch("work", list.scratch(w.bytes(a.numel())), w.number, true);
  k.source.define("FACTORS", c.wants(0) ? 1 : 0);
  k.source.define("PIVOTS", c.wants(1) ? 1 : 0);
  k.source.define("INFO", c.wants(2) ? 1 : 0);
  k.source.define("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  if (c.wants(0)) {
    k.output("factors", 0, a.dtype);
    k.store("STORE", w.number, a.dtype);
  }
  if (c.wants(1)) k.output("pivots", 1, DType::i32);
  if (c.wants(2)) k.output("info", 2, DType::i32);
  k.may_fail();
  k.parameter("count", count);
  k.parameter("rows", rows);
  k.parameter("columns", columns);
  k.parameter("steps", std::min(rows, columns));
  list.add(std::move(k), count);
}

void cholesky(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const Numbers w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  const bool upper = c.node->integer(AttrKey::upper) != 0;
  Launch k("cholesky");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  // The upper triangle is that of the adjoint; its factor is L^H.
  declare_matrix(k, "a", a, a, 2, 2, upper);
  k.scratch("work", list.scratch(w.bytes(a.numel())), w.number, true);
  k.source.define("UPPER", upper ? 1 : 0);
  k.source.define("FACTOR", c.wants(0) ? 1 : 0);
  k.source.define("INFO", c.wants(1) ? 1 : 0);
  k.source.define("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  if (c.wants(0)) {
    k.output("factor", 0, a.dtype);
    k.store("STORE", w.number, a.dtype);
  }
  if (c.wants(1)) k.output("info", 1, DType::i32);
  k.may_fail();
  k.parameter("count", count);
  k.parameter("n", n);
  list.add(std::move(k), count);
}

}  // namespace

void register_factorizations(KernelTable& t) {
  t.set(Op::lu_factor, kernel<lu_factor>());
  t.set(Op::cholesky, kernel<cholesky>());
}

}  // namespace tern::portable
