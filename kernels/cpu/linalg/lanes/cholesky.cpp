#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct CholeskyTiles {
  explicit CholeskyTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        n(static_cast<int>(a.rows)),
        upper(call.node->integer(AttrKey::upper) != 0),
        check(call.node->integer(AttrKey::check) != 0) {
    flops = static_cast<double>(n) * n * n / 3;
  }
  void allocate(ScratchArena& arena) { matrix = arena.allocate<T>(apart(n) * n * loops.lanes); }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    // The upper factor of A is the transpose of the lower factor of A^T, an equal matrix.
    const Tile<T> rows = {matrix, n, 1}, seen = upper ? Tile<T>{matrix, 1, n} : rows;
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, seen);
    Infos infos;
    loops.cholesky(rows, n, infos);
    if (T* l = output<T>(*c, 0, 0, 0)) loops.unpack(seen, nullptr, used, matrices_at(l, first, used, n, n));
    auto* info = output<std::int32_t>(*c, 1, first, 1);
    for (int l = 0; l < used; ++l) {
      if (info != nullptr) info[l] = infos[l];
      if (check && infos[l] != 0) leftover.add(first + l);
    }
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int n;
  bool upper, check;
  T* matrix = nullptr;
};

}  // namespace

bool Cholesky::supports(const KernelCall& c) {
  return matrices_fit(c.in[0]);
}
std::size_t Cholesky::scratch(const KernelCall& c) {
  return scratch_by_type<CholeskyTiles>(c);
}
void Cholesky::run(KernelCall& c, Leftover& leftover) {
  run_by_type<CholeskyTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
