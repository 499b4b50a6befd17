#include "exporter/import/prims.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace tern::importing {
namespace {

struct PrimTranslation {
  std::string_view prim;   ///< target between "torch.ops.prims." and ".default"
  std::string_view aten;   ///< without "torch.ops.aten."
  std::string_view names;  ///< arguments with other names in ATen: "inp=self"; "stride=" is left out
};

constexpr std::string_view kSelf = "a=self";
constexpr std::string_view kReduction = "inp=self dims=dim output_dtype=dtype";
constexpr std::string_view kCreation = "a=self shape=size device= requires_grad=";

// torch/_prims/__init__.py defines each operator.
// clang-format off
constexpr PrimTranslation kPrimTranslations[] = {
    {"abs", "abs.default", ""}, {"acos", "acos.default", ""}, {"acosh", "acosh.default", ""},
    {"asin", "asin.default", ""}, {"asinh", "asinh.default", ""}, {"atan", "atan.default", ""},
    {"atanh", "atanh.default", ""}, {"bitwise_not", "bitwise_not.default", ""}, {"ceil", "ceil.default", ""},
    {"clone", "clone.default", ""}, {"conj_physical", "conj_physical.default", ""}, {"cos", "cos.default", ""},
    {"cosh", "cosh.default", ""}, {"digamma", "digamma.default", ""}, {"erf", "erf.default", ""},
    {"erf_inv", "erfinv.default", ""}, {"erfc", "erfc.default", ""}, {"erfcx", "special_erfcx.default", ""},
    {"exp", "exp.default", ""}, {"exp2", "exp2.default", ""}, {"expm1", "expm1.default", ""},
    {"floor", "floor.default", ""}, {"imag", "imag.default", ""}, {"isfinite", "isfinite.default", ""},
    {"lgamma", "lgamma.default", ""}, {"log", "log.default", ""}, {"log10", "log10.default", ""},
    {"log1p", "log1p.default", ""}, {"log2", "log2.default", ""}, {"ndtri", "special_ndtri.default", ""},
    {"neg", "neg.default", ""}, {"real", "real.default", ""}, {"reciprocal", "reciprocal.default", ""},
    {"round", "round.default", ""}, {"rsqrt", "rsqrt.default", ""}, {"sign", "sgn.default", ""},
    {"signbit", "signbit.default", ""}, {"sin", "sin.default", ""}, {"sinh", "sinh.default", ""},
    {"sqrt", "sqrt.default", ""}, {"tan", "tan.default", ""}, {"tanh", "tanh.default", ""},
    {"trunc", "trunc.default", ""},
    {"bessel_i0", "i0.default", ""}, {"bessel_i0e", "special_i0e.default", ""},
    {"bessel_i1", "special_i1.default", ""}, {"bessel_i1e", "special_i1e.default", ""},
    {"bessel_j0", "special_bessel_j0.default", ""}, {"bessel_j1", "special_bessel_j1.default", ""},
    {"spherical_bessel_j0", "special_spherical_bessel_j0.default", "self=x"},

    {"add", "add.Tensor", ""}, {"atan2", "atan2.default", ""}, {"bitwise_and", "bitwise_and.Tensor", ""},
    {"bitwise_or", "bitwise_or.Tensor", ""}, {"bitwise_xor", "bitwise_xor.Tensor", ""}, {"eq", "eq.Tensor", ""},
    {"fmax", "fmax.default", ""}, {"fmin", "fmin.default", ""}, {"fmod", "fmod.Tensor", ""},
    {"gcd", "gcd.default", ""}, {"ge", "ge.Tensor", ""}, {"gt", "gt.Tensor", ""}, {"hypot", "hypot.default", ""},
    {"igamma", "igamma.default", ""}, {"igammac", "igammac.default", ""}, {"le", "le.Tensor", ""},
    {"lt", "lt.Tensor", ""}, {"maximum", "maximum.default", ""}, {"minimum", "minimum.default", ""},
    {"mul", "mul.Tensor", ""}, {"ne", "ne.Tensor", ""}, {"nextafter", "nextafter.default", ""},
    {"pow", "pow.Tensor_Tensor", "other=exponent"}, {"remainder", "remainder.Tensor", ""},
    {"shift_left", "bitwise_left_shift.Tensor", ""}, {"shift_right_arithmetic", "bitwise_right_shift.Tensor", ""},
    {"sub", "sub.Tensor", ""}, {"zeta", "special_zeta.default", ""}, {"where", "where.self", "pred=condition a=self b=other"},

    {"amax", "amax.default", kReduction}, {"amin", "amin.default", kReduction},
    {"sum", "sum.dim_IntList", kReduction}, {"var", "var.correction", kReduction},

    {"as_strided", "as_strided.default", kSelf}, {"as_strided_scatter", "as_strided_scatter.default", ""},
    {"cat", "cat.default", ""}, {"conj", "_conj.default", kSelf}, {"copy_strided", "clone.default", "a=self stride="},
    {"copy_to", "copy_.default", "a=self b=src"}, {"device_put", "alias.default", "a=self device= non_blocking="},
    {"frexp", "frexp.Tensor", ""}, {"item", "item.default", kSelf}, {"reshape", "reshape.default", kSelf},
    {"resize", "resize_.default", "a=self shape=size"}, {"rev", "flip.default", kSelf},
    {"squeeze", "squeeze.dims", "a=self dimensions=dim"}, {"transpose", "permute.default", "a=self permutation=dims"},
    {"view_of", "alias.default", kSelf}, {"view_of_dtype", "view.dtype", kSelf},

    {"empty", "empty.memory_format", kCreation}, {"empty_permuted", "empty.memory_format", "shape=size physical_layout= device= requires_grad="},
    {"empty_strided", "empty_strided.default", "shape=size strides=stride device= requires_grad="}, {"fill", "fill.Scalar", ""},
    {"full", "full.default", kCreation}, {"full_like", "full_like.default", kCreation},
    {"scalar_tensor", "scalar_tensor.default", ""}, {"_unsafe_index_put_", "index_put_.default", ""},
    {"normal", "normal.float_float", "shape=size device= requires_grad= generator="},
};
// clang-format on

/// ATen's name of an argument; empty for an omitted argument.
std::string_view renamed(std::string_view name, std::string_view names) {
  while (!names.empty()) {
    const std::string_view pair = names.substr(0, names.find(' '));
    const std::size_t equals = pair.find('=');
    if (pair.substr(0, equals) == name) return pair.substr(equals + 1);
    names.remove_prefix(std::min(pair.size() + 1, names.size()));
  }
  return name;
}

}  // namespace

std::optional<pt2::Node> aten_call_of(const pt2::Node& prim) {
  constexpr std::string_view kPrims = "torch.ops.prims.", kOverload = ".default";
  std::string_view name = prim.target;
  if (!name.starts_with(kPrims) || !name.ends_with(kOverload)) return std::nullopt;
  name = name.substr(kPrims.size(), name.size() - kPrims.size() - kOverload.size());
  const auto* const row = std::ranges::find(kPrimTranslations, name, &PrimTranslation::prim);
  if (row == std::end(kPrimTranslations)) return std::nullopt;
  pt2::Node node = prim;
  node.target = "torch.ops.aten." + std::string(row->aten);
  std::erase_if(node.inputs,
                [&](const pt2::NamedArgument& argument) { return renamed(argument.name, row->names).empty(); });
  for (pt2::NamedArgument& argument : node.inputs) argument.name = renamed(argument.name, row->names);
  return node;
}

std::vector<std::pair<std::string, std::string>> prims_as_aten() {
  std::vector<std::pair<std::string, std::string>> names;
  for (const PrimTranslation& row : kPrimTranslations)
    names.emplace_back("prims." + std::string(row.prim) + ".default", "aten." + std::string(row.aten));
  return names;
}

}  // namespace tern::importing
