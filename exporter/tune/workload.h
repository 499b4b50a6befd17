// Timed runs of tuning: all entry functions of a program on synthetic inputs.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/estimate_observer.h"
#include "runtime/prepared.h"

namespace tern {

/// Entry functions and their inputs.
struct Workload {
  struct Call {
    std::string function;
    std::vector<Tensor> inputs;
  };
  std::vector<Call> calls;
  std::vector<std::string> left_out;  ///< functions unable to run, with reasons
};

/// Symbols without a size in `sizes` take a typical size.
Workload make_workload(const Model& model, const std::map<std::string, std::int64_t>& sizes);

/// Node, by function name and number.
using NodeNames = std::set<std::pair<std::string, std::uint32_t>>;

/// Step with several algorithms.
struct SeenStep {
  std::string kind;         ///< equal for nodes of equal op, sizes, types, attributes and epilogue
  std::string description;  ///< for people
  std::span<const AlgorithmChoice> algorithms;
  AlgorithmChoice chosen;
};

/// Program with chosen algorithms for nodes, in its own session.
class Trial : private EstimateObserver {
 public:
  Trial(const Model& model, const Tuning& tuning, Precision precision = Precision::exported);
  struct Time {
    double function = 0;
    double nodes = 0;  ///< seconds of the requested nodes
  };
  /// Runs all calls once.
  Time run(const Workload& workload, const NodeNames& nodes);
  /// Keyed by function and exported number; complete after a run.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, SeenStep>& steps() const { return steps_; }
  /// Adds the nodes possibly affected by another algorithm: nodes before and after, through views and pointwise nodes,
  /// for they follow their operands' axis order.
  NodeNames nodes_with_neighbours(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& positions) const;
  /// Seconds by function's name and node, of the last run.
  std::map<std::pair<std::string, std::uint32_t>, double> node_times() const;
  /// Estimates of a step's algorithms; empty if its kernel has none.
  std::vector<AlgorithmCost> estimates(std::pair<std::uint32_t, std::uint32_t> position) const;

 private:
  void prepared(std::uint32_t function, std::uint32_t number, const Kernel& kernel, const KernelCall& call,
                AlgorithmChoice choice) override;
  void estimated(std::uint32_t function, std::uint32_t number, std::vector<AlgorithmCost> costs) override;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SeenStep> steps_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<AlgorithmCost>> estimates_;
  std::shared_ptr<const PreparedProgram> prepared_;
  Session session_;
};

}  // namespace tern
