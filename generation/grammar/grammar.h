// A context-free grammar over bytes.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::grammar {

using ByteSet = std::bitset<256>;

/// A byte of a set, or a text of a rule.
struct Symbol {
  bool is_rule = false;
  std::uint32_t index = 0;
};
using Symbols = std::vector<Symbol>;

/// Collects rules. Throws invalid_argument for more than kMaxSymbols symbols.
class Builder {
 public:
  static constexpr std::size_t kMaxSymbols = std::size_t{1} << 20;

  /// A rule without alternatives yet: for recursion.
  Symbol declare();
  void add_alternative(Symbol rule, Symbols symbols);

  Symbol bytes(const ByteSet& set);
  Symbol byte_range(unsigned first, unsigned last);
  Symbols literal(std::string_view text);
  Symbol one_of(std::vector<Symbols> alternatives);
  Symbol optional(Symbols symbols) { return repeat(std::move(symbols), 0, 1); }
  /// `max_count` empty: no limit.
  Symbol repeat(Symbols symbols, std::size_t min_count, std::optional<std::size_t> max_count);

  const std::vector<ByteSet>& byte_sets() const { return byte_sets_; }
  const std::vector<std::vector<Symbols>>& rules() const { return rules_; }

 private:
  struct LessSet {
    bool operator()(const ByteSet& a, const ByteSet& b) const { return a.to_string() < b.to_string(); }
  };
  std::vector<ByteSet> byte_sets_;
  std::map<ByteSet, std::uint32_t, LessSet> known_sets_;
  std::vector<std::vector<Symbols>> rules_;
  std::size_t size_ = 0;
};

/// Joins sequences of symbols.
Symbols joined(std::initializer_list<Symbols> lists);

/// Rules as one array, with the sizes of their shortest texts.
class Grammar {
 public:
  /// Throws invalid_argument for left recursion, and for a grammar without a finite text.
  Grammar(const Builder& builder, Symbol start);

  static constexpr std::int32_t kEnd = -1;
  /// Symbol of a position: the number of a byte set, kEnd, or kFirstRule - a rule's number.
  static constexpr std::int32_t kFirstRule = -2;
  std::int32_t symbol_at(std::uint32_t position) const { return code_[position]; }
  const ByteSet& set(std::int32_t number) const { return byte_sets_[static_cast<std::size_t>(number)]; }
  /// Positions of a rule's alternatives.
  std::span<const std::uint32_t> alternatives(std::int32_t code) const {
    return alternatives_[static_cast<std::size_t>(kFirstRule - code)];
  }
  /// Bytes of the shortest text from a position to the end of its alternative.
  std::uint32_t min_bytes(std::uint32_t position) const { return min_bytes_[position]; }
  /// Position of the whole text.
  std::uint32_t start() const { return start_; }

 private:
  std::vector<ByteSet> byte_sets_;
  std::vector<std::int32_t> code_;
  std::vector<std::vector<std::uint32_t>> alternatives_;
  std::vector<std::uint32_t> min_bytes_;
  std::uint32_t start_ = 0;
};

}  // namespace tern::grammar
