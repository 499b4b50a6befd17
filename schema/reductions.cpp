#include "schema/reductions.h"

namespace tern {

bool is_reducible(ReduceOp op, DType t) {
  const bool bits = op == ReduceOp::band || op == ReduceOp::bor || op == ReduceOp::bxor;
  if (is_floating(t)) return element_size(t) > 1 && !bits;
  return op != ReduceOp::avg && op != ReduceOp::premul_sum && (is_integral(t) || t == DType::boolean);
}

}  // namespace tern
