// Results of both runs: write-backs, random numbers, NaN, None.
#include "tools/verify/results.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/tools/support.h"
#include "tests/tools/verify/support.h"
#include "tools/files/any.h"

namespace tern {
namespace {

using test::error_of;
using test::Sides;
using test::sides_of;
using testing::floats;
using testing::TestProgram;

Compared compared(const Sides& s, const Calls& calls) {
  return verify_results(s.test, s.reference, {}, calls, [] {}).compared.at(0);
}

/// Writes x + 1 to its input and returns the same value: the result lies in the input's memory.
TEST(VerifyResults, InputsThatAreWritten) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {1000});
  const ValueId more = p.b().expr("x + 1", {{"x", x}}, DType::f32);
  p.program().functions[0].writebacks.push_back({WriteBack::Target::input, 0, more});
  p.output(more);
  const Calls calls = {{floats({1000}, std::vector<float>(1000, 2))}};
  const Compared c = compared(sides_of(p, Precision::bfloat16), calls);
  ASSERT_EQ(c.results.size(), 2u);
  EXPECT_EQ(c.results[1].name, "in0 after the call");
  for (const ResultDeviation& r : c.results) {
    EXPECT_TRUE(r.deviation.exact()) << r.name;
    EXPECT_EQ(r.deviation.largest_reference, 3) << "each run has an input of its own";
  }
  EXPECT_EQ(calls[0][0].span<const float>()[0], 2) << "the caller's input is not written";
}

TEST(VerifyResults, AllCallsAsOne) {
  ResultDeviation first{"a", 0, DType::f32, {1}, {}, {}}, second{"a", 1, DType::f32, {2}, {}, {}}, other = first;
  other.name = "b";
  other.mismatch = "float32[3], not float32[2]";
  first.deviation.add(3, 3.5);
  second.deviation.add(4, 4);
  second.deviation.add(0, 0.5);
  const std::vector<ResultDeviation> all = over_calls({first, other, second});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].deviation.elements, 3);
  EXPECT_NEAR(all[0].deviation.sqnr(), 10 * std::log10(25 / 0.5), 1e-9);
  EXPECT_EQ(all[1].mismatch, other.mismatch);
}

TEST(VerifyResults, BothRunsDrawTheSameNumbers) {
  TestProgram p;
  p.output(p.b().add(Op::random, {},
                     {attr_text(AttrKey::kind, "normal"), attr(AttrKey::sizes, Dims{64}), attr_dtype(DType::f32)}));
  Sides s = sides_of(p, Precision::bfloat16);
  s.test.seed = s.reference.seed = 7;
  const Compared same = compared(s, {{}, {}});
  ASSERT_EQ(same.results.size(), 2u);
  EXPECT_TRUE(same.results[0].deviation.exact());
  EXPECT_TRUE(same.results[1].deviation.exact());
  s.test.seed = 8;
  EXPECT_FALSE(compared(s, {{}}).results[0].deviation.exact());
}

TEST(VerifyResults, NoneAndNaN) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  p.program().functions[0].outputs.push_back({FunctionOutput::Kind::none, kNoValue, "nothing"});
  const Compared c = compared(sides_of(p, Precision::bfloat16), {{floats({2}, {std::nanf(""), 1})}});
  ASSERT_EQ(c.results.size(), 2u);
  EXPECT_TRUE(c.results[0].deviation.exact());
  EXPECT_EQ(c.results[0].deviation.elements, 2);
  EXPECT_EQ(c.results[1].dtype, DType::invalid);
  EXPECT_EQ(c.results[1].mismatch, "");
}

TEST(VerifyResults, ExpectedResults) {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2});
  p.output(p.b().expr("x * 2", {{"x", x}}, DType::f32));
  const test::TempFolder folder;
  NamedTensors file;
  file.tensors.emplace_back("call1.out0", test::tensor_of<float>(DType::f32, {2}, {6, -9}));
  file.tensors.emplace_back("call1.in0", test::tensor_of<float>(DType::f32, {2}, {3, -4}));
  write_tensors(folder / "e.safetensors", file);
  const Sides s = sides_of(p, Precision::bfloat16);
  const Function& f = s.test.f();
  const Expected expected = read_expected(folder / "e.safetensors", f, 2);
  const Verification v =
      verify_results(s.test, s.reference, expected, {{floats({2}, {1, 1})}, {floats({2}, {3, -4})}}, [] {});
  ASSERT_EQ(v.compared.size(), 3u);
  for (std::size_t i = 0; i < 2; ++i) {  // compares both runs with the file
    ASSERT_EQ(v.compared[i].results.size(), 1u);
    EXPECT_EQ(v.compared[i].results[0].call, 1u);
    EXPECT_EQ(v.compared[i].results[0].deviation.largest_error, 1);
  }
  EXPECT_EQ(v.compared[2].results.size(), 2u);
  EXPECT_NE(error_of([&] { read_expected(folder / "e.safetensors", f, 1); }, ErrorCode::invalid_argument)
                .find("'call1.out0' is of call 1, but the inputs are those of 1 call"),
            std::string::npos);
}

TEST(VerifyResults, ExpectedFilesThatDoNotFit) {
  TestProgram p;
  p.output(p.b().expr("x * 2", {{"x", p.input(DType::f32, {2})}}, DType::f32));
  const std::shared_ptr<const Program> program = p.model().program();
  const test::TempFolder folder;
  const auto error = [&](const std::vector<std::string>& names) {
    NamedTensors file;
    for (const std::string& name : names)
      file.tensors.emplace_back(name, test::tensor_of<float>(DType::f32, {2}, {1, 2}));
    write_tensors(folder / "e.npz", file);
    return error_of([&] { read_expected(folder / "e.npz", program->functions[0], 1); }, ErrorCode::invalid_argument);
  };
  EXPECT_NE(error({"ouput0"}).find("did you mean 'out0'?"), std::string::npos);
  EXPECT_NE(error({"out1"}).find("there is no output 'out1'"), std::string::npos);
  EXPECT_NE(error({"in0"}).find("has no result"), std::string::npos);
  EXPECT_NE(error({"out0", "call0.out0"}).find("occurs twice"), std::string::npos);
}

TEST(VerifyResults, ProgramsWithOtherResults) {
  TestProgram one, two;
  const ValueId x = one.input(DType::f32, {2}), y = two.input(DType::f32, {2});
  one.output(x);
  two.output(y);
  two.output(y);
  Sides s = sides_of(one, Precision::exported);
  s.reference = sides_of(two, Precision::exported).reference;
  EXPECT_NE(error_of(
                [&] {
                  compared(s, {{floats({2}, {1, 2})}});
                },
                ErrorCode::invalid_argument)
                .find("2 results"),
            std::string::npos);
}

}  // namespace
}  // namespace tern
