// Element types of tensors: the closed set of types in archives.
#pragma once

#include <tern/api.h>

#include <cstdint>
#include <string_view>

namespace tern {

/// The numeric values are part of the archive format and never change.
enum class DType : std::uint8_t {
  invalid = 0,
  boolean = 1,  ///< a byte, 0 or 1
  u8 = 2,
  i8 = 3,
  i16 = 4,
  i32 = 5,
  i64 = 6,
  u16 = 7,
  u32 = 8,
  u64 = 9,
  f16 = 10,   ///< IEEE 754 binary16
  bf16 = 11,  ///< upper half of binary32
  f32 = 12,
  f64 = 13,
  c32 = 14,   ///< two f16: real, imaginary
  c64 = 15,   ///< two f32
  c128 = 16,  ///< two f64
  f8_e4m3fn = 17,
  f8_e5m2 = 18,
  f8_e4m3fnuz = 19,
  f8_e5m2fnuz = 20,
  f8_e8m0 = 21,  ///< a power of two, 2^(code-127); 255 is NaN (OCP MX 1.0, 5.4.1)
  f6_e2m3 = 22,  ///< an element in each byte, the upper two bits zero (OCP MX 1.0, 5.3.2)
  f6_e3m2 = 23,  ///< stored like f6_e2m3
  f4_e2m1 = 24,  ///< two elements in each byte, even indices in the low four bits (OCP MX 1.0, 5.3.3)
  i4 = 25,       ///< -8 to 7, two elements in each byte, even indices in the low four bits; in quantized values only
  i2 = 26,       ///< -2 to 1, four elements in each byte, from the low two bits on; in quantized values only
};

inline constexpr int kDTypeCount = 27;
/// Number of types of tensors; later types are element types of quantized values only.
inline constexpr int kTensorDTypeCount = 25;

/// Number of elements per byte: 2 for f4_e2m1 and i4, 4 for i2, else 1.
constexpr int elements_per_byte(DType t) {
  return t == DType::i2 ? 4 : t == DType::f4_e2m1 || t == DType::i4 ? 2 : 1;
}

/// Bytes per element; 1 for types sharing a byte (see elements_per_byte). 0 for invalid.
TERN_API int element_size(DType t);
/// Name of a type, PyTorch's short name if PyTorch has the type ("float32", "bfloat16", "float8_e4m3fn"); "invalid" for
/// anything unknown.
TERN_API std::string_view name_of(DType t);
/// The inverse of name_of for types of tensors; invalid for an unknown name.
TERN_API DType dtype_from_name(std::string_view name);

TERN_API bool is_floating(DType t);  ///< every real floating type, including types of 4 to 8 bits
TERN_API bool is_complex(DType t);
TERN_API bool is_integral(DType t);  ///< signed or unsigned integer; not boolean
TERN_API bool is_signed_integer(DType t);

}  // namespace tern
