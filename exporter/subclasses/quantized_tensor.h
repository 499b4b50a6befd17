// A tensor subclass that quantizes, while a program is imported: its inner tensors as values, and what it stands for.
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
  struct Inner {
    ValueId value = kNoValue;
    std::int32_t ref = -1;  ///< the importer's name of the tensor in memory
  };
  const pt2::PickledTensor* tensor = nullptr;  ///< class, attributes, sizes
  std::map<std::string, Inner, std::less<>> inner;
  std::map<std::string, std::shared_ptr<QuantizedTensor>, std::less<>> nested;
  /// What this is a view of, by the operators that gave a subclass again; null where it is the tensor of the file. Only
  /// the latter has inner tensors.
  std::shared_ptr<QuantizedTensor> whole;
  std::vector<std::function<ValueId(Builder&, ValueId)>> views;
  ValueId dequantized = kNoValue;  ///< once it was computed

  /// The inner tensor of that name; fails when there is none.
  ValueId value(std::string_view name) const;
  ValueId value_or_none(std::string_view name) const;
  /// The attribute of that name; fails when there is none.
  const pt2::PickledAttribute& attribute(std::string_view name) const;
  /// An integer, or a boolean.
  std::int64_t integer(std::string_view name) const;
};

/// The numbers that the tensor stands for, with the arithmetic and the rounding of torchao's dequantize(). Fails for
/// classes without one.
ValueId dequantize(Builder& b, QuantizedTensor& q);

/// What PyTorch multiplies where a quantized weight is an operand of a product.
struct QuantizedProduct {
  ValueId x = kNoValue;
  ValueId weight = kNoValue;
  ValueId scale = kNoValue;  ///< of the result, before the bias; none where x and weight are scaled
};

/// The activation is quantized too where the weight says so, as torchao's linear does.
QuantizedProduct quantized_product(Builder& b, QuantizedTensor& weight, ValueId x);

}  // namespace tern
