// What a program needs to generate tokens: where its tokens, their position and its logits are, and how long its cache
// is.
#pragma once

#include <cstddef>
#include <cstdint>

#include "schema/program.h"

namespace tern {

struct DecoderSignature {
  std::size_t tokens = 0, position = 0;  ///< places in Function::inputs
  ValueId logits = kNoValue;             ///< [1, rows, vocabulary], the last token's last, or [1, vocabulary]
  Dim count = 1;                         ///< n: a symbol, or 1 for a function that takes one token
  int position_symbol = -1;              ///< of the number of positions, where the program has one of its own for it
  std::int64_t vocabulary = 0;
  std::int64_t slots = 0;  ///< positions of the cache
};

/// Of a decoder with a static key/value cache in its states. `context` is what the user says of the cache's length, or
/// 0. Throws invalid_argument, with how to export such a program, if `f` is none.
DecoderSignature decoder_signature(const Program& program, const Function& f, std::int64_t context);

}  // namespace tern
