#include "generation/grammar/automaton.h"

#include <fmt/format.h>
#include <tern/error.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace tern::grammar {
namespace {

constexpr std::uint32_t kBottom = 0xFFFFFFFF;  ///< below the start of the grammar
constexpr std::size_t kMaxStates = 60000, kMaxStacks = std::size_t{1} << 22, kMaxStacksOfState = 8192, kMaxMasks = 512;
constexpr Automaton::State kUnknown = -2;

}  // namespace

std::size_t Automaton::HashStacks::operator()(const std::vector<std::uint32_t>& stacks) const {
  std::uint64_t hash = 1469598103934665603U;  // FNV-1a
  for (const std::uint32_t s : stacks) hash = (hash ^ s) * 1099511628211U;
  return hash;
}

Automaton::Automaton(Grammar grammar) : grammar_(std::move(grammar)) {
  ++visit_;
  expand(grammar_.start(), kBottom);
  start_ = take_expanded();
}

std::uint32_t Automaton::stack(std::uint32_t position, std::uint32_t parent) {
  const std::uint64_t key = (std::uint64_t{parent} << 32) | position;
  const auto [found, is_new] = known_stacks_.emplace(key, static_cast<std::uint32_t>(stacks_.size()));
  if (is_new) {
    if (stacks_.size() >= kMaxStacks) fail(ErrorCode::runtime, "the grammar needs too many states for this text");
    const std::uint64_t distance =
        std::uint64_t{grammar_.min_bytes(position)} + (parent == kBottom ? 0 : stacks_[parent].distance);
    stacks_.push_back(
        {position, parent,
         static_cast<std::uint32_t>(std::min<std::uint64_t>(distance, std::numeric_limits<std::uint32_t>::max()))});
    visits_.push_back(0);
  }
  return found->second;
}

void Automaton::expand(std::uint32_t position, std::uint32_t parent) {
  worklist_.push_back(stack(position, parent));
  while (!worklist_.empty()) {
    const std::uint32_t top = worklist_.back();
    worklist_.pop_back();
    if (visits_[top] == visit_) continue;
    visits_[top] = visit_;
    const Stack s = stacks_[top];
    const std::int32_t code = grammar_.symbol_at(s.position);
    if (code >= 0) {
      found_.push_back(top);
      if (found_.size() > kMaxStacksOfState)
        fail(ErrorCode::runtime, "the grammar has too many ways to read this text; make its alternatives differ early");
    } else if (code != Grammar::kEnd) {
      // A rule at the end of an alternative returns to the place below: loops need no deeper stack.
      const std::uint32_t parent_stack =
          grammar_.symbol_at(s.position + 1) == Grammar::kEnd ? s.parent : stack(s.position + 1, s.parent);
      for (const std::uint32_t alternative : grammar_.alternatives(code))
        worklist_.push_back(stack(alternative, parent_stack));
    } else if (s.parent == kBottom) {
      accepts_ = true;
    } else {
      worklist_.push_back(s.parent);
    }
  }
}

Automaton::State Automaton::take_expanded() {
  std::vector<std::uint32_t> stacks = std::exchange(found_, {});
  const bool accepts = std::exchange(accepts_, false);
  if (stacks.empty() && !accepts) return kDead;
  std::ranges::sort(stacks);
  std::vector<std::uint32_t> key = stacks;
  key.push_back(accepts ? 1 : 0);
  const auto [found, is_new] = known_states_.emplace(std::move(key), static_cast<State>(states_.size()));
  if (!is_new) return found->second;
  if (states_.size() >= kMaxStates) fail(ErrorCode::runtime, "the grammar needs too many states for this text");
  StackSet set;
  set.accepts = accepts;
  set.distance = accepts ? 0 : std::numeric_limits<std::uint32_t>::max();
  for (const std::uint32_t s : stacks) set.distance = std::min(set.distance, stacks_[s].distance);
  set.stacks = std::move(stacks);
  states_.push_back(std::move(set));
  if (states_.size() > kMaxStates / 2 || stacks_.size() > kMaxStacks / 2) is_large_ = true;
  return found->second;
}

Automaton::State Automaton::advance(State state, unsigned char byte) {
  if (state == kDead) return kDead;
  StackSet& set = states_[static_cast<std::size_t>(state)];
  if (!set.next) {
    set.next = std::make_unique<std::array<State, 256>>();
    set.next->fill(kUnknown);
  }
  State& next = (*set.next)[byte];  // stays valid: it is on the heap
  if (next != kUnknown) return next;
  found_.clear();
  accepts_ = false;
  worklist_.clear();
  ++visit_;
  const std::vector<std::uint32_t>& tops = set.stacks;
  for (const std::uint32_t top : tops) {
    const Stack s = stacks_[top];
    if (grammar_.set(grammar_.symbol_at(s.position)).test(byte)) expand(s.position + 1, s.parent);
  }
  return next = take_expanded();
}

Automaton::State Automaton::advance(State state, std::string_view text) {
  for (const char c : text) state = advance(state, static_cast<unsigned char>(c));
  return state;
}

TokenMask Automaton::compute(State state, const TokenTable& table, std::uint64_t tokens_left) {
  TokenMask mask;
  mask.bits.assign((static_cast<std::size_t>(table.vocabulary()) + 63) / 64, 0);
  std::vector<State> path(table.max_bytes() + 1);
  path[0] = state;
  std::size_t valid = 0;  // bytes of the last token that the grammar takes
  for (const TokenTable::Entry& entry : table.entries()) {
    if (entry.common > valid) continue;  // the same bytes ended the last token
    valid = entry.common;
    const std::string_view text = table.text(entry);
    while (valid < text.size()) {
      const State next = advance(path[valid], static_cast<unsigned char>(text[valid]));
      if (next == kDead) break;
      path[++valid] = next;
    }
    if (valid < text.size()) continue;
    const std::uint32_t min_bytes_left = distance(path[valid]);
    if (min_bytes_left > tokens_left) continue;
    mask.bits[static_cast<std::size_t>(entry.token) / 64] |= std::uint64_t{1}
                                                             << (static_cast<std::size_t>(entry.token) % 64);
    ++mask.count;
    mask.largest_distance = std::max(mask.largest_distance, min_bytes_left);
  }
  return mask;
}

const TokenMask& Automaton::mask(State state, const TokenTable& table, std::uint64_t tokens_left) {
  auto found = masks_.find(state);
  if (found == masks_.end()) {
    if (masks_.size() >= kMaxMasks) masks_.clear();
    found = masks_.emplace(state, compute(state, table, std::numeric_limits<std::uint64_t>::max())).first;
  }
  const TokenMask& mask = found->second;
  if (mask.largest_distance <= tokens_left) return mask;
  limited_ = compute(state, table, tokens_left);
  return limited_.count > 0 || accepts(state) ? limited_ : mask;
}

}  // namespace tern::grammar
