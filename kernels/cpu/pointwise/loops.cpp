#include "kernels/cpu/pointwise/loops.h"

namespace tern::pointwise {

const LoopTable& loop_table() {
  static const LoopTable table = [] {
    LoopTable t;
    add_math_loops(t);
    add_complex_loops(t);
    add_special_loops(t);
    add_polynomial_loops(t);
    best_level(add_plain_loops_levels)(t);
    return t;
  }();
  return table;
}

const LoopTable& reproducible_loop_table() {
  static const LoopTable table = [] {
    LoopTable t = loop_table();
    if (is_baseline_cpu()) add_plain_loops_fused(t);  // the others are so already
    for_levels(add_text_loops_levels, [&](auto add) { add(t); });
    return t;
  }();
  return table;
}

}  // namespace tern::pointwise
