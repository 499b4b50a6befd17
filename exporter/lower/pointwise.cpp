#include "exporter/lower/pointwise.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "dtypes/convert.h"
#include "exporter/ascii.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

constexpr std::int64_t kExactInDouble = std::int64_t{1} << 53;

/// The names of operands and parts in an expression's text, each once.
std::vector<std::string_view> names_in(std::string_view text) {
  std::vector<std::string_view> names;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && (is_letter(text[end]) || (end > i && text[end] >= '0' && text[end] <= '9'))) ++end;
    if (end == i) {
      // A number's exponent is no name.
      const bool digit = text[i] >= '0' && text[i] <= '9';
      ++i;
      while (digit && i < text.size() && (is_letter(text[i]) || text[i] == '.' || (text[i] >= '0' && text[i] <= '9')))
        ++i;
      continue;
    }
    const std::string_view name = text.substr(i, end - i);
    const bool function = end < text.size() && text[end] == '(';
    if (!function && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    i = end;
  }
  return names;
}

/// Arguments of the call named in the text, in the schema's order.
std::vector<std::string_view> arguments_in(const Call& c, std::string_view text) {
  const std::vector<std::string_view> names = names_in(text);
  std::vector<std::string_view> found;
  for (const auto& [name, operand] : c.args) {
    if (std::find(names.begin(), names.end(), name) != names.end()) found.push_back(name);
  }
  return found;
}

/// Converts an integer to type `t`, wrapping: -1 becomes 255 in uint8.
std::int64_t wrapped_to(double v, DType t) {
  const auto integer = static_cast<std::int64_t>(v);
  std::array<std::byte, 8> bytes{};
  std::int64_t wrapped = 0;
  convert(&integer, DType::i64, bytes.data(), t, 1);
  convert(bytes.data(), t, &wrapped, DType::i64, 1);
  return wrapped;
}

/// Wraps numbers and tensors of no dimensions to a narrow integer type before the arithmetic: neither widens the type.
void wrap_operands(Builder& b, std::vector<ExprArg>& args, DType compute_dtype) {
  if (!is_integral(compute_dtype) || compute_dtype == DType::i64) return;
  for (ExprArg& a : args) {
    if (a.value == kNoValue) {
      a.number = static_cast<double>(wrapped_to(a.number.real(), compute_dtype));
    } else if (is_integral(b.dtype(a.value)) && element_size(b.dtype(a.value)) > element_size(compute_dtype)) {
      a.value = b.cast(a.value, compute_dtype);
    }
  }
}

/// The names of operands, as against settings, in the schemas of pointwise operators.
constexpr std::string_view kOperandNames[] = {"self", "other", "exponent", "end", "n", "x"};

/// Rounds numbers and tensors of another type to a 16-bit type before the arithmetic, except the operand `unrounded`.
/// Byte types are exact.
void round_operands(Builder& b, std::vector<ExprArg>& args, DType compute_dtype, std::string_view unrounded) {
  if (compute_dtype != DType::f16 && compute_dtype != DType::bf16) return;
  for (ExprArg& a : args) {
    if (a.name == unrounded) continue;
    if (a.value != kNoValue) {
      if (element_size(b.dtype(a.value)) > 1 && !is_complex(b.dtype(a.value))) a.value = b.cast(a.value, compute_dtype);
    } else if (std::ranges::find(kOperandNames, a.name) != std::end(kOperandNames)) {
      a.number = rounded_to(rounded_to(a.number.real(), DType::f32), compute_dtype);
    }
  }
}

/// The higher class of operand decides unless a lower class is of another kind of number (c10's combine_categories).
DType combine(DType higher, DType lower) {
  if (higher == DType::invalid) return lower;
  if (lower == DType::invalid || is_complex(higher)) return higher;
  if (is_floating(higher)) {
    if (!is_complex(lower)) return higher;
    return higher == DType::f64 ? DType::c128 : higher == DType::f16 ? DType::c32 : DType::c64;
  }
  if (higher == DType::boolean || is_floating(lower) || is_complex(lower)) return promote(higher, lower);
  return higher;
}

void widen(DType& common, DType t) {
  common = common == DType::invalid ? t : promote(common, t);
}

}  // namespace

ExprArg expr_arg(Builder& b, const Call& c, std::string_view name) {
  const CallArgument& o = c.arg(ArgumentName::from_text(name));
  switch (o.kind) {
    case CallArgumentKind::tensor: return {name, o.value};
    case CallArgumentKind::number: return {name, o.number};
    case CallArgumentKind::complex: return {name, std::complex<double>(o.number, o.imaginary)};
    case CallArgumentKind::integer:
    case CallArgumentKind::boolean: {
      const bool is_exact = o.integer.is_const() && std::abs(o.integer.value()) <= kExactInDouble;
      if (is_exact) return {name, static_cast<double>(o.integer.value())};
      return {name, b.from_dim(o.integer)};
    }
    default: return {name, c.number(ArgumentName::from_text(name))};  // fails and names the argument's kind
  }
}

