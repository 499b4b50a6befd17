#include "exporter/llm/slots/sized_groups.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <variant>

#include "schema/def_use.h"
#include "schema/infer/control_types.h"

namespace tern {
namespace {

class Finder {
 public:
  Finder(const Program& program, const Function& f, const std::vector<bool>& varies)
      : program_(program), f_(f), varies_(varies), def_use_(f), parent_(f.nodes.size()) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }

  SizedGroups find() {
    find_binders();
    found_.items.resize(f_.nodes.size());
    sized_.resize(f_.nodes.size());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) visit(i);
    while (close()) {
    }
    return collect();
  }

 private:
  bool varies(const Node& n) const {
    return std::ranges::any_of(n.inputs,
                               [&](ValueId v) { return v != kNoValue && varies_[static_cast<std::size_t>(v)]; });
  }

  void find_binders() {
    found_.is_item.resize(f_.nodes.size());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const Node& n = f_.nodes[i];
      if (n.dims(AttrKey::symbols).empty() || !varies(n)) continue;
      found_.is_item[i] = n.op == Op::item;
      for (const Dim d : n.dims(AttrKey::symbols)) {
        const int symbol = program_.pool.symbol_of(d);
        if (symbol < 0) continue;
        binders_.push_back({i, Dependence(program_.pool, {symbol})});
        found_.symbols.push_back(symbol);
      }
    }
    std::ranges::sort(found_.symbols);
  }

  template <class Visit>
  static void each_size(const Function& f, const Node& n, const Visit& visit) {
    for (const Attr& a : n.attrs) {
      if (const auto* dims = std::get_if<Dims>(&a.data)) std::ranges::for_each(*dims, visit);
    }
    for (const std::vector<ValueId>* values : {&n.inputs, &n.outputs}) {
      for (const ValueId v : *values) {
        if (v != kNoValue) std::ranges::for_each(f.values[static_cast<std::size_t>(v)].type.shape, visit);
      }
    }
  }

  void visit(std::size_t i) {
    const Node& n = f_.nodes[i];
    for (Binder& b : binders_) {
      if (b.node == i) {
        sized_[i] = !found_.is_item[i];
        continue;
      }
      bool depends = false;
      each_size(f_, n, [&](Dim d) { depends = depends || b.depends(d); });
      if (!depends) continue;
      sized_[i] = true;
      if (found_.is_item[b.node]) {
        found_.items[i].push_back(b.node);
      } else {
        unite(b.node, i);
      }
    }
    if (!sized_[i]) return;
    for (const ValueId v : n.inputs) {
      if (def_use_.producer(v) < 0) continue;
      const Dims& shape = f_.values[static_cast<std::size_t>(v)].type.shape;
      const bool same_group = std::ranges::any_of(
          shape, [&](Dim d) { return std::ranges::any_of(binders_, [&](Binder& b) { return b.depends(d); }); });
      if (same_group) unite(static_cast<std::size_t>(def_use_.producer(v)), i);
    }
  }

  /// Merges groups reading each other's results, directly or through other groups. True if any merged.
  bool close() {
    std::vector<std::vector<std::size_t>> readers(f_.nodes.size()), sources(f_.nodes.size());
    std::vector<std::size_t> members(f_.nodes.size());
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      ++members[root(i)];
      const auto note_reads = [&](const Node& n) {
        for (const ValueId v : n.inputs) {
          const std::int64_t p = def_use_.producer(v);
          if (p < 0 || root(static_cast<std::size_t>(p)) == root(i)) continue;
          readers[root(static_cast<std::size_t>(p))].push_back(root(i));
          sources[root(i)].push_back(root(static_cast<std::size_t>(p)));
        }
      };
      note_reads(f_.nodes[i]);
      for (const std::size_t item : found_.items[i]) note_reads(f_.nodes[item]);
    }
    for (std::size_t g = 0; g < f_.nodes.size(); ++g) {
      if (members[g] < 2) continue;
      const std::vector<bool> is_after = reachable(readers, g), is_before = reachable(sources, g);
      bool is_changed = false;
      for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
        if (i == g || !is_after[i] || !is_before[i]) continue;
        unite(g, i);
        is_changed = true;
      }
      if (is_changed) return true;
    }
    return false;
  }

  static std::vector<bool> reachable(const std::vector<std::vector<std::size_t>>& next, std::size_t start) {
    std::vector<bool> found(next.size());
    std::vector<std::size_t> worklist = {start};
    while (!worklist.empty()) {
      const std::size_t index = worklist.back();
      worklist.pop_back();
      for (const std::size_t i : next[index]) {
        if (found[i]) continue;
        found[i] = true;
        worklist.push_back(i);
      }
    }
    return found;
  }

  SizedGroups collect() {
    std::unordered_map<std::size_t, std::size_t> numbers;
    for (std::size_t i = 0; i < f_.nodes.size(); ++i) {
      const auto [it, is_new] = numbers.emplace(root(i), found_.nodes.size());
      if (is_new) {
        found_.nodes.emplace_back();
        found_.sized.push_back(false);
      }
      found_.group.push_back(it->second);
      found_.nodes[it->second].push_back(i);
      if (sized_[i]) found_.sized[it->second] = true;
    }
    return std::move(found_);
  }

  std::size_t root(std::size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void unite(std::size_t a, std::size_t b) { parent_[root(b)] = root(a); }

  struct Binder {
    std::size_t node;
    Dependence depends;
  };
  const Program& program_;
  const Function& f_;
  const std::vector<bool>& varies_;
  const DefUse def_use_;
  std::vector<std::size_t> parent_;
  std::vector<Binder> binders_;
  std::vector<bool> sized_;
  SizedGroups found_;
};

}  // namespace

SizedGroups find_sized_groups(const Program& program, const Function& f, const std::vector<bool>& varies) {
  return Finder(program, f, varies).find();
}

}  // namespace tern
