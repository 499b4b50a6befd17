// Products with 2:4 sparse matrices in CUTLASS's format: two of four elements, and words of their positions.
#include "exporter/lower/contraction.h"
#include "exporter/lower/quantization.h"
#include "exporter/two_of_four.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

ValueId dense(Builder& b, const Call& c, ArgumentName nonzeros, ArgumentName words) {
  return dense_of_two_in_four(b, c.tensor(nonzeros), c.tensor(words));
}

/// x y of a constant x as (y^T x^T)^T: the exporter looks for weights in second operands.
ValueId product_of_weight(Builder& b, ValueId x, ValueId y, DType dtype) {
  return b.transpose(product(b, b.transpose(y, 0, 1), b.transpose(x, 0, 1), dtype), 0, 1);
}

Values linear_sparse(Builder& b, const Call& c) {
  const ValueId weight = dense(b, c, "weight", "meta"), bias = c.tensor_or_none("bias");
  // torch.export cannot write an activation: PyTorch's shape function lacks the argument.
  if (const std::string a = c.text_or("activation", ""); !a.empty())
    c.unsupported("unsupported activation '" + a + "'");
  return {product(b, c.tensor("input"), b.transpose(weight, 0, 1), c.result_dtype(), bias)};
}

Values mm_sparse(Builder& b, const Call& c) {
  return {product_of_weight(b, dense(b, c, "mat1", "mat1_meta"), c.tensor("mat2"), c.result_dtype())};
}

/// The bias belongs to the rows.
Values addmm_sparse(Builder& b, const Call& c) {
  const DType t = c.result_dtype(), compute_dtype = compute_type(t);
  const ValueId p =
      product_of_weight(b, dense(b, c, "mat1", "mat1_meta"), c.tensor("mat2"), is_floating(t) ? compute_dtype : t);
  return {b.expr("alpha * p + beta * bias",
                 {{"p", p},
                  {"bias", b.unsqueeze(c.tensor("input"), 1)},
                  {"alpha", scalar_or(c, "alpha", 1.0)},
                  {"beta", scalar_or(c, "beta", 1.0)}},
                 compute_dtype, t)};
}

constexpr Lowering kSemiStructuredLowerings[] = {
    {"aten._sparse_semi_structured_linear.default", linear_sparse},
    {"aten._sparse_semi_structured_mm.default", mm_sparse},
    {"aten._sparse_semi_structured_addmm.default", addmm_sparse},
};

}  // namespace

std::span<const Lowering> semi_structured_lowerings() {
  return kSemiStructuredLowerings;
}

}  // namespace tern
