// aten_schemas.txt, built into the library.
#pragma once

#include <string_view>

namespace tern::pt2 {

/// One schema in each line, sorted by name; of lines with the same name the newest is first.
std::string_view aten_schema_text();

}  // namespace tern::pt2
