#include "exporter/passes/quantized/affine.h"

#include "dtypes/byte_integers.h"

namespace tern::quantized {
namespace {

/// Reads an expression's instructions from the last one backwards.
class AffineReader {
 public:
  AffineReader(const Function& f, const Node& n) : f_(f), n_(n) {}

  std::optional<Affine> affine() const {
    const Instruction* last = behind_conversions(n_.expr.code.size() - 1);
    if (last == nullptr) return std::nullopt;
    Affine a;
    if (last->op == Scalar::mul) {
      if (!parameter(last->b, &a.scale) || !difference(last->a, &a)) return std::nullopt;
    } else if (!difference(n_.expr.code.size() - 1, &a)) {
      return std::nullopt;
    }
    return a;
  }

 private:
  using InstructionIndex = std::size_t;
  const Instruction& instruction(InstructionIndex i) const { return n_.expr.code[i]; }

  /// Instruction computing the value `i`, in a type without loss: float32, float64, or an integer. Null if a conversion
  /// may change the value.
  const Instruction* behind_conversions(InstructionIndex i) const {
    const Instruction* x = &instruction(i);
    while (x->op == Scalar::convert) {
      const bool is_widened =
          x->dtype == DType::f32 || x->dtype == DType::f64 || x->dtype == DType::i64 || x->dtype == DType::i32;
      if (!is_widened) return nullptr;
      x = &instruction(x->a);
    }
    return x;
  }

  bool difference(InstructionIndex i, Affine* a) const {
    const Instruction* x = behind_conversions(i);
    if (x == nullptr) return false;
    if (x->op != Scalar::sub) return integers(i, a);
    return parameter(x->b, &a->zero) && integers(x->a, a);
  }

  bool integers(InstructionIndex i, Affine* a) const {
    const Instruction* x = behind_conversions(i);
    if (x == nullptr || x->op != Scalar::load) return false;
    a->integers = n_.inputs[static_cast<std::size_t>(x->integer)];
    return is_byte_integer(f_.values[static_cast<std::size_t>(a->integers)].type.dtype);
  }

  bool parameter(InstructionIndex i, Parameter* p) const {
    const Instruction* x = behind_conversions(i);
    if (x == nullptr) return false;
    if (x->op == Scalar::constant) {
      p->number = is_floating(x->dtype) ? x->number : static_cast<double>(x->integer);
      return !is_complex(x->dtype);
    }
    if (x->op != Scalar::load) return false;
    p->value = n_.inputs[static_cast<std::size_t>(x->integer)];
    return true;
  }

  const Function& f_;
  const Node& n_;
};

}  // namespace

std::optional<Affine> affine_of(const Function& f, const Node& n) {
  if (n.op != Op::pointwise || n.outputs.size() != 1 || n.expr.code.empty()) return std::nullopt;
  if (f.values[static_cast<std::size_t>(n.outputs[0])].type.dtype != DType::f32) return std::nullopt;
  return AffineReader(f, n).affine();
}

}  // namespace tern::quantized
