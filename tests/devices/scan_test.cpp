// Scans and their users, on every device: the CPU's bits in reproducible mode, else sums in double precision. Sizes
// around block sizes, NaN, infinities, zeros of both signs, empty lines, lines of any strides.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>

#include "dtypes/cast.h"
#include "dtypes/storage.h"
#include "schema/kinds.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class ScanTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, ScanTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct ScanCase {
  DType dtype;
  Sizes sizes;
  int axis;
};

std::vector<ValueId> scan(TestProgram& p, ValueId x, ScanKind kind, int axis) {
  return p.b().add_all(Op::scan, {x},
                       {attr(AttrKey::axis, Dim(axis)), attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind)))});
}

void add_ops(TestProgram& p, ValueId x, int axis, std::vector<std::string>& names) {
  const DType t = p.b().dtype(x);
  std::vector<ScanKind> kinds{ScanKind::cumsum};
  if (is_floating(t)) kinds.push_back(ScanKind::cummax);
  if (all_cases()) {
    kinds.push_back(ScanKind::cumprod);
    if (is_floating(t)) kinds.push_back(ScanKind::logcumsumexp);
    if (!is_floating(t) && !is_complex(t)) kinds.push_back(ScanKind::cummax);
    if (!is_complex(t)) kinds.push_back(ScanKind::cummin);
  }
  for (const ScanKind kind : kinds) {
    const std::vector<ValueId> found = scan(p, x, kind, axis);
    const bool places = kind == ScanKind::cummax || kind == ScanKind::cummin;
    for (std::size_t i = 0; i < (places ? 2u : 1u); ++i) {
      p.output(found[i]);
      names.push_back("scan " + std::to_string(static_cast<int>(kind)) + (i == 0 ? "" : ", places"));
    }
  }
}

/// Data with all special cases of extrema, and equal elements.
Tensor mixed(DType t, const Sizes& sizes) {
  Tensor x = numbers(t, sizes, 5);
  visit_dtype(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> v = x.span<T>();
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i % 3 == 2) v[i] = v[i / 2];
      if (is_floating(t) && i % 7 == 3) v[i] = cast_to<T>(std::complex<double>(i % 2 == 0 ? 0.0 : -0.0));
    }
    const auto put = [&](double part, double value) {
      if (is_floating(t) && !v.empty())
        v[static_cast<std::size_t>(part * static_cast<double>(v.size() - 1))] = cast_to<T>(std::complex<double>(value));
    };
    put(0.7, std::numeric_limits<double>::infinity());
    put(0.9, -std::numeric_limits<double>::infinity());
    put(1, std::numeric_limits<double>::quiet_NaN());
  });
  return x;
}

TEST_P(ScanTest, HasTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a line";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const ScanCase cases[] = {
      {DType::f32, {1, 9001}, 1}, {DType::i64, {2, 257}, 1},   {DType::f32, {3, 1030}, 1}, {DType::bf16, {40, 5}, 0},
      {DType::u8, {2, 1024}, 1},  {DType::f64, {2, 9000}, 1},  {DType::c64, {2, 300}, 1},  {DType::boolean, {1, 33}, 1},
      {DType::f32, {2, 0}, 1},    {DType::f32, {5000, 33}, 1}, {DType::i32, {1, 1}, 1},    {DType::f16, {70, 2100}, 1},
  };
  for (const ScanCase& c : some_of<ScanCase>(cases, 1)) {
    if (c.dtype == DType::f64 && !has_double(GetParam())) continue;
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[1]));
    TestProgram p;
    std::vector<std::string> names;
    add_ops(p, p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end())), c.axis, names);
    expect_same_bits(GetParam(), p, names, {mixed(c.dtype, c.sizes)});
  }
}

TEST_P(ScanTest, MayHaveAnyStrides) {
  if (!all_cases()) GTEST_SKIP() << "TERN_TEST_FULL=1 runs it";
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a line";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  TestProgram p;
  std::vector<std::string> names;
  const ValueId x = p.input(DType::f32, {Dim(4), Dim(800)});
  add_ops(p, p.b().slice(x, 1, Dim(0), Dim(400), 2), 1, names);
  add_ops(p, p.b().transpose(x, 0, 1), 0, names);
  expect_same_bits(GetParam(), p, names, {mixed(DType::f32, {4, 800})});
}

