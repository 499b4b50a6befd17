// aten_schemas.txt, built into the library.
#pragma once

#include <string_view>

namespace tern::pt2 {

/// Schemas, a line each, sorted by name; the newest of equal names comes first.
std::string_view aten_schema_text();

}  // namespace tern::pt2
