// The reports of tern verify, as text and JSON.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/gains.h"
#include "tools/verify/advice.h"
#include "tools/verify/limits.h"
#include "tools/verify/nodes.h"
#include "tools/verify/results.h"

namespace tern {

struct VerifyReport {
  std::string model, function;
  Verification results;
  std::shared_ptr<const Program> program;  ///< program of these nodes
  std::uint32_t number = 0;                ///< number of the function
  bool nodes_asked = false;                ///< false: nodes measured only for the advice
  std::size_t worst = 0;                   ///< number of nodes to show, by their own errors; 0: all, in program order
  std::vector<NodeDeviation> nodes;
  std::string nodes_run, nodes_against;  ///< titles of the two compared runs
  bool nodes_of_model_alone = false;     ///< the reference of the results is another program, with other nodes
  Advice advice;
  Limits limits;
  std::vector<std::string> broken;
  Gains gains;  ///< gains over a run as exported
};

/// The nodes to show, in their order.
std::vector<NodeDeviation> shown_nodes(const VerifyReport& report);

/// "exact", or the SQNR.
std::string decibels(const Deviation& deviation);
/// A table of results; for several calls, the worst of each result.
std::string compared_text(const Compared& compared, std::size_t calls);

std::string verify_text(const VerifyReport& report);
std::string verify_json(const VerifyReport& report);

}  // namespace tern
