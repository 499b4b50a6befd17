// Pools with whole planes as windows, on every device: the CPU's bits in reproducible mode; else, where devices with
// groups reduce planes by rows, the mean in double precision and the largest element.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "schema/window_kinds.h"
#include "tests/devices/same_bits.h"

namespace tern {
namespace {

using namespace testing;

class PoolsTest : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Devices, PoolsTest, ::testing::ValuesIn(all_devices()), name_of_case);

struct PoolsCase {
  const char* name;
  DType type;
  Sizes x;                ///< batch, channels and one to three axes
  Sizes adaptive_sizes;   ///< sizes of an adaptive pool
  Sizes kernel = {};      ///< kernel of other pools, strides of one
  std::int64_t pads = 0;  ///< before and after each axis
  std::int64_t divisor = 0;
  bool channels_last = false;
};

const PoolsCase kCases[] = {
    {"planes of 7 x 7", DType::f32, {2, 37, 7, 7}, {1, 1}},
    {"windows of a plane", DType::f32, {1, 20, 7, 9}, {}, {7, 9}},
    {"padded windows of a plane's size", DType::f32, {1, 4, 5, 5}, {}, {5, 5}, 2},
    {"another divisor", DType::f32, {1, 4, 5, 5}, {}, {5, 5}, 0, 7},
    {"planes of 7 x 7, bfloat16", DType::bf16, {1, 40, 7, 7}, {1, 1}},
    {"few large planes", DType::f32, {1, 3, 61, 67}, {1, 1}},
    {"channels last", DType::f32, {1, 70, 8, 8}, {1, 1}, {}, 0, 0, true},
    {"columns", DType::f32, {1, 3, 40, 50}, {1, 50}},
    {"rows", DType::f32, {1, 3, 40, 50}, {40, 1}},
    {"halves", DType::f32, {1, 3, 40, 50}, {2, 1}},
    {"one axis", DType::f16, {2, 5, 300}, {1}},
    {"three axes", DType::f32, {2, 5, 4, 5, 6}, {1, 1, 1}},
    {"planes of one element", DType::f32, {2, 5, 1, 1}, {1, 1}},
};

Dims dims(const Sizes& sizes) {
  return {sizes.begin(), sizes.end()};
}

ValueId pool(TestProgram& p, const PoolsCase& c, ValueId x, PoolKind kind) {
  const Attr of_kind = attr(AttrKey::kind, Dim(static_cast<std::int64_t>(kind)));
  if (c.kernel.empty())
    return p.b().add_all(Op::adaptive_pool, {x}, {of_kind, attr(AttrKey::sizes, dims(c.adaptive_sizes))})[0];
  const std::size_t n = c.kernel.size();
  const Dims ones(n, Dim(1)), pads(n, Dim(c.pads));
  std::vector<Attr> attrs = {of_kind, attr(AttrKey::kernel, dims(c.kernel)), attr(AttrKey::strides, ones),
                             attr(AttrKey::dilations, ones), attr(AttrKey::before, pads)};
  if (kind == PoolKind::avg) attrs.push_back(attr(AttrKey::count_pads, Dim(1)));
  if (kind == PoolKind::avg && c.divisor != 0) attrs.push_back(attr(AttrKey::divisor, Dim(c.divisor)));
  return p.b().add_all(Op::pool, {x}, attrs)[0];
}

/// The mean and the largest element of each case's windows, two results each.
struct Pools {
  TestProgram p;
  std::vector<std::string> names;
  std::vector<Tensor> inputs;
  std::vector<PoolsCase> cases;
  Pools() {
    for (const PoolsCase& c : some_of<PoolsCase>(kCases, 4)) {
      cases.push_back(c);
      Sizes sizes = c.x;
      if (c.channels_last) sizes = {c.x[0], c.x[2], c.x[3], c.x[1]};
      ValueId x = p.input(c.type, dims(sizes));
      if (c.channels_last) x = p.b().permute(x, {0, 3, 1, 2});
      inputs.push_back(numbers(c.type, sizes, inputs.size() + 1));
      for (const PoolKind kind : {PoolKind::avg, PoolKind::max}) {
        p.output(pool(p, c, x, kind));
        names.push_back(std::string(c.name) + (kind == PoolKind::max ? ", max" : ", mean"));
      }
    }
  }
};

TEST_P(PoolsTest, OfPlanesHaveTheDefinitionsBits) {
  if (!has_other_forms(GetParam())) GTEST_SKIP() << "an item has a window";
  if (reference_of(GetParam()).empty()) GTEST_SKIP() << "no device without float64 to compare with";
  Pools pools;
  expect_same_bits(GetParam(), pools.p, pools.names, pools.inputs);
}

/// Accumulates the elements of a window.
struct Window {
  double sum = 0, top = -std::numeric_limits<double>::infinity();
  std::int64_t count = 0;
  void add(double v) {
    sum += v;
    top = v > top || std::isnan(v) ? v : top;
    ++count;
  }
};

/// The windows of a case without padding; each axis is divided evenly, or not at all.
std::vector<Window> windows_of(const PoolsCase& c, const std::vector<double>& x) {
  Sizes wanted = c.adaptive_sizes;
  if (wanted.empty()) wanted.assign(c.kernel.size(), 1);
  const std::int64_t planes = c.x[0] * c.x[1];
  std::int64_t size = 1, results = planes;
  for (std::size_t i = 2; i < c.x.size(); ++i) size *= c.x[i];
  for (const std::int64_t n : wanted) results *= n;
  std::vector<Window> windows(static_cast<std::size_t>(results));
  for (std::int64_t i = 0; i < planes * size; ++i) {
    std::int64_t to = i / size, rest = i % size, left = size;
    for (std::size_t a = 0; a < wanted.size(); ++a) {
      left /= c.x[a + 2];
      to = to * wanted[a] + rest / left * wanted[a] / c.x[a + 2];
      rest %= left;
    }
    const std::int64_t at = c.channels_last ? i % size * c.x[1] + i / size : i;  // a batch of one
    windows[static_cast<std::size_t>(to)].add(x[static_cast<std::size_t>(at)]);
  }
  return windows;
}

TEST_P(PoolsTest, OfPlanesAreMeansAndExtremes) {
  Pools pools;
  Session s(pools.p.model().prepare(options_on(GetParam())));
  pools.inputs[0].span<float>()[51] = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Tensor> found = s.run(pools.inputs);
  for (std::size_t i = 0; i < pools.cases.size(); ++i) {
    const PoolsCase& c = pools.cases[i];
    if (c.pads != 0) continue;  // several windows
    SCOPED_TRACE(c.name);
    const std::vector<Window> windows = windows_of(c, doubles(pools.inputs[i]));
    const std::vector<double> means = doubles(found[2 * i]), tops = doubles(found[2 * i + 1]);
    ASSERT_EQ(means.size(), windows.size());
    ASSERT_EQ(tops.size(), windows.size());
    for (std::size_t k = 0; k < windows.size(); ++k) {
      const Window& w = windows[k];
      const double mean = w.sum / static_cast<double>(c.divisor != 0 ? c.divisor : w.count);
      const double step = c.type == DType::bf16 ? 0x1p-8 : c.type == DType::f16 ? 0x1p-11 : 0;
      if (std::isnan(mean)) {
        EXPECT_TRUE(std::isnan(means[k]) && std::isnan(tops[k])) << k;
      } else {
        ASSERT_NEAR(means[k], mean, std::fabs(mean) * step + 1e-5) << k;
        ASSERT_EQ(tops[k], w.top) << k;
      }
    }
  }
}

}  // namespace
}  // namespace tern
