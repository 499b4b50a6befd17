// Copies of a slot's positions, and runs over them.
#include "generation/slot_runner.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/generation/seabirds.h"

namespace tern::testing {
namespace {

std::vector<std::string> cache_names(const Model& model) {
  std::vector<std::string> names;
  for (const StateInfo& state : model.states()) {
    if (state.is_mutable) names.push_back(state.name);
  }
  return names;
}

TEST(SlotRunner, ContinuesInACopyAsInTheOriginal) {
  const Model model = seabirds(3);
  llm::SlotRunner runner(model, model.prepare(), llm::read_facts(model));
  ASSERT_TRUE(runner.keeps_positions());
  const std::vector<std::int64_t> prompt = {1, 10, 58, 71, 41};
  runner.read({0, 0}, std::span(prompt).first(4), true);
  runner.copy(0, 2, 4);
  runner.read({0, 4}, std::span(prompt).subspan(4), true);
  const std::vector<float> original(runner.logits(0).begin(), runner.logits(0).end());
  runner.read({2, 4}, std::span(prompt).subspan(4), true);
  EXPECT_EQ(std::vector<float>(runner.logits(0).begin(), runner.logits(0).end()), original);
  // A slot without the copy has other keys and values.
  runner.read({1, 4}, std::span(prompt).subspan(4), true);
  EXPECT_NE(std::vector<float>(runner.logits(0).begin(), runner.logits(0).end()), original);
}

TEST(SlotRunner, StatesCopyTheFirstPositionsAlone) {
  const Model model = seabirds(2);
  Session session(model.prepare());
  const std::string name = cache_names(model).front();
  Tensor cache = session.read_state(name);
  const std::vector<std::int64_t> sizes = cache.sizes();
  const auto values = cache.span<float>();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  session.write_state(name, cache);
  const std::int64_t axis = static_cast<std::int64_t>(sizes.size()) - 2, count = 3;
  session.copy_in_state(name, 0, 1, axis, count);
  const Tensor copied = session.read_state(name);
  const std::size_t slice = values.size() / static_cast<std::size_t>(sizes[0]);
  const auto numbers = static_cast<std::size_t>(sizes.back());
  const auto positions = static_cast<std::size_t>(sizes[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool is_copied = i >= slice && i / numbers % positions < static_cast<std::size_t>(count);
    ASSERT_EQ(copied.span<const float>()[i], static_cast<float>(is_copied ? i - slice : i)) << i;
  }
  const auto refused = [&](std::string_view state, std::int64_t from, std::int64_t to, std::int64_t a, std::int64_t n) {
    try {
      session.copy_in_state(state, from, to, a, n);
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
    return false;
  };
  EXPECT_TRUE(refused("none", 0, 1, axis, 1));
  EXPECT_TRUE(refused(name, 0, 2, axis, 1));
  EXPECT_TRUE(refused(name, -1, 1, axis, 1));
  EXPECT_TRUE(refused(name, 0, 1, 0, 1));
  EXPECT_TRUE(refused(name, 0, 1, axis + 2, 1));
  EXPECT_TRUE(refused(name, 0, 1, axis, static_cast<std::int64_t>(positions) + 1));
  EXPECT_TRUE(refused(name, 0, 1, axis, -1));
}

}  // namespace
}  // namespace tern::testing
