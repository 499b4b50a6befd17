// lu_factor, cholesky: a matrix for each item.
#include <algorithm>

#include "kernels/portable/definitions.h"
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
  k.source.choice("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  k.optional_output("FACTORS", "factors", 0, a.dtype, c.wants(0));
  k.store("STORE", w.number, a.dtype);
  k.optional_output("PIVOTS", "pivots", 1, DType::i32, c.wants(1));
  k.optional_output("INFO", "info", 2, DType::i32, c.wants(2));
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
  k.source.choice("UPPER", upper ? 1 : 0);
  k.source.choice("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  k.optional_output("FACTOR", "factor", 0, a.dtype, c.wants(0));
  k.store("STORE", w.number, a.dtype);
  k.optional_output("INFO", "info", 1, DType::i32, c.wants(1));
  k.may_fail();
  k.parameter("count", count);
  k.parameter("n", n);
  list.add(std::move(k), count);
}

constexpr std::string_view kLuFactorSamples[] = {
    "T=f64|c128: T[3,3]",
};
constexpr std::string_view kCholeskySamples[] = {
    "T=f64|c128: T[3,3]",
};

}  // namespace

void define_factorizations(Definitions& d) {
  d.set(Op::lu_factor, kernel<lu_factor>(), {.samples = kLuFactorSamples, .sight = Sight::wide});
  d.set(Op::cholesky, kernel<cholesky>(), {.samples = kCholeskySamples, .sight = Sight::wide});
}

}  // namespace tern::portable
