// convolution: float32 in tiles of channels and positions, or by groups (convolution_groups.cpp), other types element
// by element.
#include "kernels/portable/convolution.h"

#include <algorithm>

#include "kernels/convolution_weight.h"
#include "kernels/portable/axes.h"
#include "kernels/portable/definitions.h"
#include "kernels/portable/quantized.h"
#include "kernels/portable/vectors.h"
#include "kernels/portable/window.h"
#include "kernels/quantized_view.h"

namespace tern::portable {
namespace {

/// Position of element k of a window along axis a, and its bounds check. A transposed convolution skips elements
/// outside.
constexpr const char* kPosition =
    "const tern_i64 x##a = at[a] * p.strides[a] + k * p.dilations[a] - p.before[a]; "
    "const int inside##a = x##a >= 0 && x##a < p.x_sizes[a];";
constexpr const char* kTransposedPosition =
    "const tern_i64 y##a = at[a] + p.before[a] - k * p.dilations[a]; const tern_i64 x##a = y##a / p.strides[a]; "
    "const int inside##a = 1; if (y##a < 0 || y##a % p.strides[a] != 0 || x##a >= p.x_sizes[a]) continue;";

/// Type of integer sums before adding the bias.
DType total_type(const KernelCall& c, DType sum) {
  return c.out[0].dtype == DType::f32 ? DType::f32 : sum;
}

/// Declares everything except the weight and the layout of items.
void declare(Launch& k, const KernelCall& c, const ConvolutionChannels& problem, DType sum) {
  const DType total = total_type(c, sum);
  const Node& node = *c.node;
  const TensorView &x = c.in[0], &out = c.out[0];
  const auto n = static_cast<std::size_t>(x.rank - 2);
  k.source.arithmetic("SUM", sum);
  k.input("x", 0, x.dtype);
  k.load("LOAD_X", x.dtype, sum);
  k.source.define("BIAS", c.has_input(2) ? 1 : 0);
  if (c.has_input(2)) {
    k.input("bias", 2, c.in[2].dtype);
    k.load("LOAD_BIAS", c.in[2].dtype, total);
    k.parameter("bias_step", c.in[2].stride(0));
  }
  k.output("out", 0, out.dtype);
  k.store("STORE", total, out.dtype);
  k.parameter("group_out", problem.out);
  k.parameter("group_in", problem.in);
  k.parameter("x_batch", x.stride(0));
  k.parameter("x_channel", x.stride(1));
  parameter(k, "x_sizes", last_sizes(x, n));
  parameter(k, "x_strides", last_strides(x, n));
  parameter(k, "out_sizes", last_sizes(out, n));
  parameter(k, "extent", last_sizes(convolution_weight(c), n));
  parameter(k, "strides", three_of(node, AttrKey::strides, n, 1));
  parameter(k, "dilations", three_of(node, AttrKey::dilations, n, 1));
  parameter(k, "before", three_of(node, AttrKey::before, n, 0));
}

/// LOAD_W(w, i) is the number at offset i of the weight.
void declare_weight(Launch& k, const KernelCall& c, DType sum) {
  if (c.in[1].blocks.columns == 0) {
    k.input("w", 1, c.in[1].dtype);
    return k.load("LOAD_W", c.in[1].dtype, sum);
  }
  declare_quantized(k, "w", 1, quantized_matrix(c.in[1]));
  k.parameter("w_row", c.in[1].size(1));
  k.source.define("LOAD_W(from, i)", "W((i) / p.w_row, (i) % p.w_row)");
}

void convolve_elements(const KernelCall& c, Launches& list, const ConvolutionChannels& problem, DType sum) {
  const TensorView& out = c.out[0];
  const TensorView w = convolution_weight(c);
  Launch k("convolution");
  declare(k, c, problem, sum);
  k.source.define("TRANSPOSED", problem.transposed ? 1 : 0);
  k.source.define("PLACE(a, k)", problem.transposed ? kTransposedPosition : kPosition);
  declare_weight(k, c, sum);
  k.source.arithmetic("TOTAL", total_type(c, sum));
  k.source.define("TO_TOTAL(v)", converted(sum, total_type(c, sum), "(v)"));
  if (sum == DType::i64) {
    k.parameter("fill", c.node->integer(AttrKey::fill));
    k.source.define("FILL", "p.fill");
  } else {
    k.source.define("FILL", "SUM_ZERO");
  }
  k.parameter("count", out.numel());
  k.parameter("out_channels", out.size(1));
  k.parameter("w_out", problem.w_out);
  k.parameter("w_in", problem.w_in);
  parameter(k, "w_strides", last_strides(w, static_cast<std::size_t>(w.rank - 2)));
  list.add(std::move(k), out.numel());
}

// Tiled kernel (text/convolution_tiled.inc).
/// Start of the window of position o along axis a, and the position of element k of a window starting at `at`; negative
/// for elements missing in a transposed convolution.
constexpr const char* kStart = "((o) * (int)p.strides[a] - (int)p.before[a])";
constexpr const char* kPlaced = "((at) + (k) * (int)p.dilations[a])";
constexpr const char* kTransposedStart = "((o) + (int)p.before[a])";
constexpr const char* kTransposedPlaced = "tern_divided((at) - (k) * (int)p.dilations[a], (int)p.strides[a])";
constexpr std::int64_t kMostRows = 8;
constexpr std::int64_t kFewChannels = 8;  // tiles of fewer channels would be mostly empty
constexpr std::int64_t kConvolutionLeastWork = std::int64_t{1} << 15;
constexpr std::int64_t kMostPositions = std::int64_t{1} << 29;  // positions are counted in 32 bits

/// The largest tile without many empty channels.
VectorTile tile_of(const Target& target, std::int64_t channels) {
  VectorTile t = widest_tile(target);
  t.rows = std::min(t.rows, kMostRows);
  const auto many_empty = [&] {
    const std::int64_t padded = (channels + t.panel() - 1) / t.panel() * t.panel();
    return 8 * (padded - channels) > padded;
  };
  if (t.has_vectors()) {
    if (many_empty()) t.vectors = 1;
    return t;
  }
  while (t.items > 16 && many_empty()) t.items /= 2;
  return t;
}

/// Division of a group's channels into tiles.
struct ChannelTiles {
  VectorTile tile;
  std::int64_t width, panels;  ///< channels of a tile; tiles of a group
  std::int64_t weights;        ///< all tiles
};

ChannelTiles tiles_of(const ConvolutionChannels& problem, const Target& target) {
  const VectorTile tile = tile_of(target, problem.out);
  ChannelTiles t{tile, tile.panel(), 0, 0};
  t.panels = (problem.out + t.width - 1) / t.width;
  t.weights = problem.groups * t.panels * problem.elements * problem.in * t.width;
  return t;
}

/// The weight with the channels of a tile side by side. The destination is not set yet.
Launch pack(const KernelCall& c, const ConvolutionChannels& problem, const ChannelTiles& tiles) {
  const TensorView w = convolution_weight(c);
  Launch k("pack_weight");
  k.type("SUM_T", DType::f32);
  k.source.define("WIDTH", tiles.width);
  declare_weight(k, c, DType::f32);
  Axes element;
  for (int i = 2; i < w.rank; ++i) element.add(w.size(i), w.stride(i));
  element.declare(k.source, "element");
  k.parameter("count", tiles.weights);
  k.parameter("elements", problem.elements);
  k.parameter("panels", tiles.panels);
  k.parameter("group_in", problem.in);
  k.parameter("group_out", problem.out);
  k.parameter("w_group", w.stride(0) * (problem.transposed ? problem.in : problem.out));
  k.parameter("w_out", problem.w_out);
  k.parameter("w_in", problem.w_in);
  return k;
}

/// Declares the packed weight: constant weights are packed now, other weights at each run of the node.
void declare_packed(Launch& k, const KernelCall& c, Launches& list, const ConvolutionChannels& problem,
                    const ChannelTiles& tiles) {
  const std::uint64_t bytes = static_cast<std::uint64_t>(tiles.weights) * sizeof(float);
  Launch packing = pack(c, problem, tiles);
  if (c.constant == nullptr || !c.constant[1] || c.in[1].data == nullptr) {
    const std::uint64_t packed = list.scratch(bytes);
    packing.scratch("to", packed, DType::f32, true);
    list.add(std::move(packing), tiles.weights);
    return k.scratch("w", packed, DType::f32, false);
  }
  const std::size_t packed = list.table(bytes);
  packing.output("to", 0, DType::f32);
  Launches once(c);
  once.add(std::move(packing), tiles.weights);
  TensorView to;
  to.data = list.table_data(packed);
  KernelCall call = c;
  call.out = {&to, 1};
  once.run(call);
  k.table("w", packed, DType::f32);
}

void tiled(const KernelCall& c, Launches& list, const ConvolutionChannels& problem) {
  const TensorView& out = c.out[0];
  const bool once = c.constant != nullptr && c.constant[1] && c.in[1].data != nullptr;
  if (c.in[1].blocks.columns != 0)
    list.widening = {static_cast<std::uint64_t>(c.in[1].numel() * element_size(DType::f32)), once};
  const std::int64_t positions = out.numel() / (out.size(0) * out.size(1));
  const ChannelTiles tiles = tiles_of(problem, list.target());
  const std::int64_t blocks = (positions + tiles.tile.rows - 1) / tiles.tile.rows;
  Launch k("convolution_tiled");
  declare(k, c, problem, DType::f32);
  declare_packed(k, c, list, problem, tiles);
  k.type("X_T", c.in[0].dtype);
  declare_tile(k.source, tiles.tile);
  k.source.define("TRANSPOSED", problem.transposed ? 1 : 0);
  k.source.define("START(a, o)", problem.transposed ? kTransposedStart : kStart);
  k.source.define("PLACED(a, at, k)", problem.transposed ? kTransposedPlaced : kPlaced);
  k.parameter("positions", positions);
  k.parameter("position_blocks", blocks);
  k.parameter("panels", tiles.panels);
  k.parameter("groups", problem.groups);
  k.parameter("depth", problem.elements * problem.in);
  list.add(std::move(k), out.size(0) * problem.groups * tiles.panels * blocks * tiles.tile.items,
           static_cast<std::uint32_t>(tiles.tile.items));
}

bool is_in_range(std::int64_t a, std::int64_t b) {
  return b == 0 || a <= kMostPositions / b;
}

/// True if positions fit 32 bits, as required by the tiled kernel.
bool is_small(const KernelCall& c) {
  const auto n = static_cast<std::size_t>(c.in[0].rank - 2);
  const Three in = last_sizes(c.in[0], n), out = last_sizes(c.out[0], n), window = last_sizes(convolution_weight(c), n);
  const Three strides = three_of(*c.node, AttrKey::strides, n, 1);
  const Three dilations = three_of(*c.node, AttrKey::dilations, n, 1);
  const Three before = three_of(*c.node, AttrKey::before, n, 0);
  std::int64_t positions = 1;
  for (std::size_t i = 0; i < 3; ++i) {
    if (!is_in_range(in[i], strides[i]) || !is_in_range(out[i], strides[i]) || !is_in_range(window[i], dilations[i]) ||
        !is_in_range(before[i], 1) || !is_in_range(out[i], positions))
      return false;
    positions *= out[i];
  }
  return true;
}

/// `faster`: allows device-specific bits.
void convolve(const KernelCall& c, Launches& list, bool faster) {
  const DType number = number_type(c.in[0].dtype);
  const ConvolutionChannels problem = describe_convolution(c);
  if (number == DType::f32 && c.out[0].numel() > 0 &&
      c.out[0].numel() * problem.in * problem.elements >= kConvolutionLeastWork && is_small(c)) {
    if (list.target().groups && add_convolution_by_groups(c, list, problem, faster)) return;
    if (problem.out >= kFewChannels) return tiled(c, list, problem);
  }
  convolve_elements(c, list, problem, number);
}

void convolution(const KernelCall& c, Launches& list) {
  convolve(c, list, false);
}
void faster_convolution(const KernelCall& c, Launches& list) {
  convolve(c, list, true);
}

}  // namespace

ConvolutionChannels describe_convolution(const KernelCall& c) {
  const TensorView w = convolution_weight(c);
  ConvolutionChannels p{c.node->integer(AttrKey::groups), 0, 0, 1, c.node->integer(AttrKey::transposed) != 0, 0, 0};
  p.in = c.in[0].size(1) / p.groups;
  p.out = c.out[0].size(1) / p.groups;
  for (int i = 2; i < w.rank; ++i) p.elements *= w.size(i);
  p.w_out = w.stride(p.transposed ? 1 : 0);
  p.w_in = w.stride(p.transposed ? 0 : 1);
  return p;
}

void define_convolutions(Definitions& d) {
  d.set(Op::convolution, kernel<convolution>());
  d.set_faster(Op::convolution, kernel<faster_convolution>());
}

}  // namespace tern::portable
