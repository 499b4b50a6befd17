// Planning passes in their order. Each pass adds data read by later passes to the draft.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Draft::resolved: every node of the section with constant attributes. Fails if a shape rule contradicts the declared
/// types or a checked size differs.
void resolve_sizes(Draft& d);
/// Draft::intensity.
void weigh_convolutions(Draft& d);
/// Draft::read_channels_last.
void find_channels_last_readers(Draft& d);
/// Draft::parts: nodes run together by the device.
void find_parts(Draft& d);
/// Places the function's inputs and states, and values of earlier sections.
void place_inputs(Draft& d);
/// Draft::rounded: values stored as bfloat16.
void find_rounded(Draft& d);
/// SectionPlan::steps and SectionPlan::args: each node becomes a view, a step or a member of a part. Results get blocks
/// of the arena or the memory of a dead operand.
void plan_steps(Draft& d);
/// Places the function's results and copies its write-backs (last section only).
void plan_results(Draft& d);
/// Gives each block its offset in the arena, and each argument its final location.
void pack_arena(Draft& d);
/// SectionPlan::constant, and the addresses of constants.
void mark_constants(Draft& d);
/// Prepares each step's kernel: states, scratch memory, packed weights.
void prepare_kernels(Draft& d);

}  // namespace tern
