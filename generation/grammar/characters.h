// Sets of characters, and their spellings in UTF-8 and in JSON strings.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "generation/grammar/grammar.h"

namespace tern::grammar {

/// Ranges [first, last] of code points.
using Characters = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

inline constexpr std::uint32_t kLastCharacter = 0x10FFFF;

/// Sorted and disjoint, without surrogates.
Characters normalized(Characters set);
/// All characters but these.
Characters complement(const Characters& set);

/// Spells a character of the set in UTF-8.
Symbol utf8(Builder& builder, const Characters& set);
/// Spells a character of the set inside a JSON string: escaped where JSON demands an escape.
Symbol json_character(Builder& builder, const Characters& set);
/// Spells any character inside a JSON string, in any way. Surrogates have none: their pairs would count as two
/// characters.
Symbol any_json_character(Builder& builder);

}  // namespace tern::grammar
