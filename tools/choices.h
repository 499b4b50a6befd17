// tern bench --choices: the time of each algorithm able to compute a node, beside the estimate that decides.
#pragma once

#include <tern/tern.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tern {

struct AlgorithmTime {
  std::string algorithm;
  double seconds = 0;   ///< median over the runs, with the copies that bring operands into the algorithm's order
  double estimate = 0;  ///< seconds; infinite or 0: the kernel does not estimate this algorithm
};

/// Nodes of equal op, sizes, types and attributes.
struct NodeChoice {
  std::string function;
  std::uint32_t node = 0;   ///< the first of them
  std::string description;  ///< "convolution [1, 64, 56, 56] by [64, 64, 3, 3]"
  std::size_t nodes = 1;
  std::vector<AlgorithmTime> algorithms;  ///< the chosen one, then the others, the fastest first

  const AlgorithmTime& chosen() const { return algorithms.front(); }
  const AlgorithmTime& fastest() const;
  /// Time of the chosen algorithm divided by that of the best.
  double slowdown() const { return chosen().seconds / fastest().seconds; }
  /// Seconds of a run that the best algorithm would save.
  double gain() const { return static_cast<double>(nodes) * (chosen().seconds - fastest().seconds); }
};

/// A choice above this multiple of the best algorithm's time is listed.
inline constexpr double kPoorChoice = 1.1;

struct ChoiceRequest {
  std::string function;
  std::vector<Tensor> inputs;
  Precision precision = Precision::exported;
  double seconds = 3;  ///< runs take about as long
};

/// Runs the function with each algorithm in turns, on all nodes that have it. Uses the threads of
/// the caller's scope; oneDNN runs on one thread only, because its waiting threads slow the other algorithms. The
/// largest gain comes first.
std::vector<NodeChoice> measure_choices(const Model& model, const ChoiceRequest& request);

/// A table of all choices, then the poor ones.
std::string choices_text(const std::vector<NodeChoice>& choices);
/// The same as JSON, an array.
std::string choices_json(const std::vector<NodeChoice>& choices);

}  // namespace tern
