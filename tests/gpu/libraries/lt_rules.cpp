#include "tests/gpu/libraries/lt_rules.h"

#include "tests/gpu/libraries/driver.h"
#include "tests/gpu/libraries/image.h"

namespace tern::stand_in {
namespace {

namespace names = gpu::names;
using ull = unsigned long long;

struct Type {
  int library;
  DType dtype;
};
constexpr Type kTypes[] = {
    {names::kLtF16, DType::f16},
    {names::kLtBf16, DType::bf16},
    {names::kLtF32, DType::f32},
    {names::kLtF64, DType::f64},
    {names::kLtI8, DType::i8},
    {names::kLtI32, DType::i32},
    {names::kLtE4m3, DType::f8_e4m3fn},
    {names::kLtE5m2, DType::f8_e5m2},
    {names::kLtE4m3Fnuz, DType::f8_e4m3fnuz},
    {names::kLtE5m2Fnuz, DType::f8_e5m2fnuz},
};

DType type_of(int library) {
  for (const Type& t : kTypes)
    if (t.library == library) return t.dtype;
  misuse("the type %d of a matrix", library);
}

bool is_byte(DType t) {
  return element_size(t) == 1;
}

/// "cublasLtMatmul", tables of supported types: A and B, D, compute type, scale type.
bool has_types(const ProductCall& p, const Description& d) {
  const DType a = p.a.dtype, b = p.b.dtype, out = p.d.dtype;
  if (d.compute == names::kLtCompute64) return a == DType::f64 && b == a && out == a && d.scale == names::kLtF64;
  if (d.compute == names::kLtComputeInt32)
    return a == DType::i8 && b == a && out == DType::i32 && d.scale == names::kLtI32;
  if (d.scale != names::kLtF32 || a == DType::i8 || b == DType::i8) return false;
  if (d.compute == names::kLtComputeBfloat16 || d.compute == names::kLtComputeTf32)
    return a == DType::f32 && b == a && out == a;
  if (d.compute != names::kLtCompute32) return false;
  if (a == DType::f32) return b == a && out == a;
  if (a == DType::f16 || a == DType::bf16) return b == a && (out == a || out == DType::f32);
  // "to use FP8 kernels [...] compute capability 8.9"; CDNA 3 has the types without infinities and negative zero.
  const bool ours = capability() != 0 ? capability() >= 89 && a != DType::f8_e4m3fnuz && a != DType::f8_e5m2fnuz
                                      : a == DType::f8_e4m3fnuz || a == DType::f8_e5m2fnuz;
  const bool two_wide = a == DType::f8_e5m2 && b == a;  // E5M2 times E5M2 is in no table
  return ours && is_byte(a) && is_byte(b) && !two_wide &&
         (out == DType::f16 || out == DType::bf16 || out == DType::f32);
}

/// "A must be transposed and B non-transposed (The "TN" format) on Ada, Hopper [...]; the dimensions m and k meet the
/// requirements of 16 byte alignment".
bool takes_bytes(const ProductCall& p) {
  return p.a.transposed && !p.b.transposed && p.m % 16 == 0 && p.k % 16 == 0 && p.a.leading % 16 == 0 &&
         p.b.leading % 16 == 0 && p.a.batch_offset % 16 == 0 && p.b.batch_offset % 16 == 0;
}

/// "To use IMMA kernels [...] leading dimensions [...] must be multiples of 4. Only the "TN" format is supported [...].
/// Dimensions m and k must be multiples of 4."
bool takes_whole_numbers(const ProductCall& p) {
  return p.a.transposed && !p.b.transposed && p.m % 4 == 0 && p.k % 4 == 0 && p.a.leading % 4 == 0 &&
         p.b.leading % 4 == 0 && p.c.leading % 4 == 0 && p.d.leading % 4 == 0;
}

MatrixCall matrix(const Layout& l, const char* name, bool transposed) {
  // "Matrix leading dimension [...] must be large enough so that matrix memory locations are not overlapping (e.g.
  // greater or equal to CUBLASLT_MATRIX_LAYOUT_ROWS in case of CUBLASLT_ORDER_COL)."
  if (l.rows == 0 || l.columns == 0) misuse("%s is empty", name);
  if (l.leading < static_cast<std::int64_t>(l.rows))
    misuse("%s has %llu rows and %lld elements from column to column", name, static_cast<ull>(l.rows),
           static_cast<long long>(l.leading));
  return {0, l.leading, l.batch_offset, type_of(l.type), transposed};
}

bool is_transposed(std::int32_t operation) {
  if (operation != names::kLtNormal && operation != names::kLtTransposed) misuse("the operation %d", operation);
  return operation == names::kLtTransposed;
}

void check_same(std::uint64_t a, std::uint64_t b, const char* what) {
  if (a != b) misuse("%s: %llu and %llu", what, static_cast<ull>(a), static_cast<ull>(b));
}

Rounding rounding(int compute) {
  return compute == names::kLtComputeBfloat16 ? Rounding::bfloat16
         : compute == names::kLtComputeTf32   ? Rounding::tf32
                                              : Rounding::none;
}

}  // namespace

std::optional<ProductCall> read(const Problem& x) {
  ProductCall p{};
  p.a = matrix(x.a, "A", is_transposed(x.product.trans_a));
  p.b = matrix(x.b, "B", is_transposed(x.product.trans_b));
  p.c = matrix(x.c, "C", false);
  p.d = matrix(x.d, "D", false);
  p.m = static_cast<std::int64_t>(p.a.transposed ? x.a.columns : x.a.rows);
  p.k = static_cast<std::int64_t>(p.a.transposed ? x.a.rows : x.a.columns);
  p.n = static_cast<std::int64_t>(p.b.transposed ? x.b.rows : x.b.columns);
  check_same(p.b.transposed ? x.b.columns : x.b.rows, static_cast<ull>(p.k), "op(B)'s rows and op(A)'s columns");
  check_same(x.d.rows, static_cast<ull>(p.m), "D's rows and op(A)'s");
  check_same(x.d.columns, static_cast<ull>(p.n), "D's columns and op(B)'s");
  check_same(x.c.rows, x.d.rows, "C's rows and D's");
  check_same(x.c.columns, x.d.columns, "C's columns and D's");
  for (const Layout* l : {&x.a, &x.b, &x.c})
    check_same(static_cast<ull>(l->batch), static_cast<ull>(x.d.batch), "batches");
  // Written matrices of a batch must not overlap.
  if (x.d.batch > 1 && x.d.batch_offset < x.d.leading * static_cast<std::int64_t>(x.d.columns))
    misuse("the matrices D of a batch overlap");
  p.batch = x.d.batch;
  p.rounding = rounding(x.product.compute);
  p.single = x.product.compute != names::kLtCompute64 && x.product.compute != names::kLtComputeInt32;
  constexpr std::uint32_t kAlone = 1, kBias = 4, kRelu = 2, kGelu = 32;  // cublasLtEpilogue_t, hipblasLtEpilogue_t
  const bool has_bias = x.product.epilogue != kAlone && (x.product.epilogue & kBias) != 0;
  p.activation = x.product.epilogue == kAlone ? 0 : x.product.epilogue & ~kBias;
  if (p.activation != 0 && p.activation != kRelu && p.activation != kGelu)
    misuse("the epilogue %u", x.product.epilogue);
  if (has_bias && x.product.bias_type != -1 && x.product.bias_type != x.d.type) return std::nullopt;
  if (p.c.dtype != p.d.dtype || !has_types(p, x.product)) return std::nullopt;
  // "CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F": of both operands, compute capability 9.0.
  const Description& scaled = x.product;
  if ((scaled.scale_a != 0) != (scaled.scale_b != 0) || scaled.scale_mode_a != scaled.scale_mode_b)
    misuse("scales of one operand");
  if (scaled.scale_a != 0 && !is_byte(p.a.dtype)) misuse("scales of a product of other types than float8");
  if (scaled.scale_mode_a == names::kLtScaleOfBlocks && scaled.scale_mode_a > 0) {
    if (scaled.scale_a == 0) misuse("blocks without scales");
    // "VEC32_UE8M0": compute capability 10.0, float8 by the TN format. A block has 32 elements "in the innermost
    // dimension".
    if (capability() < 100 || p.k % 32 != 0 || p.batch != 1) return std::nullopt;
    p.scales_blocks = true;
  } else if (scaled.scale_mode_a != 0) {
    if (scaled.scale_mode_a != names::kLtScaleOfRows || scaled.scale_a == 0)
      misuse("the mode %d of scales", scaled.scale_mode_a);
    if (capability() < 90) return std::nullopt;
    p.scales_rows = true;
  }
  if (p.a.dtype == DType::i8) {
    if (has_bias || p.activation != 0 || (capability() != 0 && !takes_whole_numbers(p))) return std::nullopt;
    return p;
  }
  if (is_byte(p.a.dtype) && ((has_bias && p.d.dtype == DType::f32) || (capability() != 0 && !takes_bytes(p))))
    return std::nullopt;
  return p;
}

std::uint32_t needed_alignment(const ProductCall& call) {
  if (capability() == 0) return 1;
  return call.a.dtype == DType::i8 ? 4
         : is_byte(call.a.dtype)   ? 16
                                   : 1;  // "all matrix pointers must be 4-byte aligned"
}

}  // namespace tern::stand_in
