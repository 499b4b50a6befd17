// The displayed arena: concurrent blocks do not overlap, and all of the memory is accounted for.
#include "tools/view/memory.h"

#include <gtest/gtest.h>

#include "exporter/importer.h"

namespace tern::view {
namespace {

using nlohmann::json;

void expect_sound(const json& section) {
  const std::uint64_t bytes = section["bytes"];
  const std::size_t steps = section["steps"].size();
  const json& blocks = section["blocks"];
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const json& a = blocks[i];
    const std::uint64_t begin = a["offset"], last = begin + a["bytes"].get<std::uint64_t>();
    end = std::max(end, last);
    EXPECT_LE(a["first"], a["last"]);
    EXPECT_LT(a["last"], steps);
    for (std::size_t k = i + 1; k < blocks.size(); ++k) {
      const json& b = blocks[k];
      if (a["last"] < b["first"] || b["last"] < a["first"]) continue;
      const std::uint64_t other = b["offset"], other_end = other + b["bytes"].get<std::uint64_t>();
      EXPECT_TRUE(last <= other || other_end <= begin) << a << " and " << b;
    }
  }
  EXPECT_LE(end, bytes);
  EXPECT_GT(end + 64, bytes);  // blocks are multiples of 64
}

TEST(ViewMemory, BlocksDoNotOverlap) {
  for (const char* path :
       {"/examples/digits/digits.pt2", "/examples/tutorial/tutorial.pt2", "/examples/training/digits.pt2"}) {
    const auto program = std::make_shared<const Program>(import_pt2(TERN_SOURCE_DIR + std::string(path)));
    const json functions = planned_memory(program, {});
    ASSERT_EQ(functions.size(), program->functions.size());
    for (const json& f : functions) {
      EXPECT_FALSE(f.contains("problem")) << f;
      for (const json& section : f["sections"]) expect_sound(section);
    }
  }
}

TEST(ViewMemory, SizesChangeThePlan) {
  const auto program = std::make_shared<const Program>(import_pt2(TERN_SOURCE_DIR "/examples/digits/digits.pt2"));
  const auto bytes = [&](std::int64_t batch) {
    return planned_memory(program, {{"s34", batch}})[0]["sections"][0]["bytes"].get<std::uint64_t>();
  };
  EXPECT_GT(bytes(64), bytes(8) * 7);
}

TEST(ViewMemory, AlgorithmsAreNamed) {
  const auto program = std::make_shared<const Program>(import_pt2(TERN_SOURCE_DIR "/examples/digits/digits.pt2"));
  EXPECT_GE(planned_memory(program, {})[0]["algorithms"].size(), 2u);  // products and convolutions have several
}

}  // namespace
}  // namespace tern::view
