#include "devices/gpu/libraries/convolution.h"

#include <algorithm>

#include "devices/gpu/libraries/attributes.h"
#include "devices/gpu/libraries/dtype_numbers.h"

namespace tern::gpu {
namespace {

struct ConvolutionType {
  int dtype;
  std::uint32_t bytes;
};
constexpr ConvolutionType kConvolutionTypes[] = {{kF16, 2}, {kBf16, 2}, {kF32, 4}, {kF64, 8}};

/// Returns the attribute's values, or `count` times `otherwise`.
std::vector<std::int64_t> values(const tern_device_op& op, const char* name, std::size_t count,
                                 std::int64_t otherwise) {
  if (const tern_device_attribute* a = attribute(op, name)) return {a->integers, a->integers + a->count};
  return std::vector<std::int64_t>(count, otherwise);
}

/// Returns false for empty axes and non-positive strides.
bool read(const tern_device_tensor& t, Shape* shape) {
  for (std::int32_t i = 0; i < t.rank; ++i) {
    if (t.sizes[i] < 1 || (t.sizes[i] > 1 && t.strides[i] < 1)) return false;
    shape->sizes.push_back(t.sizes[i]);
    shape->strides.push_back(std::max<std::int64_t>(t.strides[i], 1));
  }
  return true;
}

/// Inserts a spatial axis of size 1: the libraries do not support images with one axis.
void add_axis(Convolution& c) {
  for (Shape* s : {&c.x, &c.w, &c.y}) {
    s->sizes.insert(s->sizes.begin() + 2, 1);
    s->strides.insert(s->strides.begin() + 2, s->strides[2] * s->sizes[3]);
  }
  for (auto* list : {&c.padding_before, &c.padding_after}) list->insert(list->begin(), 0);
  for (auto* list : {&c.strides, &c.dilations}) list->insert(list->begin(), 1);
}

}  // namespace

std::optional<Convolution> convolution_of(const tern_device_op& op) {
  const tern_device_tensor &x = op.inputs[0], &w = op.inputs[1], &y = op.outputs[0];
  const auto* type = std::ranges::find(kConvolutionTypes, x.dtype, &ConvolutionType::dtype);
  if (type == std::end(kConvolutionTypes) || w.dtype != x.dtype || y.dtype != x.dtype || w.rank != x.rank)
    return std::nullopt;
  if (values(op, "transposed", 1, 0)[0] != 0 || values(op, "fill", 1, 0)[0] != 0) return std::nullopt;
  Convolution c;
  c.dtype = type->dtype;
  c.bytes = type->bytes;
  c.is_exact = op.precision == TERN_DEVICE_PRECISION_EXPORTED;
  c.has_bias = op.input_count > 2 && op.inputs[2].dtype != 0;
  if (c.has_bias && op.inputs[2].strides[0] != 1 && op.inputs[2].sizes[0] != 1) return std::nullopt;
  if (!read(x, &c.x) || !read(w, &c.w) || !read(y, &c.y)) return std::nullopt;
  const auto axes = static_cast<std::size_t>(x.rank - 2);
  c.padding_before = values(op, "before", axes, 0);
  c.padding_after = values(op, "after", axes, 0);
  c.strides = values(op, "strides", axes, 1);
  c.dilations = values(op, "dilations", axes, 1);
  if (axes == 1) add_axis(c);
  return c;
}

}  // namespace tern::gpu
