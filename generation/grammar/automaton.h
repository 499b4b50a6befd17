// The states of a text that follows a grammar, and the tokens that continue it.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "generation/grammar/grammar.h"
#include "generation/grammar/token_table.h"

namespace tern::grammar {

/// Tokens that may come next: a bit for each token id.
struct TokenMask {
  std::vector<std::uint64_t> bits;
  std::size_t count = 0;
  std::uint32_t largest_distance = 0;  ///< largest distance of a state behind a token

  bool contains(std::int64_t token) const {
    return (bits[static_cast<std::size_t>(token) / 64] >> (static_cast<std::size_t>(token) % 64) & 1) != 0;
  }
  void flip(std::int64_t token) {
    count = contains(token) ? count - 1 : count + 1;
    bits[static_cast<std::size_t>(token) / 64] ^= std::uint64_t{1} << (static_cast<std::size_t>(token) % 64);
  }
};

/// A deterministic automaton whose states are sets of stacks of the grammar. The states are made when a text reaches
/// them. Belongs to one thread at a time.
class Automaton {
 public:
  using State = std::int32_t;
  static constexpr State kDead = -1;  ///< no text continues

  explicit Automaton(Grammar grammar);

  State start() const { return start_; }
  /// Throws runtime for grammars with too many states.
  State advance(State state, unsigned char byte);
  State advance(State state, std::string_view text);
  /// True if the text is complete.
  bool accepts(State state) const { return states_[static_cast<std::size_t>(state)].accepts; }
  /// True if the text can continue.
  bool continues(State state) const { return !states_[static_cast<std::size_t>(state)].stacks.empty(); }
  /// Bytes of the shortest completion.
  std::uint32_t distance(State state) const { return states_[static_cast<std::size_t>(state)].distance; }
  /// True if a further long text could reach the limit of states. Any thread may call it.
  bool is_large() const { return is_large_; }

  /// Tokens that continue the text so that `tokens_left` further tokens of one byte each can complete it. Without such
  /// a token, all that continue the text. Valid until the next call.
  const TokenMask& mask(State state, const TokenTable& table, std::uint64_t tokens_left);

 private:
  /// Rest of an alternative, and the rest of the text behind it.
  struct Stack {
    std::uint32_t position, parent, distance;
  };
  struct StackSet {
    std::vector<std::uint32_t> stacks;
    bool accepts = false;
    std::uint32_t distance = 0;
    std::unique_ptr<std::array<State, 256>> next;
  };
  struct HashStacks {
    std::size_t operator()(const std::vector<std::uint32_t>& stacks) const;
  };

  std::uint32_t stack(std::uint32_t position, std::uint32_t parent);
  /// Adds the stacks that begin with a byte, behind the rules at the top of this one.
  void expand(std::uint32_t position, std::uint32_t parent);
  /// State of the expanded stacks.
  State take_expanded();
  TokenMask compute(State state, const TokenTable& table, std::uint64_t tokens_left);

  Grammar grammar_;
  std::vector<Stack> stacks_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_stacks_;
  std::vector<StackSet> states_;
  std::unordered_map<std::vector<std::uint32_t>, State, HashStacks> known_states_;
  State start_ = 0;
  std::unordered_map<State, TokenMask> masks_;
  TokenMask limited_;
  std::atomic<bool> is_large_ = false;

  // Work of one expansion:
  std::vector<std::uint32_t> worklist_, found_, visits_;
  std::uint32_t visit_ = 0;
  bool accepts_ = false;
};

}  // namespace tern::grammar
