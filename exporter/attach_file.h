// Adds files for applications to a program, such as the tokenizer of a language model.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "schema/program.h"

namespace tern {

/// Adds the file, or replaces the file of the same name. Throws invalid_argument for a name or a size outside the
/// limits (schema/attached_file.h), and for a text that is not UTF-8.
void attach_file(Program& program, const std::string& name, std::vector<std::byte> bytes);

}  // namespace tern
