// Convolutions as products of the weight and the image, by groups.
#include <algorithm>
#include <cstdlib>

#include "kernels/convolution_weight.h"
#include "kernels/portable/convolution.h"
#include "kernels/portable/movement.h"
#include "kernels/portable/products.h"
#include "kernels/portable/window.h"

namespace tern::portable {
namespace {

constexpr std::int64_t kLeastRows = 16;                       // smallest tile
constexpr std::int64_t kLeastRun = 16;                        // channels; each element has a tile of channels
constexpr std::int64_t kMostOfPlane = std::int64_t{1} << 30;  // elements; offsets are int

/// Number of elements between the first and the last element of a plane.
std::int64_t reach(std::int64_t size, std::int64_t step) {
  return (size - 1) * std::abs(step);
}

bool fits_groups(const KernelCall& c, const ConvolutionChannels& problem, const ProductWindow& window) {
  if (problem.transposed || c.in[1].blocks.columns != 0 || problem.out < kLeastRows) return false;
  std::int64_t x = reach(window.channels, window.x_channel);
  for (std::size_t i = 0; i < 3; ++i) {  // windows may begin before the image and end after it
    const std::int64_t window_size = window.dilations[i] * window.extent[i];
    const std::int64_t places = std::max(window.x_sizes[i], window.out_sizes[i] * window.strides[i]);
    x += reach(places + window.padding_before[i] + window_size, window.x_strides[i]);
  }
  return x < kMostOfPlane && problem.in * problem.elements < kMostOfPlane;
}

ProductWindow window_of(const KernelCall& c, const ConvolutionChannels& problem, bool faster) {
  const auto n = static_cast<std::size_t>(c.in[0].rank - 2);
  return {last_sizes(c.in[0], n),
          last_strides(c.in[0], n),
          last_sizes(c.out[0], n),
          last_sizes(convolution_weight(c), n),
          three_of(*c.node, AttrKey::strides, n, 1),
          three_of(*c.node, AttrKey::dilations, n, 1),
          three_of(*c.node, AttrKey::before, n, 0),
          problem.in,
          c.in[0].stride(1),
          !faster || problem.in % kLeastRun == 0};
}

/// The weight as rows [element, channel] or [channel, element] without gaps: in place if already in this layout, else a
/// copy (made now for constant weights, else at each run).
ProductOperand weight_rows(const KernelCall& c, Launches& list, const ConvolutionChannels& problem,
                           bool has_channels_inner) {
  TensorView from = convolution_weight(c);
  if (has_channels_inner) {
    const auto move = [&](auto& axes) { std::rotate(axes.begin() + 1, axes.begin() + 2, axes.begin() + from.rank); };
    move(from.sizes);
    move(from.strides);
  }
  const std::int64_t depth = problem.in * problem.elements;
  TensorView planes;
  planes.dtype = from.dtype;
  planes.rank = 2;
  planes.sizes = {c.out[0].size(0), problem.groups};
  planes.strides = {0, problem.out * depth};
  ProductOperand a{1, planes, problem.out, depth, depth, 1};
  if (from.contiguous()) return a;
  TensorView to = from;
  make_contiguous(to);
  const auto bytes = static_cast<std::uint64_t>(to.numel() * element_size(to.dtype));
  if (c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr) {
    a.table = list.table(bytes);
    to.data = list.table_data(*a.table);
    copy(*c.launcher, from, to);
    return a;
  }
  a.scratch = list.scratch(bytes);
  add_copy(list, {1, from}, {0, to}, a.scratch);
  return a;
}

/// Distance of positions if each position equals its window and all are in a line; else 0.
std::int64_t position_step(const ProductWindow& w) {
  std::int64_t step = 0, expected = 0;
  for (std::size_t i = 3; i-- > 0;) {
    if (w.extent[i] != 1 || w.strides[i] != 1 || w.padding_before[i] != 0 || w.x_sizes[i] != w.out_sizes[i]) return 0;
    if (w.x_sizes[i] == 1) continue;
    if (step == 0) expected = step = w.x_strides[i];
    if (step == 0 || w.x_strides[i] != expected) return 0;
    expected *= w.x_sizes[i];
  }
  return step == 0 ? 1 : step;
}

}  // namespace

bool add_convolution_by_groups(const KernelCall& c, Launches& list, const ConvolutionChannels& problem, bool faster) {
  const ProductWindow window = window_of(c, problem, faster);
  if (!fits_groups(c, problem, window)) return false;
  const TensorView &x = c.in[0], &out = c.out[0];
  const std::int64_t positions = out.numel() / (out.size(0) * out.size(1));
  const ProductOperand a = weight_rows(c, list, problem, window.has_channels_inner);
  TensorView images = a.planes;
  images.dtype = x.dtype;
  images.strides = {x.stride(0), problem.in * x.stride(1)};
  const std::int64_t step = position_step(window);
  const ProductOperand b{0, images, positions, a.depth, step, step != 0 ? x.stride(1) : 0};
  TensorView bias;
  if (c.has_input(2)) {
    bias.dtype = c.in[2].dtype;
    bias.rank = 3;
    bias.sizes = {out.size(0), out.size(1), positions};
    bias.strides = {0, c.in[2].stride(0), 0};
  }
  add_product(c, list, a, b, c.has_input(2) ? &bias : nullptr, faster, step != 0 ? nullptr : &window);
  return true;
}

}  // namespace tern::portable
