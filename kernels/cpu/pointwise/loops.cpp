#include "kernels/cpu/pointwise/loops.h"

namespace tern::pointwise {
namespace {

/// Functions whose loops of the portable texts are faster than the C library's functions one by one.
constexpr Scalar kTextFloats[] = {Scalar::log2,  Scalar::log10, Scalar::log1p, Scalar::asin,  Scalar::acos,
                                  Scalar::atan,  Scalar::sinh,  Scalar::cosh,  Scalar::asinh, Scalar::acosh,
                                  Scalar::atanh, Scalar::atan2, Scalar::hypot};
constexpr Scalar kTextDoubles[] = {Scalar::log,  Scalar::log2, Scalar::log10, Scalar::sin,  Scalar::cos,
                                   Scalar::tan,  Scalar::asin, Scalar::acos,  Scalar::atan, Scalar::sinh,
                                   Scalar::cosh, Scalar::tanh, Scalar::expm1, Scalar::hypot};

void add_text_loops(LoopTable& t) {
  for_each_level(add_text_loops_levels, [&](auto add) { add(t); });
}

}  // namespace

const LoopTable& loop_table() {
  static const LoopTable table = [] {
    LoopTable t;
    add_math_loops(t);
    add_complex_loops(t);
    add_special_loops(t);
    add_polynomial_loops(t);
    best_level(add_plain_loops_levels)(t);
    if (is_baseline_cpu()) return t;  // the texts' fused multiply-adds would be calls
    LoopTable texts;
    add_text_loops(texts);
    for (Scalar op : kTextFloats) t.set(op, DType::f32, texts.get(op, DType::f32));
    for (Scalar op : kTextDoubles) t.set(op, DType::f64, texts.get(op, DType::f64));
    best_level(add_function_loops_levels)(t);
    return t;
  }();
  return table;
}

const LoopTable& reproducible_loop_table() {
  static const LoopTable table = [] {
    LoopTable t = loop_table();
    if (is_baseline_cpu()) add_plain_loops_fused(t);  // the others are so already
    add_text_loops(t);
    return t;
  }();
  return table;
}

}  // namespace tern::pointwise
