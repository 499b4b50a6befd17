// The facts about every element type, in a single table.
#include <tern/dtype.h>

#include <array>
#include <cstddef>

namespace tern {
namespace {

enum class ElementKind : std::uint8_t {
  none,
  boolean,
  unsigned_integer,
  signed_integer,
  packed_integer,
  floating,
  complex
};

struct DtypeEntry {
  DType dtype;
  std::string_view name;
  int size;
  ElementKind kind;
};

constexpr std::array<DtypeEntry, kDTypeCount> kDtypeTable = {{
    {DType::invalid, "invalid", 0, ElementKind::none},
    {DType::boolean, "bool", 1, ElementKind::boolean},
    {DType::u8, "uint8", 1, ElementKind::unsigned_integer},
    {DType::i8, "int8", 1, ElementKind::signed_integer},
    {DType::i16, "int16", 2, ElementKind::signed_integer},
    {DType::i32, "int32", 4, ElementKind::signed_integer},
    {DType::i64, "int64", 8, ElementKind::signed_integer},
    {DType::u16, "uint16", 2, ElementKind::unsigned_integer},
    {DType::u32, "uint32", 4, ElementKind::unsigned_integer},
    {DType::u64, "uint64", 8, ElementKind::unsigned_integer},
    {DType::f16, "float16", 2, ElementKind::floating},
    {DType::bf16, "bfloat16", 2, ElementKind::floating},
    {DType::f32, "float32", 4, ElementKind::floating},
    {DType::f64, "float64", 8, ElementKind::floating},
    {DType::c32, "complex32", 4, ElementKind::complex},
    {DType::c64, "complex64", 8, ElementKind::complex},
    {DType::c128, "complex128", 16, ElementKind::complex},
    {DType::f8_e4m3fn, "float8_e4m3fn", 1, ElementKind::floating},
    {DType::f8_e5m2, "float8_e5m2", 1, ElementKind::floating},
    {DType::f8_e4m3fnuz, "float8_e4m3fnuz", 1, ElementKind::floating},
    {DType::f8_e5m2fnuz, "float8_e5m2fnuz", 1, ElementKind::floating},
    {DType::f8_e8m0, "float8_e8m0fnu", 1, ElementKind::floating},
    {DType::f6_e2m3, "float6_e2m3fn", 1, ElementKind::floating},
    {DType::f6_e3m2, "float6_e3m2fn", 1, ElementKind::floating},
    {DType::f4_e2m1, "float4_e2m1fn_x2", 1, ElementKind::floating},
    {DType::i4, "int4", 1, ElementKind::packed_integer},
    {DType::i2, "int2", 1, ElementKind::packed_integer},
}};

constexpr bool table_is_in_order() {
  for (std::size_t i = 0; i < kDtypeTable.size(); ++i) {
    if (static_cast<std::size_t>(kDtypeTable[i].dtype) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order());

/// A value read from a file may be outside the enumeration.
const DtypeEntry& entry(DType t) {
  const auto i = static_cast<std::size_t>(t);
  return kDtypeTable[i < kDtypeTable.size() ? i : 0];
}

}  // namespace

int element_size(DType t) {
  return entry(t).size;
}

std::string_view name_of(DType t) {
  return entry(t).name;
}

DType dtype_from_name(std::string_view name) {
  for (int i = 0; i < kTensorDTypeCount; ++i) {
    if (kDtypeTable[static_cast<std::size_t>(i)].name == name) return kDtypeTable[static_cast<std::size_t>(i)].dtype;
  }
  return DType::invalid;
}

bool is_floating(DType t) {
  return entry(t).kind == ElementKind::floating;
}

bool is_complex(DType t) {
  return entry(t).kind == ElementKind::complex;
}

bool is_integral(DType t) {
  return entry(t).kind == ElementKind::signed_integer || entry(t).kind == ElementKind::unsigned_integer;
}

bool is_signed_integer(DType t) {
  return entry(t).kind == ElementKind::signed_integer;
}

}  // namespace tern
