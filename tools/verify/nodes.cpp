#include "tools/verify/nodes.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "tools/verify/alone.h"
#include "tools/verify/portions.h"
#include "tools/verify/programs.h"
#include "tools/verify/tensors.h"

namespace tern {
namespace {

using States = std::vector<std::pair<std::string, Tensor>>;

/// Measurements of each value.
struct ValueDeviations {
  std::map<ValueId, Deviation> accumulated, isolated;
  std::map<ValueId, std::string> mismatches;
};

States mutable_states(const Side& program_side, const Session& session) {
  States states;
  for (const State& s : program_side.program->states) {
    if (s.is_mutable && !s.type.quantized()) states.emplace_back(s.name, session.read_state(s.name));
  }
  return states;
}

bool is_worse(const Deviation& a, const Deviation& b) {
  return a.not_finite != b.not_finite ? a.not_finite > b.not_finite : a.sqnr() < b.sqnr();
}

/// The largest error among the values of a node.
std::optional<Deviation> worst_of(const std::vector<ValueId>& values, const std::map<ValueId, Deviation>& deviations) {
  std::optional<Deviation> worst;
  for (ValueId v : values) {
    const auto found = deviations.find(v);
    if (found != deviations.end() && (!worst || is_worse(found->second, *worst))) worst = found->second;
  }
  return worst;
}

std::vector<ValueId> results_of(const Function& f, const Portion& p) {
  std::vector<ValueId> results;
  for (const std::uint32_t i : p.nodes) std::ranges::copy(measured_results(f, f.nodes[i]), std::back_inserter(results));
  return results;
}

std::vector<std::uint32_t> nodes_alone(const Function& f, const Portion& p) {
  const WeightValues weights(f);
  std::vector<std::uint32_t> nodes;
  std::ranges::copy_if(p.nodes, std::back_inserter(nodes),
                       [&](std::uint32_t i) { return runs_alone(f, weights, f.nodes[i]); });
  return nodes;
}

class PortionRun {
 public:
  PortionRun(const Side& test, const Side& reference, const Portion& portion)
      : test_(test),
        reference_(reference),
        portion_(portion),
        results_(results_of(test.f(), portion)),
        test_session_(test.session(observing(*test.program, test.function, results_))),
        reference_session_(reference.session(observing(*reference.program, reference.function, portion.values))),
        alone_(test, reference, nodes_alone(test.f(), portion)) {}

  void run(const std::vector<Tensor>& inputs, const CallSizes& sizes, ValueDeviations& m) {
    const States before = mutable_states(reference_, reference_session_);
    // Copies the inputs, because values may share their memory.
    const std::vector<Tensor> of_reference = copies_of(inputs), of_test = copies_of(inputs);
    std::map<ValueId, Tensor> exact;
    const std::vector<Tensor>& values = reference_session_.run(reference_.f().name, of_reference);
    for (std::size_t i = 0; i < values.size(); ++i) exact.emplace(portion_.values[i], values[i]);
    const std::vector<Tensor>& actual = test_session_.run(test_.f().name, of_test);
    for (std::size_t i = 0; i < actual.size(); ++i) {
      const Tensor& r = exact.at(results_[i]);
      const std::string unlike = mismatch(r, actual[i]);
      if (unlike.empty()) {
        m.accumulated[results_[i]] += deviation_of(r, actual[i]);
      } else {
        m.mismatches.emplace(results_[i], unlike);
      }
    }
    alone_.run(sizes, exact, before, m.isolated);
  }

 private:
  const Side& test_;
  const Side& reference_;
  const Portion& portion_;
  std::vector<ValueId> results_;
  Session test_session_, reference_session_;
  NodesAlone alone_;
};

}  // namespace

std::vector<NodeDeviation> measure_nodes(const Side& test, const Side& reference, const Calls& calls,
                                         const NodesRequest& request) {
  const std::vector<CallSizes> sizes = sizes_of(reference, calls);
  const std::vector<Portion> portions = portions_of(reference.f(), sizes, request.bytes, request.measures);
  ValueDeviations m;
  std::size_t done = 0;
  for (const Portion& p : portions) {
    PortionRun run(test, reference, p);
    for (std::size_t c = 0; c < calls.size(); ++c) {
      run.run(calls[c], sizes[c], m);
      if (request.on_progress) request.on_progress(++done, portions.size() * calls.size());
    }
  }
  std::vector<NodeDeviation> nodes;
  for (const Portion& p : portions) {
    for (const std::uint32_t i : p.nodes) {
      const std::vector<ValueId> results = measured_results(reference.f(), reference.f().nodes[i]);
      NodeDeviation& n = nodes.emplace_back();
      n.number = i;
      n.accumulated = worst_of(results, m.accumulated).value_or(Deviation{});
      n.isolated = worst_of(results, m.isolated);
      for (ValueId v : results) {
        if (const auto found = m.mismatches.find(v); found != m.mismatches.end()) n.mismatch = found->second;
      }
    }
  }
  return nodes;
}

}  // namespace tern
