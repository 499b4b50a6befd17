// Small checks that several families of shape rules share.
#pragma once

#include "schema/infer.h"

namespace tern {

/// Operand i, which must not be a quantized value (its elements mean nothing without their scales).
inline const TensorType& plain(const Inference& c, std::size_t i) {
  const TensorType& t = c.in(i);
  c.require(!t.quantized(), "a quantized operand is not allowed here");
  return t;
}

/// Operand i as a tensor of real numbers or booleans on which kernels compute.
inline const TensorType& real_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(!is_complex(t.dtype) && t.dtype != DType::f4_e2m1, "needs real numbers");
  return t;
}

/// Operand i as a tensor of floating numbers on which kernels compute; complex ones too on request.
inline const TensorType& floating_operand(const Inference& c, std::size_t i, bool allow_complex = false) {
  const TensorType& t = plain(c, i);
  const bool good = (is_floating(t.dtype) && t.dtype != DType::f4_e2m1) || (allow_complex && is_complex(t.dtype));
  c.require(good, allow_complex ? "needs floating or complex numbers" : "needs floating numbers");
  return t;
}

/// Operand i as a tensor of whole positions, int32 or int64.
inline const TensorType& index_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(t.dtype == DType::i32 || t.dtype == DType::i64, "an index must be int32 or int64");
  return t;
}

/// Operand i as something to move by whole elements: two of f4_e2m1 share a byte.
inline const TensorType& movable_operand(const Inference& c, std::size_t i) {
  const TensorType& t = plain(c, i);
  c.require(t.dtype != DType::f4_e2m1, "float4 elements cannot be moved one by one");
  return t;
}

/// The sizes that only the data determine: attribute `symbols`, each a symbol, or a number once it is known.
inline const Dims& data_sizes(const Inference& c, std::size_t count) {
  const Dims& d = c.list(AttrKey::symbols, count);
  for (Dim s : d) {
    const bool good = s.is_const() ? s.value() >= 0 : c.pool.symbol_of(s) >= 0;
    c.require(good, "attribute 'symbols' must name symbols");
  }
  return d;
}

/// Operand i, if there, must have this dtype and this shape.
inline void parameter(const Inference& c, std::size_t i, const Dims& shape, const char* what) {
  if (!c.has(i)) return;
  const TensorType& t = floating_operand(c, i);
  if (t.shape.size() != shape.size()) c.fail(std::string(what) + " has another rank than expected");
  for (std::size_t k = 0; k < shape.size(); ++k) c.same(t.shape[k], shape[k], what);
}

/// One element can be addressed, and it is a plain tensor: neither packed float4 nor a quantized value.
void require_plain(const Inference& c, std::size_t input);
void require_floating(const Inference& c, std::size_t input);               ///< real floating
void require_same_dtype(const Inference& c, std::size_t a, std::size_t b);  ///< of two inputs
/// Attribute `dtype` must be a type that the numbers of a quantized value are given in.
void require_numbers_type(const Inference& c);
/// Fails when `d` cannot be at least `min`.
void require_at_least(const Inference& c, Dim d, std::int64_t min, const char* what);

}  // namespace tern
