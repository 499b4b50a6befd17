// Scales in the tiles of NVIDIA's block-scaled units, in the order of rows again.
#pragma once

#include "exporter/builder.h"

namespace tern::microscaling {

/// Scales [.., rows, columns] out of tiles of 128 rows by 4 columns (torchao's to_blocked), padded at the ends. The
/// tiles of each of the `lead` matrices lie one after the other, in whatever shape `scales` has.
ValueId scales_from_tiles(Builder& b, ValueId scales, const Dims& lead, Dim rows, Dim columns);

}  // namespace tern::microscaling
