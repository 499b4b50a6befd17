#include "text/tokenizer/trie.h"

#include <algorithm>

namespace tern::text {

Trie::Trie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& e) { return e.first.empty(); });
  std::ranges::stable_sort(entries, {}, &Entry::first);
  first_.fill(kNoNode);
  nodes_.emplace_back();
  struct Range {
    std::uint32_t node;
    std::size_t begin, end, depth;
  };
  std::vector<Range> ranges = {{0, 0, entries.size(), 0}};
  for (std::size_t next = 0; next < ranges.size(); ++next) {  // breadth first: siblings lie side by side
    const Range r = ranges[next];
    std::size_t entry_index = r.begin;
    for (; entry_index < r.end && entries[entry_index].first.size() == r.depth; ++entry_index)
      nodes_[r.node].value = entries[entry_index].second;
    nodes_[r.node].first = static_cast<std::uint32_t>(nodes_.size());
    while (entry_index < r.end) {
      const auto byte = static_cast<unsigned char>(entries[entry_index].first[r.depth]);
      std::size_t end = entry_index;
      while (end < r.end && static_cast<unsigned char>(entries[end].first[r.depth]) == byte) ++end;
      const auto child = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back({0, kNoNode, 0, byte});
      ++nodes_[r.node].children;
      if (r.node == 0) first_[byte] = child;
      ranges.push_back({child, entry_index, end, r.depth + 1});
      entry_index = end;
    }
  }
  nodes_.shrink_to_fit();
}

Trie::Found Trie::longest(std::string_view s, std::uint32_t first_node) const {
  Found found;
  std::uint32_t node = first_node;
  for (std::size_t i = 0; i < s.size(); ++i) {
    node = child(node, static_cast<unsigned char>(s[i]));
    if (node == kNoNode) break;
    if (const std::uint32_t v = value(node); v != kNoNode) found = {v, i + 1};
  }
  return found;
}

}  // namespace tern::text
