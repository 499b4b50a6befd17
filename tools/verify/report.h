// What tern verify prints, for people and for scripts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/verify/advice.h"
#include "tools/verify/limits.h"
#include "tools/verify/nodes.h"
#include "tools/verify/results.h"

namespace tern {

struct VerifyReport {
  std::string model, function;
  Verification results;
  std::shared_ptr<const Program> program;  ///< whose nodes these are
  std::uint32_t number = 0;                ///< of the function
  bool nodes_asked = false;                ///< else they were measured for the advice alone
  std::size_t worst = 0;                   ///< how many nodes to show, by their own errors; 0: all, in program order
  std::vector<NodeDeviation> nodes;
  std::string nodes_run, nodes_against;  ///< the two runs whose nodes these are
  bool nodes_of_model_alone = false;     ///< the reference of the results is another program, with other nodes
  Advice advice;
  Limits limits;
  std::vector<std::string> broken;
};

/// The nodes to show, in their order.
std::vector<NodeDeviation> shown_nodes(const VerifyReport& report);

/// "exact", or its SQNR.
std::string decibels(const Deviation& deviation);
/// A table of results; of several calls it shows the worst one of each.
std::string compared_text(const Compared& compared, std::size_t calls);

std::string verify_text(const VerifyReport& report);
std::string verify_json(const VerifyReport& report);

}  // namespace tern
