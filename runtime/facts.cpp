#include "runtime/facts.h"

#include <algorithm>

#include "schema/def_use.h"
#include "schema/forms.h"

namespace tern {
namespace {

/// Marks the symbols used by an expression.
class SymbolMarker {
 public:
  explicit SymbolMarker(const ExprPool& pool)
      : pool_(pool), visited_(pool.nodes().size()), used_(pool.symbols().size()) {}
  void mark(Dim d) {
    if (d.is_const()) return;
    stack_.push_back(d.index());
    while (!stack_.empty()) {
      const std::uint32_t i = stack_.back();
      stack_.pop_back();
      if (visited_[i]) continue;
      visited_[i] = true;
      const ExprNode& n = pool_.nodes()[i];
      if (n.op == ExprOp::symbol) used_[static_cast<std::size_t>(n.value)] = true;
      const int count = operand_count(n.op);
      if (count > 0) stack_.push_back(n.a);
      if (count > 1) stack_.push_back(n.b);
      if (count > 2) stack_.push_back(n.c);
    }
  }
  std::vector<std::uint32_t> symbols() const {
    std::vector<std::uint32_t> s;
    for (std::uint32_t i = 0; i < used_.size(); ++i) {
      if (used_[i]) s.push_back(i);
    }
    return s;
  }

 private:
  const ExprPool& pool_;
  std::vector<bool> visited_, used_;
  std::vector<std::uint32_t> stack_;
};

/// Which values are the next content of a state or an input, or a step towards it: walks from each value written back,
/// through ops that can overwrite their input.
void find_written(const Function& f, const DefUse& uses, const KernelTable& kernels, FunctionFacts& facts) {
  facts.written_to.assign(f.values.size(), -1);
  for (std::size_t w = 0; w < f.writebacks.size(); ++w) {
    ValueId v = f.writebacks[w].value;
    while (const Node* n = uses.producing_node(f, v)) {
      const auto output = static_cast<std::size_t>(std::ranges::find(n->outputs, v) - n->outputs.begin());
      const Kernel& k = kernels.kernels[static_cast<std::size_t>(n->op)];
      const int from = n->op == Op::reshape          ? 0
                       : k.in_place_input != nullptr ? k.in_place_input(*n, output)
                       : output == 0                 ? k.in_place
                                                     : -1;
      if (from < 0 || static_cast<std::size_t>(from) >= n->inputs.size() ||
          n->inputs[static_cast<std::size_t>(from)] == kNoValue)
        break;
      facts.written_to[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(w);
      v = n->inputs[static_cast<std::size_t>(from)];
    }
  }
}

/// Finds the values whose only reader is a permutation.
std::vector<std::int32_t> find_permuted(const Function& f, const DefUse& uses) {
  std::vector<std::int32_t> permuted(f.values.size(), -1);
  for (std::size_t v = 0; v < permuted.size(); ++v) {
    const auto readers = uses.readers(static_cast<ValueId>(v));
    if (uses.read_count(static_cast<ValueId>(v)) == 1 && !readers.empty() && f.nodes[readers[0].node].op == Op::permute)
      permuted[v] = static_cast<std::int32_t>(readers[0].node);
  }
  return permuted;
}

/// Numbers of the last node that reads each value, plus 1; kUsedToTheEnd for results, or kNeverUsed.
std::vector<std::uint32_t> find_last_uses(const Function& f, const DefUse& uses) {
  std::vector<std::uint32_t> last(f.values.size(), kNeverUsed);
  for (std::size_t v = 0; v < last.size(); ++v) {
    const auto readers = uses.readers(static_cast<ValueId>(v));
    if (!readers.empty()) last[v] = static_cast<std::uint32_t>(readers.back().node) + 1;
    if (uses.result_count(static_cast<ValueId>(v)) > 0) last[v] = kUsedToTheEnd;
  }
  return last;
}

}  // namespace

FunctionFacts find_facts(const Program& program, const Function& f, const KernelTable& kernels) {
  FunctionFacts facts;
  const DefUse uses(f);
  facts.last_use = find_last_uses(f, uses);
  facts.section_of.assign(f.values.size(), 0);
  SymbolMarker marker(program.pool);
  for (const Value& v : f.values) {
    for (Dim d : v.type.shape) marker.mark(d);
  }
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    for (ValueId v : n.outputs) {
      if (v != kNoValue)
        facts.section_of[static_cast<std::size_t>(v)] = static_cast<std::uint32_t>(facts.sections.size());
    }
    for (const Attr& a : n.attrs) {
      if (const auto* dims = std::get_if<Dims>(&a.data)) {
        for (Dim d : *dims) marker.mark(d);
      }
    }
    if (!n.dims(AttrKey::symbols).empty()) {
      facts.sections.push_back({begin, i + 1});
      begin = i + 1;
    }
  }
  facts.sections.push_back({begin, static_cast<std::uint32_t>(f.nodes.size())});
  facts.symbols = marker.symbols();
  facts.first_of_form = first_of_form(f);
  facts.permuted_by = find_permuted(f, uses);
  find_written(f, uses, kernels, facts);
  return facts;
}

}  // namespace tern
