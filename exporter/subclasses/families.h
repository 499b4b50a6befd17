// Classes of torchao and PyTorch with known values: a table, and a file for each family.
#pragma once

#include "exporter/subclasses/quantized_tensor.h"

namespace tern::subclasses {

using DequantizeFn = ValueId (*)(Builder& b, const QuantizedTensor& q);
/// Product with a weight that is no view.
using ProductFn = QuantizedProduct (*)(Builder& b, QuantizedTensor& weight, ValueId x);

struct Family {
  std::string_view class_name;  ///< as PickledTensor::class_name
  DequantizeFn dequantize;
  std::string_view activations;  ///< attribute requesting quantized activations, unless None
  ProductFn product;             ///< null: torchao's programs hold the steps themselves
};

ValueId dequantize_affine(Builder& b, const QuantizedTensor& q);
ValueId dequantize_semi_structured(Builder& b, const QuantizedTensor& q);
ValueId refuse_cusparselt(Builder& b, const QuantizedTensor& q);
ValueId dequantize_float8(Builder& b, const QuantizedTensor& q);
ValueId dequantize_mx(Builder& b, const QuantizedTensor& q);
QuantizedProduct multiply_mx(Builder& b, QuantizedTensor& weight, ValueId x);
ValueId dequantize_nvfp4(Builder& b, const QuantizedTensor& q);
QuantizedProduct multiply_nvfp4(Builder& b, QuantizedTensor& weight, ValueId x);

/// True if the last two axes of the inner tensor are stored in the other order.
bool stored_transposed(const QuantizedTensor& q, std::string_view name);

}  // namespace tern::subclasses
