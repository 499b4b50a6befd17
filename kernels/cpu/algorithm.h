// An op with several algorithms has a table of them, in order of preference, and a file for each. The first that takes
// the node computes it: those that the call's way excludes, or that gain nothing for the node's sizes, decline.
#pragma once

#include <memory>
#include <span>

#include "kernels/cpu/dense.h"
#include "kernels/cpu/pointwise/epilogue.h"
#include "kernels/kernel.h"

namespace tern::cpu {

/// What a run has left to do: the epilogue, where the algorithm did not apply it.
enum class Left : std::uint8_t { nothing, epilogue };

/// An algorithm, prepared for one node: sessions on several threads run it at the same time.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  /// Takes the parts of the scratch memory that `run` will take, in the same order.
  virtual void reserve(const KernelCall& call, ScratchParts& parts) const = 0;
  /// `epilogue` may be null. Whoever does not apply it leaves it.
  virtual Left run(KernelCall& call, ScratchParts& parts, const pointwise::Epilogue* epilogue) const = 0;

  // As KernelState has them.
  Way way = Way::none;
  std::uint32_t unread = 0;
  bool asks_ahead = false;
  /// It prepared an epilogue itself, for another order of axes.
  bool own_epilogue = false;
};

/// The state of a kernel that has algorithms.
struct AlgorithmState : KernelState {
  std::unique_ptr<Algorithm> algorithm;
  std::unique_ptr<pointwise::Epilogue> epilogue;

  AlgorithmState(const KernelCall& call, std::unique_ptr<Algorithm> chosen) : algorithm(std::move(chosen)) {
    way = algorithm->way;
    unread = algorithm->unread;
    asks_ahead = algorithm->asks_ahead;
    if (!algorithm->own_epilogue) epilogue = pointwise::Epilogue::make(call);
  }
};

/// The first algorithm of a table that takes the problem. The last one takes any.
template <class Problem>
std::unique_ptr<KernelState> prepare_first(std::span<std::unique_ptr<Algorithm> (*const)(const Problem&)> table,
                                           const Problem& problem) {
  for (const auto prepare : table) {
    if (auto algorithm = prepare(problem)) return std::make_unique<AlgorithmState>(problem.call, std::move(algorithm));
  }
  return nullptr;
}

/// Kernel::scratch and Kernel::run of such a kernel.
std::size_t scratch_of_algorithm(const KernelCall& call);
void run_algorithm(KernelCall& call);

}  // namespace tern::cpu
