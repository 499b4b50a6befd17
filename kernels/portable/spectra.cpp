// eigh and svd by Jacobi's rotations, a matrix for each item or for each group of items; lstsq by svd; eig, matrix_exp:
// a matrix for each item.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/portable/definitions.h"
#include "kernels/portable/linalg.h"
#include "kernels/portable/matrix_groups.h"
#include "schema/linalg_kinds.h"

namespace tern::portable {
namespace {

/// The type of the parts of numbers of `t`.
DType real_part(DType t) {
  return t == DType::c128 ? DType::f64 : t == DType::c64 ? DType::f32 : t;
}

double epsilon_of(DType real) {
  return real == DType::f64 ? std::numeric_limits<double>::epsilon()
                            : static_cast<double>(std::numeric_limits<float>::epsilon());
}

void eigh(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  const bool upper = c.node->integer(AttrKey::upper) != 0;
  // A rotation changes two rows and columns, and two vectors.
  auto groups = MatrixGroups::choose(list.target(), {.count = count,
                                                     .side = n,
                                                     .elements = c.wants_output(1) ? 2 * n : n,
                                                     .columns = n,
                                                     .bytes = element_size(w.real)});
  Launch k(groups ? "eigh_group" : "eigh");
  w.declare(k);
  if (groups) groups->declare(k.source);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_finished(k, c, 1);
  // The upper triangle holds the adjoint's lower triangle.
  declare_matrix(k, "a", a, a, 2, 2, upper);
  const bool kept = groups && groups->place_in_local(k.source, "W", "work", n, n, w.number);
  const bool kept_basis =
      groups && groups->place_in_local(k.source, "V", "basis", c.wants_output(1) ? n : 0, n, w.number);
  k.scratch("work", list.scratch(kept ? 0 : w.bytes(a.numel())), w.number, true);
  k.scratch("basis", list.scratch(c.wants_output(1) && !kept_basis ? w.bytes(a.numel()) : 0), w.number, true);
  k.source.choice("UPPER", upper ? 1 : 0);
  k.optional_output("VALUES", "values", 0, real_part(a.dtype), c.wants_output(0));
  k.optional_output("VECTORS", "vectors", 1, a.dtype, c.wants_output(1));
  k.store("STORE_VALUE", w.real, real_part(a.dtype));
  k.store("STORE", w.number, a.dtype);
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("n", n);
  k.source.parameter("epsilon", w.real, epsilon_of(w.real));
  add_matrices(list, std::move(k), groups, n == 0 ? 0 : count, n);
}

/// Singular value decompositions of operand 0; `declare` declares the outputs `u`, `values` and `vh`, and their
/// presence U, VALUES and VH. `u` and `vh` repeat the presence.
template <class Declare>
void add_svd(const KernelCall& c, Launches& list, const LinalgTypes& w, bool full, bool u, bool vh,
             const Declare& declare) {
  const std::size_t operands = c.node->op == Op::svd ? 1 : 2;
  const TensorView& a = c.in[0];
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  const std::int64_t length = std::max(rows, columns), n = std::min(rows, columns);
  const bool wide = rows < columns;
  const std::int64_t basis = full && (u || vh) ? length : n;  // columns made orthogonal
  // Half of the columns are rotated at once, with the columns of V; an item has eight or more of their elements.
  auto groups = MatrixGroups::choose(list.target(), {.count = count,
                                                     .side = length,
                                                     .elements = n * (length + n) / 16,
                                                     .columns = length,
                                                     .bytes = 3 * element_size(w.real) + element_size(w.number) + 4});
  Launch k(groups ? "svd_group" : "svd");
  w.declare(k);
  if (groups) groups->declare(k.source);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_finished(k, c, operands);
  declare_matrix(k, "a", a, a, 2, 2, wide);
  const bool kept = groups && groups->place_in_local(k.source, "G", "work", basis, length, w.number);
  const bool kept_right = groups && groups->place_in_local(k.source, "V", "right", n, n, w.number);
  k.scratch("work", list.scratch(kept ? 0 : w.bytes(count * length * basis)), w.number, true);
  k.scratch("right", list.scratch(kept_right ? 0 : w.bytes(count * n * n)), w.number, true);
  k.scratch("lengths", list.scratch(w.real_bytes(count * basis)), w.real, true);
  k.source.choice("WIDE", wide ? 1 : 0);
  k.source.choice("VECTORS", u || vh ? 1 : 0);
  declare(k);
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("length", length);
  k.parameter("n", n);
  k.parameter("basis", basis);
  const double epsilon = epsilon_of(w.real);
  k.source.parameter("epsilon", w.real, epsilon);
  k.source.parameter("tolerance", w.real, epsilon * std::sqrt(static_cast<double>(std::max<std::int64_t>(length, 1))));
  add_matrices(list, std::move(k), groups, count, length);
}

void svd(const KernelCall& c, Launches& list) {
  const LinalgTypes w(c.in[0].dtype, list.target());
  const bool full = c.node->integer(AttrKey::full) != 0;
  add_svd(c, list, w, full, c.wants_output(0), c.wants_output(2), [&](Launch& k) {
    k.optional_output("U", "u", 0, c.in[0].dtype, c.wants_output(0));
    k.optional_output("VALUES", "values", 1, real_part(c.in[0].dtype), c.wants_output(1));
    k.optional_output("VH", "vh", 2, c.in[0].dtype, c.wants_output(2));
    k.store("STORE", w.number, c.in[0].dtype);
    k.store("STORE_VALUE", w.real, real_part(c.in[0].dtype));
  });
}

// Uses singular values for every driver: the shortest of the best solutions.
void lstsq(const KernelCall& c, Launches& list) {
  const TensorView &a = c.in[0], &b = c.in[1];
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  const std::int64_t n = std::min(rows, columns), vectors = b.size(b.rank - 1);
  const auto driver = static_cast<LstsqKind>(c.node->integer(AttrKey::mode));
  const DType real = real_part(a.dtype);
  const std::uint64_t u = list.scratch(w.bytes(count * rows * n)), values = list.scratch(w.real_bytes(count * n)),
                      vh = list.scratch(w.bytes(count * n * columns));
  add_svd(c, list, w, false, true, true, [&](Launch& k) {
    for (const char* wanted : {"U", "VALUES", "VH"}) k.source.choice(wanted, 1);
    k.scratch("u", u, w.number, true);
    k.scratch("values", values, w.real, true);
    k.scratch("vh", vh, w.number, true);
    k.store("STORE", w.number, w.number);
    k.store("STORE_VALUE", w.real, w.real);
  });
  const bool residuals = c.wants_output(1) && c.out[1].numel() > 0;
  const bool ranks = c.wants_output(2) && driver != LstsqKind::gels, stored = c.wants_output(3) && c.out[3].numel() > 0;
  const double epsilon = c.node->number(AttrKey::epsilon);
  Launch k("lstsq");
  w.declare(k);
  k.scratch("u", u, w.number, false);
  k.scratch("values", values, w.real, false);
  k.scratch("vh", vh, w.number, false);
  k.input("a", 0, a.dtype);
  k.input("b", 1, b.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  k.load("LOAD_B", b.dtype, w.number);
  declare_matrix(k, "a", a, a);
  declare_matrix(k, "b", b, a);
  k.scratch("work", list.scratch(w.bytes(count * columns * vectors)), w.number, true);
  k.source.choice("FULL_RANK", driver == LstsqKind::gels ? 1 : 0);
  k.optional_output("SOLUTION", "x", 0, a.dtype, c.wants_output(0));
  k.optional_output("RESIDUALS", "residuals", 1, real, residuals);
  k.optional_output("RANKS", "ranks", 2, DType::i64, ranks);
  k.optional_output("VALUES", "values_out", 3, real, stored);
  k.store("STORE", w.number, a.dtype);
  k.store("STORE_REAL", w.real, real);
  may_fail_of_matrix(k);
  k.parameter("count", count * (vectors + 1));
  k.parameter("rows", rows);
  k.parameter("columns", columns);
  k.parameter("n", n);
  k.parameter("vectors", vectors);
  k.source.parameter("cutoff", w.real, epsilon < 0 ? epsilon_of(real) : epsilon);
  list.add(std::move(k), count * (vectors + 1));
}

void eig(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const DType complex = real_part(a.dtype) == DType::f64 ? DType::c128 : DType::c64;
  const LinalgTypes w(complex, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  Launch k("eig");
  w.declare(k);
  k.source.add_library("complex:" + type_name(w.number));
  k.source.define("W_SQRT(a)", "tern_sqrt_" + type_name(w.number) + "(a)");
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_matrix(k, "a", a, a);
  k.scratch("work", list.scratch(w.bytes(a.numel())), w.number, true);
  k.scratch("basis", list.scratch(w.bytes(a.numel())), w.number, true);
  k.scratch("turns", list.scratch(w.bytes(2 * count * n)), w.number, true);
  k.optional_output("VALUES", "values", 0, complex, c.wants_output(0));
  k.optional_output("VECTORS", "vectors", 1, complex, c.wants_output(1));
  k.store("STORE", w.number, complex);
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("n", n);
  k.source.parameter("epsilon", w.real, epsilon_of(w.real));
  add_items(list, std::move(k), n == 0 ? 0 : count, n);
}

void matrix_exp(const KernelCall& c, Launches& list) {
  constexpr std::int64_t kMatrices = 7;  // matrices in the text's work memory
  const TensorView& a = c.in[0];
  const LinalgTypes w(a.dtype, list.target());
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
  add_items(list, std::move(k), n == 0 ? 0 : count, n);
}

constexpr std::string_view kEighSamples[] = {
    "T=f64|c128: T[3,3]",
};
constexpr std::string_view kSvdSamples[] = {
    "T=f64|c128: T[3,3]",
};
constexpr std::string_view kLstsqSamples[] = {
    "T=f32|f64|c64|c128: T[3,3], T[3,3]; mode=gels",
};
constexpr std::string_view kEigSamples[] = {
    "T=f64|c128: T[3,3]",
};
constexpr std::string_view kMatrixExpSamples[] = {
    "T=f64|c128: T[3,3]",
};

}  // namespace

void define_spectra(Definitions& d) {
  d.set(Op::eigh, kernel<eigh>(), {.samples = kEighSamples, .sight = Sight::wide});
  d.set(Op::svd, kernel<svd>(), {.samples = kSvdSamples, .sight = Sight::wide});
  d.set(Op::lstsq, kernel<lstsq>(), {.samples = kLstsqSamples});
  d.set(Op::eig, kernel<eig>(), {.samples = kEigSamples, .sight = Sight::wide});
  d.set(Op::matrix_exp, kernel<matrix_exp>(), {.samples = kMatrixExpSamples, .sight = Sight::wide});
}

}  // namespace tern::portable
