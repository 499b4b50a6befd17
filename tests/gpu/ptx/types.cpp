#include "tests/gpu/ptx/types.h"

#include <stdexcept>
#include <string>

namespace tern::emulated {
namespace {

constexpr Type kTypes[] = {
    {"pred", "u8", 8, TypeKind::kPredicate},
    {"b8", "u8", 8, TypeKind::kBits},
    {"b16", "u16", 16, TypeKind::kBits},
    {"b32", "u32", 32, TypeKind::kBits},
    {"b64", "u64", 64, TypeKind::kBits},
    {"b128", "u128", 128, TypeKind::kBits},
    {"u8", "u8", 8, TypeKind::kUnsigned},
    {"u16", "u16", 16, TypeKind::kUnsigned},
    {"u32", "u32", 32, TypeKind::kUnsigned},
    {"u64", "u64", 64, TypeKind::kUnsigned},
    {"s8", "s8", 8, TypeKind::kSigned},
    {"s16", "s16", 16, TypeKind::kSigned},
    {"s32", "s32", 32, TypeKind::kSigned},
    {"s64", "s64", 64, TypeKind::kSigned},
    {"f32", "f32", 32, TypeKind::kFloat, "F32"},
    {"f64", "f64", 64, TypeKind::kFloat},
    {"f16", "u16", 16, TypeKind::kFormat, "F16"},
    {"bf16", "u16", 16, TypeKind::kFormat, "BF16"},
    {"f16x2", "u32", 32, TypeKind::kFormat, "F16"},
    {"bf16x2", "u32", 32, TypeKind::kFormat, "BF16"},
    {"f32x2", "u64", 64, TypeKind::kFormat, "F32"},
    {"tf32", "u32", 32, TypeKind::kFormat, "TF32"},
    {"e4m3", "u8", 8, TypeKind::kFormat, "E4M3"},
    {"e5m2", "u8", 8, TypeKind::kFormat, "E5M2"},
    {"e4m3x2", "u16", 16, TypeKind::kFormat, "E4M3"},
    {"e5m2x2", "u16", 16, TypeKind::kFormat, "E5M2"},
    {"e2m1x2", "u8", 8, TypeKind::kFormat, "E2M1"},
    {"e2m3x2", "u16", 16, TypeKind::kFormat, "E2M3"},
    {"e3m2x2", "u16", 16, TypeKind::kFormat, "E3M2"},
    {"ue8m0x2", "u16", 16, TypeKind::kFormat, "UE8M0"},
};

}  // namespace

const Type* find_type(std::string_view name) {
  for (const Type& type : kTypes) {
    if (type.name == name) return &type;
  }
  return nullptr;
}

const Type& type_named(std::string_view name) {
  const Type* type = find_type(name);
  if (!type) throw std::logic_error("no type of PTX is named " + std::string(name));
  return *type;
}

std::string_view unsigned_of(int bits) {
  switch (bits) {
    case 8: return "u8";
    case 16: return "u16";
    case 32: return "u32";
    case 64: return "u64";
    default: return "u128";
  }
}

}  // namespace tern::emulated
