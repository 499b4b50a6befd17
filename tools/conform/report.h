// The report of `tern conform`: failures, a table per op, and the totals.
#pragma once

#include <span>
#include <string>

#include "tools/conform/run.h"

namespace tern {

struct ReportOptions {
  bool json = false;
  bool gradients = false;  ///< report cases without a gradient separately (--gradients)
  bool table = true;       ///< the table per op
  int failures = 50;       ///< number of failures to print; further failures are counted
};

/// Report ending with the line "N passed, N failed", in JSON too (on standard error there).
std::string conform_report(std::span<const ConformResult> results, const ReportOptions& options);
std::string totals_line(std::span<const ConformResult> results);

}  // namespace tern
