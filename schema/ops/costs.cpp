#include "schema/ops/costs.h"

#include <algorithm>

#include "schema/program.h"

namespace tern::ops {
namespace {

double elements(Sizes sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return static_cast<double>(n);
}

double last(Sizes sizes, std::size_t from_end) {
  return sizes.size() < from_end ? 1 : static_cast<double>(sizes[sizes.size() - from_end]);
}

}  // namespace

double matmul_operations(const Node&, std::span<const Sizes> in, std::span<const Sizes> out) {
  return 2 * elements(out[0]) * last(in[0], 1);
}

double convolution_operations(const Node& node, std::span<const Sizes> in, std::span<const Sizes> out) {
  // Each element of the result (of the input, if transposed) meets the weights of one output channel.
  const bool transposed = node.integer(AttrKey::transposed) != 0;
  const double channels = static_cast<double>(transposed ? in[0][1] : in[1][0]);
  return channels == 0 ? 0 : 2 * elements(transposed ? in[0] : out[0]) * elements(in[1]) / channels;
}

double attention_operations(const Node&, std::span<const Sizes> in, std::span<const Sizes> out) {
  return 2 * elements(out[0]) * last(in[1], 2) * (1 + last(in[0], 1) / std::max(1.0, last(out[0], 1)));
}

double pointwise_operations(const Node& node, std::span<const Sizes>, std::span<const Sizes> out) {
  return elements(out[0]) * static_cast<double>(node.expr.code.size());
}

}  // namespace tern::ops
