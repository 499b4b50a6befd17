// Texts of portable kernels side by side in one C++ source.
#pragma once

#include <cstddef>
#include <string>

namespace tern::generate {

struct Text {
  std::string name, text;  ///< of its entry point
};

/// To stand before all texts: they include the mathematics themselves, inside of a namespace, where it is there then.
inline constexpr const char* kBeforeTexts = "#include <math.h>\n#define TERN_ENTRY\n";

/// The text in namespace text_NUMBER, and its macros undefined after it.
std::string in_namespace(const Text& text, std::size_t number);

}  // namespace tern::generate
