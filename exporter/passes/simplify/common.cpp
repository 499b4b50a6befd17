#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "exporter/passes/passes.h"
#include "schema/op_record.h"

namespace tern {
namespace {

/// Functions of their operands and attributes alone.
bool is_function(const Node& n) {
  for (const Trait t : {Trait::effect, Trait::random, Trait::control, Trait::data_sized, Trait::may_be_unread}) {
    if (has_trait(n.op, t)) return false;
  }
  return n.op != Op::invalid && n.functions.empty() && !n.has(AttrKey::symbols) && !n.outputs.empty();
}

bool same_common(const Node& a, const Node& b) {
  return a.version == b.version && a.attrs == b.attrs && a.expr == b.expr && a.annotations == b.annotations &&
         a.outputs.size() == b.outputs.size();
}

class Common {
 public:
  explicit Common(Function& f) : f_(f), instead_(f.values.size()) {
    for (std::size_t v = 0; v < instead_.size(); ++v) instead_[v] = static_cast<ValueId>(v);
  }

  void run() {
    // Results of the program stay values of their own, with their names.
    for (const FunctionOutput& o : f_.outputs) pin(o.value);
    for (const WriteBack& w : f_.writebacks) pin(w.value);
    for (Node& n : f_.nodes) {
      for (ValueId& v : n.inputs) v = replacement(v);
      if (n.op == Op::mx_pack) packed_.insert(n.outputs[0]);
      if (is_function(n) && !is_rounded_activation(n)) share_results(n);
    }
  }

 private:
  ValueId replacement(ValueId v) const { return v == kNoValue ? v : instead_[static_cast<std::size_t>(v)]; }
  void pin(ValueId v) {
    if (v == kNoValue) return;
    pinned_.resize(f_.values.size());
    pinned_[static_cast<std::size_t>(v)] = true;
  }
  bool is_pinned(ValueId v) const { return v != kNoValue && !pinned_.empty() && pinned_[static_cast<std::size_t>(v)]; }

  /// Each product keeps its own: a device multiplies what lies behind it (docs/devices.md), and no other product's node
  /// may lie between.
  bool is_rounded_activation(const Node& n) const { return n.op == Op::dequantize && packed_.contains(n.inputs[0]); }

  void share_results(Node& n) {
    std::vector<Node*>& alike = candidates_[{n.op, n.inputs}];
    const auto first = std::ranges::find_if(alike, [&](const Node* m) { return same_common(*m, n); });
    if (first == alike.end() || std::ranges::any_of(n.outputs, [&](ValueId v) { return is_pinned(v); })) {
      alike.push_back(&n);
      return;
    }
    for (std::size_t i = 0; i < n.outputs.size(); ++i) {
      const ValueId own_result = std::exchange(n.outputs[i], kNoValue);
      if (own_result == kNoValue) continue;
      ValueId& of_first = (*first)->outputs[i];
      if (of_first == kNoValue) {
        of_first = own_result;  // the first node had no such result until now
      } else {
        instead_[static_cast<std::size_t>(own_result)] = of_first;
      }
    }
  }

  Function& f_;
  std::vector<ValueId> instead_;
  std::vector<bool> pinned_;
  std::set<ValueId> packed_;
  std::map<std::pair<Op, std::vector<ValueId>>, std::vector<Node*>> candidates_;
};

}  // namespace

void share_common_nodes(Program& program) {
  for (Function& f : program.functions) Common(f).run();
}

}  // namespace tern
