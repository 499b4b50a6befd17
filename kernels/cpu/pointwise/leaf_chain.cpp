#include "kernels/cpu/pointwise/leaf_chain.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tern::pointwise {
namespace {

/// The operation with the chain's value as first operand, or as second.
std::optional<LeafOp> op_of(Scalar op, bool first) {
  switch (op) {
    case Scalar::add: return LeafOp::add;
    case Scalar::mul: return LeafOp::mul;
    case Scalar::sub: return first ? LeafOp::sub : LeafOp::sub_from;
    case Scalar::min: return first ? LeafOp::min : LeafOp::min_of;
    case Scalar::max: return first ? LeafOp::max : LeafOp::max_of;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<LeafChain::Leaf> LeafChain::leaf_of(const Instruction& i, const TileInstruction& n,
                                                  const TileProgram& program, const KernelCall& call) {
  if (i.dtype != DType::f32) return std::nullopt;
  if (i.op == Scalar::constant) return Leaf{.kind = Kind::constant, .number = static_cast<float>(i.number)};
  if (i.op != Scalar::load) return std::nullopt;
  const Load& load = program.loads[n.load];
  if (load.operand == kOwnResult) return std::nullopt;
  Leaf leaf{.operand = static_cast<std::size_t>(load.operand)};
  if (call.in[leaf.operand].dtype != DType::f32) return std::nullopt;
  if (load.linear) {
    leaf.kind = Kind::element;
  } else if (load.uniform) {
    leaf.kind = Kind::uniform;
  } else if (program.rank == 2 && load.axis >= 0) {
    leaf.kind = load.axis == 0 ? Kind::row : Kind::column;
    leaf.stride = load.strides[static_cast<std::size_t>(load.axis)];
  } else {
    return std::nullopt;
  }
  return leaf.kind == Kind::column && leaf.stride != 1 ? std::nullopt : std::optional(leaf);
}

std::optional<LeafChain> LeafChain::of(const KernelCall& call, const TileProgram& program) {
  const std::vector<Instruction>& code = call.node->expr.code;
  LeafChain chain;
  chain.inner_ = program.rank == 2 ? program.sizes[1] : 0;
  if (program.rank > 2) return std::nullopt;
  const auto leaf_at = [&](std::size_t i) { return leaf_of(code[i], program.instructions[i], program, call); };
  /// One leaf, or the product of two.
  const auto factors_at = [&](std::size_t i, Link& link) {
    link = {};
    auto leaf = leaf_at(i);
    if (!leaf && code[i].op == Scalar::mul && code[i].dtype == DType::f32) {
      leaf = leaf_at(code[i].a);
      const auto times = leaf_at(code[i].b);
      if (!times || !leaf) return false;
      link.times = *times;
    }
    if (leaf) link.leaf = *leaf;
    return leaf.has_value();
  };
  // From the last instruction backwards. A value that is read twice ends no link, and so no chain.
  std::vector<Link> links;
  std::size_t at = code.size() - 1;
  while (code[at].op != Scalar::load) {
    const Instruction& i = code[at];
    Link link;
    const auto takes = [&](bool first) {
      const auto op = op_of(i.op, first);
      if (i.dtype != DType::f32 || !op || !factors_at(first ? i.b : i.a, link)) return false;
      link.op = *op;
      return true;
    };
    const bool first = takes(true);
    if (!first && !takes(false)) return std::nullopt;
    if (links.size() == kMostLinks) return std::nullopt;
    links.push_back(link);
    at = first ? i.a : i.b;
  }
  if (program.loads[program.instructions[at].load].operand != kOwnResult || code[at].dtype != DType::f32 ||
      links.empty())
    return std::nullopt;
  std::ranges::reverse_copy(links, chain.links_.begin());
  chain.count_ = links.size();
  chain.scaled_ = chain.scaled();
  return chain;
}

std::optional<LeafChain::Scaled> LeafChain::scaled() const {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Scaled s{.low = -kInfinity, .high = kInfinity};
  std::size_t i = 0;
  const auto next = [&](LeafOp op) {
    return i < count_ && links_[i].op == op && links_[i].times.kind == Kind::none ? static_cast<std::ptrdiff_t>(i++)
                                                                                  : -1;
  };
  const auto bound = [&](LeafOp op, float& number) {
    if (i == count_ || links_[i].op != op || links_[i].leaf.kind != Kind::constant || std::isnan(links_[i].leaf.number))
      return;
    number = links_[i++].leaf.number;
    s.bounded = true;
  };
  s.first = next(LeafOp::mul);
  s.second = s.first < 0 ? -1 : next(LeafOp::mul);
  s.addend = next(LeafOp::add);
  bound(LeafOp::max, s.low);
  bound(LeafOp::min, s.high);
  return i == count_ ? std::optional(s) : std::nullopt;
}

LeafNumbers LeafChain::numbers(const KernelCall& call, const Leaf& leaf, std::int64_t row, std::int64_t column,
                               std::int64_t begin, std::int64_t row_step) const {
  const auto* data = leaf.kind == Kind::constant ? &leaf.number : call.in[leaf.operand].as<const float>();
  switch (leaf.kind) {
    case Kind::none: return {};
    case Kind::constant:
    case Kind::uniform: return {data, 0, 0};
    case Kind::row: return {data + row * leaf.stride, row_step / inner_ * leaf.stride, 0};
    case Kind::column: return {data + column, 0, 1};
    case Kind::element: return {data + begin, row_step, 1};
  }
  return {};
}

bool LeafChain::apply(const KernelCall& call, const BlockPlace& block, std::int64_t begin,
                      std::int64_t row_step) const {
  static const auto run = best_level(run_leaves_levels);
  static const auto run_scale = best_level(run_scaled_levels);
  std::int64_t row = 0, column = 0;
  if (inner_ != 0) {
    row = begin / inner_;
    column = begin % inner_;
    if (column + block.columns > inner_ || (block.rows > 1 && row_step % inner_ != 0)) return false;
  }
  if (scaled_) {
    // What changes no number, whatever it is: a product with 1, and a sum with -0.
    static constexpr float kOne = 1, kNothing = -0.0F;
    const auto leaf = [&](std::ptrdiff_t link, const float& missing) {
      return link < 0 ? LeafNumbers{&missing}
                      : numbers(call, links_[static_cast<std::size_t>(link)].leaf, row, column, begin, row_step);
    };
    run_scale({block, leaf(scaled_->first, kOne), leaf(scaled_->second, kOne), leaf(scaled_->addend, kNothing),
               scaled_->bounded, scaled_->low, scaled_->high});
    return true;
  }
  std::array<LeafLink, kMostLinks> links;
  for (std::size_t i = 0; i < count_; ++i) {
    const Link& l = links_[i];
    links[i] = {l.op, numbers(call, l.leaf, row, column, begin, row_step),
                numbers(call, l.times, row, column, begin, row_step)};
  }
  run({block, links.data(), static_cast<std::int64_t>(count_)});
  return true;
}

}  // namespace tern::pointwise
