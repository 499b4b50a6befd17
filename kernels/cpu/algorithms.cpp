#include "kernels/cpu/algorithms.h"

namespace tern::cpu {
namespace {

const AlgorithmState& state_of(const KernelCall& c) {
  return static_cast<const AlgorithmState&>(*c.state);
}

}  // namespace

std::size_t scratch_of_algorithm(const KernelCall& c) {
  ScratchArena arena;
  state_of(c).prepared->reserve(c, arena);
  return arena.used();
}

void run_algorithm(KernelCall& c) {
  if (c.out[0].numel() == 0) return;
  const AlgorithmState& s = state_of(c);
  const Scratch scratch(c, scratch_of_algorithm(c));
  ScratchArena arena(scratch.data());
  const RemainingWork left = s.prepared->run(c, arena, s.epilogue.get());
  if (left == RemainingWork::epilogue && s.epilogue != nullptr) s.epilogue->apply(c);
}

}  // namespace tern::cpu
