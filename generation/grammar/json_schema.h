// JSON schemas as grammars.
#pragma once

#include <string_view>

#include "generation/grammar/grammar.h"

namespace tern::grammar {

/// Grammar of JSON texts that a schema describes (docs/serve.md lists the keywords). Members of objects follow the
/// order of the schema. Throws invalid_argument for text that is not JSON, and names a keyword that is not supported.
Grammar json_schema_grammar(std::string_view schema);

}  // namespace tern::grammar
