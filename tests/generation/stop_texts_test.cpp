// Stop texts in every division of an answer into tokens, against a search in the whole text.
#include "generation/stop_texts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tern::testing {
namespace {

/// Text before the first stop text.
std::string expected_text(const std::string& text, const std::vector<std::string>& stops) {
  std::size_t first = std::string::npos;
  for (const std::string& stop : stops) first = std::min(first, text.find(stop));
  return text.substr(0, first);
}

TEST(StopTexts, FindTextsAcrossTokens) {
  StopTexts stops({"\nUser:", "###"});
  EXPECT_EQ(stops.add("An answer.\nU"), "An answer.");
  EXPECT_EQ(stops.add("ni"), "\nUni");
  EXPECT_EQ(stops.add("x\nUs"), "x");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.add("er: more"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.add("even more"), "");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopTexts, GiveHeldTextAtTheEnd) {
  StopTexts stops({"END"});
  EXPECT_EQ(stops.add("the EN"), "the ");
  EXPECT_EQ(stops.finish(), "EN");
  EXPECT_FALSE(stops.found());
}

TEST(StopTexts, AgreeWithASearchInTheWholeText) {
  std::mt19937 random(1);
  const auto letters = [&](int least, int most) {
    std::string text;
    const int size = std::uniform_int_distribution(least, most)(random);
    for (int i = 0; i < size; ++i) text += "ab"[random() % 2];
    return text;
  };
  int found = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 3; ++i) texts.push_back(letters(2, 9));
    StopTexts stops(texts);
    std::string whole, shown;
    for (int i = 0; i < 12 && !stops.found(); ++i) {
      const std::string part = letters(0, 4);
      whole += part;
      shown += stops.add(part);
      ASSERT_TRUE(expected_text(whole, texts).starts_with(shown));
    }
    found += stops.found();
    shown += stops.finish();
    ASSERT_EQ(shown, expected_text(whole, texts));
  }
  EXPECT_GT(found, 200);
  EXPECT_LT(found, 1800);
}

}  // namespace
}  // namespace tern::testing
