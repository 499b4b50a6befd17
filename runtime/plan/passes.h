// The passes that make a plan, in their order. Each adds to the draft what the next ones read.
#pragma once

#include "runtime/plan/draft.h"

namespace tern {

/// Draft::resolved: every node of the section with constant attributes. Fails where its shape rule does not give the
/// types that the program declares, or where a size that the program checks is another.
void resolve_sizes(Draft& d);
/// Draft::intensity.
void weigh_convolutions(Draft& d);
/// Draft::parts: which nodes the device runs together.
void find_parts(Draft& d);
/// Places the function's inputs and states, and what earlier sections made.
void place_inputs(Draft& d);
/// Draft::rounded: values that lie in memory as bfloat16.
void find_rounded(Draft& d);
/// Plan::steps and Plan::args: each node becomes a view, a step or a member of a part; results get blocks of the arena,
/// or memory that an operand leaves.
void plan_steps(Draft& d);
/// In the last section: the function's results, and its write-backs as copies.
void plan_results(Draft& d);
/// Gives each block its place in the arena, and each argument its final location.
void pack_arena(Draft& d);
/// Plan::constant, and the addresses of constants.
void mark_constants(Draft& d);
/// Has each step's kernel prepare itself: states, scratch memory, packed weights.
void prepare_kernels(Draft& d);

}  // namespace tern
