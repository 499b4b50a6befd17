// Limits of what a lowering makes of a node: what a file declares must not decide how much memory that takes.
#pragma once

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/lower/lower.h"

namespace tern {

/// Fails unless the node names a result for each of the `count` that its operands and arguments give.
inline void require_results(const Call& c, std::int64_t count) {
  if (count >= 0 && static_cast<std::uint64_t>(count) <= c.declared.size()) return;
  fail(ErrorCode::bad_file, fmt::format("its operands give {} results, and the node names {}; save the program again",
                                        count, c.declared.size()));
}

}  // namespace tern
