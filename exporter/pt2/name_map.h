// Map from names to values in file order. Finds a name in O(log n) for any set of names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::pt2 {

/// Filled once with add(), closed with seal(), then only read. Sorted rather than hashed: a file cannot choose
/// colliding names.
template <class T>
class NameMap {
 public:
  using Entry = std::pair<std::string, T>;

  void add(std::string name, T value) { entries_.emplace_back(std::move(name), std::move(value)); }

  /// Builds the index. Returns the first repeated name, or null for a usable map.
  const std::string* seal() {
    order_.resize(entries_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = static_cast<std::uint32_t>(i);
    std::sort(order_.begin(), order_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return entries_[a].first < entries_[b].first; });
    for (std::size_t i = 1; i < order_.size(); ++i)
      if (entries_[order_[i - 1]].first == entries_[order_[i]].first) return &entries_[order_[i]].first;
    return nullptr;
  }

  /// Null if the name is absent.
  const T* find(std::string_view name) const {
    auto it = std::lower_bound(order_.begin(), order_.end(), name,
                               [&](std::uint32_t i, std::string_view n) { return entries_[i].first < n; });
    return it != order_.end() && entries_[*it].first == name ? &entries_[*it].second : nullptr;
  }

  bool contains(std::string_view name) const { return find(name) != nullptr; }
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  /// Iterates in file order.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  const Entry& operator[](std::size_t i) const { return entries_[i]; }

 private:
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> order_;
};

}  // namespace tern::pt2
