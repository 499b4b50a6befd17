#include "generation/grammar/grammar.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <queue>

namespace tern::grammar {
namespace {

constexpr std::uint32_t kNoText = 0xFFFFFFFF;

/// Bytes of the shortest text of each rule, kNoText for rules without a finite text (Knuth, A Generalization of
/// Dijkstra's Algorithm, 1977).
std::vector<std::uint32_t> shortest_texts(const std::vector<std::vector<Symbols>>& rules) {
  struct Alternative {
    std::uint32_t rule;
    std::size_t open;  ///< rules without a known size
    std::uint64_t size;
  };
  std::vector<Alternative> alternatives;
  std::vector<std::vector<std::size_t>> users(rules.size());
  using Candidate = std::pair<std::uint64_t, std::uint32_t>;  // size, rule
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  for (std::uint32_t rule = 0; rule < rules.size(); ++rule) {
    for (const Symbols& symbols : rules[rule]) {
      Alternative a{rule, 0, 0};
      for (const Symbol& s : symbols) {
        if (s.is_rule) {
          ++a.open;
          users[s.index].push_back(alternatives.size());
        } else {
          ++a.size;
        }
      }
      if (a.open == 0) queue.emplace(a.size, rule);
      alternatives.push_back(a);
    }
  }
  std::vector<std::uint32_t> sizes(rules.size(), kNoText);
  while (!queue.empty()) {
    const auto [size, rule] = queue.top();
    queue.pop();
    if (sizes[rule] != kNoText || size >= kNoText) continue;
    sizes[rule] = static_cast<std::uint32_t>(size);
    for (const std::size_t user : users[rule]) {
      Alternative& a = alternatives[user];
      a.size += size;
      if (--a.open == 0) queue.emplace(a.size, a.rule);
    }
  }
  return sizes;
}

/// A rule at the begin of another rule's text. At the tail, too, it needs no place to return to.
struct LeftEdge {
  std::uint32_t target;
  bool is_tail;
};

/// Strongly connected components of the edges (Tarjan), by rule.
std::vector<std::uint32_t> components_of(const std::vector<std::vector<LeftEdge>>& edges) {
  constexpr std::uint32_t kUnvisited = 0xFFFFFFFF;
  std::vector<std::uint32_t> order(edges.size(), kUnvisited), low(edges.size(), 0), component(edges.size(), kUnvisited),
      open;
  std::vector<std::pair<std::uint32_t, std::size_t>> path;  // rule and its next edge
  std::uint32_t next_order = 0, next_component = 0;
  for (std::uint32_t root = 0; root < edges.size(); ++root) {
    if (order[root] != kUnvisited) continue;
    path.emplace_back(root, 0);
    while (!path.empty()) {
      const auto [rule, edge] = path.back();
      if (edge == 0) {
        order[rule] = low[rule] = next_order++;
        open.push_back(rule);
      }
      if (edge < edges[rule].size()) {
        ++path.back().second;
        const std::uint32_t target = edges[rule][edge].target;
        if (order[target] == kUnvisited) {
          path.emplace_back(target, 0);
        } else if (component[target] == kUnvisited) {
          low[rule] = std::min(low[rule], order[target]);
        }
        continue;
      }
      path.pop_back();
      if (!path.empty()) low[path.back().first] = std::min(low[path.back().first], low[rule]);
      if (low[rule] != order[rule]) continue;
      while (true) {
        const std::uint32_t member = open.back();
        open.pop_back();
        component[member] = next_component;
        if (member == rule) break;
      }
      ++next_component;
    }
  }
  return component;
}

/// Stacks of left-recursive rules would have no limit.
void refuse_left_recursion(const std::vector<std::vector<Symbols>>& rules, const std::vector<std::uint32_t>& sizes) {
  std::vector<std::vector<LeftEdge>> edges(rules.size());
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    for (const Symbols& symbols : rules[rule]) {
      for (std::size_t i = 0; i < symbols.size() && symbols[i].is_rule; ++i) {
        edges[rule].push_back({symbols[i].index, i + 1 == symbols.size()});
        if (sizes[symbols[i].index] > 0) break;
      }
    }
  }
  const std::vector<std::uint32_t> component = components_of(edges);
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    for (const LeftEdge& edge : edges[rule]) {
      if (!edge.is_tail && component[edge.target] == component[rule])
        fail(ErrorCode::invalid_argument, "a rule begins with itself (left recursion)");
    }
  }
}

}  // namespace

