// Requirements of generation: the program's tokens, their position, its logits, and the length of its cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schema/program.h"

namespace tern {

struct DecoderSignature {
  std::size_t tokens = 0, position = 0;  ///< indices in Function::inputs
  ValueId logits = kNoValue;             ///< [1, rows, vocabulary], the last token's last, or [1, vocabulary]
  Dim count = 1;                         ///< n: a symbol, or 1 for a function of one token
  int position_symbol = -1;              ///< symbol of the position count, if the program has a separate one
  std::int64_t vocabulary = 0;
  std::int64_t slots = 0;  ///< positions of the cache
};

/// Signature of a decoder with a static key/value cache in its states. `context` is the user's cache length, or 0.
/// Throws invalid_argument, with export advice, for other programs.
DecoderSignature decoder_signature(const Program& program, const Function& f, std::int64_t context);

}  // namespace tern
