// Draws a token from logits, as nodes of a program.
#pragma once

#include "exporter/builder.h"

namespace tern {

struct SamplingInputs {
  ValueId temperature = kNoValue;  ///< float32[], 0 or more
  ValueId top_k = kNoValue;        ///< int64[], 0 or more
  ValueId top_p = kNoValue;        ///< float32[], above 0, at most 1
  // Absent: the session's generator draws.
  ValueId seed = kNoValue;  ///< int64[]
  ValueId draw = kNoValue;  ///< int64[]: the numbers drawn before
};

/// Assertions that each is in its range, with messages for the caller.
void add_sampling_checks(Builder& b, const SamplingInputs& inputs);

/// The token, int64[], of logits float32[vocabulary]. Temperature 0 is the most likely one, the first of equals, and
/// draws no random number. Else probabilities are softmax(logits / temperature); `top_k` keeps the most likely ones (0:
/// all), and of those, renormalized, `top_p` keeps the fewest whose sum reaches it, as transformers' generate() does.
/// One number decides: of the session's generator, or the one that a session with `seed` draws after `draw` others.
/// Only where the few thousand most likely tokens do not decide, all are sorted.
ValueId add_sampling(Builder& b, ValueId logits, const SamplingInputs& inputs);

}  // namespace tern
