// Function of one text in a slot.
#pragma once

#include "exporter/llm/slots/slot_function.h"

namespace tern {

/// Rewrites a function over some tokens of one text: adds the input `slot`, int64[1]; its caches become the slot's.
/// Other inputs and results get a first axis of 1 unless present.
void work_in_slot(Program& program, std::uint32_t function, SlotOptions options);

}  // namespace tern
