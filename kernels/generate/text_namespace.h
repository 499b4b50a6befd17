// Combines texts of portable kernels in a C++ source.
#pragma once

#include <cstddef>
#include <string>

namespace tern::generate {

struct Text {
  std::string name, text;  ///< name of the entry point
};

/// Precedes all texts: math.h is included here, because the texts include it inside a namespace.
inline constexpr const char* kBeforeTexts = "#include <math.h>\n#define TERN_ENTRY\n";

/// The text in namespace text_NUMBER, followed by #undef of its macros.
std::string wrap_in_namespace(const Text& text, std::size_t number);

}  // namespace tern::generate
