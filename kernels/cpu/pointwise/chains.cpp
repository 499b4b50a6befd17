// Finds runs of arithmetic in an expression for a single loop, with the value in registers throughout.
#include <algorithm>
#include <optional>

#include "kernels/cpu/pointwise/tile_program.h"

namespace tern::pointwise {
namespace {

using Kind = TileInstruction::Kind;

/// X(scalar, link with the chain's value as first operand, as second operand)
// clang-format off
#define TERN_CHAIN_OPS(X) \
  X(add, add, add) X(sub, sub, sub_from) X(mul, mul, mul) X(div, div, div_into) \
  X(min, min, min_of) X(max, max, max_of) X(neg, neg, neg) X(abs, abs, abs) \
  X(exp, exp, exp) X(sigmoid, sigmoid, sigmoid) X(tanh, tanh, tanh) X(erf, erf, erf)
/// X(comparison, link if the chain's value is chosen when true, when false, whether left and right are swapped)
#define TERN_CHAIN_CHOICES(X) \
  X(eq, where_eq, where_eq_of, false) X(ne, where_ne, where_ne_of, false) X(lt, where_lt, where_lt_of, false) \
  X(le, where_le, where_le_of, false) X(gt, where_lt, where_lt_of, true) X(ge, where_le, where_le_of, true)
// clang-format on

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

/// An instruction as a link of the chain that ends in instruction `from`.
struct Candidate {
  std::size_t source = 0;
  Link link;
  std::size_t comparison = kNone;  ///< the comparison of a `where`, also computed by the link
};

std::size_t operand(const Instruction& n, int k) {
  return k == 0 ? n.a : k == 1 ? n.b : n.c;
}

bool reads_value(const Instruction& n, std::size_t value) {
  const int count = scalar_info(n.op).operands;
  for (int k = 0; k < count; ++k) {
    if (operand(n, k) == value) return true;
  }
  return false;
}

struct InstructionChain {
  std::size_t start = 0, last = 0;
  std::vector<Link> links;
  std::vector<std::size_t> shared;  ///< instructions with readers besides the next link
  int instructions = 0;             ///< including comparisons
};

class ChainFinder {
 public:
  ChainFinder(const std::vector<Instruction>& code, const std::vector<TileInstruction>& tiled)
      : code_(code), tiled_(tiled), use_counts_(code.size()), chain_of_(code.size(), kNone) {
    for (const Instruction& n : code) {
      for (int k = 0; k < scalar_info(n.op).operands; ++k) ++use_counts_[operand(n, k)];
    }
    for (std::size_t i = 0; i < code.size(); ++i) visit(i);
  }
  const std::vector<InstructionChain>& chains() const { return chains_; }
  std::size_t chain_of(std::size_t i) const { return chain_of_[i]; }

 private:
  bool is_float(std::size_t i) const { return code_[i].dtype == DType::f32; }

  /// Returns instruction i as a link with operand k as the chain's value.
  std::optional<Candidate> candidate(std::size_t i, int k) const {
    const Instruction& n = code_[i];
    if (k >= scalar_info(n.op).operands) return std::nullopt;
    Candidate c;
    c.source = operand(n, k);
    const auto as = [&](ChainOp op, std::size_t y) {
      c.link = {op, y, y, y};
      return c;
    };
    switch (n.op) {
#define TERN_CHAIN_CASE(scalar, first, second) \
  case Scalar::scalar: return as(k == 0 ? ChainOp::first : ChainOp::second, operand(n, 1 - k));
      TERN_CHAIN_OPS(TERN_CHAIN_CASE)
#undef TERN_CHAIN_CASE
#undef TERN_CHAIN_OPS
      case Scalar::fma:
        as(k == 2 ? ChainOp::fma_add : ChainOp::fma, k == 0 ? n.b : n.a);
        c.link.lhs = k == 2 ? n.b : n.c;
        return c;
      case Scalar::where: return choice(n, k, c);
      default: return std::nullopt;
    }
  }

