// Parses PTX into a Module. Throws TranslationError for unknown directives.
#pragma once

#include <string_view>

#include "tests/gpu/ptx/module.h"

namespace tern::emulated {

Module parse(std::string_view ptx);

}  // namespace tern::emulated
