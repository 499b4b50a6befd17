// ldl_factor: a matrix for each item. ldl_solve: a right hand side for each.
#include "kernels/portable/definitions.h"
#include "kernels/portable/linalg.h"
#include "kernels/portable/matrix_groups.h"

namespace tern::portable {
namespace {

void ldl_factor(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  Launch k("ldl_factor");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_matrix(k, "a", a, a);
  k.scratch("work", list.scratch(w.bytes(a.numel())), w.number, true);
  k.source.choice("HERMITIAN", c.node->integer(AttrKey::hermitian) != 0 && is_complex(a.dtype) ? 1 : 0);
  k.source.choice("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  k.optional_output("FACTORS", "factors", 0, a.dtype, c.wants_output(0));
  k.store("STORE", w.number, a.dtype);
  k.optional_output("PIVOTS", "pivots", 1, DType::i32, c.wants_output(1));
  k.optional_output("INFO", "info", 2, DType::i32, c.wants_output(2));
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("n", n);
  add_items(list, std::move(k), count, n);
}

void ldl_solve(const KernelCall& c, Launches& list) {
  const TensorView &a = c.in[0], &b = c.in[2], &out = c.out[0];
  if (out.numel() == 0) return;
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t n = a.size(a.rank - 1), matrices = matrix_count(out), vectors = out.numel() / n / matrices;
  Launch k("ldl_solve");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.input("pivots", 1, DType::i32);
  k.input("b", 2, b.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  k.load("LOAD_B", b.dtype, w.number);
  declare_matrix(k, "a", a, out);
  declare_matrix(k, "pivots", c.in[1], out, 1, 2);
  declare_matrix(k, "b", b, out);
  k.source.choice("HERMITIAN", c.node->integer(AttrKey::hermitian) != 0 && is_complex(a.dtype) ? 1 : 0);
  k.scratch("work", list.scratch(w.bytes(out.numel())), w.number, true);
  k.output("out", 0, out.dtype);
  k.store("STORE", w.number, out.dtype);
  may_fail_of_matrix(k);
  k.parameter("count", matrices * vectors);
  k.parameter("n", n);
  k.parameter("vectors", vectors);
  list.add(std::move(k), matrices * vectors);
}

constexpr std::string_view kLdlFactorSamples[] = {
    "T=f64|c128: T[3,3]",
};
constexpr std::string_view kLdlSolveSamples[] = {
    "T=f64|c128: T[3,3], i32[3], T[3,3]",
};

}  // namespace

void define_ldl(Definitions& d) {
  d.set(Op::ldl_factor, kernel<ldl_factor>(), {.samples = kLdlFactorSamples, .sight = Sight::wide});
  d.set(Op::ldl_solve, kernel<ldl_solve>(), {.samples = kLdlSolveSamples, .sight = Sight::wide});
}

}  // namespace tern::portable
