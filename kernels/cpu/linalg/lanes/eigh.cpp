#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct EighTiles {
  using R = typename PartOf<T>::type;

  explicit EighTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        vectors(call.wants_output(1)),
        n(static_cast<int>(a.rows)),
        upper(call.node->integer(AttrKey::upper) != 0) {
    flops = 9.0 * n * n * n;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(apart(n) * n * loops.lanes);
    values = arena.allocate<R>(n * loops.lanes);
    order = arena.allocate<std::int32_t>(n * loops.lanes);
    scratch = arena.allocate<T>(loops.eigh_scratch(n) * loops.lanes);
    if (vectors) columns = arena.allocate<T>(apart(n) * n * loops.lanes);
  }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    const Tile<T> rows = {matrix, apart(n), 1}, z = {columns, 1, apart(n)};
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, upper ? Tile<T>{matrix, 1, apart(n)} : rows);
    if (upper) conjugate(matrix, apart(n) * n, loops.lanes);  // A^T has the conjugate vectors
    Infos infos;
    loops.eigh(rows, n, values, order, z, scratch, infos);
    for (int l = 0; l < used; ++l) {
      if (infos[l] != 0) leftover.add(first + l);
    }
    if (R* out = output<R>(*c, 0, 0, 0))
      lanes::loops<R>().unpack({values, 1, 1}, order, used, matrices_at(out, first, used, n, 1));
    T* out = output<T>(*c, 1, 0, 0);
    if (out == nullptr) return;
    // Unpacks rows in order, then transposes them matrix by matrix.
    const std::int64_t size = static_cast<std::int64_t>(n) * n;
    loops.unpack({columns, apart(n), 1}, order, used, matrices_at(matrix, 0, used, n, n));
    for (int l = 0; l < used; ++l) loops.transpose(matrix + l * size, n, n, n, out + (first + l) * size, n);
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  bool vectors;
  int n;
  bool upper;
  T *matrix = nullptr, *scratch = nullptr, *columns = nullptr;
  R* values = nullptr;
  std::int32_t* order = nullptr;
};

}  // namespace

bool Eigh::supports(const KernelCall& c) {
  return matrices_fit(c.in[0]);
}
std::size_t Eigh::scratch(const KernelCall& c) {
  return scratch_by_type<EighTiles>(c);
}
void Eigh::run(KernelCall& c, Leftover& leftover) {
  run_by_type<EighTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
