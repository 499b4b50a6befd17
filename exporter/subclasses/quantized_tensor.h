// Quantized tensor subclass during import: its inner tensors as values, and its represented value.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exporter/builder.h"
#include "exporter/pt2/pickled_tensor.h"

namespace tern {

struct QuantizedTensor {
  struct InnerTensor {
    ValueId value = kNoValue;
    std::int32_t ref = -1;  ///< the importer's name of the tensor in memory
  };
  const pt2::PickledTensor* tensor = nullptr;  ///< class, attributes, sizes
  std::map<std::string, InnerTensor, std::less<>> inner;
  std::map<std::string, std::shared_ptr<QuantizedTensor>, std::less<>> nested;
  /// Tensor viewed by this one through operators returning the subclass; null for the file's own tensor. Only the
  /// file's tensor has inner tensors.
  std::shared_ptr<QuantizedTensor> base;
  std::vector<std::function<ValueId(Builder&, ValueId)>> views;
  ValueId dequantized = kNoValue;  ///< set by the first dequantization

  /// Inner tensor by name; fails if absent.
  ValueId value(std::string_view name) const;
  ValueId value_or_none(std::string_view name) const;
  /// Attribute by name; fails if absent.
  const pt2::PickledAttribute& attribute(std::string_view name) const;
  /// An integer, or a boolean.
  std::int64_t integer(std::string_view name) const;
};

/// Represented numbers, with the arithmetic and rounding of torchao's dequantize(). Fails for classes without one.
ValueId dequantize(Builder& b, QuantizedTensor& q);

/// PyTorch's factors of a product with a quantized weight.
struct QuantizedProduct {
  ValueId x = kNoValue;
  ValueId weight = kNoValue;
  ValueId scale = kNoValue;  ///< scale of the result, before the bias; none if x and weight are scaled
};

/// Quantizes the activation too if the weight requests it, like torchao's linear.
QuantizedProduct quantized_product(Builder& b, QuantizedTensor& weight, ValueId x);

}  // namespace tern
