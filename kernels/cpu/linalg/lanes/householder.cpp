#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu::lanes {
namespace {

bool multiplies(const KernelCall& c) {
  return static_cast<HouseholderKind>(c.node->integer(AttrKey::kind)) == HouseholderKind::multiply;
}

template <class T>
struct HouseholderTiles {
  explicit HouseholderTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        multiply(multiplies(call)),
        left(call.node->integer(AttrKey::left) != 0),
        transpose(call.node->integer(AttrKey::transpose) != 0),
        v(call.in[0], 2, call.out[0], 2),
        factors(call.in[1], 1, call.out[0], 2),
        rows(static_cast<int>(v.rows)),
        columns(static_cast<int>(v.columns)),
        k(static_cast<int>(factors.rows)) {
    if (multiply) target = BatchOperand(call.in[2], 2, call.out[0], 2);
    flops = 4.0 * rows * (multiply ? static_cast<double>(target.rows * target.columns) / rows : columns) * k;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(apart(rows) * columns * loops.lanes);
    tau = arena.allocate<T>(k * loops.lanes);
    if (multiply) x = arena.allocate<T>(target.rows * target.columns * loops.lanes);
  }
  void tile(std::int64_t first, int used, Leftover&) {
    T* out = output<T>(*c, 0, 0, 0);
    if (out == nullptr) return;
    const Tile<T> t = {matrix, 1, apart(rows)};
    loops.pack(matrices_of<T>(v, first, count, loops.lanes), nullptr, t);
    loops.pack(matrices_of<T>(factors, first, count, loops.lanes), nullptr, {tau, 1, k});
    if (!multiply) {
      loops.form_q(t, rows, columns, k, tau);
      return loops.unpack(t, nullptr, used, matrices_at(out, first, used, rows, columns));
    }
    // C Q is (Q^T C^T)^T, and Q^T the adjoint of the conjugate.
    if (!left) {
      conjugate(matrix, apart(rows) * columns, loops.lanes);
      conjugate(tau, k, loops.lanes);
    }
    const auto width = static_cast<std::ptrdiff_t>(target.columns);
    const Tile<T> c_tile = {x, width, 1}, seen = left ? c_tile : Tile<T>{x, 1, width};
    loops.pack(matrices_of<T>(target, first, count, loops.lanes), nullptr, c_tile);
    loops.reflect({matrix, 1, apart(rows)}, rows, k, tau, seen, static_cast<int>(left ? target.columns : target.rows),
                  transpose == left);
    loops.unpack(c_tile, nullptr, used, matrices_at(out, first, used, target.rows, target.columns));
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  bool multiply, left, transpose;
  BatchOperand v, factors, target;
  int rows, columns, k;
  T *matrix = nullptr, *tau = nullptr, *x = nullptr;
};

}  // namespace

bool Householder::supports(const KernelCall& c) {
  const TensorView &v = c.in[0], &y = multiplies(c) ? c.in[2] : v;
  if (y.numel() == 0 || v.numel() == 0) return false;
  const std::int64_t rows = v.size(v.rank - 2), columns = v.size(v.rank - 1), k = c.in[1].size(c.in[1].rank - 1);
  if (columns < k || rows < (multiplies(c) ? k : columns)) return false;  // run reports the error
  const std::int64_t size = std::max({rows, columns, y.size(y.rank - 2), y.size(y.rank - 1)});
  return within(v.dtype, size, batch_count(y, 2));
}
std::size_t Householder::scratch(const KernelCall& c) {
  return scratch_by_type<HouseholderTiles>(c);
}
void Householder::run(KernelCall& c, Leftover& leftover) {
  run_by_type<HouseholderTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
