// triangular_solve, lu_solve: a right hand side for each item or for each group of items.
#include "kernels/portable/definitions.h"
#include "kernels/portable/linalg.h"
#include "kernels/portable/matrix_groups.h"
#include "schema/linalg_kinds.h"

namespace tern::portable {
namespace {

/// Processing of a triangle: skipped, divided by its diagonal, or with a unit diagonal.
enum TriangleMode : std::int64_t { kNone = 0, kPlain = 1, kUnit = 2 };

/// A matrix and right hand sides. X op(A) = B is op(A)^T X^T = B^T, expressed by strides.
struct Sides {
  explicit Sides(const KernelCall& c) {
    is_left = c.node->integer(AttrKey::left) != 0;
    const auto op = static_cast<TransposeKind>(c.node->integer(AttrKey::transpose));
    transposed = (op != TransposeKind::none) == is_left;
    conjugate = op == TransposeKind::adjoint;
  }
  bool is_left, transposed, conjugate;
};

// Smallest number of right hand sides per matrix with neighbouring items reading the same matrix element.
constexpr std::int64_t kFewVectors = 8;

std::optional<MatrixGroups> groups_of(const Launches& list, const LinalgTypes& w, std::int64_t matrices, std::int64_t n,
                                      std::int64_t vectors) {
  constexpr std::int64_t kMostRows = 1 << 10;  // largest number of rows fitting in every device's local memory
  const std::int64_t rows = w.number == DType::c128 ? kMostRows / 2 : kMostRows;
  if (vectors > kFewVectors || n > rows) return std::nullopt;
  return MatrixGroups::choose(list.target(), {.count = matrices * vectors, .side = n, .elements = n, .columns = n});
}

void solve(const KernelCall& c, Launches& list, const Sides& s, std::size_t rhs, TriangleMode lower, TriangleMode upper,
           bool swaps) {
  const TensorView &a = c.in[0], &b = c.in[rhs], &out = c.out[0];
  if (out.numel() == 0) return;
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t n = a.size(a.rank - 1), matrices = matrix_count(out), vectors = out.numel() / n / matrices;
  auto groups = groups_of(list, w, matrices, n, vectors);
  Launch k(groups ? "solve_group" : "solve");
  w.declare(k);
  if (groups) {
    groups->declare(k.source);
    groups->place_in_local(k.source, "X_OF", "", 1, n, w.number);
    groups->place_in_local(k.source, "P_OF", "", 1, n, w.number);
    groups->place_in_local(k.source, "PIVOT_OF", "", 1, swaps ? n : 1, DType::i32);
  }
  k.input("a", 0, a.dtype);
  k.input("b", rhs, b.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  k.load("LOAD_B", b.dtype, w.number);
  declare_matrix(k, "a", a, out, 2, 2, s.transposed);
  declare_matrix(k, "b", b, out, 2, 2, !s.is_left);
  k.source.choice("CONJUGATE", s.conjugate ? 1 : 0);
  k.source.choice("LOWER", lower);
  k.source.choice("UPPER", upper);
  k.source.choice("SWAPS", !swaps ? 0 : s.transposed ? 2 : 1);
  k.optional_input("PIVOTS", "pivots", 1, DType::i32, swaps);
  if (swaps) {
    declare_matrix(k, "pivots", c.in[1], out, 1, 2);
  } else {
    k.parameter("pivots_row", std::int64_t{0});
    k.source.view("pivots", {}, {});
  }
  may_fail_of_matrix(k);
  if (!groups) k.scratch("work", list.scratch(w.bytes(out.numel())), w.number, true);
  k.output("out", 0, out.dtype);
  k.store("STORE", w.number, out.dtype);
  k.parameter("count", matrices * vectors);
  k.parameter("n", n);
  k.parameter("vectors", vectors);
  k.parameter("out_row", s.is_left ? vectors : 1);
  k.parameter("out_column", s.is_left ? 1 : n);
  add_matrices(list, std::move(k), groups, matrices * vectors, vectors > kFewVectors ? 1 : n);
}

void triangular_solve(const KernelCall& c, Launches& list) {
  const Sides s(c);
  const bool upper = (c.node->integer(AttrKey::upper) != 0) != s.transposed;
  const TriangleMode triangle = c.node->integer(AttrKey::unit) != 0 ? kUnit : kPlain;
  solve(c, list, s, 1, upper ? kNone : triangle, upper ? triangle : kNone, false);
}

// P L U, or its transpose U^T L^T P^T.
void lu_solve(const KernelCall& c, Launches& list) {
  const Sides s(c);
  solve(c, list, s, 2, s.transposed ? kPlain : kUnit, s.transposed ? kUnit : kPlain, true);
}

constexpr std::string_view kTriangularSolveSamples[] = {
    "T=f64|c128: T[3,3], T[3,3]; left=1",
};
constexpr std::string_view kLuSolveSamples[] = {
    "T=f64|c128: T[3,3], i32[3], T[3,3]; left=1",
};

}  // namespace

void define_solvers(Definitions& d) {
  d.set(Op::triangular_solve, kernel<triangular_solve>(), {.samples = kTriangularSolveSamples, .sight = Sight::wide});
  d.set(Op::lu_solve, kernel<lu_solve>(), {.samples = kLuSolveSamples, .sight = Sight::wide});
}

}  // namespace tern::portable
