// Sorts, top-k and their users, on every device, against the CPU's stable sort: sizes around block sizes, ties, NaN,
// infinities, zeros of both signs, empty lines, lines of any strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "dtypes/cast.h"
#include "dtypes/storage.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class SortTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, SortTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// Values of which every `ties`-th equals an earlier value, with some special values.
Tensor mixed(DType t, const Sizes& sizes, std::uint64_t ties) {
  Tensor x = numbers(t, sizes, 11);
  visit_dtype(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> v = x.span<T>();
    const double special[] = {std::numeric_limits<double>::quiet_NaN(), 0.0, -0.0,
                              std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (std::size_t i = 0; i < v.size(); ++i) {
      if (i % ties == ties - 1) v[i] = v[i / 2];
      if (is_floating(t) && i % 13 == 5) v[i] = cast_to<T>(std::complex<double>(special[i / 13 % 5]));
    }
  });
  return x;
}

struct SortCase {
  DType dtype;
  Sizes sizes;
  int axis;
  std::int64_t k;
};

void add_ops(TestProgram& p, ValueId x, const SortCase& c, std::vector<std::string>& names) {
  const auto output = [&](const std::vector<ValueId>& values, const std::string& name) {
    for (const ValueId v : values) {
      p.output(v);
      names.push_back(name);
    }
  };
  const Attr axis = attr(AttrKey::axis, Dim(c.axis));
  constexpr std::int64_t kFlags[] = {1, 0};
  for (const std::int64_t flag : some_of<std::int64_t>(kFlags, 1)) {
    const std::string end = flag != 0 ? ", falling" : "";
    output(p.b().add_all(Op::sort, {x}, {axis, attr(AttrKey::descending, Dim(flag)), attr(AttrKey::stable, Dim(1))}),
           "sort" + end);
    output(p.b().add_all(Op::topk, {x}, {axis, attr(AttrKey::largest, Dim(flag)), attr(AttrKey::k, Dim(c.k))}),
           "topk" + end);
  }
}

/// Medians, modes and k-th elements.
void add_selections(TestProgram& p, ValueId x, const SortCase& c, std::vector<std::string>& names) {
  constexpr std::int64_t kKinds[] = {2, 4, 3, 5};
  for (const std::int64_t kind : some_of<std::int64_t>(kKinds, 2)) {
    const std::vector<ValueId> found = p.b().add_all(Op::select_reduce, {x},
                                                     {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::axis, Dim(c.axis)),
                                                      attr(AttrKey::keepdims, Dim(0)), attr(AttrKey::k, Dim(c.k))});
    for (const ValueId v : found) {
      p.output(v);
      names.push_back("selection " + std::to_string(kind));
    }
  }
}

TEST_P(SortTest, SelectsWhatTheDefinitionDoes) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a line";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const SortCase cases[] = {{DType::f32, {4, 40}, 1, 7},
                            {DType::f32, {4, 1500}, 1, 70},
                            {DType::i64, {3, 40}, 1, 7},
                            {DType::bf16, {130, 2}, 0, 130}};
  for (const SortCase& c : some_of<SortCase>(cases, 1)) {
    SCOPED_TRACE(name_of(c.dtype));
    TestProgram p;
    std::vector<std::string> names;
    for (int i = 0; i < 3; ++i) add_selections(p, p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end())), c, names);
    // Many equals, few, and hardly any.
    expect_same_bits(GetParam(), p, names,
                     {mixed(c.dtype, c.sizes, 3), numbers(c.dtype, c.sizes, 5), mixed(c.dtype, c.sizes, 1000)});
  }
}

