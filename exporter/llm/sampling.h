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

/// Asserts the range of each input, with messages for the caller.
void add_sampling_checks(Builder& b, const SamplingInputs& inputs);

/// Samples a token, int64[], from logits float32[vocabulary]. Temperature 0 selects the most likely token, the first of
/// equals, without a random number. Otherwise probabilities are softmax(logits / temperature); `top_k` keeps the most
/// likely tokens (0: all), and `top_p` the fewest of these with a renormalized sum of at least top_p, like
/// transformers' generate(). One random number decides: from the session's generator, or number `draw` of a session
/// with `seed`. All tokens are sorted only if the few thousand most likely ones do not decide.
ValueId add_sampling(Builder& b, ValueId logits, const SamplingInputs& inputs);

}  // namespace tern
