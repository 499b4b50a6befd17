// A method called repeatedly in training.
#pragma once

#include <tern/graph.h>
#include <tern/tern.h>

#include <span>
#include <string>
#include <vector>

namespace tern::train {

/// Runs the method, or replays its graph. The first run with `repeats` captures the graph, for its input sizes; runs
/// with other sizes (the last batch of an epoch) do not use the graph, with the same states and random numbers.
class MethodRun {
 public:
  MethodRun(Session& session, std::string name, bool graph)
      : session_(session), name_(std::move(name)), graph_(graph) {}

  /// `repeats`: most runs have inputs of these sizes. The results are valid until the next call. Fails (unsupported) if
  /// a graph cannot hold a node.
  const std::vector<Tensor>& operator()(std::span<const Tensor> inputs, bool repeats);

 private:
  void capture(std::span<const Tensor> inputs);
  bool has_same_sizes(std::span<const Tensor> inputs) const;

  Session& session_;
  std::string name_;
  bool graph_;
  Graph captured_;
  std::vector<Tensor> inputs_;   ///< input memory of the graph; empty before the capture
  std::vector<Tensor> outputs_;  ///< the graph's
};

}  // namespace tern::train
