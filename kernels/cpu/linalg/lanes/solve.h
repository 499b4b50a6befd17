// Steps shared by lu_solve and triangular_solve: a square matrix in a tile, and some columns of the right hand sides in
// another. X op(A) = B is op(A)^T X^T = B^T.
#pragma once

#include "kernels/cpu/linalg/lanes/lanes.h"
#include "kernels/cpu/linalg/lanes/limits.h"
#include "schema/linalg_kinds.h"

namespace tern::cpu::lanes {

inline constexpr std::int64_t kColumnsAtOnce = 32;

template <class T>
struct SolveTiles {
  SolveTiles(const KernelCall& call, std::size_t rhs)
      : c(&call),
        count(batch_count(call.out[0], 2)),
        a(call.in[0], 2, call.out[0], 2),
        b(call.in[rhs], 2, call.out[0], 2),
        n(static_cast<int>(a.rows)),
        left(call.node->integer(AttrKey::left) != 0),
        columns(left ? b.columns : b.rows) {
    const auto transpose = static_cast<TransposeKind>(call.node->integer(AttrKey::transpose));
    transposed = (transpose != TransposeKind::none) == left;
    conjugated = transpose == TransposeKind::adjoint;
    flops = static_cast<double>(n) * n * static_cast<double>(columns);
  }
  void allocate(ScratchArena& arena) {
    matrix = arena.allocate<T>(n * apart(n) * loops.lanes);
    x = arena.allocate<T>(n * std::min(columns, kColumnsAtOnce) * loops.lanes);
  }
  void pack_matrix(std::int64_t first) const {
    loops.pack(matrices_of<T>(a, first, count, loops.lanes), nullptr, {matrix, apart(n), 1});
    if (conjugated) conjugate(matrix, n * apart(n), loops.lanes);
  }
  /// Visits groups of columns: packs, solves by f(tile, columns), unpacks; `in` and `out` order the rows.
  template <class F>
  void each_columns(std::int64_t first, int used, const std::int32_t* in, const std::int32_t* out, F&& f) const {
    T* to = output<T>(*c, 0, 0, 0);
    if (to == nullptr) return;
    LaneMatrices<const T> from = matrices_of<T>(b, first, count, loops.lanes);
    LaneMatrices<T> result = matrices_at(to, first, used, b.rows, b.columns);
    if (!left) from = exchanged(from), result = exchanged(result);
    for (std::int64_t begin = 0; begin < columns; begin += kColumnsAtOnce) {
      const std::int64_t some = std::min(columns - begin, kColumnsAtOnce);
      const Tile<T> t = {x, static_cast<std::ptrdiff_t>(some), 1};
      LaneMatrices<const T> now = from;
      LaneMatrices<T> then = result;
      now.columns = then.columns = some;
      for (int l = 0; l < loops.lanes; ++l) now.data[l] += begin * from.column;
      for (int l = 0; l < used; ++l) then.data[l] += begin * result.column;
      loops.pack(now, in, t);
      f(t, static_cast<int>(some));
      loops.unpack(t, out, used, then);
    }
  }
  /// Solves with the lower or upper triangle of the matrix, or of its transpose.
  void solve(bool upper, bool unit, const Tile<T>& t, int some) const {
    Tile<const T> triangle = {matrix, apart(n), 1};
    if (transposed) std::swap(triangle.row, triangle.column);
    Tile<T> rhs = t;
    if (upper != transposed) {  // last row first
      triangle.data += (n - 1) * (triangle.row + triangle.column) * loops.lanes;
      triangle.row = -triangle.row, triangle.column = -triangle.column;
      rhs.data += (n - 1) * rhs.row * loops.lanes;
      rhs.row = -rhs.row;
    }
    loops.triangular(triangle, n, unit, rhs, some);
  }

  const KernelCall* c;
  const LaneLoops<T>& loops = lanes::loops<T>();
  std::int64_t count;
  double flops = 0;
  BatchOperand a, b;
  int n;
  bool left, transposed = false, conjugated = false;
  std::int64_t columns;
  T *matrix = nullptr, *x = nullptr;
};

/// True if tiles pay off: few right hand sides of larger matrices take less time than packing the matrices, unless the
/// factorization is part of the work.
inline bool pays_for_packing(const KernelCall& c, std::size_t rhs) {
  const TensorView &a = c.in[0], &b = c.in[rhs];
  const bool left = c.node->integer(AttrKey::left) != 0;
  const std::int64_t most = a.dtype == DType::c128 ? 16 : 32;
  return a.size(a.rank - 1) <= most || b.size(b.rank - (left ? 1 : 2)) > 4;
}

/// True if lanes are faster, judged by the operands alone: results have no sizes yet during the choice of a kernel.
inline bool solve_fits(const KernelCall& c, std::size_t rhs) {
  const TensorView &a = c.in[0], &b = c.in[rhs];
  const std::int64_t n = a.size(a.rank - 1);
  std::int64_t count = 1;  // the batches broadcast
  for (int i = 3; i <= std::max(a.rank, b.rank); ++i) {
    const std::int64_t of_a = i <= a.rank ? a.size(a.rank - i) : 1, of_b = i <= b.rank ? b.size(b.rank - i) : 1;
    count *= of_a == 1 ? of_b : of_a;
  }
  return n > 0 && b.numel() > 0 && within(a.dtype, n, count);
}

}  // namespace tern::cpu::lanes