// The order of sums is free without `reproducible`.
TEST_P(ScanTest, SumsInAnyOrder) {
  const Sizes all[] = {{1, 9001}, {2, 1500}};
  for (const Sizes& sizes : some_of<Sizes>(all, 1)) {
    TestProgram p;
    const ValueId x = p.input(DType::f32, Dims(sizes.begin(), sizes.end()));
    p.output(scan(p, x, ScanKind::cumsum, 1)[0]);
    if (all_cases()) p.output(scan(p, x, ScanKind::logcumsumexp, 1)[0]);
    const std::vector<Tensor> inputs{numbers(DType::f32, sizes, 5)};
    Session s(p.model().prepare(options_on(GetParam())));
    const std::vector<Tensor> found = s.run(inputs);
    const std::span<const float> v = inputs[0].span<const float>(), sums = found[0].span<const float>();
    double sum = 0, powers = 0, size = 0;
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i % static_cast<std::size_t>(sizes[1]) == 0) sum = powers = size = 0;
      sum += v[i];
      size += std::fabs(v[i]);
      powers += std::exp(static_cast<double>(v[i]));
      ASSERT_NEAR(sums[i], sum, 1e-5 * size) << GetParam() << " at " << i;
      if (!all_cases()) continue;
      ASSERT_NEAR(found[1].span<const float>()[i], std::log(powers), 1e-5) << GetParam() << " at " << i;
    }
  }
}

// More blocks of elements than a group scans at once.
TEST_P(ScanTest, CountsAndRepeats) {
  if (!all_cases()) GTEST_SKIP() << "TERN_TEST_FULL=1 runs it";
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has everything";
  constexpr std::int64_t kCount = 70000, kSlices = 1500;
  TestProgram p;
  const auto found = [&] { return attr(AttrKey::symbols, p.program().pool.new_symbol("u", 0, kNoBound)); };
  const ValueId x = p.input(DType::i64, {Dim(kCount)}), mask = p.input(DType::boolean, {Dim(kCount)}),
                slices = p.input(DType::i64, {Dim(kSlices)}), repeats = p.input(DType::i64, {Dim(kSlices)});
  p.output(p.b().add(Op::masked_select, {x, mask}, {found()}));
  p.output(p.b().add(Op::nonzero, {mask}, {found()}));
  p.output(p.b().add(Op::repeat_interleave, {slices, repeats}, {attr(AttrKey::axis, Dim(0)), found()}));
  Tensor each(DType::i64, {kCount}), chosen(DType::boolean, {kCount}), slice(DType::i64, {kSlices}),
      times(DType::i64, {kSlices});
  std::vector<std::int64_t> selected, repeated;
  for (std::int64_t i = 0; i < kCount; ++i) {
    const bool is_chosen = i * i % 11 < 4 || i == kCount - 1;
    each.span<std::int64_t>()[static_cast<std::size_t>(i)] = 3 * i;
    chosen.span<bool>()[static_cast<std::size_t>(i)] = is_chosen;
    if (is_chosen) selected.push_back(i);
  }
  for (std::int64_t i = 0; i < kSlices; ++i) {
    slice.span<std::int64_t>()[static_cast<std::size_t>(i)] = i;
    times.span<std::int64_t>()[static_cast<std::size_t>(i)] = i * 7 % 4;
    for (std::int64_t n = 0; n < i * 7 % 4; ++n) repeated.push_back(i);
  }
  Session s(p.model().prepare(options_on(GetParam())));
  const std::vector<Tensor> y = s.run({each, chosen, slice, times});
  const auto numbers_of = [](const Tensor& t) {
    const std::span<const std::int64_t> v = t.span<const std::int64_t>();
    return std::vector<std::int64_t>(v.begin(), v.end());
  };
  EXPECT_EQ(numbers_of(y[1]), selected);
  for (std::int64_t& i : selected) i *= 3;
  EXPECT_EQ(numbers_of(y[0]), selected);
  EXPECT_EQ(numbers_of(y[2]), repeated);
}

}  // namespace
}  // namespace tern
