// The user's limits for results, and violations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/verify/results.h"

namespace tern {

struct Limits {
  std::optional<double> cosine, sqnr, agreement;  ///< the least
  bool has_limits() const { return cosine || sqnr || agreement; }
};

/// A line for each result violating a limit, or differing in type or sizes from the reference (always a violation). A
/// limit applying to no result is a line, too.
std::vector<std::string> broken_limits(const Compared& compared, const Limits& limits, bool several_calls);

}  // namespace tern
