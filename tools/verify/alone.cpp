#include "tools/verify/alone.h"

#include <tern/error.h>

#include "tools/verify/tensors.h"

namespace tern {

NodesAlone::NodesAlone(const Side& test, const Side& reference, const std::vector<std::uint32_t>& nodes)
    : test_(test), reference_(reference) {
  if (!nodes.empty()) groups_.push_back({nodes, {}, {}, {}});
}

void NodesAlone::prepare(Group& g, const CallSizes& sizes) const {
  g.test_cut = cut_nodes(*test_.program, test_.function, g.nodes, sizes);
  g.reference_cut = cut_nodes(*reference_.program, reference_.function, g.nodes, sizes);
  g.sessions.push_back(test_.session(g.test_cut.program));
  g.sessions.push_back(reference_.session(g.reference_cut.program));
}

void NodesAlone::run(Group& g, const std::map<ValueId, Tensor>& operands,
                     const std::vector<std::pair<std::string, Tensor>>& states,
                     std::map<ValueId, Deviation>& own) const {
  std::vector<Tensor> inputs;
  for (ValueId v : g.test_cut.operands) inputs.push_back(operands.at(v));
  for (Session& s : g.sessions) {
    for (const auto& [name, value] : states) s.write_state(name, value);
  }
  const std::string& function = test_.f().name;
  const std::vector<Tensor>& actual = g.sessions[0].run(function, inputs);
  const std::vector<Tensor>& exact = g.sessions[1].run(function, inputs);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (mismatch(exact[i], actual[i]).empty()) own[g.test_cut.results[i]] += deviation_of(exact[i], actual[i]);
  }
}

void NodesAlone::run(const CallSizes& sizes, const std::map<ValueId, Tensor>& operands,
                     const std::vector<std::pair<std::string, Tensor>>& states, std::map<ValueId, Deviation>& own) {
  if (!(sizes == sizes_)) {
    for (Group& g : groups_) g.sessions.clear();
    sizes_ = sizes;
  }
  for (std::size_t i = 0; i < groups_.size();) {
    try {
      if (groups_[i].sessions.empty()) prepare(groups_[i], sizes);
      run(groups_[i], operands, states, own);
      ++i;
    } catch (const Error& e) {
      // Halves the group to isolate a node needing more than its operands, for example a size of an earlier node.
      if (e.code() == ErrorCode::out_of_memory) throw;
      const std::vector<std::uint32_t> nodes = std::move(groups_[i].nodes);
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
      if (nodes.size() == 1) continue;
      const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
      const auto at = groups_.begin() + static_cast<std::ptrdiff_t>(i);
      groups_.insert(groups_.insert(at, Group{{middle, nodes.end()}, {}, {}, {}}),
                     Group{{nodes.begin(), middle}, {}, {}, {}});
    }
  }
}

}  // namespace tern
