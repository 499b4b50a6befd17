#include "kernels/cpu/linalg/lanes/solve.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct TriangularTiles : SolveTiles<T> {
  explicit TriangularTiles(const KernelCall& call)
      : SolveTiles<T>(call, 1),
        upper(call.node->integer(AttrKey::upper) != 0),
        unit(call.node->integer(AttrKey::unit) != 0) {}
  void tile(std::int64_t first, int used, Leftover&) {
    this->pack_matrix(first);
    this->each_columns(first, used, nullptr, nullptr,
                       [&](const Tile<T>& t, int some) { this->solve(upper, unit, t, some); });
  }

  bool upper, unit;
};

}  // namespace

bool TriangularSolve::supports(const KernelCall& c) {
  return solve_fits(c, 1) && pays_for_packing(c, 1);
}
std::size_t TriangularSolve::scratch(const KernelCall& c) {
  return scratch_by_type<TriangularTiles>(c);
}
void TriangularSolve::run(KernelCall& c, Leftover& leftover) {
  run_by_type<TriangularTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
