// A function of one text as one over several.
#pragma once

#include "exporter/llm/slots/slot_function.h"

namespace tern {

/// Rewrites a function of one text, and of a known number of tokens, into one of `options.texts` texts, each in a slot
/// of its own: inputs and results have a first axis of that size, in place of one of 1 or of none, and `slot` says
/// where the texts are. A node becomes one for all texts where its op has a rule (rules.h), so products read weights
/// once. What has none, what reads a cache, and what has sizes of one text's data, runs once for each text, in loops.
/// Throws invalid_argument if the function draws random numbers.
void run_over_texts(Program& program, std::uint32_t function, SlotOptions options);

}  // namespace tern
