// torchao's MXTensor: elements in blocks with a common power of two (torchao/prototype/mx_formats/mx_tensor.py).
#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/microscaling/round.h"
#include "exporter/subclasses/families.h"

namespace tern::subclasses {
namespace {

using microscaling::NarrowFloat;

const NarrowFloat& element_type(const pt2::PickledAttribute& a) {
  const NarrowFloat* type = microscaling::find_narrow_float(a.text);
  if (type == nullptr) fail(ErrorCode::unsupported, fmt::format("unknown element type '{}' of MX blocks", a.text));
  return *type;
}

const pt2::PickledAttribute& field(const pt2::PickledAttribute& record, std::string_view name) {
  const pt2::PickledAttribute* f = record.find(name);
  if (f == nullptr) fail(ErrorCode::bad_file, fmt::format("the quantization of activations has no '{}'", name));
  return *f;
}

}  // namespace

ValueId dequantize_mx(Builder& b, const QuantizedTensor& q) {
  const NarrowFloat& type = element_type(q.attribute("elem_dtype"));
  ValueId elements = q.value("qdata"), scales = q.value("scale");
  const bool transposed = stored_transposed(q, "qdata");
  if (transposed) {
    elements = b.transpose(elements, -2, -1);
    scales = b.transpose(scales, -2, -1);
  }
  const Attr block = attr(AttrKey::block, Dim(q.integer("block_size")));
  const pt2::PickledAttribute* swizzled = q.tensor->attribute("is_swizzled_scales");
  const bool tiles = swizzled != nullptr && swizzled->integer != 0;
  const Attr layout =
      attr(AttrKey::layout, Dim(static_cast<std::int64_t>(tiles ? ScaleLayout::swizzled_32_4_4 : ScaleLayout::plain)));
  const ValueId packed = b.add(Op::mx_pack, {elements, scales}, {attr_dtype(type.dtype), block, layout});
  const ValueId y = b.add(Op::dequantize, {packed}, {attr_dtype(q.tensor->dtype)});
  return transposed ? b.transpose(y, -2, -1) : y;
}

/// Quantizes and widens the activation, like torchao's emulation; products of such numbers are exact.
QuantizedProduct multiply_mx(Builder& b, QuantizedTensor& weight, ValueId x) {
  const pt2::PickledAttribute& activation_kwargs = weight.attribute("act_quant_kwargs");
  const NarrowFloat& type = element_type(field(activation_kwargs, "elem_dtype"));
  const std::int64_t block = field(activation_kwargs, "block_size").integer;
  const pt2::PickledAttribute& rule = field(activation_kwargs, "scaling_mode");
  if (block < 1 || block > (1 << 20))
    fail(ErrorCode::bad_file, fmt::format("MX blocks of {} elements are not supported", block));
  if (b.rank(x) == 0) fail(ErrorCode::bad_file, "the activation has no dimensions");
  const std::string rule_name(rule.items.size() == 1 ? rule.items[0].text : "");
  return {microscaling::round_to_mx_with_gradient(b, x, type, block, rule_name), dequantize(b, weight)};
}

}  // namespace tern::subclasses
