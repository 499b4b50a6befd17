// The runs that tuning times: all entry functions of a program on made-up inputs.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/prepared.h"

namespace tern {

/// Entry functions and their inputs.
struct Workload {
  struct Call {
    std::string function;
    std::vector<Tensor> inputs;
  };
  std::vector<Call> calls;
  std::vector<std::string> left_out;  ///< functions that do not run, and why
};

/// Symbols without a size in `sizes` take a typical one.
Workload make_workload(const Model& model, const std::map<std::string, std::int64_t>& sizes);

/// A node by its function's name and its number there.
using NodeNames = std::set<std::pair<std::string, std::uint32_t>>;

/// A step that has several algorithms.
struct SeenStep {
  std::string kind;  ///< equal for nodes of equal op, sizes, types, attributes and epilogue
  std::string what;  ///< for people
  std::span<const AlgorithmChoice> algorithms;
  AlgorithmChoice taken;
};

/// The program with nodes computed by chosen algorithms, in a session of its own.
class Trial : private PlanObserver {
 public:
  Trial(const Model& model, const Tuning& tuning);
  struct Time {
    double function = 0;
    double nodes = 0;  ///< of those asked for
  };
  /// Runs all calls once.
  Time run(const Workload& workload, const NodeNames& nodes);
  /// By function and exported number, once it has run.
  const std::map<std::pair<std::uint32_t, std::uint32_t>, SeenStep>& steps() const { return steps_; }
  /// These nodes, and what can change with how they are done: the nodes before and after them, through views and
  /// pointwise nodes, which follow the order of their operands' axes.
  NodeNames with_neighbours(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& places) const;
  /// Seconds by function's name and node, of the last run.
  std::map<std::pair<std::string, std::uint32_t>, double> node_times() const;

 private:
  void prepared(std::uint32_t function, std::uint32_t number, const Kernel& kernel, const KernelCall& call,
                AlgorithmChoice taken) override;
  std::map<std::pair<std::uint32_t, std::uint32_t>, SeenStep> steps_;
  std::shared_ptr<const PreparedProgram> prepared_;
  Session session_;
};

}  // namespace tern
