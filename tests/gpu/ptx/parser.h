// Reads PTX text into a Module. Throws TranslationError for directives that it does not know.
#pragma once

#include <string_view>

#include "tests/gpu/ptx/module.h"

namespace tern::emulated {

Module parse(std::string_view ptx);

}  // namespace tern::emulated
