// The rules of tunings: existing nodes, in order, each once.
#include <gtest/gtest.h>

#include "loader/archive.h"
#include "loader/validate.h"
#include "tests/loader/sample.h"

namespace tern::test {
namespace {

using Choices = std::vector<Tuning::Choice>;

std::vector<std::string> rules_with(Choices choices) {
  return rules_broken(changed([&](Program& p) { p.tunings[1].choices = std::move(choices); }));
}

TEST(ArchiveTunings, MayNameAnyNodeOnce) {
  EXPECT_TRUE(rules_with({}).empty());
  EXPECT_TRUE(rules_with({{0, 0, "planes"}, {0, 1, "planes"}, {1, 0, "blocks"}}).empty());
}

TEST(ArchiveTunings, NodesAreThere) {
  const auto nodes = static_cast<std::uint32_t>(sample_program().functions[0].nodes.size());
  const std::vector<std::string> broken{"tunings.node"};
  EXPECT_EQ(rules_with({{0, nodes, "planes"}}), broken);
  EXPECT_EQ(rules_with({{0, ~0u, "planes"}}), broken);
  EXPECT_EQ(rules_with({{4, 0, "planes"}}), broken);
  EXPECT_EQ(rules_with({{~0u, 0, "planes"}}), broken);
}

TEST(ArchiveTunings, StandInOrder) {
  const std::vector<std::string> broken{"tunings.order"};
  EXPECT_EQ(rules_with({{0, 1, "planes"}, {0, 1, "blocks"}}), broken);
  EXPECT_EQ(rules_with({{0, 1, "planes"}, {0, 0, "blocks"}}), broken);
  EXPECT_EQ(rules_with({{1, 0, "planes"}, {0, 2, "blocks"}}), broken);
}

}  // namespace
}  // namespace tern::test
