// A with fewer rows than columns is transposed: then U and V are exchanged.
#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct SvdTiles {
  using R = typename PartOf<T>::type;

  explicit SvdTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        wide(a.rows < a.columns),
        m(static_cast<int>(std::max(a.rows, a.columns))),
        n(static_cast<int>(std::min(a.rows, a.columns))),
        width(call.node->integer(AttrKey::full) != 0 ? m : n),
        vectors(call.wants_output(0) || call.wants_output(2)) {
    flops = 10.0 * m * n * n;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(apart(m) * width * loops.lanes);
    values = arena.allocate<R>(n * loops.lanes);
    order = arena.allocate<std::int32_t>(width * loops.lanes);
    scratch = arena.allocate<T>(loops.svd_scratch(m, n) * loops.lanes);
    if (!vectors) return;
    left = arena.allocate<T>(apart(m) * width * loops.lanes);
    right = arena.allocate<T>(apart(n) * n * loops.lanes);
  }
  /// Stores the columns of a tile, `size` elements each, as columns of U or as rows of Vh.
  void store(bool as_rows, const Tile<T>& from, int size, int many, T* out, std::int64_t first, int used) const {
    if (out == nullptr) return;
    const Tile<T> rows = {from.data, from.column, from.row};
    if (as_rows) return loops.unpack(rows, order, used, matrices_at(out, first, used, many, size));
    const std::int64_t elements = static_cast<std::int64_t>(size) * many;
    loops.unpack(rows, order, used, matrices_at(matrix, 0, used, many, size));
    for (int l = 0; l < used; ++l)
      loops.transpose(matrix + l * elements, many, size, size, out + (first + l) * elements, many);
  }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    const Tile<T> t = {matrix, 1, apart(m)}, u = {left, 1, apart(m)}, v = {right, 1, apart(n)};
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, wide ? Tile<T>{matrix, apart(m), 1} : t);
    Infos infos;
    loops.svd(t, m, n, values, order, u, width, v, scratch, infos);
    for (int l = 0; l < used; ++l) {
      if (infos[l] != 0) leftover.add(first + l);
    }
    for (int i = n; i < width; ++i) std::fill_n(order + i * loops.lanes, loops.lanes, i);
    if (R* out = output<R>(*c, 1, 0, 0))
      lanes::loops<R>().unpack({values, 1, 1}, order, used, matrices_at(out, first, used, n, 1));
    store(wide, u, m, width, output<T>(*c, wide ? 2 : 0, 0, 0), first, used);
    store(!wide, v, n, n, output<T>(*c, wide ? 0 : 2, 0, 0), first, used);
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  bool wide;
  int m, n, width;
  bool vectors;
  T *matrix = nullptr, *scratch = nullptr, *left = nullptr, *right = nullptr;
  R* values = nullptr;
  std::int32_t* order = nullptr;
};

}  // namespace

bool Svd::supports(const KernelCall& c) {
  const TensorView& a = c.in[0];
  const std::int64_t m = a.size(a.rank - 2), n = a.size(a.rank - 1);
  return matrices_fit(a) && (a.dtype != DType::c128 || std::max(m, n) <= 64);  // larger tiles exceed the caches
}
std::size_t Svd::scratch(const KernelCall& c) {
  return scratch_by_type<SvdTiles>(c);
}
void Svd::run(KernelCall& c, Leftover& leftover) {
  run_by_type<SvdTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
