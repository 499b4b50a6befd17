// Ops with several algorithms have a table of algorithms, and a file for each. The cheapest algorithm able to compute
// the node runs.
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <numeric>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/machine.h"
#include "kernels/cpu/pointwise/epilogue.h"
#include "kernels/kernel.h"

namespace tern::cpu {

/// Work left after a run: the epilogue, unless the algorithm applied it.
enum class RemainingWork : std::uint8_t { nothing, epilogue };

/// An algorithm prepared for a node: sessions on several threads run an object at the same time.
class PreparedAlgorithm {
 public:
  virtual ~PreparedAlgorithm() = default;
  /// Reserves the scratch memory of `run`, in the same order.
  virtual void reserve(const KernelCall& call, ScratchArena& arena) const = 0;
  /// `epilogue` may be null. Returns RemainingWork::epilogue unless applied.
  virtual RemainingWork run(KernelCall& call, ScratchArena& arena, const pointwise::Epilogue* epilogue) const = 0;

  // The kernel state copies these fields.
  AlgorithmChoice choice;
  std::uint32_t unread = 0;
  bool asks_ahead = false;
  /// True if the algorithm prepared an epilogue for another order of axes.
  bool own_epilogue = false;
};

/// Cost of algorithms chosen only on request, or if no other can compute the node.
inline constexpr double kOnRequest = std::numeric_limits<double>::infinity();

/// An entry of an op's table.
template <class Problem>
struct AlgorithmEntry {
  Algorithm algorithm;
  /// Estimated seconds on a single thread.
  double (*cost)(const Problem&, const Machine&);
  /// Returns null if the algorithm cannot compute the node.
  std::unique_ptr<PreparedAlgorithm> (*prepare)(const Problem&);
};

/// The state of a kernel with algorithms.
struct AlgorithmState : KernelState {
  std::unique_ptr<PreparedAlgorithm> prepared;
  std::unique_ptr<pointwise::Epilogue> epilogue;

  AlgorithmState(const KernelCall& call, std::unique_ptr<PreparedAlgorithm> chosen) : prepared(std::move(chosen)) {
    algorithm = prepared->choice;
    unread = prepared->unread;
    asks_ahead = prepared->asks_ahead;
    if (!prepared->own_epilogue) epilogue = pointwise::Epilogue::create(call);
  }
};

/// Prepares the algorithm requested by the call; otherwise, or if the algorithm cannot compute the node, the cheapest.
template <class Problem, std::size_t n>
std::unique_ptr<KernelState> prepare_best(const AlgorithmEntry<Problem> (&table)[n], const Problem& problem) {
  const Algorithm asked = problem.call.algorithm.algorithm;
  std::array<double, n> costs;
  for (std::size_t i = 0; i < n; ++i)
    costs[i] = table[i].algorithm == asked && asked != Algorithm::none
                   ? -1
                   : table[i].cost(problem, machine(problem.call.precision));
  std::array<std::size_t, n> order;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return costs[i]; });
  for (const std::size_t i : order) {
    if (auto chosen = table[i].prepare(problem))
      return std::make_unique<AlgorithmState>(problem.call, std::move(chosen));
  }
  return nullptr;
}

/// Kernel::scratch and Kernel::run for kernels with algorithms.
std::size_t scratch_of_algorithm(const KernelCall& call);
void run_algorithm(KernelCall& call);

}  // namespace tern::cpu
