// Slots for prompts, by the tokens that they hold.
#include "generation/slot_table.h"

#include <gtest/gtest.h>

#include <numeric>

namespace tern::testing {
namespace {

using Tokens = std::vector<std::int64_t>;

Tokens tokens_from(std::int64_t first, std::size_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

TEST(SlotTable, GivesEachSlotOnce) {
  SlotTable table(2);
  const Tokens prompt = {1, 2, 3};
  const auto a = table.acquire(prompt), b = table.acquire(prompt);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->slot, b->slot);
  EXPECT_FALSE(table.acquire(prompt));
  table.free(a->slot);
  EXPECT_EQ(table.acquire(prompt)->slot, a->slot);
}

TEST(SlotTable, ContinuesASequenceInItsSlot) {
  SlotTable table(3);
  const Tokens long_text = tokens_from(0, 40);
  const auto first = table.acquire(long_text);
  table.set_tokens(first->slot, long_text);
  table.free(first->slot);
  const auto again = table.acquire(tokens_from(0, 60));
  EXPECT_EQ(again->slot, first->slot);
  EXPECT_EQ(again->size, 40);
}

TEST(SlotTable, KeepsALongSequenceForItsFollower) {
  SlotTable table(2);
  const auto kept = table.acquire(tokens_from(0, 40));
  table.set_tokens(kept->slot, tokens_from(0, 40));
  table.free(kept->slot);
  // The common part is short: another slot takes the prompt, and may copy.
  Tokens other = tokens_from(0, 10);
  other.push_back(99);
  EXPECT_NE(table.acquire(other)->slot, kept->slot);
  EXPECT_EQ(table.find(other).slot, kept->slot);
  EXPECT_EQ(table.find(other).size, 10);
}

TEST(SlotTable, ReplacesTheLongestUnused) {
  SlotTable table(2);
  for (const std::int64_t first : {100, 200}) {
    const auto slot = table.acquire(tokens_from(first, 5));
    table.set_tokens(slot->slot, tokens_from(first, 5));
    table.free(slot->slot);
  }
  const std::int64_t older = table.find(tokens_from(100, 5)).slot;
  EXPECT_EQ(table.acquire(tokens_from(300, 5))->slot, older);
  // The slot no longer holds the earlier tokens.
  EXPECT_EQ(table.find(tokens_from(100, 5)).size, 0);
}

}  // namespace
}  // namespace tern::testing
