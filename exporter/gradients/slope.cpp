#include "exporter/gradients/slope.h"

namespace tern {

Slope Slope::value(Ref ref) {
  Slope s(Kind::value);
  s.ref_ = ref;
  return s;
}

Slope Slope::choice(Ref condition, const Slope& if_true, const Slope& if_false) {
  if (if_true.is_zero() && if_false.is_zero()) return zero();
  if (if_true.is_one() && if_false.is_one()) return one();
  Slope s(Kind::choice);
  s.ref_ = condition;
  s.branches_ = std::make_shared<const std::pair<Slope, Slope>>(if_true, if_false);
  return s;
}

Slope Slope::mapped(const std::function<Ref(Ref)>& f, const std::function<Slope()>& of_one) const {
  switch (kind_) {
    case Kind::zero: return *this;
    case Kind::one: return of_one();
    case Kind::value: return value(f(ref_));
    case Kind::choice: break;
  }
  return choice(ref_, branches_->first.mapped(f, of_one), branches_->second.mapped(f, of_one));
}

Slope Slope::times(Instructions& code, Ref factor) const {
  return mapped([&](Ref x) { return code.mul(x, factor); }, [&] { return value(factor); });
}

Slope Slope::scaled(Instructions& code, std::complex<double> factor) const {
  if (factor == 1.0 || is_zero()) return *this;
  return mapped([&](Ref x) { return code.scaled(x, factor); },
                [&] { return value(code.constant(factor, factor.imag() != 0 ? DType::c64 : DType::f32)); });
}

Slope Slope::component(Instructions& code, Scalar op) const {
  return mapped([&](Ref x) { return code.component(op, x); }, [&] { return op == Scalar::imag ? zero() : one(); });
}

DType Slope::type(const Instructions& code, DType otherwise) const {
  if (kind_ == Kind::value) return code.dtype(ref_);
  if (kind_ != Kind::choice) return otherwise;
  return wider_dtype(branches_->first.type(code, otherwise), branches_->second.type(code, otherwise));
}

Slope Slope::plus(Instructions& code, const Slope& other) const {
  if (is_zero()) return other;
  if (other.is_zero()) return *this;
  if (kind_ == Kind::choice && other.kind_ == Kind::choice && ref_ == other.ref_) {
    return choice(ref_, branches_->first.plus(code, other.branches_->first),
                  branches_->second.plus(code, other.branches_->second));
  }
  const DType t = wider_dtype(type(code, DType::f32), other.type(code, DType::f32));
  return value(code.add(materialize(code, t), other.materialize(code, t)));
}

Slope::Ref Slope::materialize(Instructions& code, DType type) const {
  switch (kind_) {
    case Kind::zero: return code.constant(0, type);
    case Kind::one: return code.constant(1, type);
    case Kind::value: return code.convert(ref_, type);
    case Kind::choice: break;
  }
  const Ref if_true = branches_->first.materialize(code, type), if_false = branches_->second.materialize(code, type);
  return code.emit(Scalar::where, type, ref_, if_true, if_false);
}

}  // namespace tern
