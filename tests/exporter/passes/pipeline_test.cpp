#include "exporter/passes/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "exporter/importer.h"

namespace tern {
namespace {

std::vector<std::string> names_for(const ImportOptions& options) {
  std::vector<std::string> names;
  for (const Pass& p : passes()) {
    if (p.is_enabled(options)) names.emplace_back(p.name);
  }
  return names;
}

bool has_pass(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

TEST(PassPipeline, OptionsChoosePasses) {
  const std::vector<std::string> plain = names_for({});
  for (const char* name : {"remove_dead_code", "fold_constants", "recognise_norms", "store_weights_by_columns"})
    EXPECT_TRUE(has_pass(plain, name)) << name;
  for (const char* name : {"transform", "remove_origins", "note_unfolded", "quantize_weights", "narrow_weights"})
    EXPECT_FALSE(has_pass(plain, name)) << name;

  ImportOptions other;
  other.fold = other.origins = false;
  other.precision = DType::bf16;
  other.quantize.resize(1);
  other.transform = [](Program&) {};
  const std::vector<std::string> all = names_for(other);
  for (const char* name : {"transform", "remove_origins", "note_unfolded", "quantize_weights", "narrow_weights"})
    EXPECT_TRUE(has_pass(all, name)) << name;
  EXPECT_FALSE(has_pass(all, "fold_constants"));
}

TEST(PassPipeline, KeepIsForWeightsIfOnlyTheyChange) {
  ImportOptions options;
  options.quantize.resize(1);
  EXPECT_FALSE(has_pass(names_for(options), "note_precision"));
}

TEST(PassPipeline, RunsTheStagesThatAreAskedFor) {
  int runs = 0;
  ImportOptions options;
  options.transform = [&](Program&) { ++runs; };
  options.fold = false;
  Program program;
  run_passes(program, Stage::quantized, Stage::storage, options);
  EXPECT_EQ(runs, 0);
  ASSERT_NE(program.find_metadata("folded"), nullptr);
  run_passes(program, Stage::lowered, Stage::lowered, options);
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace tern