Symbol Builder::declare() {
  rules_.emplace_back();
  return {true, static_cast<std::uint32_t>(rules_.size() - 1)};
}

void Builder::add_alternative(Symbol rule, Symbols symbols) {
  size_ += symbols.size() + 1;
  if (size_ > kMaxSymbols) {
    fail(ErrorCode::invalid_argument,
         fmt::format("the rules have more than {} symbols; shorten the schema, or lower its counts", kMaxSymbols));
  }
  rules_[rule.index].push_back(std::move(symbols));
}

Symbol Builder::bytes(const ByteSet& set) {
  const auto [found, is_new] = known_sets_.emplace(set, static_cast<std::uint32_t>(byte_sets_.size()));
  if (is_new) byte_sets_.push_back(set);
  return {false, found->second};
}

Symbol Builder::byte_range(unsigned first, unsigned last) {
  ByteSet set;
  for (unsigned b = first; b <= last; ++b) set.set(b);
  return bytes(set);
}

Symbols Builder::literal(std::string_view text) {
  Symbols symbols;
  for (const char c : text) symbols.push_back(byte_range(static_cast<unsigned char>(c), static_cast<unsigned char>(c)));
  return symbols;
}

Symbol Builder::one_of(std::vector<Symbols> alternatives) {
  if (alternatives.size() == 1 && alternatives[0].size() == 1) return alternatives[0][0];
  const Symbol rule = declare();
  for (Symbols& a : alternatives) add_alternative(rule, std::move(a));
  return rule;
}

Symbol Builder::repeat(Symbols symbols, std::size_t min_count, std::optional<std::size_t> max_count) {
  const Symbol item = one_of({std::move(symbols)});
  Symbol tail = declare();
  add_alternative(tail, {});
  if (!max_count) {
    add_alternative(tail, {item, tail});
  } else {
    for (std::size_t i = min_count; i < *max_count; ++i) {
      const Symbol repetition = declare();
      add_alternative(repetition, {});
      add_alternative(repetition, {item, tail});
      tail = repetition;
    }
  }
  for (std::size_t i = 0; i < min_count; ++i) {
    const Symbol repetition = declare();
    add_alternative(repetition, {item, tail});
    tail = repetition;
  }
  return tail;
}

Symbols joined(std::initializer_list<Symbols> lists) {
  Symbols symbols;
  for (const Symbols& list : lists) symbols.insert(symbols.end(), list.begin(), list.end());
  return symbols;
}

Grammar::Grammar(const Builder& builder, Symbol start) : byte_sets_(builder.byte_sets()) {
  const std::vector<std::uint32_t> sizes = shortest_texts(builder.rules());
  if (start.is_rule && sizes[start.index] == kNoText)
    fail(ErrorCode::invalid_argument, "no finite text follows the rules");
  refuse_left_recursion(builder.rules(), sizes);
  const auto add_sequence = [&](const Symbols& symbols) {
    const auto begin = static_cast<std::uint32_t>(code_.size());
    for (const Symbol& s : symbols) {
      code_.push_back(s.is_rule ? kFirstRule - static_cast<std::int32_t>(s.index) : static_cast<std::int32_t>(s.index));
    }
    code_.push_back(kEnd);
    min_bytes_.resize(code_.size(), 0);
    std::uint64_t size = 0;
    for (std::size_t i = symbols.size(); i-- > 0;) {
      size += symbols[i].is_rule ? sizes[symbols[i].index] : 1;
      min_bytes_[begin + i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(size, kNoText));
    }
    return begin;
  };
  for (const std::vector<Symbols>& rule : builder.rules()) {
    std::vector<std::uint32_t>& starts = alternatives_.emplace_back();
    for (const Symbols& symbols : rule) {
      // Drops alternatives that could never end.
      const bool is_complete =
          std::ranges::none_of(symbols, [&](const Symbol& s) { return s.is_rule && sizes[s.index] == kNoText; });
      if (is_complete) starts.push_back(add_sequence(symbols));
    }
  }
  start_ = add_sequence({start});
}

}  // namespace tern::grammar
