#include "exporter/passes/weight_only/scale.h"

#include <algorithm>
#include <utility>

namespace tern::weight_only {
namespace {

bool is_one_number(const Dims& shape) {
  return std::ranges::all_of(shape, [](Dim d) { return d.is(1); });
}

std::optional<Dims> permuted(const Dims& scale, const Node& view) {
  Dims result;
  for (const Dim a : view.dims(AttrKey::axes)) {
    const std::int64_t axis = a.value() < 0 ? a.value() + static_cast<std::int64_t>(scale.size()) : a.value();
    result.push_back(scale[static_cast<std::size_t>(axis)]);
  }
  return result;
}

/// Scale's sizes after a reshape adding and removing axes of size 1.
std::optional<Dims> reshaped(const Dims& scale, const Dims& source_shape, const Dims& result_shape) {
  Dims result;
  std::size_t index = 0;
  for (const Dim size : result_shape) {
    while (!size.is(1) && index < source_shape.size() && source_shape[index].is(1)) ++index;
    if (size.is(1)) {
      result.emplace_back(1);
    } else if (index < source_shape.size() && source_shape[index] == size) {
      result.push_back(scale[index++]);
    } else {
      return std::nullopt;
    }
  }
  while (index < source_shape.size() && source_shape[index].is(1)) ++index;
  return index == source_shape.size() ? std::optional(result) : std::nullopt;
}

/// Shape of the scale behind a view of the weight from `source_shape` to `result_shape`.
std::optional<Dims> scale_behind_view(const Dims& scale, const Node& view, const Dims& source_shape,
                                      const Dims& result_shape) {
  if (is_one_number(scale)) return Dims(result_shape.size(), 1);
  switch (view.op) {
    case Op::permute: return permuted(scale, view);
    case Op::reshape: return reshaped(scale, source_shape, result_shape);
    case Op::expand: {
      Dims result(result_shape.size() - scale.size(), 1);
      result.insert(result.end(), scale.begin(), scale.end());
      return result;
    }
    case Op::slice: {
      for (std::size_t i = 0; i < source_shape.size(); ++i) {
        if (source_shape[i] != result_shape[i] && !scale[i].is(1)) return std::nullopt;
      }
      return scale;
    }
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<ScaleShapes> shapes_behind_product(const ByteWeights& weights, const ByteOperand& operand) {
  const Dims& shape = weights.type(operand.scale->value).shape;
  Dims scale(static_cast<std::size_t>(operand.scale->rank) - shape.size(), 1);
  scale.insert(scale.end(), shape.begin(), shape.end());
  ScaleShapes shapes = {scale};
  for (std::size_t i = operand.scale->views; i < operand.views.size(); ++i) {
    const Node& view = *operand.views[i];
    // A slice from elsewhere than the beginning, or backwards, may keep the size.
    if (view.op == Op::slice && view.integer(AttrKey::step) != 1 && !is_one_number(scale)) return std::nullopt;
    const auto next =
        scale_behind_view(shapes.back(), view, weights.type(view.inputs[0]).shape, weights.type(view.outputs[0]).shape);
    if (!next) return std::nullopt;
    shapes.push_back(*next);
  }
  const Dims& last = shapes.back();
  return last.size() >= 2 && last[last.size() - 2].is(1) ? std::optional(shapes) : std::nullopt;
}

ValueId scale_behind_product(Builder& b, const ByteOperand& operand, const ScaleShapes& shapes) {
  ValueId scale = operand.scale->value;
  if (std::ranges::count_if(shapes[0], [](Dim d) { return !d.is(1); }) <= 1) {
    Dims sizes = shapes.back();  // a single axis: reshape the numbers, broadcast by the last axes
    sizes.erase(sizes.begin(), std::ranges::find_if(sizes, [](Dim d) { return !d.is(1); }));
    return b.reshape(scale, std::move(sizes));
  }
  scale = b.reshape(scale, shapes[0]);
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    const Node& view = *operand.views[operand.scale->views + i - 1];
    if (view.op == Op::permute) {
      Node scale_view = view;
      scale_view.inputs[0] = scale;
      scale_view.outputs.clear();
      scale = b.add(std::move(scale_view)).front();
    } else {
      scale = b.reshape(scale, shapes[i]);
    }
  }
  return scale;
}

}  // namespace tern::weight_only
