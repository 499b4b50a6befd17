// Turns a function of one text into a function of several.
#pragma once

#include "exporter/llm/slots/slot_function.h"

namespace tern {

/// Rewrites a function of one text, with a known number of tokens, into a function of `options.texts` texts, each in
/// its own slot. Inputs and results get a first axis of this size, in place of 1 or none; `slot` gives the texts'
/// slots. Nodes with a rule (rules.h) become one node for all texts: products then read weights once. Nodes without a
/// rule, readers of a cache, and nodes with sizes from one text's data run once per text, in loops. Throws
/// invalid_argument if the function draws random numbers.
void run_over_texts(Program& program, std::uint32_t function, SlotOptions options);

}  // namespace tern
