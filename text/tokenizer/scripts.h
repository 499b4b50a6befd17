// Scripts of Unicode characters, for the pre-tokenizer UnicodeScripts.
#pragma once

namespace tern::text {

inline constexpr int kAnyScript = -1;  ///< joins every script: spaces, characters without a script

/// Number of the character's script. Japanese kana count as Han, as SentencePiece has them.
int script_of(char32_t c);

}  // namespace tern::text
