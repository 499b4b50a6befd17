// The types of PTX, and their representation in C.
#pragma once

#include <string_view>

namespace tern::emulated {

enum class TypeKind { kPredicate, kBits, kUnsigned, kSigned, kFloat, kFormat };

struct Type {
  std::string_view name;  // PTX's name
  std::string_view c;     // the C type of a value; kFormat: unsigned bits
  int bits;
  TypeKind kind;
  std::string_view format = {};  // kFormat and f32: the name in C of tern_ptx_encode's format, for a single value
};

// Null for an unknown name.
const Type* find_type(std::string_view name);
// Throws std::logic_error for an unknown name.
const Type& type_named(std::string_view name);
// The C name of the unsigned type with `bits` bits.
std::string_view unsigned_of(int bits);

}  // namespace tern::emulated
