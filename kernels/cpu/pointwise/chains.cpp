// Finds runs of arithmetic in an expression that one loop can do, the value in registers all the way.
#include <algorithm>

#include "kernels/cpu/pointwise/plan.h"

namespace tern::pointwise {
namespace {

/// X(scalar, link with the chain's value as first operand, as second operand)
// clang-format off
#define TERN_CHAIN_OPS(X) \
  X(add, add, add) X(sub, sub, sub_from) X(mul, mul, mul) X(div, div, div_into) \
  X(min, min, min_of) X(max, max, max_of) X(neg, neg, neg) X(abs, abs, abs)
// clang-format on

bool chain_op(Scalar op, bool second, ChainOp* found) {
  switch (op) {
#define TERN_CHAIN_CASE(scalar, first_op, second_op) \
  case Scalar::scalar: *found = second ? ChainOp::second_op : ChainOp::first_op; return true;
    TERN_CHAIN_OPS(TERN_CHAIN_CASE)
#undef TERN_CHAIN_CASE
    default: return false;
  }
}

struct Chain {
  std::size_t start = 0;
  std::vector<Link> links;
};

}  // namespace

void Plan::join_chains(const std::vector<Instruction>& code) {
  std::vector<int> uses(code.size());
  for (const Instruction& i : code) {
    const int operands = scalar_info(i.op).operands;
    if (operands > 0) ++uses[i.a];
    if (operands > 1) ++uses[i.b];
    if (operands > 2) ++uses[i.c];
  }
  std::vector<Chain> chains(code.size());  // that end with the step; no links: not of this kind
  for (std::size_t i = 0; i < code.size(); ++i) {
    const Instruction& n = code[i];
    ChainOp op{};
    if (steps[i].kind != Step::Kind::loop || steps[i].uniform || !chain_op(n.op, false, &op)) continue;
    if (n.dtype != DType::f32 || code[n.a].dtype != DType::f32) continue;  // abs takes complex numbers too
    const bool binary = scalar_info(n.op).operands == 2;
    const auto continues = [&](std::size_t from) {
      return uses[from] == 1 && !chains[from].links.empty() && chains[from].links.size() < kMostLinks;
    };
    const bool first = continues(n.a), second = !first && binary && continues(n.b);
    Chain& chain = chains[i];
    if (first || second) {
      chain = std::move(chains[second ? n.b : n.a]);
      steps[second ? n.b : n.a].kind = Step::Kind::merged;
      chain_op(n.op, second, &op);
    } else {
      chain.start = n.a;
    }
    chain.links.push_back({op, binary ? std::size_t{second ? n.a : n.b} : chain.start});
  }
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (steps[i].kind != Step::Kind::loop || chains[i].links.size() < 2) continue;
    steps[i].kind = Step::Kind::chain;
    steps[i].a = chains[i].start;
    steps[i].links = std::move(chains[i].links);
  }
}

}  // namespace tern::pointwise
