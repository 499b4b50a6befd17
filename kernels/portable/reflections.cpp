// qr, householder: Householder reflections; an item or a group of items computes the reflections of a matrix, and an
// item for each vector applies them.
#include <tern/error.h>

#include <algorithm>

#include "kernels/portable/definitions.h"
#include "kernels/portable/linalg.h"
#include "kernels/portable/matrix_groups.h"
#include "schema/linalg_kinds.h"

namespace tern::portable {
namespace {

/// Common parameters of both uses of text/reflect.inc: `vectors` vectors of `length` elements for each of `count`
/// matrices, `steps` reflections.
struct Reflected {
  std::int64_t count, length, vectors, steps;
  bool right = false, adjoint = false;
};

void declare_reflected(Launch& k, Launches& list, const Reflected& s, const LinalgTypes& w) {
  k.source.choice("RIGHT", s.right ? 1 : 0);
  k.source.choice("ADJOINT", s.adjoint ? 1 : 0);
  // Q C and C Q^H begin with the last reflection.
  k.source.choice("BACKWARD", s.right == s.adjoint ? 1 : 0);
  k.scratch("work", list.scratch(w.bytes(s.count * s.length * s.vectors)), w.number, true);
  k.parameter("count", s.count * s.vectors);
  k.parameter("length", s.length);
  k.parameter("vectors", s.vectors);
  k.parameter("steps", s.steps);
  k.parameter("out_row", s.right ? 1 : s.vectors);
  k.parameter("out_column", s.right ? s.length : 1);
}

void qr(const KernelCall& c, Launches& list) {
  const TensorView& a = c.in[0];
  const auto mode = static_cast<QrKind>(c.node->integer(AttrKey::mode));
  const LinalgTypes w(a.dtype, list.target());
  const std::int64_t count = matrix_count(a), rows = a.size(a.rank - 2), columns = a.size(a.rank - 1);
  const std::int64_t steps = std::min(rows, columns), inner = mode == QrKind::complete ? rows : steps;
  const bool reflectors = mode == QrKind::reflectors;
  const bool applied = !reflectors && mode != QrKind::r && c.wants_output(0) && c.out[0].numel() != 0;
  // An item has a column.
  auto groups = MatrixGroups::choose(
      list.target(), {.count = count, .side = std::max(rows, columns), .elements = columns, .columns = columns});
  Launch k(groups ? "qr_group" : "qr");
  w.declare(k);
  if (groups) groups->declare(k.source);
  const bool kept = groups && groups->place_in_local(k.source, "W", "work", rows, columns, w.number);
  const std::uint64_t work = list.scratch(kept && !applied ? 0 : w.bytes(a.numel())),
                      taus = list.scratch(w.bytes(count * steps));
  if (groups) k.source.choice("APPLIED", applied ? 1 : 0);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, w.number);
  declare_finished(k, c, 1);
  declare_matrix(k, "a", a, a);
  k.scratch("work", work, w.number, true);
  k.scratch("taus", taus, w.number, true);
  k.optional_output("REFLECTORS", "factors", 0, a.dtype, reflectors && c.wants_output(0));
  k.optional_output("TAUS", "tau_out", 1, a.dtype, reflectors && c.wants_output(1));
  k.optional_output("TRIANGLE", "triangle", 1, a.dtype, !reflectors && c.wants_output(1));
  k.store("STORE", w.number, a.dtype);
  k.parameter("count", count);
  k.parameter("rows", rows);
  k.parameter("columns", columns);
  k.parameter("steps", steps);
  k.parameter("inner", inner);
  add_matrices(list, std::move(k), groups, count, std::max(rows, columns));
  if (!applied) return;

  Launch q("reflect");
  w.declare(q);
  declare_finished(q, c, 1);
  q.scratch("v", work, w.number, false);
  q.scratch("taus", taus, w.number, false);
  q.load("LOAD_V", w.number, w.number);
  q.load("LOAD_TAU", w.number, w.number);
  const std::int64_t counts[] = {count}, matrices[] = {rows * columns}, vectors[] = {steps};
  q.source.view("v", counts, matrices);
  q.source.view("taus", counts, vectors);
  q.parameter("v_row", columns);
  q.parameter("v_column", std::int64_t{1});
  q.parameter("taus_row", std::int64_t{1});
  q.source.define("IDENTITY", 1);
  declare_reflected(q, list, {.count = count, .length = rows, .vectors = inner, .steps = steps}, w);
  q.output("out", 0, a.dtype);
  q.store("STORE", w.number, a.dtype);
  list.add(std::move(q), count * inner);
}

void householder(const KernelCall& c, Launches& list) {
  const TensorView &v = c.in[0], &tau = c.in[1], &out = c.out[0];
  const bool multiply = static_cast<HouseholderKind>(c.node->integer(AttrKey::kind)) == HouseholderKind::multiply;
  const LinalgTypes w(v.dtype, list.target());
  const std::int64_t rows = v.size(v.rank - 2), columns = v.size(v.rank - 1), steps = tau.size(tau.rank - 1);
  if (rows < (multiply ? steps : columns) || columns < steps)
    fail(ErrorCode::runtime, "there are more reflections than rows or columns");
  if (out.numel() == 0) return;
  const std::int64_t count = matrix_count(out);
  Reflected s{.count = count, .length = rows, .vectors = out.numel() / rows / count, .steps = steps};
  if (multiply) {
    s.right = c.node->integer(AttrKey::left) == 0;
    s.adjoint = static_cast<TransposeKind>(c.node->integer(AttrKey::transpose)) != TransposeKind::none;
  }
  Launch k("reflect");
  w.declare(k);
  k.input("v", 0, v.dtype);
  k.input("taus", 1, tau.dtype);
  k.load("LOAD_V", v.dtype, w.number);
  k.load("LOAD_TAU", tau.dtype, w.number);
  declare_finished(k, c, c.in.size());
  declare_matrix(k, "v", v, out);
  declare_matrix(k, "taus", tau, out, 1);
  k.source.define("IDENTITY", multiply ? 0 : 1);
  if (multiply) {
    k.input("c", 2, c.in[2].dtype);
    k.load("LOAD_C", c.in[2].dtype, w.number);
    declare_matrix(k, "c", c.in[2], out, 2, 2, s.right);
  }
  declare_reflected(k, list, s, w);
  k.output("out", 0, out.dtype);
  k.store("STORE", w.number, out.dtype);
  list.add(std::move(k), s.count * s.vectors);
}

constexpr std::string_view kQrSamples[] = {
    "T=f64|c128: T[3,3]; mode=reduced",
};
constexpr std::string_view kHouseholderSamples[] = {
    "T=f64|c128: T[3,3], T[3]; kind=product",
    "T=f64|c128: T[3,3], T[3], T[3,3]; kind=multiply",
};

}  // namespace

void define_reflections(Definitions& d) {
  d.set(Op::qr, kernel<qr>(), {.samples = kQrSamples, .sight = Sight::wide});
  d.set(Op::householder, kernel<householder>(), {.samples = kHouseholderSamples, .sight = Sight::wide});
}

}  // namespace tern::portable
