// Row-wise kernels (kernels/portable/text/row_parts.inc), on every device, against the CPU's reproducible kernels: the
// same bits for full parts, partial parts, cached rows and overlong rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <span>

#include "dtypes/cast.h"
#include "dtypes/storage.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class RowsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, RowsTest, ::testing::ValuesIn(all_devices()), name_of_case);

/// Row 1 has a NaN, row 2 infinities and equal extremes, if present.
Tensor rows_with_extremes(DType t, const Sizes& sizes) {
  Tensor x = numbers(t, sizes, 7);
  const std::int64_t length = sizes.back(), rows = x.numel() / length;
  visit_dtype(t, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const std::span<T> v = x.span<T>();
    const auto put = [&](std::int64_t row, std::int64_t k, double value) {
      if (row < rows) v[static_cast<std::size_t>(row * length + k % length)] = cast_to<T>(std::complex<double>(value));
    };
    put(1, length - 3, std::numeric_limits<double>::quiet_NaN());
    put(2, 33, -std::numeric_limits<double>::infinity());
    put(3, length - 1, 100);
    put(3, 47, 100);
    put(3, length / 2, -100);
    put(3, 5, -100);
  });
  return x;
}

/// Every op along the last axis of x.
void add_ops(TestProgram& p, ValueId x, std::vector<std::string>& names) {
  Builder& b = p.b();
  const DType t = b.dtype(x);
  const int last = b.rank(x) - 1;
  const auto output = [&](const char* name, ValueId v) {
    p.output(v);
    names.emplace_back(name);
  };
  const auto reduce = [&](const char* kind, DType out) { output(kind, b.reduce(x, kind, {last}, false, out)); };
  const DType wide = is_integral(t) ? DType::i64 : t;
  reduce("sum", wide);
  reduce("prod", wide);
  if (is_complex(t)) return reduce("var", t == DType::c64 ? DType::f32 : DType::f64);
  reduce("max", t);
  reduce("min", t);
  reduce("argmax", DType::i64);
  reduce("argmin", DType::i64);
  for (const std::int64_t kind : {0, 1}) {
    const std::vector<ValueId> found =
        b.add_all(Op::select_reduce, {x},
                  {attr(AttrKey::kind, Dim(kind)), attr(AttrKey::axis, Dim(last)), attr(AttrKey::keepdims, Dim(0))});
    output(kind == 0 ? "the largest" : "the smallest", found[0]);
    output(kind == 0 ? "its place" : "its place, of the smallest", found[1]);
  }
  reduce("any", DType::boolean);
  reduce("all", DType::boolean);
  if (!is_floating(t)) return;
  reduce("mean", t);
  reduce("var", t);
  for (const std::int64_t log : {0, 1}) {
    output(log != 0 ? "log_softmax" : "softmax",
           b.add(Op::softmax, {x}, {attr(AttrKey::axis, Dim(last)), attr(AttrKey::log, Dim(log))}));
  }
  const std::int64_t length = b.size(x, last).value();
  const ValueId weight = p.input(t, {Dim(length)}), bias = p.input(t, {Dim(length)});
  const std::vector<double> epsilon{1e-5};
  Node norm;
  norm.op = Op::layer_norm;
  norm.inputs = {x, weight, bias};
  norm.set(AttrKey::k, Dims{Dim(1)});
  norm.set(AttrKey::epsilon, epsilon);
  const std::vector<ValueId> y = b.add(norm);
  output("layer_norm", y[0]);
  output("mean of layer_norm", y[1]);
  output("rstd of layer_norm", y[2]);
  norm.op = Op::rms_norm;
  norm.inputs = {x, weight};
  output("rms_norm", b.add(norm)[0]);
}

struct RowsCase {
  DType dtype;
  Sizes sizes;
};

TEST_P(RowsTest, HaveTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a row";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const RowsCase some[] = {
      {DType::f32, {9, 100}}, {DType::f32, {4, 1027}}, {DType::bf16, {4, 1027}}, {DType::f32, {3, 8197}}};
  const RowsCase all[] = {
      {DType::f32, {9, 100}},  {DType::f32, {5, 512}},  {DType::f32, {4, 1027}}, {DType::f32, {4, 4097}},
      {DType::f32, {3, 8197}}, {DType::f64, {4, 1027}}, {DType::f16, {4, 1027}}, {DType::bf16, {4, 1027}},
      {DType::i64, {4, 1027}}, {DType::u8, {4, 1027}},  {DType::c64, {4, 1027}}, {DType::f32, {2, 65539}},
      {DType::f32, {150, 49}}, {DType::f16, {7, 16}},   {DType::i64, {5, 63}},   {DType::f32, {1, 140000}},
      {DType::f64, {3, 8197}}, {DType::u8, {3, 8197}},
  };
  // Emulated devices compile for a minute.
  const std::span<const RowsCase> cases =
      std::getenv("TERN_TEST_FULL") == nullptr ? std::span<const RowsCase>(some) : all;
  for (const RowsCase& c : cases) {
    if (c.dtype == DType::f64 && !has_double(GetParam())) continue;
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[1]));
    TestProgram p;
    std::vector<std::string> names;
    std::vector<Tensor> inputs{rows_with_extremes(c.dtype, c.sizes)};
    add_ops(p, p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end())), names);
    while (inputs.size() < p.program().functions[0].inputs.size())
      inputs.push_back(numbers(c.dtype, {c.sizes[1]}, inputs.size()));
    expect_same_bits(GetParam(), p, names, inputs);
  }
}

