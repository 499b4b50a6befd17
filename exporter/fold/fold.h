// Constant folding at export.
#pragma once

#include "schema/program.h"

namespace tern {

/// Replaces what depends on immutable states and constants alone by constant states, where that does not make the
/// program larger by more than kSmallConstant bytes for each, and batch norms with constant statistics by a
/// multiplication and an addition. States that nothing reads any more go.
void fold_constants(Program& program);

inline constexpr std::uint64_t kSmallConstant = std::uint64_t{64} << 10;

/// A batch norm with constant statistics becomes x * scale + shift, with the bits that it had: one number of each for
/// a channel, computed in double. The states that it read are marked in `read`.
void fold_batch_norms(Program& program, std::vector<bool>& read);

}  // namespace tern