  std::optional<Candidate> choice(const Instruction& n, int k, Candidate c) const {
    const Instruction& condition = code_[n.a];
    if (k == 0 || use_counts_[n.a] != 1 || tiled_[n.a].uniform || !is_float(condition.a)) return std::nullopt;
    c.comparison = n.a;
    const auto as = [&](ChainOp op, bool reversed) {
      c.link = {op, k == 1 ? n.c : n.b, condition.a, condition.b};
      if (reversed) std::swap(c.link.lhs, c.link.rhs);
      return c;
    };
    if (condition.op == Scalar::isnan) {
      c.link = {k == 1 ? ChainOp::where_ne : ChainOp::where_ne_of, k == 1 ? n.c : n.b, condition.a, condition.a};
      return c;
    }
    switch (condition.op) {
#define TERN_CHAIN_CASE(comparison, first, second, reversed) \
  case Scalar::comparison: return as(k == 1 ? ChainOp::first : ChainOp::second, reversed);
      TERN_CHAIN_CHOICES(TERN_CHAIN_CASE)
#undef TERN_CHAIN_CASE
#undef TERN_CHAIN_CHOICES
      default: return std::nullopt;
    }
  }

  /// True if instruction i may follow the last link. A chain runs at the position of its last instruction: readers of
  /// stored intermediate values must come later.
  bool continues(std::size_t number, std::size_t i, const Candidate& c) const {
    const InstructionChain& chain = chains_[number];
    if (chain.last != c.source || chain.links.size() >= kMostLinks) return false;
    const auto waits = [&](std::size_t value) {
      for (std::size_t j = value + 1; j < i; ++j) {
        if (j != c.comparison && chain_of_[j] != number && reads_value(code_[j], value)) return false;
      }
      return true;
    };
    return std::ranges::all_of(chain.shared, waits) && (use_counts_[c.source] == 1 || waits(c.source));
  }

  void visit(std::size_t i) {
    if (tiled_[i].kind != Kind::loop || tiled_[i].uniform || tiled_[i].activation || !is_float(i)) return;
    std::optional<Candidate> start;
    for (int k = 0; k < 3; ++k) {
      const std::optional<Candidate> c = candidate(i, k);
      if (!c || !is_float(c->source)) continue;  // abs also takes complex operands
      const std::size_t number = chain_of_[c->source];
      if (number != kNone && continues(number, i, *c)) return add(number, i, *c);
      if (!start || tiled_[start->source].uniform || tiled_[start->source].row_constant) start = c;
    }
    if (!start) return;
    chains_.push_back({.start = start->source, .last = start->source, .links = {}, .shared = {}, .instructions = 0});
    add(chains_.size() - 1, i, *start);
  }

  void add(std::size_t number, std::size_t i, const Candidate& c) {
    InstructionChain& chain = chains_[number];
    if (!chain.links.empty() && use_counts_[c.source] > 1) {
      chain.links.back().store = static_cast<std::ptrdiff_t>(c.source);
      chain.shared.push_back(c.source);
    }
    chain.links.push_back(c.link);
    chain.last = i;
    chain_of_[i] = number;
    chain.instructions += c.comparison == kNone ? 1 : 2;
    if (c.comparison != kNone) chain_of_[c.comparison] = number;
  }

