// Overlap of collectives with computation. A collective whose wait follows at once, or whose result a node reads before
// a wait, runs at its own position; the others start there and end at the wait, which keeps their operands alive.
#include <algorithm>
#include <map>

#include "exporter/passes/passes.h"
#include "exporter/rewrite.h"
#include "schema/def_use.h"
#include "schema/op_record.h"

namespace tern {
namespace {

bool starts(const Node& n) {
  return n.op == Op::collective && n.integer(AttrKey::mode) != 0;
}

class Overlap {
 public:
  explicit Overlap(Function& f) : f_(f) {}

  void run() {
    if (std::ranges::none_of(f_.nodes, [](const Node& n) { return n.op == Op::wait || starts(n); })) return;
    const DefUse def_use(f_);
    std::vector<bool> kept_wait(f_.nodes.size());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      Node& n = f_.nodes[i];
      if (!starts(n)) continue;
      std::vector<std::size_t> waits;
      bool has_other_readers = def_use.result_count(n.outputs[0]) > 0;
      for (const ValueReader& r : def_use.readers(n.outputs[0])) {
        has_other_readers = has_other_readers || f_.nodes[r.node].op != Op::wait;
        if (r.operand == 0) waits.push_back(r.node);
      }
      if (has_other_readers || waits.empty() || !computes_between(i, waits.front())) {
        std::erase_if(n.attrs, [](const Attr& a) { return a.key == AttrKey::mode; });
        continue;
      }
      for (const std::size_t w : waits) {
        f_.nodes[w].inputs = {n.outputs[0], n.inputs[0]};
        kept_wait[w] = true;
      }
    }
    remove(kept_wait);
  }

 private:
  bool computes_between(std::size_t begin, std::size_t end) const {
    return std::any_of(f_.nodes.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                       f_.nodes.begin() + static_cast<std::ptrdiff_t>(end),
                       [](const Node& n) { return n.op != Op::wait && !is_view(n.op); });
  }
  /// Removes waits that end no collective; readers read their operand.
  void remove(const std::vector<bool>& retained) {
    std::map<ValueId, ValueId> instead;
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      Node& n = f_.nodes[i];
      if (n.op == Op::wait && !retained[i] && n.inputs.size() == 1) {
        const auto cached = instead.find(n.inputs[0]);
        instead[n.outputs[0]] = cached == instead.end() ? n.inputs[0] : cached->second;
      } else {
        nodes.push_back(std::move(n));
      }
    }
    f_.nodes = std::move(nodes);
    use_instead(f_, instead);
  }

  Function& f_;
};

}  // namespace

void overlap_collectives(Program& program) {
  for (Function& f : program.functions) Overlap(f).run();
}

}  // namespace tern
