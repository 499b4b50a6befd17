#include "exporter/gradients/instructions.h"

#include <tern/error.h>

#include <algorithm>

#include "exporter/expr_text.h"
#include "schema/expression_of.h"

namespace tern {

DType complex_type(DType t) {
  return t == DType::f32 ? DType::c64 : t == DType::f64 ? DType::c128 : t;
}

DType part_type(DType t) {
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

DType wider_dtype(DType a, DType b) {
  const bool is_double = part_type(a) == DType::f64 || part_type(b) == DType::f64;
  const DType t = is_double ? DType::f64 : DType::f32;
  return is_complex(a) || is_complex(b) ? complex_type(t) : t;
}

Instructions::Ref Instructions::push(Instruction i) {
  const auto cached = std::ranges::find(code_, i);
  if (cached != code_.end()) return static_cast<Ref>(cached - code_.begin());
  if (code_.size() >= kMaxInstructions) fail(ErrorCode::unsupported, "the gradient has too many instructions");
  code_.push_back(i);
  return static_cast<Ref>(code_.size() - 1);
}

Instructions::Ref Instructions::emit(Scalar op, DType result, Ref a, Ref b, Ref c) {
  Instruction i;
  i.op = op;
  i.dtype = result;
  i.a = a;
  i.b = b;
  i.c = c;
  return push(i);
}

Instructions::Ref Instructions::constant(std::complex<double> value, DType type) {
  Instruction i;
  i.op = Scalar::constant;
  i.dtype = type;
  i.number = value.real();
  i.imaginary = value.imag();
  return push(i);
}

Instructions::Ref Instructions::load(std::size_t input, DType type) {
  Instruction i;
  i.op = Scalar::load;
  i.dtype = type;
  i.integer = static_cast<std::int64_t>(input);
  return convert(push(i), compute_type(type));
}

Instructions::Ref Instructions::convert(Ref x, DType target) {
  if (dtype(x) == target) return x;
  if (is_complex(dtype(x)) && !is_complex(target)) x = component(Scalar::real, x);
  return dtype(x) == target ? x : emit(Scalar::convert, target, x);
}

Instructions::Ref Instructions::emit_binary(Scalar op, Ref a, Ref b) {
  const DType t = wider_dtype(dtype(a), dtype(b));
  a = convert(a, t);
  b = convert(b, t);
  return emit(op, t, a, b);
}

Instructions::Ref Instructions::scaled(Ref a, std::complex<double> factor) {
  const DType t = factor.imag() != 0 ? complex_type(dtype(a)) : dtype(a);
  a = convert(a, t);
  return emit(Scalar::mul, t, a, constant(factor, t));
}

Instructions::Ref Instructions::component(Scalar op, Ref x) {
  const DType t = dtype(x);
  if (!is_complex(t)) return op == Scalar::imag ? constant(0, t) : x;
  return emit(op, op == Scalar::conj ? t : part_type(t), x);
}

Instructions::Ref Instructions::text(std::string_view text,
                                     std::initializer_list<std::pair<std::string_view, Ref>> names) {
  const DType t = dtype(names.begin()->second);
  std::vector<ExprArg> args;
  std::vector<DType> types;
  std::vector<Ref> refs;
  for (const auto& [name, ref] : names) {
    args.emplace_back(name, ValueId{0});
    types.push_back(t);
    refs.push_back(ref);
  }
  std::vector<Ref> new_indices;
  for (Instruction i : compile_expr(text, args, types, t, t).code) {
    if (i.op == Scalar::load) {
      new_indices.push_back(refs[static_cast<std::size_t>(i.integer)]);
      continue;
    }
    const int operands = scalar_info(i.op).operands;
    if (operands > 0) i.a = new_indices[i.a];
    if (operands > 1) i.b = new_indices[i.b];
    if (operands > 2) i.c = new_indices[i.c];
    new_indices.push_back(push(i));
  }
  return new_indices.back();
}

PointwiseExpr Instructions::finish(Ref last, std::vector<std::size_t>* inputs) const {
  PointwiseExpr expr = expression_of(code_, last);
  for (Instruction& x : expr.code) {
    if (x.op != Scalar::load) continue;
    const auto input = static_cast<std::size_t>(x.integer);
    const auto it = std::ranges::find(*inputs, input);
    x.integer = it - inputs->begin();
    if (it == inputs->end()) inputs->push_back(input);
  }
  return expr;
}

}  // namespace tern