  const std::vector<Instruction>& code_;
  const std::vector<TileInstruction>& tiled_;
  std::vector<int> use_counts_;
  std::vector<std::size_t> chain_of_;  ///< chain of each instruction; kNone: a separate loop
  std::vector<InstructionChain> chains_;
};

/// Returns the known loop of a chain, or null.
ChainLoop known_chain(const LoopTable& table, const std::vector<TileInstruction>& tiled,
                      const InstructionChain& chain) {
  const auto varies = [&](std::size_t i) { return !tiled[i].uniform && !tiled[i].row_constant; };
  if (!varies(chain.start) || chain.links.size() * kChainLinkBits > 64) return nullptr;
  std::uint64_t key = 0;
  for (const Link& l : chain.links) {
    if (l.store >= 0) return nullptr;
    const bool chooses = l.op >= ChainOp::where_eq;
    key = key << kChainLinkBits | chain_link_key(l.op, varies(l.y), chooses && varies(l.lhs), chooses && varies(l.rhs));
  }
  for (const KnownChain& known : table.known_chains) {
    if (known.key == key) return known.loop;
  }
  return nullptr;
}

/// Collects instruction i and the varying instructions that it reads, except `start` and its operands.
void collect(const std::vector<Instruction>& code, const std::vector<TileInstruction>& tiled, std::size_t i,
             std::size_t start, std::vector<bool>& members) {
  if (i == start || tiled[i].uniform || members[i]) return;
  members[i] = true;
  for (int k = 0; k < scalar_info(code[i].op).operands; ++k) collect(code, tiled, operand(code[i], k), start, members);
}

}  // namespace

/// Gives each activation that importers write a loop of its own, if nothing else reads its intermediate values.
void TileProgram::join_activations(const PointwiseExpr& expr) {
  const std::vector<Instruction>& code = expr.code;
  for (std::size_t last = code.size(); last-- > 0;) {
    TileInstruction& n = instructions[last];
    if (n.kind != Kind::loop || n.uniform) continue;
    const auto end = activation_end(expr, last);
    if (!end || instructions[end->argument].uniform) continue;
    std::vector<bool> members(code.size());
    collect(code, instructions, last, end->argument, members);
    const auto is_read_outside = [&](std::size_t i) {
      for (std::size_t reader = i + 1; reader < code.size(); ++reader) {
        if (!members[reader] && reads_value(code[reader], i)) return true;
      }
      return false;
    };
    bool joins = true;
    for (std::size_t i = 0; i < last; ++i) joins = joins && !(members[i] && is_read_outside(i));
    if (!joins) continue;
    for (std::size_t i = 0; i < last; ++i) {
      if (members[i]) instructions[i].kind = Kind::merged;
    }
    n.loop = table.whole_activations[static_cast<int>(end->activation)];
    n.a = n.b = n.c = end->argument;
    n.activation = true;
  }
}

void TileProgram::join_chains(const std::vector<Instruction>& code, bool by_rows) {
  find_row_constants(false);
  const ChainFinder found(code, instructions);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (found.chain_of(i) == kNone) continue;
    const InstructionChain& chain = found.chains()[found.chain_of(i)];
    // A loop of one operation reads contiguous operands; a chain repeats an element per row in a register, and rows
    // of a chain are read where they lie.
    const auto gains = [&](std::size_t k) {
      const TileInstruction& n = instructions[k];
      return n.row_constant || (by_rows && n.kind == Kind::load && !n.uniform && !loads[n.load].linear);
    };
    const Link& first = chain.links.front();
    if (chain.instructions < 2 && !gains(chain.start) && !gains(first.y) && !gains(first.lhs)) continue;
    if (i != chain.last) {
      instructions[i].kind = Kind::merged;
      continue;
    }
    instructions[i].kind = Kind::chain;
    instructions[i].a = chain.start;
    instructions[i].links = chain.links;
    for (const std::size_t s : chain.shared) instructions[s].shared = true;
  }
  find_row_constants(true);
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (instructions[i].kind == Kind::chain)
      instructions[i].known_chain = known_chain(table, instructions, found.chains()[found.chain_of(i)]);
  }
  one_chain =
      instructions.back().kind == Kind::chain && std::ranges::all_of(instructions, [&](const TileInstruction& n) {
        return n.uniform || n.kind == Kind::load || n.kind == Kind::merged || &n == &instructions.back();
      });
}

}  // namespace tern::pointwise
