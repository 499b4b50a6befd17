// What `tern conform` prints: failures, a table per op, and the totals.
#pragma once

#include <span>
#include <string>

#include "tools/conform/run.h"

namespace tern {

struct ReportOptions {
  bool json = false;
  bool gradients = false;  ///< the cases are of --gradients: tell which have none
  bool table = true;       ///< the table per op
  int failures = 50;       ///< how many failures to print; the rest is counted
};

/// The last line is "N passed, N failed", in JSON too (on standard error there).
std::string conform_report(std::span<const ConformResult> results, const ReportOptions& options);
std::string totals_line(std::span<const ConformResult> results);

}  // namespace tern
