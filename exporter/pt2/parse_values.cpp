#include <fmt/format.h>

#include "exporter/pt2/parse_parts.h"
#include "exporter/pt2/text.h"

namespace tern::pt2 {
namespace {

struct ScalarTypeName {
  std::int32_t number;
  DType dtype;
};

// torch/_export/serde/schema.py, ScalarType
constexpr ScalarTypeName kScalarTypes[] = {
    {1, DType::u8},           {2, DType::i8},           {3, DType::i16},        {4, DType::i32},
    {5, DType::i64},          {6, DType::f16},          {7, DType::f32},        {8, DType::f64},
    {9, DType::c32},          {10, DType::c64},         {11, DType::c128},      {12, DType::boolean},
    {13, DType::bf16},        {28, DType::u16},         {29, DType::f8_e4m3fn}, {30, DType::f8_e5m2},
    {31, DType::f8_e4m3fnuz}, {32, DType::f8_e5m2fnuz}, {33, DType::f8_e8m0},   {34, DType::u32},
    {35, DType::u64},
};

// {literal_tag: ...} or {"as_expr": {"expr_str": ..., "hint": null or {tag: ...}}}
template <class Sym, class Read>
Sym read_symbol(JsonValue value, std::string_view literal_tag, Read read) {
  const JsonValue content = value.require_single_element();
  Sym sym;
  if (content.key() == literal_tag) {
    sym.value = read(content);
  } else if (content.key() == "as_expr") {
    const JsonValue text = content["expr_str"];
    sym.expr = text.as_string();
    if (sym.expr.empty()) text.bad("the expression is empty");
    // Hints of another type are irrelevant.
    if (const auto hint = content.find("hint"); hint && hint->require_single_element().key() == literal_tag)
      sym.hint = read(hint->require_single_element());
  } else {
    value.bad(fmt::format("unknown tag {}; expected '{}' or 'as_expr'", quote(content.key()), literal_tag));
  }
  return sym;
}

std::vector<SymInt> read_sym_ints(JsonValue value) {
  std::vector<SymInt> list;
  list.reserve(value.array().size());
  for (const JsonValue element : value) list.push_back(parse_sym_int(element));
  return list;
}

std::string checked_name(JsonValue value, std::string_view name) {
  if (name.empty()) value.bad("the name is empty");
  if (name.size() > kMaxNameBytes)
    value.bad(fmt::format("a name of {} bytes exceeds the limit of {}", name.size(), kMaxNameBytes));
  if (name.find('\0') != std::string_view::npos) value.bad("the name contains a NUL byte");
  return std::string(name);
}

}  // namespace

DType dtype_from_scalar_type(std::int64_t scalar_type) {
  for (const auto& known : kScalarTypes)
    if (known.number == scalar_type) return known.dtype;
  return DType::invalid;
}

SymInt parse_sym_int(JsonValue value) {
  return read_symbol<SymInt>(value, "as_int", [](JsonValue v) { return v.as_int(); });
}
SymFloat parse_sym_float(JsonValue value) {
  return read_symbol<SymFloat>(value, "as_float", [](JsonValue v) { return v.as_double(); });
}
SymBool parse_sym_bool(JsonValue value) {
  return read_symbol<SymBool>(value, "as_bool", [](JsonValue v) { return v.as_bool(); });
}

TensorMeta parse_tensor_meta(JsonValue value) {
  TensorMeta meta;
  const JsonValue dtype = value["dtype"];
  meta.dtype = dtype_from_scalar_type(dtype.as_int());
  if (meta.dtype == DType::invalid) dtype.bad(fmt::format("unknown element type {}", dtype.as_int()));
  meta.scalar_type = static_cast<std::int32_t>(dtype.as_int());
  meta.sizes = read_sym_ints(value["sizes"]);
  meta.strides = read_sym_ints(value["strides"]);
  if (meta.sizes.size() > kMaxRank)
    value["sizes"].bad(fmt::format("{} dimensions exceed the limit of {}", meta.sizes.size(), kMaxRank));
  const JsonValue layout = value["layout"];
  if (layout.as_int() < 0 || layout.as_int() > 7) layout.bad(fmt::format("unknown layout {}", layout.as_int()));
  meta.layout = static_cast<Layout>(layout.as_int());
  if (meta.layout == Layout::strided && meta.strides.size() != meta.sizes.size())
    value["strides"].bad(fmt::format("{} strides for {} sizes", meta.strides.size(), meta.sizes.size()));
  for (const JsonValue size : value["sizes"])
    if (parse_sym_int(size).value < 0) size.bad("a size is negative");
  for (const JsonValue stride : value["strides"])
    if (parse_sym_int(stride).value < 0) stride.bad("a stride is negative");
  meta.storage_offset = parse_sym_int(value["storage_offset"]);
  if (meta.storage_offset.value < 0) value["storage_offset"].bad("the offset is negative");
  if (const auto requires_grad = value.find("requires_grad")) meta.requires_grad = requires_grad->as_bool();
  meta.device = parse_device(value["device"]);
  return meta;
}

std::string parse_device(JsonValue value) {
  std::string device(value["type"].as_string());
  if (const auto index = value.find("index")) device += fmt::format(":{}", index->as_int());
  return device;
}

std::vector<std::string> parse_strings(JsonValue value) {
  std::vector<std::string> list;
  list.reserve(value.array().size());
  for (const JsonValue element : value) list.emplace_back(element.as_string());
  return list;
}

std::vector<std::pair<std::string, std::string>> parse_string_pairs(JsonValue value) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const JsonValue member : value.object()) pairs.emplace_back(member.key(), member.as_string());
  return pairs;
}

std::string parse_identifier(JsonValue value) {
  return checked_name(value, value.as_string());
}
std::string parse_key(JsonValue value) {
  return checked_name(value, value.key());
}

std::string parse_name(JsonValue value) {
  return parse_identifier(value["name"]);
}

}  // namespace tern::pt2
