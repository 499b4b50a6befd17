#include "tools/verify/advice.h"

#include <algorithm>

#include "schema/node_precision.h"
#include "schema/op_record.h"

namespace tern {
namespace {

std::string pattern_of(const Program& program, const Node& n) {
  if (n.origin >= 0 && static_cast<std::size_t>(n.origin) < program.origins.size()) {
    const Origin& o = program.origins[static_cast<std::size_t>(n.origin)];
    if (!o.module.empty()) return o.module;
    if (!o.op.empty()) return o.op;
  }
  return std::string(op_name(n.op));
}

}  // namespace

std::vector<std::string> keep_patterns(const Side& test, const std::vector<NodeDeviation>& nodes,
                                       std::size_t max_patterns) {
  std::vector<const NodeDeviation*> worst;
  for (const NodeDeviation& n : nodes) {
    if (has_precision(test.f().nodes[n.number].op) && n.isolated && !n.isolated->exact()) worst.push_back(&n);
  }
  std::ranges::stable_sort(worst, std::less<>(), [](const NodeDeviation* n) { return n->isolated->sqnr(); });
  std::vector<std::string> patterns;
  for (const NodeDeviation* n : worst) {
    const std::string pattern = pattern_of(*test.program, test.f().nodes[n->number]);
    if (patterns.size() < max_patterns && std::ranges::find(patterns, pattern) == patterns.end())
      patterns.push_back(pattern);
  }
  return patterns;
}

Advice advise(const Side& test, const Side& reference, const std::vector<NodeDeviation>& nodes, const Calls& calls,
              const std::function<bool(const Compared&)>& is_enough) {
  Advice few;
  for (std::size_t max_kept = kFewKept; max_kept <= kMaxKept; max_kept *= 2) {
    Advice advice;
    advice.patterns = keep_patterns(test, nodes, max_kept);
    if (advice.patterns.size() == few.patterns.size()) break;  // no further patterns
    Side changed = test;
    changed.program = keeping(test.program, advice.patterns);
    advice.comparison = std::move(verify_results(changed, reference, {}, calls, [] {}).compared.front());
    advice.enough = is_enough(advice.comparison);
    if (advice.enough) return advice;
    if (few.patterns.empty()) few = std::move(advice);
  }
  return few;
}

}  // namespace tern
