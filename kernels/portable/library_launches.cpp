#include "kernels/portable/library_launches.h"

#include <algorithm>
#include <array>

#include "kernels/portable/axes.h"

namespace tern::portable {
namespace {

/// Appends the axes of the matrices to the axes of the planes.
TensorView append_matrix(const TensorView& planes, std::int64_t rows, std::int64_t columns, std::int64_t row_step,
                         std::int64_t column_step) {
  TensorView v = planes;
  const auto at = static_cast<std::size_t>(planes.rank);
  v.sizes[at] = rows;
  v.sizes[at + 1] = columns;
  v.strides[at] = row_step;
  v.strides[at + 1] = column_step;
  v.rank = planes.rank + 2;
  return v;
}

/// The bias in the columns, rows and planes of `result`; empty if these differ from the node's.
std::optional<TensorView> bias_of(const KernelCall& c, const TensorView& result) {
  const TensorView whole = broadcast(c.in[2], c.out[0]);
  const int last = whole.rank - 1;
  const bool along = std::all_of(whole.strides.begin(), whole.strides.begin() + last, [](auto s) { return s == 0; });
  if (!along && !std::equal(result.sizes.begin(), result.sizes.begin() + last, whole.sizes.begin()))
    return std::nullopt;
  TensorView v = whole;
  v.sizes = result.sizes;
  v.rank = result.rank;
  v.strides[static_cast<std::size_t>(v.rank - 1)] = whole.stride(last);
  return v;
}

}  // namespace

/// A call's views of a product.
struct LibraryLaunches::Operands {
  std::array<TensorView, 3> in;
  TensorView out;

  /// The node's call, reduced to the product. Addresses are set only in a run.
  KernelCall call(const KernelCall& node, const NativeLaunch& o, bool runs) {
    KernelCall c = node;
    for (std::size_t k = 0; k < o.operands; ++k) {
      const OperandSource& p = o.in[k];
      in[k] = p.view;
      if (runs) in[k].data = p.scratch ? node.scratch.data() + *p.scratch : node.in[p.index].data + p.offset;
    }
    out = o.out.view;
    if (runs) out.data = node.out[0].data + o.out.offset;
    c.in = {in.data(), o.operands};
    c.out = {&out, 1};
    return c;
  }
};

bool LibraryLaunches::add_own_product(const KernelCall& c, const ProductOperand& a, const ProductOperand& b,
                                      const ResultColumns& part) {
  if (a.planes.rank + 2 > kMaxRank) return false;
  TensorView planes = a.planes;
  planes.dtype = c.out[0].dtype;
  std::int64_t stride = a.length * part.total;
  for (int i = planes.rank - 1; i >= 0; --i) {
    planes.strides[static_cast<std::size_t>(i)] = stride;
    stride *= planes.size(i);
  }
  const TensorView result = append_matrix(planes, a.length, b.length, part.total, 1);
  NativeLaunch own{size(), nullptr, {}, 2, {result, 0, std::nullopt, part.first * element_size(result.dtype)}};
  own.in[0] = {append_matrix(a.planes, a.length, a.depth, a.step, a.depth_step), a.index, a.scratch};
  own.in[1] = {append_matrix(b.planes, b.depth, b.length, b.depth_step, b.step), b.index, b.scratch};
  if (c.has_input(2)) {
    const std::optional<TensorView> bias = bias_of(c, result);
    if (!bias) return false;
    const std::int64_t from = part.first * bias->stride(bias->rank - 1);
    own.in[own.operands++] = {*bias, 2, std::nullopt, from * element_size(bias->dtype)};
  }
  Operands operands;
  own.kernel = c.launcher->own_kernel(operands.call(c, own, false));
  if (own.kernel == nullptr) return false;
  native_launches_.push_back(std::move(own));
  return true;
}

void LibraryLaunches::complete() {
  std::uint64_t bytes = 0;
  for (const NativeLaunch& o : native_launches_) bytes = std::max<std::uint64_t>(bytes, o.kernel->scratch());
  workspace_ = scratch(bytes);
}

void LibraryLaunches::run(KernelCall& call) const {
  std::size_t done = 0;
  for (const NativeLaunch& o : native_launches_) {
    Launches::run(call, done, o.launch_index);
    done = o.launch_index;
    Operands operands;
    KernelCall product = operands.call(call, o, true);
    product.scratch = call.scratch.subspan(workspace_);
    o.kernel->run(product);
  }
  Launches::run(call, done, size());
}

}  // namespace tern::portable
