// Prepare options from callers of the C interface.
#include <gtest/gtest.h>
#include <tern/c_api.h>

#include <cstddef>

#include "runtime/c_api/handles.h"
#include "runtime/prepared.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

std::string weight_cache_of(const tern_prepare_options* options) {
  testing::TestProgram p;
  p.output(p.b().cast(p.input(DType::f32, {2}), DType::f64));
  const tern_model model{p.model()};
  tern_prepared* prepared = nullptr;
  EXPECT_EQ(tern_model_prepare(&model, options, &prepared), TERN_OK) << tern_last_error();
  if (prepared == nullptr) return "not prepared";
  std::string result = prepared->prepared.impl()->options.weight_cache;
  tern_prepared_free(prepared);
  return result;
}

TEST(PrepareOptionsOfC, WeightCache) {
  tern_prepare_options options = TERN_PREPARE_OPTIONS_INIT;
  EXPECT_EQ(weight_cache_of(nullptr), "");
  EXPECT_EQ(weight_cache_of(&options), "");
  options.weight_cache = "off";
  EXPECT_EQ(weight_cache_of(&options), "off");
  // A caller compiled before the member existed.
  options.size = offsetof(tern_prepare_options, weight_cache);
  EXPECT_EQ(weight_cache_of(&options), "");
}

TEST(PrepareOptionsOfC, Precision) {
  testing::TestProgram p;
  p.output(p.b().cast(p.input(DType::f32, {2}), DType::f64));
  const tern_model model{p.model()};
  tern_prepare_options options = TERN_PREPARE_OPTIONS_INIT;
  tern_prepared* prepared = nullptr;
  for (const auto& [given, taken] :
       {std::pair{0, Precision::exported}, {1, Precision::bfloat16}, {3, Precision::float16}}) {
    options.precision = given;
    ASSERT_EQ(tern_model_prepare(&model, &options, &prepared), TERN_OK) << tern_last_error();
    EXPECT_EQ(prepared->prepared.impl()->options.precision, taken);
    tern_prepared_free(prepared);
  }
  options.precision = 4;
  EXPECT_EQ(tern_model_prepare(&model, &options, &prepared), TERN_ERROR_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace tern
