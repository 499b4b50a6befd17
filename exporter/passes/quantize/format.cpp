#include "exporter/passes/quantize/format.h"

#include <algorithm>

namespace tern::quantize {
namespace {

// clang-format off
constexpr Format kFormats[] = {
    // name         scheme                element          block  scale            outer  activations          summary
    {"int8",        Scheme::integers,     DType::i8,         0, DType::f32,      false, Activations::int8,   "int8, one scale for each output channel"},
    {"int4",        Scheme::integers,     DType::i4,        32, DType::invalid,  false, Activations::mx,     "int4, one scale for each group of 32"},
    {"float8",      Scheme::row_floats,   DType::f8_e4m3fn,  0, DType::f32,      false, Activations::float8, "float8_e4m3fn, one scale for each output channel"},
    {"mxfp4",       Scheme::microscaling, DType::f4_e2m1,   32, DType::f8_e8m0,  false, Activations::mx,     "float4_e2m1 in MX blocks"},
    {"mxfp6_e2m3",  Scheme::microscaling, DType::f6_e2m3,   32, DType::f8_e8m0,  false, Activations::mx,     "float6_e2m3 in MX blocks, one byte each"},
    {"mxfp6_e3m2",  Scheme::microscaling, DType::f6_e3m2,   32, DType::f8_e8m0,  false, Activations::mx,     "float6_e3m2 in MX blocks, one byte each"},
    {"mxfp8_e4m3",  Scheme::microscaling, DType::f8_e4m3fn, 32, DType::f8_e8m0,  false, Activations::mx,     "float8_e4m3fn in MX blocks"},
    {"mxfp8_e5m2",  Scheme::microscaling, DType::f8_e5m2,   32, DType::f8_e8m0,  false, Activations::mx,     "float8_e5m2 in MX blocks"},
    {"nvfp4",       Scheme::nvfp4,        DType::f4_e2m1,   16, DType::f8_e4m3fn, true, Activations::mx,     "float4_e2m1 in blocks of 16 with float8 scales"},
};

struct NamedActivations {
  std::string_view name;
  Activations kind;
};
constexpr NamedActivations kActivations[] = {
    {"int8",   Activations::int8},
    {"float8", Activations::float8},
    {"mx",     Activations::mx},
};
// clang-format on

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format* find_format(std::string_view name) {
  const auto* const f = std::ranges::find(kFormats, name, &Format::name);
  return f == std::end(kFormats) ? nullptr : f;
}

std::string format_names() {
  std::string names;
  for (const Format& f : kFormats) names += (names.empty() ? "" : ", ") + std::string(f.name);
  return names;
}

Activations find_activations(std::string_view name) {
  const auto* const a = std::ranges::find(kActivations, name, &NamedActivations::name);
  return a == std::end(kActivations) ? Activations::floats : a->kind;
}

std::string activation_names() {
  std::string names;
  for (const NamedActivations& a : kActivations) {
    const bool last = &a == std::end(kActivations) - 1;
    names += (names.empty() ? "" : last ? " or " : ", ") + std::string(a.name);
  }
  return names;
}

std::string format_names_beside(Activations activations) {
  std::string names;
  for (const Format& f : kFormats) {
    if (f.activations == activations) names += (names.empty() ? "" : ", ") + std::string(f.name);
  }
  return names;
}

Blocks blocks_of(const Recipe& recipe, DType type, std::int64_t columns) {
  const Format& f = *recipe.format;
  Blocks b;
  b.columns = recipe.block == 0 ? static_cast<std::int32_t>(columns) : recipe.block;
  // Groups keep scales of the weight's own type, unless asked for; scales of a whole row are float32, as in torchao.
  const DType default_scale = recipe.block == 0 ? DType::f32 : recipe.bfloat16_scales ? DType::bf16 : type;
  b.scale = f.scale == DType::invalid ? default_scale : f.scale;
  b.outer = f.outer;
  return b;
}

}  // namespace tern::quantize
