#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct LuFactorTiles {
  explicit LuFactorTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        m(static_cast<int>(a.rows)),
        n(static_cast<int>(a.columns)),
        k(std::min(m, n)),
        check(call.node->integer(AttrKey::check) != 0) {
    flops = 2.0 / 3 * m * n * k;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(m * apart(n) * loops.lanes);
    pivots = arena.allocate<std::int32_t>(k * loops.lanes);
  }
  void tile(std::int64_t first, int used, Leftover& leftover) {
    const Tile<T> t = {matrix, apart(n), 1};
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, t);
    Infos infos;
    loops.lu(t, m, n, pivots, infos);
    if (T* lu = output<T>(*c, 0, 0, 0)) loops.unpack(t, nullptr, used, matrices_at(lu, first, used, m, n));
    if (auto* out = output<std::int32_t>(*c, 1, first, k)) {
      for (int l = 0; l < used; ++l) {
        for (int i = 0; i < k; ++i) out[l * k + i] = pivots[i * loops.lanes + l];
      }
    }
    auto* info = output<std::int32_t>(*c, 2, first, 1);
    for (int l = 0; l < used; ++l) {
      if (info != nullptr) info[l] = infos[l];
      if (check && infos[l] != 0) leftover.failure.report(first + l, Failure::Kind::singular);
    }
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int m, n, k;
  bool check;
  T* matrix = nullptr;
  std::int32_t* pivots = nullptr;
};

}  // namespace

bool LuFactor::supports(const KernelCall& c) {
  return matrices_fit(c.in[0]);
}
std::size_t LuFactor::scratch(const KernelCall& c) {
  return scratch_by_type<LuFactorTiles>(c);
}
void LuFactor::run(KernelCall& c, Leftover& leftover) {
  run_by_type<LuFactorTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
