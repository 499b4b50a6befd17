#include "dtypes/safetensors_names.h"

#include <array>
#include <cstddef>

namespace tern {
namespace {

struct SafetensorsNamesEntry {
  std::string_view name;
  DType dtype;
  int bits;
};

/// The order of the enumeration Dtype of the safetensors library, version 0.8; C32 and C128 are inserted by width.
constexpr std::array<SafetensorsNamesEntry, 24> kSafetensorsNamesTable = {{
    {"BOOL", DType::boolean, 8},
    {"F4", DType::f4_e2m1, 4},
    {"F6_E2M3", DType::f6_e2m3, 6},
    {"F6_E3M2", DType::f6_e3m2, 6},
    {"U8", DType::u8, 8},
    {"I8", DType::i8, 8},
    {"F8_E5M2", DType::f8_e5m2, 8},
    {"F8_E4M3", DType::f8_e4m3fn, 8},
    {"F8_E8M0", DType::f8_e8m0, 8},
    {"F8_E4M3FNUZ", DType::f8_e4m3fnuz, 8},
    {"F8_E5M2FNUZ", DType::f8_e5m2fnuz, 8},
    {"I16", DType::i16, 16},
    {"U16", DType::u16, 16},
    {"F16", DType::f16, 16},
    {"BF16", DType::bf16, 16},
    {"I32", DType::i32, 32},
    {"U32", DType::u32, 32},
    {"F32", DType::f32, 32},
    {"C32", DType::c32, 32},
    {"C64", DType::c64, 64},
    {"F64", DType::f64, 64},
    {"I64", DType::i64, 64},
    {"U64", DType::u64, 64},
    {"C128", DType::c128, 128},
}};
static_assert(kSafetensorsNamesTable.size() == kTensorDTypeCount - 1, "every element type of tensors has a name");

int place_of(DType dtype) {
  for (std::size_t i = 0; i < kSafetensorsNamesTable.size(); ++i) {
    if (kSafetensorsNamesTable[i].dtype == dtype) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

DType dtype_from_safetensors(std::string_view name) {
  for (const SafetensorsNamesEntry& e : kSafetensorsNamesTable) {
    if (e.name == name) return e.dtype;
  }
  return DType::invalid;
}

std::string_view safetensors_name(DType dtype) {
  const int place = place_of(dtype);
  return place < 0 ? std::string_view("invalid") : kSafetensorsNamesTable[static_cast<std::size_t>(place)].name;
}

int safetensors_rank(DType dtype) {
  return place_of(dtype);
}

int safetensors_bits(DType dtype) {
  const int place = place_of(dtype);
  return place < 0 ? 0 : kSafetensorsNamesTable[static_cast<std::size_t>(place)].bits;
}

}  // namespace tern
