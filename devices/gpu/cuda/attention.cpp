#include "devices/gpu/cuda/attention.h"

#include <cmath>

#include "devices/gpu/libraries/attributes.h"
#include "devices/gpu/libraries/dtype_numbers.h"

namespace tern::gpu {
namespace {

constexpr std::int64_t kElementsOf16Bytes = 8;

/// Merges the axes before the heads into one, and adds a missing head axis. Returns nothing if the axes cannot be
/// merged.
std::optional<Shape> four_axis_shape(const tern_device_tensor& t, bool repeats) {
  Shape s{{1, 1}, {0, 0}};
  std::int64_t next = 0;  // required stride of the next axis to merge
  for (std::int32_t i = t.rank - 4; i >= 0; --i) {
    const std::int64_t size = t.sizes[i], stride = t.strides[i];
    if (size == 1) continue;
    if (s.sizes[0] == 1) {
      s.strides[0] = stride;
    } else if (stride != next) {
      return std::nullopt;
    }
    s.sizes[0] *= size;
    next = stride * size;
  }
  if (t.rank >= 3) s.sizes[1] = t.sizes[t.rank - 3], s.strides[1] = t.strides[t.rank - 3];
  for (const std::int32_t i : {t.rank - 2, t.rank - 1}) {
    s.sizes.push_back(i < 0 ? 1 : t.sizes[i]);
    s.strides.push_back(i < 0 ? 0 : t.strides[i]);
  }
  for (std::size_t i = 0; i < 4; ++i)
    if (s.sizes[i] < 1 || (s.sizes[i] > 1 && s.strides[i] < (repeats ? 0 : 1))) return std::nullopt;
  return s;
}

/// True if rows are contiguous and 16-byte aligned (relative to the tensor). Sets strides of axes of size 1 to the
/// strides of contiguous tensors.
bool is_in_rows(Shape& s) {
  const Shape usual = contiguous(s.sizes);
  for (std::size_t i = 0; i < 4; ++i)
    if (s.sizes[i] == 1) s.strides[i] = usual.strides[i];
  if (s.strides[3] != 1 || s.sizes[3] % kElementsOf16Bytes != 0) return false;
  for (std::size_t i = 0; i < 3; ++i)
    if (s.strides[i] % kElementsOf16Bytes != 0) return false;
  return true;
}

/// Returns false for masks of other types, or repeated along a part of the batch.
bool read_mask(const tern_device_tensor& t, int dtype, Attention* a) {
  if (t.dtype != kBool && t.dtype != kF32 && t.dtype != dtype) return false;
  const std::optional<Shape> mask = four_axis_shape(t, true);
  const std::int64_t sizes[] = {a->out.sizes[0], a->out.sizes[1], a->q.sizes[2], a->k.sizes[2]};
  if (!mask) return false;
  a->mask = *mask;
  a->is_boolean = t.dtype == kBool;
  a->is_half = t.dtype == kF16;
  // Uses a float32 bias for float16: the lowest float16 number would not hide keys with larger scores.
  a->bias_type = t.dtype == kF32 || a->type == cudnn::kHalf ? cudnn::kFloat : a->type;
  for (std::size_t i = 0; i < 4; ++i) {
    if (a->mask.sizes[i] == 1) a->mask.strides[i] = 0;
    if (a->mask.sizes[i] != 1 && a->mask.sizes[i] != sizes[i]) return false;
    a->mask.sizes[i] = sizes[i];
  }
  return true;
}

}  // namespace

Shape Attention::bias() const {
  // Rows are aligned to 16 bytes.
  const std::int64_t row = (mask.sizes[3] + kElementsOf16Bytes - 1) / kElementsOf16Bytes * kElementsOf16Bytes;
  Shape s = contiguous(
      {mask.strides[0] == 0 ? 1 : mask.sizes[0], mask.strides[1] == 0 ? 1 : mask.sizes[1], mask.sizes[2], row});
  s.sizes[3] = mask.sizes[3];
  return s;
}

std::optional<Attention> attention_of(const tern_device_op& op) {
  const tern_device_tensor &q = op.inputs[0], &k = op.inputs[1], &v = op.inputs[2], &out = op.outputs[0];
  if ((q.dtype != kF16 && q.dtype != kBf16) || k.dtype != q.dtype || v.dtype != q.dtype || out.dtype != q.dtype)
    return std::nullopt;
  Attention a;
  a.type = q.dtype == kF16 ? cudnn::kHalf : cudnn::kBfloat16;
  const struct {
    const tern_device_tensor& tensor;
    Shape& shape;
  } operands[] = {{q, a.q}, {k, a.k}, {v, a.v}, {out, a.out}};
  for (const auto& o : operands) {
    std::optional<Shape> shape = four_axis_shape(o.tensor, false);
    if (!shape || !is_in_rows(*shape)) return std::nullopt;
    o.shape = *shape;
    if (shape->sizes[0] != a.q.sizes[0]) return std::nullopt;
  }
  if (op.input_count > 3 && op.inputs[3].dtype != 0 && !read_mask(op.inputs[3], q.dtype, &a)) return std::nullopt;
  const tern_device_attribute* causal = attribute(op, "causal");
  a.is_causal = causal != nullptr && causal->integers[0] != 0;
  const tern_device_attribute* scale = attribute(op, "scale", TERN_ATTRIBUTE_NUMBERS);
  a.scale = static_cast<float>(scale != nullptr ? scale->numbers[0] : 1 / std::sqrt(static_cast<double>(a.q.sizes[3])));
  return a;
}

}  // namespace tern::gpu
