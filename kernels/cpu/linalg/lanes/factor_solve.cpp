#include "kernels/cpu/linalg/lanes/solve.h"

namespace tern::cpu::lanes {
namespace {

/// lu_solve of matrices without factors: the factors stay in the tile.
template <class T>
struct FactorSolveTiles : SolveTiles<T> {
  explicit FactorSolveTiles(const KernelCall& call)
      : SolveTiles<T>(call, 2), check(call.node->integer(AttrKey::check) != 0) {
    if (this->transposed) std::swap(this->a.row, this->a.column);
    this->transposed = false;
    const double n = this->n;
    this->flops = 2 * this->flops + 2.0 / 3 * n * n * n;
    is_joint = this->loops.solve != nullptr && this->n <= kMostAtOnce && this->columns <= kColumnsAtOnce;
  }
  void allocate(ScratchArena& arena) {
    const std::int64_t lanes = this->loops.lanes;
    if (!is_joint) {
      SolveTiles<T>::allocate(arena);
      pivots = arena.allocate<std::int32_t>(this->n * lanes);
      order = arena.allocate<std::int32_t>(this->n * lanes);
      return;
    }
    const std::int64_t rows = padded(this->n);
    this->matrix = arena.allocate<T>(rows * rows * lanes);
    this->x = arena.allocate<T>(rows * this->columns * lanes);
    scratch = arena.allocate<T>(solve_scratch(this->n, static_cast<int>(this->columns)) * lanes);
  }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    Infos infos;
    is_joint ? solve_together(first, used, infos) : solve_in_steps(first, used, infos);
    for (int l = 0; l < used && check; ++l) {
      if (infos[l] != 0) leftover.failure.report(first + l, Failure::Kind::singular);
    }
  }
  void solve_together(std::int64_t first, int used, Infos& infos) const {
    const LaneLoops<T>& loops = this->loops;
    const int n = this->n, columns = static_cast<int>(this->columns);
    const Tile<T> t = {this->matrix, padded(n), 1}, rhs = {this->x, columns, 1};
    loops.pack(matrices_of<T>(this->a, first, this->count, loops.lanes), nullptr, t);
    loops.pack(matrices_of<T>(this->b, first, this->count, loops.lanes), nullptr, rhs);
    const Tile<T> solved = loops.solve(t, n, rhs, columns, scratch, infos);
    if (T* to = output<T>(*this->c, 0, 0, 0))
      loops.unpack(solved, nullptr, used, matrices_at(to, first, used, n, columns));
  }
  void solve_in_steps(std::int64_t first, int used, Infos& infos) const {
    const int n = this->n, lanes = this->loops.lanes;
    this->pack_matrix(first);
    this->loops.lu({this->matrix, apart(n), 1}, n, n, pivots, infos);
    for (int i = 0; i < n * lanes; ++i) order[i] = i / lanes;
    for (int r = 0; r < n; ++r) {
      for (int l = 0; l < lanes; ++l) std::swap(order[r * lanes + l], order[(pivots[r * lanes + l] - 1) * lanes + l]);
    }
    this->each_columns(first, used, order, nullptr, [&](const Tile<T>& t, int some) {
      this->solve(false, true, t, some);
      this->solve(true, false, t, some);
    });
  }

  bool check, is_joint;
  std::int32_t *pivots = nullptr, *order = nullptr;
  T* scratch = nullptr;
};

}  // namespace

bool FactorSolve::supports(const KernelCall& c) {
  return solve_fits(c, 2);
}
std::size_t FactorSolve::scratch(const KernelCall& c) {
  return c.in[0].dtype == DType::f64 ? tiles_scratch<FactorSolveTiles<double>>(c)
                                     : tiles_scratch<FactorSolveTiles<float>>(c);
}
void FactorSolve::run(KernelCall& c, Leftover& leftover) {
  c.in[0].dtype == DType::f64 ? run_tiles<FactorSolveTiles<double>>(c, leftover)
                              : run_tiles<FactorSolveTiles<float>>(c, leftover);
}

}  // namespace tern::cpu::lanes
