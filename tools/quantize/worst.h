// Long tables show their worst rows.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tern {

inline constexpr std::size_t kMaxRows = 40;  // rows of a table

/// Selects up to kMaxRows items of the least rank; ties go to the first.
template <class T, class Rank>
std::set<const T*> worst_of(const std::vector<T>& items, const Rank& rank) {
  std::vector<const T*> order;
  for (const T& i : items) order.push_back(&i);
  std::ranges::stable_sort(order, std::less<>(), [&](const T* i) { return rank(*i); });
  order.resize(std::min(order.size(), kMaxRows));
  return {order.begin(), order.end()};
}

/// Text below a table showing `shown_count` of `total` items.
inline std::string others_text(std::size_t shown_count, std::size_t total) {
  return shown_count < total ? fmt::format("and {} more with less error; --json lists all\n", total - shown_count) : "";
}

}  // namespace tern
