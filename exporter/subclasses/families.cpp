#include "exporter/subclasses/families.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>

namespace tern {
namespace subclasses {
namespace {

constexpr Family kFamilies[] = {
    {"torch.sparse.semi_structured SparseSemiStructuredTensorCUSPARSELT", refuse_cusparselt, "", nullptr},
    {"torch.sparse.semi_structured SparseSemiStructuredTensorCUTLASS", dequantize_semi_structured, "", nullptr},
    {"torchao.prototype.mx_formats.mx_tensor MXTensor", dequantize_mx, "act_quant_kwargs", multiply_mx},
    {"torchao.prototype.mx_formats.nvfp4_tensor NVFP4Tensor", dequantize_nvfp4, "act_quant_kwargs", multiply_nvfp4},
    {"torchao.quantization Float8Tensor", dequantize_float8, "act_quant_kwargs", nullptr},
    {"torchao.quantization Int8Tensor", dequantize_affine, "act_quant_kwargs", nullptr},
    {"torchao.quantization IntxUnpackedToInt8Tensor", dequantize_affine, "activation_quantization", nullptr},
};

std::string python_name(const QuantizedTensor& q) {
  std::string name(q.tensor->class_name);
  std::ranges::replace(name, ' ', '.');
  return name;
}

const Family& family_of(const QuantizedTensor& q) {
  const auto* it = std::ranges::find(kFamilies, std::string_view(q.tensor->class_name), &Family::class_name);
  if (it != std::end(kFamilies)) return *it;
  fail(ErrorCode::unsupported,
       fmt::format("an operator of PyTorch reads a tensor of class {}, which Tern does not know; call exported = "
                   "exported.run_decompositions() before torch.export.save",
                   python_name(q)));
}

}  // namespace

bool stored_transposed(const QuantizedTensor& q, std::string_view name) {
  const pt2::PickledTensor* t = q.tensor->find(name);
  if (t == nullptr || t->sizes.size() < 2) return false;
  const std::size_t n = t->sizes.size();
  return t->sizes[n - 1] > 1 && t->sizes[n - 2] > 1 && t->strides[n - 2] < t->strides[n - 1];
}

}  // namespace subclasses

using namespace subclasses;

ValueId QuantizedTensor::value_or_none(std::string_view name) const {
  const auto it = inner.find(name);
  return it == inner.end() ? kNoValue : it->second.value;
}

ValueId QuantizedTensor::value(std::string_view name) const {
  const ValueId v = value_or_none(name);
  if (v == kNoValue) fail(ErrorCode::bad_file, fmt::format("a {} has no tensor '{}'", python_name(*this), name));
  return v;
}

const pt2::PickledAttribute& QuantizedTensor::attribute(std::string_view name) const {
  const pt2::PickledAttribute* a = tensor->attribute(name);
  if (a == nullptr) fail(ErrorCode::bad_file, fmt::format("a {} has no attribute '{}'", python_name(*this), name));
  return *a;
}

std::int64_t QuantizedTensor::integer(std::string_view name) const {
  const pt2::PickledAttribute& a = attribute(name);
  if (a.kind != pt2::PickledAttribute::Kind::integer && a.kind != pt2::PickledAttribute::Kind::boolean)
    fail(ErrorCode::bad_file, fmt::format("attribute '{}' of a {} is not an integer", name, python_name(*this)));
  return a.integer;
}

namespace {

ValueId viewed(Builder& b, const QuantizedTensor& q, ValueId v) {
  for (const auto& view : q.views) v = view(b, v);
  return v;
}

}  // namespace

ValueId dequantize(Builder& b, QuantizedTensor& q) {
  if (q.dequantized != kNoValue) return q.dequantized;
  if (q.base != nullptr) return q.dequantized = viewed(b, q, dequantize(b, *q.base));
  const DType t = q.tensor->dtype;
  if (t != DType::f16 && t != DType::bf16 && t != DType::f32 && t != DType::f64)
    fail(ErrorCode::unsupported, fmt::format("a {} of {} is not supported", python_name(q), name_of(t)));
  return q.dequantized = family_of(q).dequantize(b, q);
}

QuantizedProduct quantized_product(Builder& b, QuantizedTensor& weight, ValueId x) {
  QuantizedTensor& base_weight = weight.base != nullptr ? *weight.base : weight;
  const Family& family = family_of(base_weight);
  const pt2::PickledAttribute* activations = base_weight.tensor->attribute(family.activations);
  if (activations == nullptr || activations->is_none()) return {x, dequantize(b, weight)};
  if (family.product == nullptr)
    fail(ErrorCode::unsupported,
         fmt::format("an operator of PyTorch multiplies by a {} that quantizes its other operand; call exported = "
                     "exported.run_decompositions() before torch.export.save",
                     python_name(base_weight)));
  QuantizedProduct product = family.product(b, base_weight, x);
  product.weight = viewed(b, weight, product.weight);
  return product;
}

}  // namespace tern
