#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu::lanes {
namespace {

template <class T>
struct QrTiles {
  explicit QrTiles(const KernelCall& call)
      : c(&call),
        count(batch_count(call.in[0], 2)),
        a(call.in[0], 2, call.in[0], 2),
        m(static_cast<int>(a.rows)),
        n(static_cast<int>(a.columns)),
        k(std::min(m, n)),
        mode(static_cast<QrKind>(call.node->integer(AttrKey::mode))),
        inner(mode == QrKind::complete ? m : k) {
    flops = 4.0 * m * n * k;
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(apart(m) * std::max(n, inner) * loops.lanes);
    tau = arena.allocate<T>(k * loops.lanes);
  }
  void tile(std::int64_t first, int used, Leftover&) {
    const Tile<T> t = {matrix, 1, apart(m)};
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, t);
    loops.qr(t, m, n, tau);
    if (mode == QrKind::reflectors) {
      if (T* out = output<T>(*c, 0, 0, 0)) loops.unpack(t, nullptr, used, matrices_at(out, first, used, m, n));
      if (T* out = output<T>(*c, 1, 0, 0))
        loops.unpack({tau, k, 1}, nullptr, used, matrices_at(out, first, used, 1, k));
      return;
    }
    if (T* out = output<T>(*c, 1, 0, 0)) {
      const LaneMatrices<T> r = matrices_at(out, first, used, inner, n);
      loops.unpack(t, nullptr, used, r);
      for (int l = 0; l < used; ++l) {
        for (int row = 1; row < inner; ++row) std::fill_n(r.data[l] + row * n, std::min(row, n), T(0));
      }
    }
    T* q = mode == QrKind::r ? nullptr : output<T>(*c, 0, 0, 0);
    if (q == nullptr) return;
    loops.form_q(t, m, inner, k, tau);
    loops.unpack(t, nullptr, used, matrices_at(q, first, used, m, inner));
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a;
  int m, n, k;
  QrKind mode;
  int inner;
  T *matrix = nullptr, *tau = nullptr;
};

}  // namespace

bool Qr::supports(const KernelCall& c) {
  return matrices_fit(c.in[0]);
}
std::size_t Qr::scratch(const KernelCall& c) {
  return scratch_by_type<QrTiles>(c);
}
void Qr::run(KernelCall& c, Leftover& leftover) {
  run_by_type<QrTiles>(c, leftover);
}

}  // namespace tern::cpu::lanes
