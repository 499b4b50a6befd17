// Sizes and alignments of LLVM's types in the memory of an AMD GPU.
#ifndef TERN_TESTS_GPU_AMD_IR_TYPES_H
#define TERN_TESTS_GPU_AMD_IR_TYPES_H

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tern::gpu::amd {

struct Type {
  std::string text;  // the type's notation in the IR
  std::uint64_t size = 0;
  std::uint64_t alignment = 1;
};

class Types {
 public:
  // A line `%name = type { ... }`.
  void define(std::string_view line);
  // Removes the type at the front of `text`. Throws Error for a type without size.
  Type parse_type(std::string_view& text) const;

 private:
  Type structure(std::string_view& text, bool packed) const;
  std::map<std::string, std::string, std::less<>> definitions_;
};

// Skips spaces.
void skip_spaces(std::string_view& text);
// Removes `prefix` from the front, if present.
bool take_prefix(std::string_view& text, std::string_view prefix);
// Removes the name at the front of `text` and returns the name without its sigil: %name, @"a name", %4.
std::string take_name(std::string_view& text);

}  // namespace tern::gpu::amd

#endif
