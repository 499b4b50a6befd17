// Chooses collectives to run beside computation. A collective with its wait directly behind, or with a reader of its
// result before any wait, runs in place; the others start in place and end at the wait, keeping their operands alive.
#include <algorithm>
#include <map>

#include "exporter/simplify/simplify.h"
#include "schema/op_record.h"

namespace tern {
namespace {

bool starts(const Node& n) {
  return n.op == Op::collective && n.integer(AttrKey::mode) != 0;
}

struct Uses {
  std::vector<std::size_t> waits;  ///< nodes
  bool others = false;
};

class Overlap {
 public:
  explicit Overlap(Function& f) : f_(f) {}

  void run() {
    if (std::ranges::none_of(f_.nodes, [](const Node& n) { return n.op == Op::wait || starts(n); })) return;
    count();
    std::vector<bool> kept_wait(f_.nodes.size());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      Node& n = f_.nodes[i];
      if (!starts(n)) continue;
      const Uses& uses = uses_[n.outputs[0]];
      if (uses.others || uses.waits.empty() || !computes_between(i, uses.waits.front())) {
        std::erase_if(n.attrs, [](const Attr& a) { return a.key == AttrKey::mode; });
        continue;
      }
      for (const std::size_t w : uses.waits) {
        f_.nodes[w].inputs = {n.outputs[0], n.inputs[0]};
        kept_wait[w] = true;
      }
    }
    remove(kept_wait);
  }

 private:
  void count() {
    const auto other = [&](ValueId v) { uses_[v].others = true; };
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      for (std::size_t k = 0; k < f_.nodes[i].inputs.size(); ++k) {
        const ValueId v = f_.nodes[i].inputs[k];
        if (f_.nodes[i].op != Op::wait) other(v);
        if (f_.nodes[i].op == Op::wait && k == 0) uses_[v].waits.push_back(i);
      }
    }
    for (const FunctionOutput& o : f_.outputs) other(o.value);
    for (const WriteBack& w : f_.writebacks) other(w.value);
  }
  bool computes_between(std::size_t begin, std::size_t end) const {
    return std::any_of(f_.nodes.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                       f_.nodes.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Node& n) { return n.op != Op::wait && !is_view(n.op); });
  }
  /// Replaces waits without a started collective by their operand.
  void remove(const std::vector<bool>& kept) {
    std::map<ValueId, ValueId> instead;
    const auto rename = [&](ValueId& v) {
      if (const auto found = instead.find(v); found != instead.end()) v = found->second;
    };
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      Node& n = f_.nodes[i];
      for (ValueId& v : n.inputs) rename(v);
      if (n.op == Op::wait && !kept[i] && n.inputs.size() == 1) {
        instead[n.outputs[0]] = n.inputs[0];
      } else {
        nodes.push_back(std::move(n));
      }
    }
    f_.nodes = std::move(nodes);
    for (FunctionOutput& o : f_.outputs) rename(o.value);
    for (WriteBack& w : f_.writebacks) rename(w.value);
  }

  Function& f_;
  std::map<ValueId, Uses> uses_;
};

}  // namespace

void overlap_collectives(Program& program) {
  for (Function& f : program.functions) Overlap(f).run();
}

}  // namespace tern
