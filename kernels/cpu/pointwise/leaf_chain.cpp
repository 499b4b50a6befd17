#include "kernels/cpu/pointwise/leaf_chain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace tern::pointwise {
namespace {

bool has_loop(const LeafStep& step) {
  return step.op != LeafOp::round && step.op != LeafOp::div && step.leaf.dtype == DType::f32;
}

}  // namespace

std::optional<LeafChain> LeafChain::create(const KernelCall& call, const TileProgram& program, std::size_t last) {
  if (call.node->expr.code[last].dtype != DType::f32) return std::nullopt;
  auto [steps, start] = leaf_steps(call, program, last);
  if (!is_start(call, program, start) || steps.empty() || steps.size() > kMostLinks ||
      !std::ranges::all_of(steps, has_loop))
    return std::nullopt;
  LeafChain chain;
  chain.inner_ = program.rank == 2 ? program.sizes[1] : 0;
  chain.steps_ = std::move(steps);
  chain.scaled_ = chain.scaled();
  return chain;
}

std::optional<LeafChain::Scaled> LeafChain::scaled() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Scaled s{.low = -kInfinity, .high = kInfinity};
  std::size_t i = 0;
  const auto next = [&](LeafOp op) {
    const bool is = i < steps_.size() && steps_[i].op == op && steps_[i].times.kind == Leaf::Kind::none;
    return is ? static_cast<std::ptrdiff_t>(i++) : -1;
  };
  const auto bound = [&](LeafOp op, float& number) {
    if (i == steps_.size() || steps_[i].op != op || steps_[i].leaf.kind != Leaf::Kind::constant ||
        std::isnan(steps_[i].leaf.number))
      return;
    number = steps_[i++].leaf.number;
    s.bounded = true;
  };
  s.first = next(LeafOp::mul);
  s.second = s.first < 0 ? -1 : next(LeafOp::mul);
  s.addend = next(LeafOp::add);
  bound(LeafOp::max, s.low);
  bound(LeafOp::min, s.high);
  return i == steps_.size() ? std::optional(s) : std::nullopt;
}

bool LeafChain::apply(const KernelCall& call, const BlockBuffers& block, std::int64_t begin,
                      std::int64_t row_step) const {
  static const auto run = best_level(run_leaves_levels);
  static const auto run_scale = best_level(run_scaled_levels);
  const auto start = BlockStart::create(inner_, begin, row_step, block.rows, block.columns);
  if (!start) return false;
  if (scaled_) {
    // Missing leaves become neutral numbers: a factor of 1, and an addend of -0.
    static constexpr float kOne = 1, kNothing = -0.0F;
    const auto leaf = [&](std::ptrdiff_t step, const float& missing) {
      return step < 0 ? LeafNumbers{&missing} : start->numbers(call, steps_[static_cast<std::size_t>(step)].leaf);
    };
    run_scale({block, leaf(scaled_->first, kOne), leaf(scaled_->second, kOne), leaf(scaled_->addend, kNothing),
               scaled_->bounded, scaled_->low, scaled_->high});
    return true;
  }
  std::array<LeafLink, kMostLinks> links;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    links[i] = {steps_[i].op, start->numbers(call, steps_[i].leaf), start->numbers(call, steps_[i].times)};
  run({block, links.data(), static_cast<std::int64_t>(steps_.size())});
  return true;
}

}  // namespace tern::pointwise
