#include "kernels/cpu/attention/shared_heads.h"

#include "kernels/cpu/dense.h"

namespace tern::cpu {
namespace {

/// Views heads [.., heads, 1, n] as [.., heads / rows, rows, n].
void make_rows(TensorView& v, std::int64_t rows) {
  const auto row = static_cast<std::size_t>(v.rank - 2), head = row - 1;
  v.sizes[head] /= rows;
  v.sizes[row] = rows;
  v.strides[row] = v.strides[head];
  v.strides[head] *= rows;
}

}  // namespace

std::optional<SharedHeads> share_heads(const KernelCall& c, std::int64_t threads) {
  const TensorView &q = c.in[0], &k = c.in[1];
  const int rank = q.rank;
  if (rank < 3 || q.size(rank - 2) != 1 || k.size(rank - 3) == 0 || c.node->integer(AttrKey::causal) != 0)
    return std::nullopt;
  const std::int64_t sharing = q.size(rank - 3) / k.size(rank - 3), heads = c.out[0].numel() / c.out[0].size(rank - 1);
  std::int64_t rows = sharing;
  while (rows > 1 && (sharing % rows != 0 || heads / rows < threads)) --rows;
  if (rows <= 1) return std::nullopt;
  SharedHeads s;
  for (std::size_t i = 0; i < c.in.size(); ++i) s.in[i] = c.in[i];
  s.out = c.out[0];
  make_rows(s.in[0], rows);
  make_rows(s.out, rows);
  if (c.has_input(3)) {
    s.in[3] = unsqueeze_to_rank(c.in[3], rank);
    if (s.in[3].size(rank - 3) != 1) make_rows(s.in[3], rows);
  }
  return s;
}

}  // namespace tern::cpu
