// Builds the instructions of a pointwise expression.
#pragma once

#include <complex>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "schema/pointwise.h"

namespace tern {

/// Refers to instructions by number; equal instructions are merged. Results have compute types, except for load().
class Instructions {
 public:
  using Ref = std::uint16_t;

  Ref push(Instruction i);
  Ref emit(Scalar op, DType result, Ref a, Ref b = 0, Ref c = 0);
  Ref constant(std::complex<double> value, DType type);
  /// Input `input` of type `type`, converted to its compute type.
  Ref load(std::size_t input, DType type);
  /// Converts x to another type; complex to real takes the real part.
  Ref convert(Ref x, DType target);
  DType dtype(Ref x) const { return code_[x].dtype; }
  bool is_constant(Ref x) const { return code_[x].op == Scalar::constant; }

  // Operands of two types are converted to the wider type, real to complex.
  Ref add(Ref a, Ref b) { return emit_binary(Scalar::add, a, b); }
  Ref mul(Ref a, Ref b) { return emit_binary(Scalar::mul, a, b); }
  Ref scaled(Ref a, std::complex<double> factor);  ///< complex for a complex `by`
  Ref component(Scalar op, Ref x);                 ///< real, imag or conj; a real x yields x itself (imag: 0)

  /// Text of exporter/expr_text.h over named values of one type, also the result's type.
  Ref text(std::string_view text, std::initializer_list<std::pair<std::string_view, Ref>> names);

  /// Expression with result `last`, without unread instructions. Renumbers its inputs: `inputs` receives the original
  /// numbers passed to load(), in order.
  PointwiseExpr finish(Ref last, std::vector<std::size_t>* inputs) const;

 private:
  Ref emit_binary(Scalar op, Ref a, Ref b);
  std::vector<Instruction> code_;
};

/// The type of a sum of numbers of two compute types, complex or floating.
DType wider_dtype(DType a, DType b);
DType complex_type(DType t);  ///< complex64 for float32
DType part_type(DType t);     ///< float32 for complex64

}  // namespace tern
