// Trained parameters: tied weights count once, and views of a storage must not overlap.
#include "exporter/training/parameters.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include "tests/runtime/support.h"

namespace tern {
namespace {

/// Two parameters in a storage of eight floats; the function reads both.
struct TwoViews {
  testing::TestProgram p;

  TwoViews(const Dims& shape, std::vector<std::int64_t> strides, std::int64_t second) {
    for (int i = 0; i < 2; ++i)
      p.output(p.b().expr("x * 2", {{"x", p.state({8}, std::vector<float>(8), false)}}, DType::f32));
    for (State& s : p.program().states) {
      s.kind = State::Kind::parameter;
      s.storage = p.program().states[0].storage;
      s.type.shape = shape;
      s.strides = strides;
    }
    p.program().states[1].offset = second;
  }
  std::vector<TrainedParameter> chosen(const std::vector<std::string>& freeze = {}) {
    return choose_parameters(p.program(), 0, freeze);
  }
  std::string refusal(const std::vector<std::string>& freeze = {}) {
    try {
      chosen(freeze);
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  }
};

TEST(TrainParameters, AreOneWhereTheyAreTheSameTensor) {
  TwoViews tied({8}, {1}, 0);
  const auto chosen = tied.chosen();
  ASSERT_EQ(chosen.size(), 1u);
  EXPECT_EQ(chosen[0].tied_states, (std::vector<std::uint32_t>{0, 1}));
}

TEST(TrainParameters, AreFrozenUnderAllNamesOrNone) {
  for (const char* name : {"state0", "state1"}) {
    const std::string why = TwoViews({8}, {1}, 0).refusal({name});
    EXPECT_NE(why.find("the same tensor"), std::string::npos) << why;
  }
  EXPECT_NE(TwoViews({8}, {1}, 0).refusal({"state*"}).find("no floating-point parameter"), std::string::npos);
}

TEST(TrainParameters, MayLieSideBySideInAStorage) {
  EXPECT_EQ(TwoViews({4}, {1}, 4).chosen().size(), 2u);
  EXPECT_EQ(TwoViews({4}, {2}, 1).chosen().size(), 2u);        // every other element
  EXPECT_EQ(TwoViews({2, 2}, {4, 1}, 2).chosen().size(), 2u);  // columns
}

TEST(TrainParameters, AreRefusedWhereTheyOverlap) {
  EXPECT_NE(TwoViews({5}, {1}, 3).refusal().find("state0 and state1 share bytes"), std::string::npos);
  EXPECT_NE(TwoViews({2, 2}, {4, 1}, 1).refusal().find("share bytes"), std::string::npos);
  // A step would change the frozen parameter.
  EXPECT_NE(TwoViews({5}, {1}, 3).refusal({"state0"}).find("share bytes"), std::string::npos);
}

}  // namespace
}  // namespace tern
