// Several texts that a model continues together: one session, over an archive of `tern export --llm --batch`.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conversation.h"

/// Each text is in a slot of its own, numbered from 0 to facts.batch - 1. What a text says depends neither on its slot
/// nor on the others. Use it from one thread at a time.
class Slots {
 public:
  Slots(const tern::Prepared& prepared, const ModelFacts& facts);

  /// A text begins in the slot, in place of the one that was there: reads its tokens and returns the next one, which is
  /// not read yet. Throws tern::Error as Conversation::read does.
  std::int64_t begin(std::int64_t slot, std::span<const std::int64_t> tokens, const Sampling& sampling);
  /// Texts read one more token each: tokens[i] in slots[i]. Returns the next token of each. Slots that are not named
  /// wait, and cost nothing.
  std::vector<std::int64_t> step(std::span<const std::int64_t> slots, std::span<const std::int64_t> tokens);
  /// How many more tokens the slot's text can read.
  std::int64_t room(std::int64_t slot) const { return facts_.context - at(slot).position; }

 private:
  struct Text {
    Sampling sampling;
    std::int64_t position = 0, drawn = 0;  ///< tokens read, and numbers drawn
  };
  Text& at(std::int64_t slot) { return texts_.at(static_cast<std::size_t>(slot)); }
  const Text& at(std::int64_t slot) const { return texts_.at(static_cast<std::size_t>(slot)); }
  std::vector<std::int64_t> run(const char* function, std::span<const std::int64_t> slots,
                                std::span<const std::int64_t> tokens);

  tern::Session session_;
  ModelFacts facts_;
  std::vector<Text> texts_;
};
