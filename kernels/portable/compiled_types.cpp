#include "kernels/portable/compiled_types.h"

#include <string>

#include "kernels/portable/types.h"
#include "schema/kinds.h"

namespace tern::portable {
namespace {

/// How an op sees its floating operands.
enum class Sight : std::uint8_t {
  computed,  ///< 16 bits and less as float, the rest as it is
  wide,      ///< float and double as double: the op computes in double and rounds once
  own,       ///< 16 bits as they are, too: the operand is large and little of it is read, or each step is rounded
};

Sight sight_of(Op op, std::size_t operand) {
  switch (op) {
    case Op::cholesky:
    case Op::qr:
    case Op::householder:
    case Op::eigh:
    case Op::eig:
    case Op::svd:
    case Op::lu_factor:
    case Op::lu_solve:
    case Op::triangular_solve:
    case Op::ldl_factor:
    case Op::ldl_solve:
    case Op::matrix_exp: return Sight::wide;
    case Op::embedding_bag: return operand == 0 ? Sight::own : Sight::wide;
    case Op::grid_sample: return Sight::own;
    default: return Sight::computed;
  }
}

DType seen(DType t, Sight sight) {
  if (!is_floating(t) && !is_complex(t)) return t;
  if (sight == Sight::own && (t == DType::f16 || t == DType::bf16)) return t;
  const DType computed = compute_type(t);
  return sight == Sight::wide ? wide_type(computed, true) : computed;
}

bool is_number(DType t) {
  return is_floating(t) || is_complex(t);
}

}  // namespace

bool exact_without(const KernelCall& c) {
  if (c.node->op == Op::scan) {
    const auto kind = static_cast<ScanKind>(c.node->integer(AttrKey::kind));
    return kind == ScanKind::cummax || kind == ScanKind::cummin || !is_number(c.out[0].dtype);
  }
  if (c.node->op == Op::random) {
    const std::string& kind = c.node->text(AttrKey::kind);
    return kind != "normal" && kind != "exponential" && kind != "poisson" && kind != "gamma" && kind != "binomial";
  }
  return false;
}

DType compiled_input(const KernelCall& c, std::size_t k) {
  constexpr std::size_t kFirstSetting = 5;  // of optim
  const DType t = c.in[k].dtype;
  switch (c.node->op) {
    case Op::scan: return number_type(c.out[0].dtype);
    case Op::optim: return k < kFirstSetting ? seen(t, Sight::computed) : DType::f64;
    case Op::roi_align: return seen(c.in[0].dtype, Sight::computed);
    case Op::histogram: {
      const DType x = c.in[0].dtype;
      return x == DType::f64 || !is_floating(x) ? DType::f64 : DType::f32;
    }
    case Op::segment_reduce:
    case Op::embedding_bag:
      if (!is_number(t)) return DType::i64;
      break;
    case Op::random: return is_number(t) ? seen(t, Sight::computed) : DType::f64;
    default: break;
  }
  return seen(t, sight_of(c.node->op, k));
}

DType compiled_output(const KernelCall& c, std::size_t k) {
  const DType t = c.out[k].dtype;
  if (c.node->op == Op::histogram) return compiled_input(c, 0);
  if (c.node->op == Op::random && !is_number(t)) return DType::f64;
  if (!is_number(t)) return t;
  switch (c.node->op) {
    case Op::random: return seen(t, Sight::computed);
    default: return seen(t, sight_of(c.node->op, 0));
  }
}

}  // namespace tern::portable
