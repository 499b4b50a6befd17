#include "tests/gpu/amd/ir/block_order.h"

#include <algorithm>
#include <vector>

#include "tests/gpu/amd/ir/types.h"

namespace tern::gpu::amd {
namespace {

struct Block {
  std::string label;
  std::vector<std::string> targets;  // labels
  std::vector<int> next;
};

std::vector<Block> blocks_of(std::span<const std::string_view> lines) {
  std::vector<Block> blocks(1);
  for (std::string_view line : lines) {
    if (std::string label = block_label(line); !label.empty()) {
      blocks.push_back({std::move(label), {}, {}});
      continue;
    }
    for (std::size_t at = line.find("label %"); at != std::string_view::npos; at = line.find("label %")) {
      line.remove_prefix(at + 6);
      blocks.back().targets.push_back(take_name(line));
    }
  }
  std::map<std::string, int> numbers;
  for (std::size_t i = 0; i < blocks.size(); ++i) numbers[blocks[i].label] = static_cast<int>(i);
  for (Block& block : blocks) {
    for (const std::string& target : block.targets) block.next.push_back(numbers.at(target));
  }
  return blocks;
}

// Tarjan's strongly connected components, applied recursively: a loop without the edges to its head is the next graph.
class Order {
 public:
  explicit Order(const std::vector<Block>& blocks) : blocks_(blocks), block_component_(blocks.size(), 0) {}

  // `head` comes first; the search ignores edges to the head.
  void visit(const std::vector<int>& nodes, int head) {
    const int part = ++component_count_;
    for (const int node : nodes) block_component_[static_cast<std::size_t>(node)] = part;
    Search search{part, head, std::vector<int>(blocks_.size(), 0), {}, {}, {}, 0};
    search.low = std::vector<int>(blocks_.size(), 0);
    if (head >= 0) connect(search, head);
    for (const int node : nodes) {
      if (search.index[static_cast<std::size_t>(node)] == 0) connect(search, node);
    }
    // Tarjan finds components after their successors.
    for (auto component = search.components.rbegin(); component != search.components.rend(); ++component) {
      if (component->size() == 1) {
        order.push_back(component->front());
      } else {
        visit(*component, component->back());  // the first visited block
      }
    }
  }

  std::vector<int> order;

 private:
  struct Search {
    int component, head;
    std::vector<int> index, low, stack;
    std::vector<std::vector<int>> components;
    int count;
  };

  void connect(Search& search, int node) {
    const auto at = static_cast<std::size_t>(node);
    search.index[at] = search.low[at] = ++search.count;
    search.stack.push_back(node);
    for (const int next : blocks_[at].next) {
      const auto to = static_cast<std::size_t>(next);
      if (next == search.head || block_component_[to] != search.component) continue;
      if (search.index[to] == 0) {
        connect(search, next);
        search.low[at] = std::min(search.low[at], search.low[to]);
      } else if (std::find(search.stack.begin(), search.stack.end(), next) != search.stack.end()) {
        search.low[at] = std::min(search.low[at], search.index[to]);
      }
    }
    if (search.low[at] != search.index[at]) return;
    std::vector<int> component;
    do {
      component.push_back(search.stack.back());
      search.stack.pop_back();
    } while (component.back() != node);
    search.components.push_back(std::move(component));
  }

  const std::vector<Block>& blocks_;
  std::vector<int> block_component_;  // the innermost part of each block
  int component_count_ = 0;
};

}  // namespace

std::string block_label(std::string_view line) {
  if (line.empty() || line[0] == ' ' || line[0] == ';' || line[0] == '}') return "";
  std::string_view rest = std::string_view(line);
  std::string name;
  if (rest[0] == '"') {
    const std::size_t end = rest.find('"', 1);
    name = rest.substr(0, end + 1);
  } else {
    name = rest.substr(0, rest.find_first_of(": "));
  }
  return rest.substr(name.size()).starts_with(':') ? name : "";
}

std::map<std::string, unsigned> block_order(std::span<const std::string_view> lines) {
  const std::vector<Block> blocks = blocks_of(lines);
  std::vector<int> all(blocks.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  Order order(blocks);
  order.visit(all, 0);
  std::map<std::string, unsigned> ranks;
  for (std::size_t i = 0; i < order.order.size(); ++i)
    ranks[blocks[static_cast<std::size_t>(order.order[i])].label] = static_cast<unsigned>(i);
  return ranks;
}

}  // namespace tern::gpu::amd
