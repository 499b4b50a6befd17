// Lowerings of masks with data-dependent sizes.
#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <limits>

#include "exporter/lower/lower.h"
#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

Tensor mask_of(const std::vector<bool>& values) {
  Tensor t(DType::boolean, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<bool*>(t.data()));
  return t;
}

/// x where the mask is false, else the source's elements in order; the source's size is a symbol.
std::vector<float> scattered(const std::vector<bool>& mask, const std::vector<float>& source) {
  TestProgram p;
  Call call;
  call.target = "aten.masked_scatter.default";
  call.builder = &p.b();
  const auto add = [&](std::string_view name, DType dtype, Dim size) {
    CallArgument o;
    o.kind = CallArgument::Kind::tensor;
    o.value = p.input(dtype, {size});
    call.args.emplace_back(name, o);
  };
  add("self", DType::f32, 4);
  add("mask", DType::boolean, 4);
  add("source", DType::f32, p.b().pool().symbol("n", 0, 100));
  call.declared = {{DType::f32, {4}}};
  p.output(find_lowering(call.target)(p.b(), call)[0]);
  Session session(p.model().prepare());
  return values_of(
      session.run({floats({4}, {1, 2, 3, 4}), mask_of(mask), floats({std::int64_t(source.size())}, source)})[0]);
}

TEST(MaskedLowering, ScatterTakesFromASourceInOrder) {
  EXPECT_EQ(scattered({true, false, true, false}, {10, 20, 30}), (std::vector<float>{10, 2, 20, 4}));
}

TEST(MaskedLowering, ScatterTakesNothingFromAnEmptySource) {
  EXPECT_EQ(scattered({false, false, false, false}, {}), (std::vector<float>{1, 2, 3, 4}));
}

TEST(MaskedLowering, ScatterNeedsAnElementForEachTruePlace) {
  EXPECT_THROW(scattered({true, false, true, false}, {10}), Error);
  EXPECT_THROW(scattered({false, true, false, false}, {}), Error);
}

/// NaN among the numbers equals nothing, and the others are found: few are compared, many are searched.
TEST(MaskedLowering, IsInFindsNumbersBesideNaN) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity(),
                   kNone = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> x = {-kInfinite, -2, -0.0, 0, 1, 7, kInfinite, kNone};
  const std::vector<double> numbers[] = {{1, -2, kInfinite}, {0}, {}, {-kInfinite, 7}};
  for (const std::vector<double>& some : numbers) {
    for (const std::size_t count : {6, 40}) {
      std::vector<double> tests = some;
      tests.resize(count, kNone);
      const std::vector<double> found = LoweredCall("aten.isin.Tensor_Tensor")
                                            .tensor("elements", {std::int64_t(x.size())}, x)
                                            .tensor("test_elements", {std::int64_t(count)}, tests)
                                            .flag("assume_unique", false)
                                            .flag("invert", false)
                                            .run(DType::boolean)
                                            .at(0);
      for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_EQ(found[i] != 0, std::ranges::find(some, x[i]) != some.end()) << x[i] << " of " << count;
    }
  }
}

TEST(MaskedLowering, TruthOfAllAndAny) {
  const auto one = [](const char* op, const std::vector<double>& x) {
    return LoweredCall(op).tensor("self", {std::int64_t(x.size())}, x, DType::boolean).run(DType::boolean).at(0).at(0);
  };
  EXPECT_EQ(one("aten._is_all_true.default", {1, 1, 0}), 0);
  EXPECT_EQ(one("aten._is_all_true.default", {1, 1, 1}), 1);
  EXPECT_EQ(one("aten._is_all_true.default", {}), 1);
  EXPECT_EQ(one("aten._is_any_true.default", {0, 1, 0}), 1);
  EXPECT_EQ(one("aten._is_any_true.default", {0, 0, 0}), 0);
  EXPECT_EQ(one("aten._is_any_true.default", {}), 0);
}

}  // namespace
}  // namespace tern::testing
