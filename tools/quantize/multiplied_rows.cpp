#include "tools/quantize/multiplied_rows.h"

#include <algorithm>
#include <iterator>

namespace tern {
namespace {

/// Sizes of a convolution's kernel.
Dims kernel_of(const Function& f, const Node& node) {
  const Dims& weight = f.values[static_cast<std::size_t>(node.inputs[1])].type.shape;
  return {weight.begin() + 2, weight.end()};
}

/// The columns of a convolution's operand x [n, channels, ...]: [n, ..., channels, kernel].
ValueId add_windows(Builder& b, const Node& node, ValueId x) {
  const Dims kernel = kernel_of(b.function(), node), result = b.shape(node.outputs[0]);
  const Dims strides = node.dims(AttrKey::strides), dilations = node.dims(AttrKey::dilations);
  const Dims pads_before = node.dims(AttrKey::before), pads_after = node.dims(AttrKey::after);
  const std::size_t axes = kernel.size();
  // Attributes with default values may be absent.
  const auto number = [](const Dims& dims, std::size_t i, std::int64_t otherwise) {
    return i < dims.size() ? dims[i].value() : otherwise;
  };
  Dims padding_before(2, 0), padding_after(2, 0);
  for (std::size_t i = 0; i < axes; ++i) {
    padding_before.emplace_back(number(pads_before, i, 0));
    padding_after.emplace_back(number(pads_after, i, 0));
  }
  if (padding_before != Dims(axes + 2, 0) || padding_after != Dims(axes + 2, 0))
    x = b.pad(x, padding_before, padding_after);
  std::int64_t kernel_elements = 1;
  for (const Dim& k : kernel) kernel_elements *= k.value();
  std::vector<ValueId> shifted_images;
  for (std::int64_t kernel_element = 0; kernel_element < kernel_elements; ++kernel_element) {
    ValueId shifted_image = x;
    std::int64_t remainder = kernel_element;
    for (std::size_t i = axes; i-- > 0; remainder /= kernel[i].value()) {
      const std::int64_t start = remainder % kernel[i].value() * number(dilations, i, 1);
      shifted_image =
          b.slice(shifted_image, static_cast<std::int64_t>(i) + 2, start, result[i + 2], number(strides, i, 1));
    }
    shifted_images.push_back(b.unsqueeze(shifted_image, 2));
  }
  const ValueId together = b.concat(std::move(shifted_images), 2);  // [n, channels, kernel, ...]
  std::vector<std::int64_t> order = {0};
  for (std::size_t i = 0; i < axes; ++i) order.push_back(static_cast<std::int64_t>(i) + 3);
  order.insert(order.end(), {1, 2});
  return b.permute(together, order);
}

}  // namespace

MultipliedRows multiplied_rows(const Function& f, const Node& node) {
  MultipliedRows rows{node.inputs[0], {}};
  if (node.op != Op::convolution) return rows;
  rows.windows = kernel_of(f, node);
  for (const AttrKey key : {AttrKey::strides, AttrKey::dilations, AttrKey::before, AttrKey::after}) {
    std::ranges::copy(node.dims(key), std::back_inserter(rows.windows));
    rows.windows.emplace_back(-1);
  }
  rows.windows.emplace_back(node.integer(AttrKey::groups));
  return rows;
}

ValueId add_multiplied_rows(Builder& b, const Node& node, std::int64_t columns) {
  const ValueId x = b.cast(node.inputs[0], DType::f32);
  const ValueId rows = node.op == Op::convolution ? add_windows(b, node, x) : x;
  return b.reshape(rows, {b.pool().floordiv(b.numel(rows), columns), columns});
}

}  // namespace tern
