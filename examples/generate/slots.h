// Several texts continued together by a model: a single session, for an archive of `tern export --llm --batch`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conversation.h"

/// Each text has its own slot, numbered from 0 to facts.batch - 1. A text depends neither on its slot nor on the other
/// texts. Belongs to one thread at a time.
class Slots {
 public:
  Slots(const tern::PreparedModel& prepared, const ModelFacts& facts);

  /// Starts a text in the slot, replacing the previous text: reads its tokens and returns the next token (not read
  /// yet). Throws tern::Error like Conversation::read.
  std::int64_t begin(std::int64_t slot, std::span<const std::int64_t> tokens, const Sampling& sampling);
  /// Reads another token of several texts: tokens[i] in slots[i]. Returns the next token of each. Other slots wait, and
  /// cost nothing.
  std::vector<std::int64_t> step(std::span<const std::int64_t> slots, std::span<const std::int64_t> tokens);
  /// Number of tokens the slot's text can still read.
  std::int64_t room(std::int64_t slot) const { return facts_.context - text_of(slot).position; }

 private:
  struct Text {
    Sampling sampling;
    std::int64_t position = 0, drawn = 0;  ///< tokens read, and numbers drawn
  };
  Text& text_of(std::int64_t slot) { return texts_.at(static_cast<std::size_t>(slot)); }
  const Text& text_of(std::int64_t slot) const { return texts_.at(static_cast<std::size_t>(slot)); }
  std::vector<std::int64_t> run(const char* function, std::span<const std::int64_t> slots,
                                std::span<const std::int64_t> tokens);

  tern::Session session_;
  ModelFacts facts_;
  std::vector<Text> texts_;
};
