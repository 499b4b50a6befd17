// A function of one text that works in a slot.
#pragma once

#include "exporter/llm/slots/slot_function.h"

namespace tern {

/// Rewrites a function that reads some tokens of one text: it gets the input `slot`, int64[1], and its caches are those
/// of that slot. Its other inputs and results have a first axis of 1 in place of none.
void work_in_slot(Program& program, std::uint32_t function, SlotOptions options);

}  // namespace tern
