#include "kernels/cpu/linalg/lanes/solve.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct LuSolveTiles : SolveTiles<T> {
  explicit LuSolveTiles(const KernelCall& call) : SolveTiles<T>(call, 2), pivots(call.in[1], 1, call.out[0], 2) {
    this->flops *= 2;
  }
  void allocate(ScratchArena& arena) {
    SolveTiles<T>::allocate(arena);
    order = arena.allocate<std::int32_t>(this->n * this->loops.lanes);
  }
  /// Computes order[r][lane]: the row of B for row r of P^T B. Lanes with an invalid pivot go to LAPACK.
  void order_rows(std::int64_t first, int used, Leftover& leftover) const {
    const int lanes = this->loops.lanes, n = this->n;
    for (int l = 0; l < lanes; ++l) {
      const std::int64_t i = std::min(first + l, this->count - 1);
      const auto* swaps = pivots.matrix<std::int32_t>(i);
      for (int r = 0; r < n; ++r) order[r * lanes + l] = r;
      for (int r = 0; r < n; ++r) {
        const std::int32_t with = swaps[r * pivots.row];
        if (with < 1 || with > n) {
          if (l < used) leftover.add(i);
          break;
        }
        std::swap(order[r * lanes + l], order[(with - 1) * lanes + l]);
      }
    }
  }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    order_rows(first, used, leftover);
    this->pack_matrix(first);
    const bool back = this->transposed;  // A^T = U^T L^T P^T
    this->each_columns(first, used, back ? nullptr : order, back ? order : nullptr, [&](const Tile<T>& t, int some) {
      this->solve(back, !back, t, some);
      this->solve(!back, back, t, some);
    });
  }

  BatchOperand pivots;
  std::int32_t* order = nullptr;
};

}  // namespace

bool LuSolve::supports(const KernelCall& c) {
  return solve_fits(c, 2) && pays_for_packing(c, 2);
}
std::size_t LuSolve::scratch(const KernelCall& c) {
  return scratch_by_type<LuSolveTiles>(c);
}
void LuSolve::run(KernelCall& c, Leftover& leftover) {
  run_by_type<LuSolveTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