TEST_P(RowsTest, MayHaveAnyStrides) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a row";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  constexpr std::int64_t kRows = 6, kLength = 2 * 700;
  TestProgram p;
  std::vector<std::string> names;
  const ValueId x = p.input(DType::f32, {Dim(kRows), Dim(kLength)});
  add_ops(p, p.b().slice(x, 1, Dim(0), Dim(kLength / 2), 2), names);
  add_ops(p, p.b().permute(p.b().reshape(x, {Dim(kRows), Dim(10), Dim(kLength / 10)}), {1, 0, 2}), names);
  add_ops(p, p.b().transpose(x, 0, 1), names);
  p.output(p.b().reduce(x, "sum", {0}, false, DType::f32));
  p.output(p.b().reduce(x, "sum", {0, 1}, false, DType::f32));
  names.insert(names.end(), {"sum of columns", "sum of all"});
  std::vector<Tensor> inputs{rows_with_extremes(DType::f32, {kRows, kLength})};
  for (const std::int64_t length : {kLength / 2, kLength / 10, kRows}) {
    inputs.push_back(numbers(DType::f32, {length}, 1));
    inputs.push_back(numbers(DType::f32, {length}, 2));
  }
  expect_same_bits(GetParam(), p, names, inputs);
}

TEST_P(RowsTest, MayBeGroupsOfChannels) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a row";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  struct Groups {
    DType dtype;
    Sizes sizes;
    std::int64_t groups;
  };
  const Groups cases[] = {
      {DType::f32, {2, 12, 7, 9}, 3}, {DType::bf16, {1, 6, 130}, 2}, {DType::f32, {1, 2, 180, 190}, 1}};
  for (const Groups& c : some_of<Groups>(cases, 1)) {
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[1]));
    TestProgram p;
    const ValueId x = p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end())), weight = p.input(c.dtype, {c.sizes[1]}),
                  bias = p.input(c.dtype, {c.sizes[1]});
    const int last = static_cast<int>(c.sizes.size()) - 1;
    const ValueId layouts[] = {x, p.b().flip(x, {last})};
    for (const ValueId of : some_of<ValueId>(layouts, 1)) {
      for (const ValueId v :
           p.b().add_all(Op::group_norm, {of, weight, bias},
                         {attr(AttrKey::groups, Dim(c.groups)), {AttrKey::epsilon, std::vector<double>{1e-5}}}))
        p.output(v);
    }
    std::vector<std::string> names = {"y", "mean", "rstd", "y of another layout", "its mean", "its rstd"};
    names.resize(p.program().functions[0].outputs.size());
    expect_same_bits(
        GetParam(), p, names,
        {numbers(c.dtype, c.sizes, 1), numbers(c.dtype, {c.sizes[1]}, 2), numbers(c.dtype, {c.sizes[1]}, 3)});
  }
}

/// Strided elements: neighbouring results have neighbouring elements.
TEST_P(RowsTest, MayBeColumns) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a row";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  const RowsCase cases[] = {
      {DType::f32, {1100, 37}}, {DType::bf16, {47, 19}}, {DType::i64, {2060, 5}}, {DType::c64, {600, 3}}};
  for (const RowsCase& c : some_of<RowsCase>(cases, 1)) {
    SCOPED_TRACE(std::string(name_of(c.dtype)) + " " + std::to_string(c.sizes[0]));
    TestProgram p;
    std::vector<std::string> names;
    const ValueId x = p.input(c.dtype, Dims(c.sizes.begin(), c.sizes.end()));
    const DType wide = is_integral(c.dtype) ? DType::i64 : c.dtype;
    std::vector<std::pair<const char*, DType>> kinds = {{"sum", wide}};
    if (!is_complex(c.dtype)) kinds.emplace_back("max", c.dtype);
    if (all_cases()) {
      kinds.emplace_back("prod", wide);
      if (!is_complex(c.dtype)) {
        kinds.emplace_back("min", c.dtype);
        for (const char* kind : {"any", "all"}) kinds.emplace_back(kind, DType::boolean);
      }
    }
    for (const auto& [kind, type] : kinds) {
      p.output(p.b().reduce(x, kind, {0}, false, type));
      names.emplace_back(kind);
    }
    expect_same_bits(GetParam(), p, names, {rows_with_extremes(c.dtype, {c.sizes[0], c.sizes[1]})});
  }
}

}  // namespace
}  // namespace tern