TEST_P(SortTest, UniqueAndNmsPutTheirOperandsInOrder) {
  if (!all_cases()) GTEST_SKIP() << "TERN_TEST_FULL=1 runs it";
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  for (const DType t : {DType::f32, DType::i64}) {
    TestProgram p;
    std::vector<std::string> names;
    const auto found = [&] { return attr(AttrKey::symbols, p.program().pool.new_symbol("u", 0, kNoBound)); };
    const ValueId x = p.b().transpose(p.input(t, {Dim(3), Dim(700)}), 0, 1);
    for (const ValueId v : p.b().add_all(Op::unique, {x}, {found()})) {
      p.output(v);
      names.emplace_back("unique");
    }
    std::vector<Tensor> inputs{mixed(t, {3, 700}, 3)};
    if (is_floating(t)) {
      const ValueId boxes = p.input(t, {Dim(90), Dim(4)}), scores = p.input(t, {Dim(90)});
      p.output(p.b().add(Op::nms, {boxes, scores}, {found(), {AttrKey::value, std::vector<double>{0.5}}}));
      names.emplace_back("nms");
      inputs.push_back(numbers(t, {90, 4}, 3));
      inputs.push_back(mixed(t, {90}, 3));
    }
    expect_same_bits(GetParam(), p, names, inputs);
  }
}

void expect_sorted(const std::string& device, const SortCase& c) {
  SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[static_cast<std::size_t>(c.axis)]));
  TestProgram p;
  std::vector<std::string> names;
  add_ops(p, p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end())), c, names);
  expect_same_bits(device, p, names, {mixed(c.dtype, c.sizes, 3)});
}

TEST_P(SortTest, KeepsEqualElementsInOrder) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const SortCase cases[] = {
      {DType::f32, {70, 9}, 1, 3},        {DType::f32, {0, 5}, 1, 2},      {DType::f32, {1, 5000}, 1, 50},
      {DType::f32, {2, 1025}, 1, 300},    {DType::i64, {2100, 3}, 0, 700}, {DType::bf16, {3, 1024}, 1, 40},
      {DType::f32, {5, 129}, 1, 129},     {DType::boolean, {3, 77}, 1, 5}, {DType::u8, {2, 4097}, 1, 4097},
      {DType::f64, {3, 1000}, 1, 10},     {DType::f16, {1, 3000}, 1, 900}, {DType::i32, {2, 33}, 1, 1},
      {DType::f32, {1, 300000}, 1, 256},  {DType::i8, {4, 128, 5}, 1, 64}, {DType::u64, {2, 2049}, 1, 2000},
      {DType::f32, {1, 70000}, 1, 40000}, {DType::i16, {1, 1}, 1, 1},      {DType::f32, {90, 2}, 1, 1},
  };
  for (const SortCase& c : some_of<SortCase>(cases, 2)) {
    if (c.dtype != DType::f64 || has_double(GetParam())) expect_sorted(GetParam(), c);
  }
}

/// A program without other sorts, so that its scratch memory is clean: discarded elements of a run are never read.
/// Zeros in scratch would rank above all elements.
TEST_P(SortTest, ReadsNothingBeyondWhatIsKept) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  TestProgram p;
  const std::vector<ValueId> found =
      p.b().add_all(Op::topk, {p.input(DType::f32, {Dim(1), Dim(5000)})},
                    {attr(AttrKey::axis, Dim(1)), attr(AttrKey::largest, Dim(1)), attr(AttrKey::k, Dim(300))});
  for (const ValueId v : found) p.output(v);
  Tensor x = numbers(DType::f32, {1, 5000}, 11);
  for (float& v : x.span<float>()) v -= 5;
  expect_same_bits(GetParam(), p, {"topk", "its places"}, {x});
}

TEST_P(SortTest, MayHaveAnyStrides) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has an element";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  TestProgram p;
  std::vector<std::string> names;
  const ValueId x = p.input(DType::f32, {Dim(6), Dim(2600)});
  const SortCase c{DType::f32, {6, 1300}, 1, 20};
  add_ops(p, p.b().slice(x, 1, Dim(0), Dim(1300), 2), c, names);
  if (all_cases()) add_ops(p, p.b().permute(p.b().reshape(x, {Dim(6), Dim(1300), Dim(2)}), {2, 1, 0}), c, names);
  expect_same_bits(GetParam(), p, names, {mixed(DType::f32, {6, 2600}, 3)});
}

}  // namespace
}  // namespace tern
