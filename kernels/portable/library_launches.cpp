#include "kernels/portable/library_launches.h"

#include <algorithm>
#include <array>

#include "kernels/portable/axes.h"

namespace tern::portable {
namespace {

constexpr std::size_t kMostOperands = 3;

/// Axes of the matrices behind those of the planes.
TensorView with_matrix(const TensorView& planes, std::int64_t rows, std::int64_t columns, std::int64_t row_step,
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

/// Part of the columns of a bias: as the result's planes and rows see it, or null where those have become others.
std::optional<TensorView> bias_of(const KernelCall& c, const TensorView& result, const ResultColumns& part) {
  const TensorView whole = broadcast(c.in[2], c.out[0]);
  const int last = whole.rank - 1;
  TensorView v = result;
  v.dtype = whole.dtype;
  v.strides = {};
  const auto at = static_cast<std::size_t>(v.rank - 1);
  v.strides[at] = whole.stride(last);
  const bool along = std::ranges::all_of(whole.strides.begin(), whole.strides.begin() + last,
                                         [](std::int64_t stride) { return stride == 0; });
  if (along) return v;
  if (v.rank != whole.rank || !std::equal(v.sizes.begin(), v.sizes.begin() + last, whole.sizes.begin()))
    return std::nullopt;
  v.strides = whole.strides;
  return v;
}

}  // namespace

LibraryLaunches::Place LibraryLaunches::place_of(const ProductOperand& o, bool by_columns) {
  return {by_columns ? with_matrix(o.planes, o.depth, o.length, o.depth_step, o.step)
                     : with_matrix(o.planes, o.length, o.depth, o.step, o.depth_step),
          o.index, o.scratch};
}

bool LibraryLaunches::add_own_product(const KernelCall& c, const ProductOperand& a, const ProductOperand& b,
                                      const ResultColumns& part) {
  if (a.planes.rank + 2 > kMaxRank) return false;
  Own own{size(), nullptr, {place_of(a, false), place_of(b, true)}, {}};
  TensorView planes = a.planes;
  planes.dtype = c.out[0].dtype;
  std::int64_t stride = a.length * part.all;
  for (int i = planes.rank - 1; i >= 0; --i) {
    planes.strides[static_cast<std::size_t>(i)] = stride;
    stride *= planes.size(i);
  }
  const std::int64_t element = element_size(planes.dtype);
  own.out = {with_matrix(planes, a.length, b.length, part.all, 1), 0, std::nullopt, part.first * element};
  if (c.has(2)) {
    const std::optional<TensorView> bias = bias_of(c, own.out.view, part);
    if (!bias) return false;
    own.in.push_back({*bias, 2, std::nullopt, part.first * bias->stride(bias->rank - 1) * element_size(bias->dtype)});
  }
  std::array<TensorView, kMostOperands> in;
  for (std::size_t k = 0; k < own.in.size(); ++k) in[k] = own.in[k].view;
  TensorView out = own.out.view;
  KernelCall call = c;
  call.in = {in.data(), own.in.size()};
  call.out = {&out, 1};
  own.kernel = c.launcher->own_kernel(call);
  if (own.kernel == nullptr) return false;
  own_.push_back(std::move(own));
  return true;
}

void LibraryLaunches::complete() {
  std::uint64_t bytes = 0;
  for (const Own& o : own_) bytes = std::max<std::uint64_t>(bytes, o.kernel->scratch());
  workspace_ = scratch(bytes);
}

void LibraryLaunches::run(KernelCall& call) const {
  std::size_t done = 0;
  for (const Own& o : own_) {
    Launches::run(call, done, o.after);
    done = o.after;
    std::array<TensorView, kMostOperands> in;
    for (std::size_t k = 0; k < o.in.size(); ++k) {
      const Place& p = o.in[k];
      in[k] = p.view;
      in[k].data = p.scratch ? call.scratch.data() + *p.scratch : call.in[p.index].data + p.offset;
    }
    TensorView out = o.out.view;
    out.data = call.out[0].data + o.out.offset;
    KernelCall product = call;
    product.in = {in.data(), o.in.size()};
    product.out = {&out, 1};
    product.scratch = call.scratch.subspan(workspace_);
    o.kernel->run(product);
  }
  Launches::run(call, done, size());
}

}  // namespace tern::portable
