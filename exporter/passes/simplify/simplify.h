// What makes a program smaller: the last passes before weights are laid out. All but norms keep the bits.
#pragma once

#include "schema/program.h"

namespace tern {

/// Pointwise nodes read a number where an operand is one number for all elements (`full`).
void inline_numbers(Program& program);

/// Nodes that compute the same of the same values become one: torchao's dynamic quantization scales the operand of a
/// query, a key and a value three times.
void share_common_nodes(Program& program);

/// The nodes of a normalization that is spelled out become one (norms.cpp). Means are rounded once instead of several
/// times, so the last place of a result may differ.
void recognise_norms(Program& program);

/// Rotary embeddings read halves where they lie (rotations.cpp). Before constants are folded: sines get signs.
void turn_halves_in_place(Program& program);

/// Collectives that nothing runs beside are done where they stand (overlap.cpp).
void overlap_collectives(Program& program);

/// All of them but the rotations, and removes what nothing reads any more.
void simplify(Program& program);

}  // namespace tern
