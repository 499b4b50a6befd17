// Runtime checks on devices: a single wait reads several checks.
#include <gtest/gtest.h>

#include "tests/devices/programs.h"
#include "tests/devices/test_devices.h"

namespace tern {
namespace {

using namespace testing;

void check(TestProgram& p, const char* condition, ValueId x, const char* text) {
  Node n;
  n.op = Op::assert_true;
  n.inputs = {p.b().expr(condition, {{"x", x}}, DType::f32, DType::boolean)};
  n.set(AttrKey::text, std::string(text));
  p.b().add(std::move(n));
}

/// Two checks of x, then s += x as a result, and the table element at `place`.
Model checked() {
  TestProgram p;
  const ValueId state = p.state({}, {10}, true), table = p.state({3}, {5, 6, 7}, false);
  const ValueId x = p.input(DType::f32, {}), place = p.input(DType::i64, {1});
  check(p, "x > 0", x, "x must be above 0");
  check(p, "x < 8", x, "x must be below 8");
  const ValueId next = p.b().expr("s + x", {{"s", state}, {"x", x}}, DType::f32);
  p.write_back(0, next);
  p.output(next);
  p.output(p.b().add(Op::index_select, {table, place}, {{AttrKey::axis, Dims{0}}}));
  return p.model();
}

class CheckTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::string failure(float x, std::int64_t place) {
    try {
      Tensor where(DType::i64, {1});
      where.span<std::int64_t>()[0] = place;
      session_.run({floats({}, {x}), where});
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::runtime);
      return e.what();
    }
    return {};
  }
  static bool contains(const std::string& message, const char* words) {
    return message.find(words) != std::string::npos;
  }
  Session session_{checked().prepare(options_on(GetParam()))};
};
INSTANTIATE_TEST_SUITE_P(Devices, CheckTest, ::testing::ValuesIn(all_devices()), name_of_case);

TEST_P(CheckTest, EachIsToldAndChangesNothing) {
  for (int round = 0; round < 4; ++round) {  // before and after graphs exist
    const std::string low = failure(-1, 0), high = failure(9, 0);
    EXPECT_TRUE(contains(low, "x must be above 0") && contains(low, "assert_true")) << low;
    EXPECT_TRUE(contains(high, "x must be below 8")) << high;
    EXPECT_EQ(values_of(session_.read_state("state0")), std::vector<float>{10 + static_cast<float>(round)});
    EXPECT_EQ(failure(1, 2), "");
  }
}

TEST_P(CheckTest, AreToldBeforeWhatFailsAfterThem) {
  const std::string both = failure(9, 77), other = failure(1, 77);
  EXPECT_TRUE(contains(both, "x must be below 8")) << both;
  EXPECT_FALSE(other.empty() || contains(other, "x must be")) << other;
  EXPECT_EQ(failure(1, 0), "");
}

}  // namespace
}  // namespace tern
