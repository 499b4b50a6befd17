#include "devices/gpu/libraries/lt_types.h"

#include "lt_names.h"

namespace tern::gpu {
namespace {

// The numbers of tern/dtype.h.
enum { kF16 = 10, kBf16 = 11, kF32 = 12, kF64 = 13, kE4m3 = 17, kE5m2 = 18, kE4m3Fnuz = 19, kE5m2Fnuz = 20 };

/// Types of both operands that are multiplied with each other.
enum class Family { none, half, bfloat, single, wide, byte };

struct Type {
  int dtype, library;
  std::uint32_t bytes;
  Family family;
};
constexpr Type kTypes[] = {
    {kF16, names::kLtF16, 2, Family::half},           {kBf16, names::kLtBf16, 2, Family::bfloat},
    {kF32, names::kLtF32, 4, Family::single},         {kF64, names::kLtF64, 8, Family::wide},
    {kE4m3, names::kLtE4m3, 1, Family::byte},         {kE5m2, names::kLtE5m2, 1, Family::byte},
    {kE4m3Fnuz, names::kLtE4m3Fnuz, 1, Family::byte}, {kE5m2Fnuz, names::kLtE5m2Fnuz, 1, Family::byte},
};

/// The results of a family: "cublasLtMatmul", tables of supported types.
struct Result {
  Family operands, result;
};
constexpr Result kResults[] = {
    {Family::half, Family::half},     {Family::half, Family::single},   {Family::bfloat, Family::bfloat},
    {Family::bfloat, Family::single}, {Family::single, Family::single}, {Family::wide, Family::wide},
    {Family::byte, Family::half},     {Family::byte, Family::bfloat},   {Family::byte, Family::single},
};

/// What --precision lets products of float32 round their operands to.
struct Rounding {
  int precision, compute;
};
constexpr Rounding kRoundings[] = {
    {TERN_DEVICE_PRECISION_BFLOAT16, names::kLtComputeBfloat16},
    {TERN_DEVICE_PRECISION_AUTOMATIC, names::kLtComputeTf32},
};

const Type* type_of(const tern_device_tensor& t) {
  for (const Type& type : kTypes)
    if (type.dtype == t.dtype && type.library >= 0) return &type;
  return nullptr;
}

bool has_result(Family operands, Family result) {
  for (const Result& r : kResults)
    if (r.operands == operands && r.result == result) return true;
  return false;
}

}  // namespace

LtTypes lt_types(const tern_device_op& op) {
  const Type *a = type_of(op.inputs[0]), *b = type_of(op.inputs[1]), *out = type_of(op.outputs[0]);
  if (a == nullptr || b == nullptr || out == nullptr) return {};
  if (a->family != b->family || !has_result(a->family, out->family)) return {};
  const bool has_addend = op.input_count > 2 && op.inputs[2].dtype != 0;
  if (has_addend && op.inputs[2].dtype != op.outputs[0].dtype) return {};
  // "Bias vector elements are the same type as the elements of output matrix [...] exceptions: fp8 kernels with an
  // output type of CUDA_R_32F" (cublasLt.h).
  if (has_addend && a->family == Family::byte && out->family == Family::single) return {};
  LtTypes t;
  t.a = b->library;
  t.b = a->library;
  t.out = out->library;
  t.bytes = a->bytes;
  t.out_bytes = out->bytes;
  t.wide = a->family == Family::wide;
  t.scale = t.wide ? names::kLtF64 : names::kLtF32;
  if (a->family == Family::single)
    for (const Rounding& r : kRoundings)
      if (r.precision == op.precision) t.computes.push_back(r.compute);
  t.computes.push_back(t.wide ? names::kLtCompute64 : names::kLtCompute32);
  return t;
}

}  // namespace tern::gpu
