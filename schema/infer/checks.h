// Small checks shared by families of shape rules.
#pragma once

#include "schema/infer.h"

namespace tern {

/// Returns operand i; must not be quantized (elements mean nothing without their scales).
inline const TensorType& plain(const Inference& c, std::size_t i) {
  const TensorType& t = c.in(i);
  c.require(!t.quantized(), "a quantized operand is not allowed here");
  return t;
}

/// Returns operand i; must be a computable tensor of real numbers or booleans.
inline const TensorType& real_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(!is_complex(t.dtype) && t.dtype != DType::f4_e2m1, "needs real numbers");
  return t;
}

/// Returns operand i; must be a computable floating tensor; complex only on request.
inline const TensorType& floating_operand(const Inference& c, std::size_t i, bool allow_complex = false) {
  const TensorType& t = plain(c, i);
  const bool is_valid = (is_floating(t.dtype) && t.dtype != DType::f4_e2m1) || (allow_complex && is_complex(t.dtype));
  c.require(is_valid, allow_complex ? "needs floating or complex numbers" : "needs floating numbers");
  return t;
}

/// Returns operand i; must be a tensor of positions, int32 or int64.
inline const TensorType& index_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(t.dtype == DType::i32 || t.dtype == DType::i64, "an index must be int32 or int64");
  return t;
}

/// Returns operand i; must be movable by whole elements: two f4_e2m1 elements share a byte.
inline const TensorType& movable_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(t.dtype != DType::f4_e2m1, "float4 elements cannot be moved one by one");
  return t;
}

/// Returns the data-dependent sizes: attribute `symbols`, each a symbol, or a number once known.
inline const Dims& data_sizes(const Inference& c, std::size_t count) {
  const Dims& d = c.list(AttrKey::symbols, count);
  for (Dim s : d) {
    const bool is_valid = s.is_const() ? s.value() >= 0 : c.pool.symbol_of(s) >= 0;
    c.require(is_valid, "attribute 'symbols' must name symbols");
  }
  return d;
}

/// Checks operand i, if present, for the dtype and shape of a parameter.
inline void parameter(const Inference& c, std::size_t i, const Dims& shape, const char* subject) {
  if (!c.has(i)) return;
  const TensorType& t = floating_operand(c, i);
  if (t.shape.size() != shape.size()) c.fail(std::string(subject) + " has a wrong number of axes");
  for (std::size_t k = 0; k < shape.size(); ++k) c.require_equal(t.shape[k], shape[k], subject);
}

/// Requires a plain tensor with addressable elements: neither packed float4 nor quantized.
void require_plain(const Inference& c, std::size_t input);
void require_floating(const Inference& c, std::size_t input);               ///< real floating
void require_same_dtype(const Inference& c, std::size_t a, std::size_t b);  ///< requires equal types of two inputs
/// Requires attribute `dtype` to be a valid type of dequantized numbers.
void require_numbers_type(const Inference& c);
/// Fails if `d` can never reach `min`.
void require_at_least(const Inference& c, Dim d, std::int64_t min, const char* subject);

}  // namespace tern
