// Lowerings: contraction.
#include "exporter/lower/lower.h"

namespace tern {

std::span<const Lowering> contraction_lowerings() { return {}; }

}  // namespace tern
