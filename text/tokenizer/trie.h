// Prefix tree over texts, for searches at every position of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::text {

class Trie {
 public:
  using Entry = std::pair<std::string_view, std::uint32_t>;
  static constexpr std::uint32_t kNoNode = 0xffffffffu;

  Trie() = default;
  /// The texts need not be sorted; the last value of equal texts counts. Empty texts are left out.
  explicit Trie(std::vector<Entry> entries);

  /// Node of the root.
  static constexpr std::uint32_t root() { return 0; }
  /// Child of a node by the next byte, or kNone.
  std::uint32_t child(std::uint32_t node, unsigned char byte) const {
    if (nodes_.empty()) return kNoNode;
    if (node == 0) return first_[byte];
    const Node& n = nodes_[node];
    if (n.children <= 8) {
      for (std::uint32_t i = 0; i < n.children; ++i) {
        if (nodes_[n.first + i].byte == byte) return n.first + i;
      }
      return kNoNode;
    }
    std::uint32_t low = 0, high = n.children;
    while (low < high) {
      const std::uint32_t middle = (low + high) / 2;
      if (nodes_[n.first + middle].byte < byte) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low < n.children && nodes_[n.first + low].byte == byte ? n.first + low : kNoNode;
  }
  /// Value of the text that ends at the node, or kNone.
  std::uint32_t value(std::uint32_t node) const { return nodes_.empty() ? kNoNode : nodes_[node].value; }
  bool empty() const { return nodes_.size() <= 1; }

  struct Found {
    std::uint32_t value = kNoNode;
    std::size_t size = 0;
  };
  /// Longest text that `s` begins with.
  Found longest(std::string_view s, std::uint32_t first_node = 0) const;

 private:
  struct Node {
    std::uint32_t first = 0;
    std::uint32_t value = kNoNode;
    std::uint16_t children = 0;
    unsigned char byte = 0;
  };
  std::vector<Node> nodes_;
  std::array<std::uint32_t, 256> first_{};
};

}  // namespace tern::text
