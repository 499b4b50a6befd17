// Partial derivative inside an expression, as instructions. Known zeros and ones cost no instruction. An expression
// choosing between two operands has a derivative with the same choice: the unchosen derivative, often infinite, is
// ignored.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "exporter/gradients/instructions.h"

namespace tern {

class Slope {
 public:
  using Ref = Instructions::Ref;

  static Slope zero() { return Slope(Kind::zero); }
  static Slope one() { return Slope(Kind::one); }
  static Slope value(Ref ref);
  static Slope choice(Ref condition, const Slope& if_true, const Slope& if_false);

  bool is_zero() const { return kind_ == Kind::zero; }
  bool is_one() const { return kind_ == Kind::one; }

  Slope times(Instructions& code, Ref factor) const;
  Slope scaled(Instructions& code, std::complex<double> factor) const;
  Slope plus(Instructions& code, const Slope& other) const;
  /// Applies Scalar::real, imag or conj.
  Slope component(Instructions& code, Scalar op) const;
  /// Instruction of the slope; constants have type `type`.
  Ref materialize(Instructions& code, DType type) const;

 private:
  enum class Kind { zero, one, value, choice };
  explicit Slope(Kind kind) : kind_(kind) {}
  /// Applies f to each value; `of_one` replaces each 1.
  Slope mapped(const std::function<Ref(Ref)>& f, const std::function<Slope()>& of_one) const;
  DType type(const Instructions& code, DType otherwise) const;

  Kind kind_;
  Ref ref_ = 0;  ///< value; condition of a choice
  std::shared_ptr<const std::pair<Slope, Slope>> branches_;
};

}  // namespace tern
