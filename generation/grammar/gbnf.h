// Grammars in the notation of llama.cpp (GBNF).
#pragma once

#include <string_view>

#include "generation/grammar/grammar.h"

namespace tern::grammar {

/// root ::= "a" [b-z]+ (other | "c"){2,3}   # comment
/// Throws invalid_argument for broken notation, unknown rules, and a grammar without the rule root.
Grammar gbnf_grammar(std::string_view text);

}  // namespace tern::grammar
