#include "devices/gpu/libraries/lt_types.h"

#include <algorithm>
#include <cstring>

#include "devices/gpu/libraries/dtype_numbers.h"
#include "lt_names.h"

namespace tern::gpu {
namespace {

/// Families of operand types. Operands of one family can be multiplied.
enum class OperandFamily { none, half, bfloat, single, wide, byte, small, integer };

struct LtOperandType {
  int dtype, library;
  std::uint32_t bytes;
  OperandFamily family;
};
constexpr LtOperandType kLtTypes[] = {
    {kF16, names::kLtF16, 2, OperandFamily::half},
    {kBf16, names::kLtBf16, 2, OperandFamily::bfloat},
    {kF32, names::kLtF32, 4, OperandFamily::single},
    {kF64, names::kLtF64, 8, OperandFamily::wide},
    {kE4m3, names::kLtE4m3, 1, OperandFamily::byte},
    {kE5m2, names::kLtE5m2, 1, OperandFamily::byte},
    {kI8, names::kLtI8, 1, OperandFamily::small},
    {kI32, names::kLtI32, 4, OperandFamily::integer},
    {kE4m3Fnuz, names::kLtE4m3Fnuz, 1, OperandFamily::byte},
    {kE5m2Fnuz, names::kLtE5m2Fnuz, 1, OperandFamily::byte},
};

/// Result types of a family: "cublasLtMatmul", tables of supported types.
struct LtResultType {
  OperandFamily operands, result;
};
constexpr LtResultType kResults[] = {
    {OperandFamily::half, OperandFamily::half},     {OperandFamily::half, OperandFamily::single},
    {OperandFamily::bfloat, OperandFamily::bfloat}, {OperandFamily::bfloat, OperandFamily::single},
    {OperandFamily::single, OperandFamily::single}, {OperandFamily::wide, OperandFamily::wide},
    {OperandFamily::small, OperandFamily::integer}, {OperandFamily::byte, OperandFamily::half},
    {OperandFamily::byte, OperandFamily::bfloat},   {OperandFamily::byte, OperandFamily::single},
};

/// Rounding of float32 operands permitted by --precision.
struct Rounding {
  int precision, compute;
};
constexpr Rounding kRoundings[] = {
    {TERN_DEVICE_PRECISION_BFLOAT16, names::kLtComputeBfloat16},
    {TERN_DEVICE_PRECISION_AUTOMATIC, names::kLtComputeTf32},
};

/// Type of alpha, beta and sums, if not float.
struct LtFactorType {
  OperandFamily operands;
  LtFactor factor;
  int library, compute;
};
constexpr LtFactorType kFactors[] = {
    {OperandFamily::wide, LtFactor::wide, names::kLtF64, names::kLtCompute64},
    {OperandFamily::small, LtFactor::integer, names::kLtI32, names::kLtComputeInt32},
};

const LtOperandType* type_of(const tern_device_tensor& t) {
  for (const LtOperandType& type : kLtTypes)
    if (type.dtype == t.dtype && type.library >= 0) return &type;
  return nullptr;
}

bool has_result(OperandFamily operands, OperandFamily result) {
  for (const LtResultType& r : kResults)
    if (r.operands == operands && r.result == result) return true;
  return false;
}

}  // namespace

bool is_microscaled(const tern_device_op& op) {
  return std::any_of(op.attributes, op.attributes + op.attribute_count,
                     [](const tern_device_attribute& a) { return std::strcmp(a.name, "block") == 0; });
}

bool is_float8(const tern_device_op& op) {
  if (is_microscaled(op)) return false;
  const LtOperandType* a = type_of(op.inputs[0]);
  return a != nullptr && a->family == OperandFamily::byte;
}

bool rounds_sums(const tern_device_op& op, int result) {
  return names::kLtRoundsFloat8Sums && op.precision == TERN_DEVICE_PRECISION_EXPORTED && result == kF32 &&
         is_float8(op);
}

LtTypes lt_types(const tern_device_op& op) {
  const LtOperandType *a = type_of(op.inputs[0]), *b = type_of(op.inputs[1]), *out = type_of(op.outputs[0]);
  if (a == nullptr || b == nullptr || out == nullptr) return {};
  if (a->family != b->family || !has_result(a->family, out->family)) return {};
  const bool has_addend = op.input_count > 2 && op.inputs[2].dtype != 0;
  if (has_addend && op.inputs[2].dtype != op.outputs[0].dtype) return {};
  // "Bias vector elements are the same type as the elements of output matrix [...] exceptions: fp8 kernels with an
  // output type of CUDA_R_32F" (cublasLt.h).
  if (has_addend && a->family == OperandFamily::byte && out->family == OperandFamily::single) return {};
  // Integer biases require 8-bit results ("cublasLtMatmul").
  if (has_addend && a->family == OperandFamily::small) return {};
  LtTypes t;
  t.a = b->library;
  t.b = a->library;
  t.out = out->library;
  t.bytes = a->bytes;
  t.out_bytes = out->bytes;
  for (const LtFactorType& f : kFactors)
    if (f.operands == a->family) t.factor = f.factor, t.scale = f.library, t.computes = {f.compute};
  if (!t.computes.empty()) return t;
  t.scale = names::kLtF32;
  if (a->family == OperandFamily::single)
    for (const Rounding& r : kRoundings)
      if (r.precision == op.precision) t.computes.push_back(r.compute);
  t.computes.push_back(names::kLtCompute32);
  return t;
}

}  // namespace tern::gpu
