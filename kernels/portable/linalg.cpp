#include "kernels/portable/linalg.h"

#include "kernels/portable/axes.h"
#include "kernels/portable/failure.h"

namespace tern::portable {

LinalgTypes::LinalgTypes(DType t, const Target& target) : number(wide_type(t, target.has_double)) {
  real = number == DType::c128 ? DType::f64 : number == DType::c64 ? DType::f32 : number;
}

void LinalgTypes::declare(Launch& k) const {
  k.source.arithmetic("W", number);
  k.type("R_T", real);
  const bool pair = is_complex(number);
  const std::string make = "tern_make_" + type_name(number);
  k.source.define("W_CONJ(a)", pair ? make + "((a).x, -(a).y)" : "(a)");
  k.source.define("W_REAL(a)", pair ? "((a).x)" : "(a)");
  k.source.define("W_IMAGINARY(a)", pair ? "((a).y)" : "((R_T)0)");
  k.source.define("W_OF(r)", pair ? make + "((r), (R_T)0)" : "(r)");
  k.source.define("W_SCALE(a, r)", pair ? make + "((a).x * (r), (a).y * (r))" : "((a) * (r))");
  // The reciprocal of a subnormal number overflows: this factor scales the number first, without a rounding error.
  k.source.define("W_LIFT(r)", "((r) < (R_T)1.2e-38f ? (R_T)1152921504606846976.0f : (R_T)1)");
  k.source.define("W_SIZE(a)", pair ? "(fabs((a).x) + fabs((a).y))" : "fabs(a)");
  k.source.define("W_NORM2(a)", pair ? "((a).x * (a).x + (a).y * (a).y)" : "((a) * (a))");
}

void may_fail_of_matrix(Launch& k) {
  k.may_fail();
#define TERN_FAILURE_DEFINE(number, name, message) k.source.define("TERN_FAIL_" #name, std::int64_t{number});
  TERN_MATRIX_FAILURES(TERN_FAILURE_DEFINE)
#undef TERN_FAILURE_DEFINE
  k.source.add_library("matrix_failure");
}

void declare_finished(Launch& k, const KernelCall& c, std::size_t extra) {
  const bool has_finished = c.in.size() > extra;
  k.source.define("FINISHED(b)", has_finished ? "(unfinished[b] == 0)" : "0");
  if (has_finished) k.input("unfinished", extra, DType::i32);
}

std::uint64_t LinalgTypes::bytes(std::int64_t count) const {
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(element_size(number));
}

std::uint64_t LinalgTypes::real_bytes(std::int64_t count) const {
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(element_size(real));
}

std::int64_t matrix_count(const TensorView& v, int core) {
  std::int64_t n = 1;
  for (int i = 0; i < v.rank - core; ++i) n *= v.size(i);
  return n;
}

void declare_matrix(Launch& k, const std::string& name, const TensorView& v, const TensorView& result, int core,
                    int result_core, bool transposed) {
  Axes batch;
  for (int i = 0; i < result.rank - result_core; ++i) {
    const int at = i - (result.rank - result_core) + (v.rank - core);
    batch.add(result.size(i), at < 0 || v.size(at) == 1 ? 0 : v.stride(at));
  }
  batch.declare(k.source, name);
  const std::int64_t column = v.stride(v.rank - 1), row = core == 2 ? v.stride(v.rank - 2) : 0;
  if (core == 1) return k.parameter(name + "_row", column);
  k.parameter(name + "_row", transposed ? column : row);
  k.parameter(name + "_column", transposed ? row : column);
}

}  // namespace tern::portable
