// Limits of a lowering's output: the sizes declared by a file must not decide its memory use.
#pragma once

#include <fmt/format.h>
#include <tern/error.h>

#include "exporter/lower/lower.h"

namespace tern {

/// Fails if the node names fewer results than `count`, the number given by its operands and arguments.
inline void require_results(const Call& c, std::int64_t count) {
  if (count >= 0 && static_cast<std::uint64_t>(count) <= c.declared.size()) return;
  fail(ErrorCode::bad_file,
       fmt::format("its operands produce {} results, but the node names {}; save the program again", count,
                   c.declared.size()));
}

}  // namespace tern
