// Makes the instructions of a pointwise expression one by one.
#pragma once

#include <complex>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "schema/pointwise.h"

namespace tern {

/// Numbers of instructions are given back and taken; equal instructions are one. Results are in compute types, but
/// those of load().
class Instructions {
 public:
  using Ref = std::uint16_t;

  Ref push(Instruction i);
  Ref emit(Scalar op, DType result, Ref a, Ref b = 0, Ref c = 0);
  Ref constant(std::complex<double> value, DType type);
  /// Input `input` of type `type`, converted to its compute type.
  Ref load(std::size_t input, DType type);
  /// x in another type; the real part of a complex one that becomes real.
  Ref convert(Ref x, DType to);
  DType dtype(Ref x) const { return code_[x].dtype; }
  bool is_constant(Ref x) const { return code_[x].op == Scalar::constant; }

  // Operands of two types are converted to the wider one, real ones to complex.
  Ref add(Ref a, Ref b) { return both(Scalar::add, a, b); }
  Ref mul(Ref a, Ref b) { return both(Scalar::mul, a, b); }
  Ref scaled(Ref a, std::complex<double> by);  ///< complex where `by` is
  Ref part(Scalar op, Ref x);  ///< real, imag or conj of complex numbers, x itself (imag: 0) of real ones

  /// A text of exporter/expr_text.h over named parts, of one type, which is that of the result.
  Ref text(std::string_view text, std::initializer_list<std::pair<std::string_view, Ref>> names);

  /// The expression whose result is `last`, without what it does not read. Its inputs are numbered anew: `inputs` gets
  /// the numbers that load() was given, in order.
  PointwiseExpr finish(Ref last, std::vector<std::size_t>* inputs) const;

 private:
  Ref both(Scalar op, Ref a, Ref b);
  std::vector<Instruction> code_;
};

/// The type of a sum of numbers of two compute types, complex or floating.
DType wider(DType a, DType b);
DType complex_type(DType t);  ///< complex64 for float32
DType part_type(DType t);     ///< float32 for complex64

}  // namespace tern
