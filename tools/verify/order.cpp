// Selects the nodes shown in a report.
#include <algorithm>
#include <limits>

#include "tools/verify/report.h"

namespace tern {
namespace {

/// Smaller is worse. Nodes unable to run alone come last.
double rank(const NodeDeviation& n) {
  if (!n.isolated) return std::numeric_limits<double>::infinity();
  return n.isolated->not_finite > 0 ? -std::numeric_limits<double>::infinity() : n.isolated->sqnr();
}

}  // namespace

std::vector<NodeDeviation> shown_nodes(const VerifyReport& report) {
  std::vector<NodeDeviation> nodes = report.nodes_asked ? report.nodes : std::vector<NodeDeviation>();
  if (report.worst == 0) return nodes;
  std::ranges::stable_sort(nodes, std::less<>(), rank);
  nodes.resize(std::min(nodes.size(), report.worst));
  return nodes;
}

}  // namespace tern
