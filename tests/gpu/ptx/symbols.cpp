#include "tests/gpu/ptx/symbols.h"

#include <algorithm>

#include "tests/gpu/ptx/error.h"
#include "tests/gpu/ptx/types.h"

namespace tern::emulated {
namespace {

int type_bytes(const Variable& variable) {
  const Type* type = find_type(variable.type);
  if (!type) throw TranslationError(variable.line, "unknown type '" + variable.type + "' of '" + variable.name + "'");
  return type->bits / 8;
}

}  // namespace

std::string c_name(std::string_view prefix, std::string_view name) {
  std::string text(prefix);
  for (char c : name) {
    if (c != '%') text += c;
  }
  return text;
}

std::uint64_t size_of(const Variable& variable) {
  return type_bytes(variable) * variable.count;
}

int alignment_of(const Variable& variable) {
  return variable.align ? variable.align : type_bytes(variable);
}

std::uint64_t Layout::allocate(const Variable& variable) {
  const std::uint64_t align = alignment_of(variable);
  const std::uint64_t start = (end_ + align - 1) / align * align;
  end_ = start + size_of(variable);
  return start;
}

}  // namespace tern::emulated
