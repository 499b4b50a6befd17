// What a user asks of the results, and which of them do not meet it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/verify/results.h"

namespace tern {

struct Limits {
  std::optional<double> cosine, sqnr, agreement;  ///< the least
  bool any() const { return cosine || sqnr || agreement; }
};

/// A line for each result that breaks a limit, or that has another type or other sizes than the reference, which no
/// limit has to say. A limit that no result can be held to is a line, too.
std::vector<std::string> broken_limits(const Compared& compared, const Limits& limits, bool several_calls);

}  // namespace tern
