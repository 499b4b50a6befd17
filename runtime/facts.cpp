#include "runtime/facts.h"

#include <algorithm>
#include <utility>

#include "schema/forms.h"

namespace tern {
namespace {

/// Marks the symbols used by an expression.
class SymbolMarker {
 public:
  explicit SymbolMarker(const ExprPool& pool) : pool_(pool), seen_(pool.nodes().size()), used_(pool.symbols().size()) {}
  void mark(Dim d) {
    if (d.is_const()) return;
    stack_.push_back(d.index());
    while (!stack_.empty()) {
      const std::uint32_t i = stack_.back();
      stack_.pop_back();
      if (seen_[i]) continue;
      seen_[i] = true;
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
  std::vector<bool> seen_, used_;
  std::vector<std::uint32_t> stack_;
};

/// Walks from each written-back value through ops able to overwrite their input, and marks the values on the way as
/// future contents of the state or input.
void find_written(const Function& f, const KernelTable& kernels, FunctionFacts& facts) {
  facts.written_to.assign(f.values.size(), -1);
  std::vector<std::pair<const Node*, std::size_t>> producer(f.values.size(), {nullptr, 0});
  for (const Node& n : f.nodes) {
    for (std::size_t k = 0; k < n.outputs.size(); ++k) {
      if (n.outputs[k] != kNoValue) producer[static_cast<std::size_t>(n.outputs[k])] = {&n, k};
    }
  }
  for (std::size_t w = 0; w < f.writebacks.size(); ++w) {
    ValueId v = f.writebacks[w].value;
    while (producer[static_cast<std::size_t>(v)].first != nullptr) {
      const auto [n, output] = producer[static_cast<std::size_t>(v)];
      const Kernel& k = kernels.kernels[static_cast<std::size_t>(n->op)];
      const int from = n->op == Op::reshape       ? 0
                       : k.in_place_of != nullptr ? k.in_place_of(*n, output)
                       : output == 0              ? k.in_place
                                                  : -1;
      if (from < 0 || static_cast<std::size_t>(from) >= n->inputs.size() ||
          n->inputs[static_cast<std::size_t>(from)] == kNoValue)
        break;
      facts.written_to[static_cast<std::size_t>(v)] = static_cast<std::int32_t>(w);
      v = n->inputs[static_cast<std::size_t>(from)];
    }
  }
}

/// Finds values read by a single permutation only.
std::vector<std::int32_t> find_permuted(const Function& f) {
  constexpr std::int32_t kNobody = -1, kOthers = -2;
  std::vector<std::int32_t> reader(f.values.size(), kNobody);
  for (std::size_t i = 0; i < f.nodes.size(); ++i) {
    for (ValueId v : f.nodes[i].inputs) {
      if (v == kNoValue) continue;
      std::int32_t& r = reader[static_cast<std::size_t>(v)];
      r = r == kNobody && f.nodes[i].op == Op::permute ? static_cast<std::int32_t>(i) : kOthers;
    }
  }
  for (const FunctionOutput& o : f.outputs) {
    if (o.value != kNoValue) reader[static_cast<std::size_t>(o.value)] = kOthers;
  }
  for (const WriteBack& w : f.writebacks) reader[static_cast<std::size_t>(w.value)] = kOthers;
  std::ranges::replace(reader, kOthers, kNobody);
  return reader;
}

}  // namespace

FunctionFacts find_facts(const Program& program, const Function& f, const KernelTable& kernels) {
  FunctionFacts facts;
  facts.last_use.assign(f.values.size(), kNeverUsed);
  facts.section_of.assign(f.values.size(), 0);
  SymbolMarker marker(program.pool);
  for (const Value& v : f.values) {
    for (Dim d : v.type.shape) marker.mark(d);
  }
  std::uint32_t begin = 0;
  for (std::uint32_t i = 0; i < f.nodes.size(); ++i) {
    const Node& n = f.nodes[i];
    for (ValueId v : n.inputs) {
      if (v != kNoValue) facts.last_use[static_cast<std::size_t>(v)] = i + 1;
    }
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
  for (const FunctionOutput& o : f.outputs) {
    if (o.value != kNoValue) facts.last_use[static_cast<std::size_t>(o.value)] = kUsedToTheEnd;
  }
  for (const WriteBack& w : f.writebacks) facts.last_use[static_cast<std::size_t>(w.value)] = kUsedToTheEnd;
  facts.symbols = marker.symbols();
  facts.first_of_form = first_of_form(f);
  facts.permuted_by = find_permuted(f);
  find_written(f, kernels, facts);
  return facts;
}

}  // namespace tern
