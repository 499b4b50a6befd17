// matmul: the batch axes broadcast, sums in the type that the op's rule says.
#include "kernels/portable/axes.h"
#include "kernels/portable/launches.h"

namespace tern::portable {
namespace {

/// The batch axes of `v`, with the sizes of the result's.
TensorView planes(const TensorView& v, const TensorView& out) {
  TensorView b = out;
  b.rank = out.rank - 2;
  const int skip = out.rank - v.rank;
  for (int i = 0; i < b.rank; ++i) {
    const bool repeats = i < skip || v.size(i - skip) == 1;
    b.strides[static_cast<std::size_t>(i)] = repeats ? 0 : v.stride(i - skip);
  }
  return b;
}

// Of the tiled kernel (text/matmul_tiled.inc).
constexpr std::int64_t kWidth = 64, kRun = 256;
constexpr std::int64_t kRowsWorthPacking = 16;
constexpr std::int64_t kLeastWork = std::int64_t{1} << 15;  // products that are worth its set-up

/// How many rows an item makes: as many as a vector machine has registers for.
std::int64_t rows_of(std::int64_t rows) {
  for (std::int64_t r : {12, 8, 4, 2}) {
    if (rows >= r) return r;
  }
  return 1;
}

/// What both kernels have, but for how items are laid out.
void declare(Launch& k, const KernelCall& c, DType sum) {
  const TensorView &a = c.in[0], &b = c.in[1], &out = c.out[0];
  k.source.arithmetic("SUM", sum);
  k.input("a", 0, a.dtype);
  k.load("LOAD_A", a.dtype, sum);
  k.load("LOAD_B", b.dtype, sum);
  k.parameter("rows", out.size(out.rank - 2));
  k.parameter("columns", out.size(out.rank - 1));
  k.parameter("depth", a.size(a.rank - 1));
  k.parameter("a_row", a.stride(a.rank - 2));
  k.parameter("a_depth", a.stride(a.rank - 1));
  k.source.view("a", planes(a, out));
  k.source.define("BIAS", c.has(2) ? 1 : 0);
  if (c.has(2)) {
    k.input("bias", 2, c.in[2].dtype);
    k.load("LOAD_BIAS", c.in[2].dtype, sum);
    k.source.view("bias", broadcast(c.in[2], out));
  }
  k.output("out", 0, out.dtype);
  k.store("STORE", sum, out.dtype);
}

/// b where it lies.
void declare_b(Launch& k, const TensorView& b, const TensorView& out) {
  k.input("b", 1, b.dtype);
  k.parameter("b_depth", b.stride(b.rank - 2));
  k.parameter("b_column", b.stride(b.rank - 1));
  k.source.view("b", planes(b, out));
}

/// b in the scratch, with its columns side by side; planes that repeat are packed again and again.
void declare_packed_b(Launch& k, const TensorView& b, const TensorView& out, Launches& list) {
  const TensorView by_plane = planes(b, out);
  const std::int64_t rows = b.size(b.rank - 2), columns = b.size(b.rank - 1), count = by_plane.numel() * rows * columns;
  const std::uint64_t packed =
      list.scratch(static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(element_size(b.dtype)));
  Launch pack("pack_columns");
  pack.input("from", 1, b.dtype);
  pack.scratch("to", packed, b.dtype, true);
  pack.source.view("planes", by_plane);
  pack.parameter("count", count);
  pack.parameter("rows", rows);
  pack.parameter("columns", columns);
  pack.parameter("row_step", b.stride(b.rank - 2));
  pack.parameter("column_step", b.stride(b.rank - 1));
  list.add(std::move(pack), count);
  TensorView dense = by_plane;
  make_contiguous(dense);
  for (int i = 0; i < dense.rank; ++i) dense.strides[static_cast<std::size_t>(i)] *= rows * columns;
  k.scratch("b", packed, b.dtype, false);
  k.parameter("b_depth", columns);
  k.parameter("b_column", std::int64_t{1});
  k.source.view("b", dense);
}

void tiled(const KernelCall& c, Launches& list, DType sum) {
  const TensorView &a = c.in[0], &b = c.in[1], &out = c.out[0];
  const std::int64_t rows = out.size(out.rank - 2), columns = out.size(out.rank - 1);
  const std::int64_t row_blocks = (rows + rows_of(rows) - 1) / rows_of(rows), panels = (columns + kWidth - 1) / kWidth;
  const std::int64_t items = planes(a, out).numel() * row_blocks * panels * kWidth;
  const bool side_by_side = b.stride(b.rank - 1) == 1;
  const bool packs = !side_by_side && rows >= kRowsWorthPacking;
  Launch k("matmul_tiled");
  declare(k, c, sum);
  if (packs) {
    declare_packed_b(k, b, out, list);
  } else {
    declare_b(k, b, out);
  }
  k.type("A_T", a.dtype);
  k.type("B_T", b.dtype);
  k.source.define("ROWS", rows_of(rows));
  k.source.define("WIDTH", kWidth);
  k.source.define("RUN", kRun);
  k.source.define("WHOLE_PANELS", columns % kWidth == 0 ? std::int64_t{1} : std::int64_t{0});
  k.source.define("A_DEPTH", a.stride(a.rank - 1) == 1 ? "1" : "p.a_depth");
  k.source.define("B_COLUMN", side_by_side || packs ? "1" : "p.b_column");
  k.parameter("row_blocks", row_blocks);
  k.parameter("panels", panels);
  list.add(std::move(k), items, static_cast<std::uint32_t>(kWidth));
}

void matmul(const KernelCall& c, Launches& list) {
  const TensorView &a = c.in[0], &b = c.in[1], &out = c.out[0];
  const DType number = number_type(a.dtype);
  if (number == DType::f32 && out.numel() > 0 && out.numel() * a.size(a.rank - 1) >= kLeastWork)
    return tiled(c, list, number);
  const DType sum = wide_type(number, list.target().has_double);
  Launch k("matmul");
  declare(k, c, sum);
  declare_b(k, b, out);
  k.parameter("count", out.numel());
  list.add(std::move(k), out.numel());
}

}  // namespace

void register_contractions(KernelTable& t) {
  t.set(Op::matmul, kernel<matmul>());
}

}  // namespace tern::portable
