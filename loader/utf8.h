// Valid texts of an archive.
#pragma once

#include <string_view>

namespace tern {

/// UTF-8 (no overlong forms, no surrogates) without zero bytes.
bool is_valid_text(std::string_view text);

}  // namespace tern
