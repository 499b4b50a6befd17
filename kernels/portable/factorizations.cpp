// lu_factor, cholesky: a matrix for each item or for each group of items.
#include <algorithm>

#include "kernels/portable/definitions.h"
#include "kernels/portable/linalg.h"
#include "kernels/portable/matrix_groups.h"

namespace tern::portable {
namespace {

/// Each step changes a third of the elements on average; an item has a few elements.
std::optional<MatrixGroups> groups_of(const Launches& list, std::int64_t count, std::int64_t rows,
                                      std::int64_t columns) {
  return MatrixGroups::choose(
      list.target(),
      {.count = count, .side = std::max(rows, columns), .elements = rows * columns / 8, .columns = columns});
}

/// `work`, or W(r, c) and panels of a group.
void declare_work(Launch& k, Launches& list, std::optional<MatrixGroups>& groups, const LinalgTypes& w,
                  const TensorView& a, std::int64_t rows, std::int64_t columns) {
  if (groups) groups->declare(k.source);
  const bool kept = groups && groups->place_in_local(k.source, "W", "work", rows, columns, w.number);
  k.scratch("work", list.scratch(kept ? 0 : w.bytes(a.numel())), w.number, true);
  if (!groups) return;
  const std::int64_t panel = groups->keep_panel(k.source, rows, kept, w.number);
  k.scratch("panel", list.scratch(w.bytes(matrix_count(a) * panel)), w.number, true);
}

void lu_factor(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  auto groups = groups_of(list, count, rows, columns);
  Launch k(groups ? "lu_factor_group" : "lu_factor");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_finished(k, c, 1);
  declare_matrix(k, "a", a, a);
  declare_work(k, list, groups, w, a, rows, columns);
  k.source.choice("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  k.optional_output("FACTORS", "factors", 0, a.dtype, c.wants_output(0));
  k.store("STORE", w.number, a.dtype);
  k.optional_output("PIVOTS", "pivots", 1, DType::i32, c.wants_output(1));
  k.optional_output("INFO", "info", 2, DType::i32, c.wants_output(2));
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("rows", rows);
  k.parameter("columns", columns);
  k.parameter("steps", std::min(rows, columns));
  add_matrices(list, std::move(k), groups, count, std::max(rows, columns));
}

void cholesky(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), n = a.size(a.rank - 1);
  const bool upper = c.node->integer(AttrKey::upper) != 0;
  auto groups = groups_of(list, count, n, n);
  Launch k(groups ? "cholesky_group" : "cholesky");
  w.declare(k);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_finished(k, c, 1);
  // The upper triangle is the adjoint's lower triangle; its factor is L^H.
  declare_matrix(k, "a", a, a, 2, 2, upper);
  declare_work(k, list, groups, w, a, n, n);
  k.source.choice("UPPER", upper ? 1 : 0);
  k.source.choice("CHECK", c.node->integer(AttrKey::check) != 0 ? 1 : 0);
  k.optional_output("FACTOR", "factor", 0, a.dtype, c.wants_output(0));
  k.store("STORE", w.number, a.dtype);
  k.optional_output("INFO", "info", 1, DType::i32, c.wants_output(1));
  may_fail_of_matrix(k);
  k.parameter("count", count);
  k.parameter("n", n);
  add_matrices(list, std::move(k), groups, count, n);
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