DType common_dtype(Builder& b, const Call& c, const std::vector<std::string_view>& names) {
  DType with_dimensions = DType::invalid;
  DType without_dimensions = DType::invalid;
  DType number = DType::invalid;
  for (std::string_view name : names) {
    const CallArgument& o = c.arg(ArgumentName::from_text(name));
    switch (o.kind) {
      case CallArgumentKind::tensor:
        widen(b.rank(o.value) > 0 ? with_dimensions : without_dimensions, b.dtype(o.value));
        break;
      case CallArgumentKind::integer: widen(number, DType::i64); break;
      case CallArgumentKind::boolean: widen(number, DType::boolean); break;
      case CallArgumentKind::number: widen(number, DType::f32); break;
      case CallArgumentKind::complex: widen(number, DType::c64); break;
      default: break;
    }
  }
  return combine(with_dimensions, combine(without_dimensions, number));
}

bool is_single(Builder& b, const Call& c, ArgumentName name) {
  if (!c.is_tensor(name)) return true;
  return std::ranges::all_of(b.shape(c.tensor(name)), [](Dim d) { return d == Dim(1); });
}

ValueId lower_text(Builder& b, const Call& c, std::string_view text, ComputeIn compute) {
  const std::vector<std::string_view> names = arguments_in(c, text);
  std::vector<ExprArg> args;
  for (std::string_view name : names) args.push_back(expr_arg(b, c, name));
  const DType result = c.result_dtype();
  DType compute_dtype = result;
  switch (compute) {
    case ComputeIn::result:
    case ComputeIn::factors:
      if (is_integral(result)) wrap_operands(b, args, common_dtype(b, c, names));
      round_operands(b, args, result, compute == ComputeIn::factors && is_single(b, c, "other") ? "other" : "");
      break;
    case ComputeIn::operands:
      compute_dtype = common_dtype(b, c, names);
      wrap_operands(b, args, compute_dtype);
      round_operands(b, args, compute_dtype, "");
      for (ExprArg& a : args) {
        if (a.value == kNoValue)
          a.number = {rounded_to(a.number.real(), compute_dtype), rounded_to(a.number.imag(), compute_dtype)};
      }
      break;
    case ComputeIn::self: compute_dtype = b.dtype(c.tensor(ArgumentName::from_text(names.front()))); break;
    case ComputeIn::floating: compute_dtype = to_floating(common_dtype(b, c, names)); break;
    case ComputeIn::boolean:
      wrap_operands(b, args, common_dtype(b, c, names));
      round_operands(b, args, common_dtype(b, c, names), "");
      compute_dtype = DType::boolean;
      break;
  }
  return b.expr(text, std::move(args), compute_type(compute_dtype), result);
}

ValueId convert_to(Builder& b, const Call& c, ValueId x, DType dtype) {
  if (dtype != DType::f8_e4m3fn || b.dtype(x) == dtype) return b.cast(x, dtype);
  int major = 0;
  int minor = 0;
  std::sscanf(c.torch_version.c_str(), "%d.%d", &major, &minor);
  const bool saturate = major > 2 || (major == 2 && minor >= 15);
  Node n;
  n.op = Op::pointwise;
  n.inputs = {x};
  Instruction load;
  load.op = Scalar::load;
  load.dtype = b.dtype(x);
  Instruction conversion;
  conversion.op = Scalar::convert;
  conversion.dtype = dtype;
  conversion.integer = saturate ? 1 : 0;
  n.expr.code = {load, conversion};
  return b.add(std::move(n)).front();
}

ValueId random_value(Builder& b, std::string_view kind, Dims sizes, DType dtype) {
  return b.add(Op::random, {},
               {attr_text(AttrKey::kind, kind), attr(AttrKey::sizes, std::move(sizes)), attr_dtype(dtype)});
}

std::span<const Lowering> pointwise_lowerings() {
  static const std::vector<Lowering> table = [] {
    std::vector<Lowering> lowerings = text_lowerings();
    for (std::span<const Lowering> part :
         {arithmetic_lowerings(), activation_lowerings(), cast_lowerings(), number_lowerings(), window_lowerings()}) {
      lowerings.insert(lowerings.end(), part.begin(), part.end());
    }
    return lowerings;
  }();
  return table;
}

}  // namespace tern
