// Attention run by cuDNN in a session: accepted nodes, and results against sums of doubles.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <tern/graph.h>
#include <tern/tern.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>

#include "tests/gpu/libraries/attention_call.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using namespace testing;

constexpr float kHidden = -std::numeric_limits<float>::infinity();

const char* device() {
  return std::getenv("TERN_TEST_NEEDS");
}
bool is_cuda() {
  return std::string(device()) == "cuda";
}

std::uint64_t launches() {
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  auto* const count = reinterpret_cast<std::uint64_t (*)(const char*)>(
      driver == nullptr ? nullptr : dlsym(driver, "tern_emulator_launches"));
  return count == nullptr ? 0 : count(stand_in::kAttentionKernel);
}

/// Values exact in float16 and bfloat16, all in [-2, 2].
std::vector<float> numbers(std::int64_t count, unsigned seed) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) {
    seed = seed * 1664525 + 1013904223;
    all.push_back(static_cast<float>(static_cast<int>(seed >> 24) % 17 - 8) / 4);
  }
  return all;
}

struct Case {
  DType dtype = DType::f16;
  std::int64_t batch = 2, heads = 4, groups = 4, queries = 3, keys = 5, width = 8;
  bool is_causal = false;
  std::optional<double> scale = {};
  /// Mask of the scores, as float32: visible keys are 1 in a boolean mask.
  Dims mask_shape = {};
  std::vector<float> mask = {};
  DType mask_dtype = DType::boolean;
  bool is_permuted = false;       ///< operands are stored as [batch, rows, heads, width]
  std::int64_t first_column = 0;  ///< start of q, k and v inside wider tensors

  [[nodiscard]] std::vector<std::int64_t> sizes(std::int64_t h, std::int64_t rows) const {
    const std::int64_t columns = width + first_column * 16;
    return is_permuted ? std::vector<std::int64_t>{batch, rows, h, columns}
                       : std::vector<std::int64_t>{batch, h, rows, columns};
  }
  [[nodiscard]] double element_of(const std::vector<float>& x, std::int64_t h, std::int64_t rows, std::int64_t b,
                                  std::int64_t head, std::int64_t row, std::int64_t d) const {
    const std::int64_t columns = width + first_column * 16;
    const std::int64_t plane = is_permuted ? (b * rows + row) * h + head : (b * h + head) * rows + row;
    return static_cast<double>(x[static_cast<std::size_t>(plane * columns + d + first_column)]);
  }
};

std::unique_ptr<Session>
    plugin_session;  // destroyed after all objects that the plugin made since the start of the process

class AttentionTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device() == nullptr) GTEST_SKIP() << "TERN_TEST_NEEDS names no device";
  }
  void TearDown() override { unsetenv("TERN_STAND_IN_FAILS"); }

  static Model model(const Case& c) {
    TestProgram p;
    const auto operand = [&](std::int64_t h, std::int64_t rows) {
      Dims shape;
      for (const std::int64_t n : c.sizes(h, rows)) shape.push_back(Dim(n));
      ValueId v = p.b().cast(p.input(DType::f32, shape), c.dtype);
      if (c.first_column != 0) v = p.b().slice(v, 3, Dim(c.first_column), Dim(c.width));
      return c.is_permuted ? p.b().transpose(v, 1, 2) : v;
    };
    std::vector<ValueId> inputs = {operand(c.heads, c.queries), operand(c.groups, c.keys), operand(c.groups, c.keys)};
    if (!c.mask.empty()) inputs.push_back(p.b().cast(p.input(DType::f32, c.mask_shape), c.mask_dtype));
    std::vector<Attr> attributes;
    if (c.is_causal) attributes.push_back(attr(AttrKey::causal, Dim(1)));
    if (c.scale) attributes.push_back(attr_number(AttrKey::scale, *c.scale));
    p.output(p.b().cast(p.b().add(Op::attention, inputs, attributes), DType::f32));
    return p.model();
  }
  static std::vector<Tensor> inputs(const Case& c) {
    std::vector<Tensor> all;
    for (unsigned i = 0; i < 3; ++i) {
      const std::vector<std::int64_t> sizes = c.sizes(i == 0 ? c.heads : c.groups, i == 0 ? c.queries : c.keys);
      std::int64_t count = 1;
      for (const std::int64_t n : sizes) count *= n;
      all.push_back(floats(sizes, numbers(count, i + 1)));
    }
    if (c.mask.empty()) return all;
    std::vector<std::int64_t> sizes;
    for (const Dim& d : c.mask_shape) sizes.push_back(d.value());
    all.push_back(floats(sizes, c.mask));
    return all;
  }

  /// The mask's number for a score.
  static double mask_at(const Case& c, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j) {
    if (c.mask.empty()) return 0;
    const std::int64_t place[] = {b, h, i, j};
    std::int64_t at = 0;
    for (std::size_t a = 0; a < c.mask_shape.size(); ++a) {
      const std::int64_t size = c.mask_shape[a].value();
      at = at * size + (size == 1 ? 0 : place[a + 4 - c.mask_shape.size()]);
    }
    const float m = c.mask[static_cast<std::size_t>(at)];
    return static_cast<double>(c.mask_dtype != DType::boolean ? m : m != 0 ? 0 : kHidden);
  }

  static std::vector<double> expected(const Case& c) {
    const std::vector<Tensor> x = inputs(c);
    const std::vector<float> q = values_of(x[0]), k = values_of(x[1]), v = values_of(x[2]);
    const double scale = c.scale.value_or(1 / std::sqrt(static_cast<double>(c.width)));
    std::vector<double> all;
    for (std::int64_t b = 0; b < c.batch; ++b)
      for (std::int64_t h = 0; h < c.heads; ++h)
        for (std::int64_t i = 0; i < c.queries; ++i) {
          const std::int64_t group = h / (c.heads / c.groups);
          std::vector<double> scores;
          double top = kHidden, total = 0;
          for (std::int64_t j = 0; j < c.keys; ++j) {
            double sum = 0;
            for (std::int64_t d = 0; d < c.width; ++d)
              sum +=
                  c.element_of(q, c.heads, c.queries, b, h, i, d) * c.element_of(k, c.groups, c.keys, b, group, j, d);
            // Sums of scores and masks are float32: the lowest numbers swallow scores.
            sum = static_cast<float>(sum * scale + mask_at(c, b, h, i, j));
            scores.push_back(c.is_causal && j > i ? static_cast<double>(kHidden) : sum);
            top = std::max(top, scores.back());
          }
          for (double& s : scores) total += s = top == static_cast<double>(kHidden) ? 0 : std::exp(s - top);
          for (std::int64_t d = 0; d < c.width; ++d) {
            double sum = 0;
            for (std::int64_t j = 0; j < c.keys; ++j)
              sum += scores[static_cast<std::size_t>(j)] * c.element_of(v, c.groups, c.keys, b, group, j, d);
            all.push_back(total == 0 ? 0 : sum / total);
          }
        }
    return all;
  }

  /// Runs the session twice; returns cuDNN's calls in the second run.
  static std::uint64_t check(const Case& c, PrepareOptions options = {}) {
    options.device = device();
    Session session(model(c).prepare(options));
    session.run(inputs(c));
    const std::uint64_t before = launches();
    const std::vector<float> result = values_of(session.run(inputs(c))[0]);
    const std::vector<double> right = expected(c);
    EXPECT_EQ(result.size(), right.size());
    const double rounding = c.dtype == DType::bf16 ? 0.01 : c.dtype == DType::f16 ? 0.002 : 1e-5;
    for (std::size_t i = 0; i < right.size(); ++i)
      EXPECT_NEAR(static_cast<double>(result[i]), right[i], rounding * (std::abs(right[i]) + 1)) << i;
    return launches() - before;
  }
};

TEST_F(AttentionTest, TypesHeadsAndWidths) {
  const std::uint64_t one = is_cuda() ? 1 : 0;
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(check({.dtype = dtype}), one);
    EXPECT_EQ(check({.dtype = dtype, .groups = 2, .scale = 0.5}), one);
    EXPECT_EQ(check({.dtype = dtype, .groups = 1, .queries = 1, .keys = 19, .width = 24}), one);
    EXPECT_EQ(check({.dtype = dtype, .queries = 7, .keys = 5, .is_causal = true}), one);
    EXPECT_EQ(check({.dtype = dtype, .queries = 3, .keys = 9, .is_causal = true}), one);
  }
  EXPECT_EQ(check({.dtype = DType::f32}), 0u);
  EXPECT_EQ(check({.width = 12}), 0u) << "rows of 24 bytes";
}

TEST_F(AttentionTest, LayoutsAndAddresses) {
  const std::uint64_t one = is_cuda() ? 1 : 0;
  EXPECT_EQ(check({.groups = 2, .is_permuted = true}), one);
  // Rows begin at multiples of 16 bytes, but for a column: Tern copies the operands.
  EXPECT_EQ(check({.groups = 2, .first_column = 1}), one);
  EXPECT_EQ(check({.is_causal = true, .is_permuted = true, .first_column = 2}), one);
  EXPECT_EQ(check({.first_column = 8}), one);
}

TEST_F(AttentionTest, Masks) {
  const std::uint64_t one = is_cuda() ? 1 : 0;
  // The first query sees no key, the second query only the last key.
  const std::vector<float> seen = {0, 0, 0, 0, 0, /**/ 0, 0, 0, 0, 1, /**/ 1, 0, 1, 1, 0};
  EXPECT_EQ(check({.mask_shape = {3, 5}, .mask = seen}), one);
  EXPECT_EQ(check({.dtype = DType::bf16, .groups = 2, .is_causal = true, .mask_shape = {1, 1, 3, 5}, .mask = seen}),
            one);
  EXPECT_EQ(check({.mask_shape = {2, 1, 1, 5}, .mask = {0, 0, 1, 1, 1, /**/ 0, 0, 0, 0, 0}}), one);
  EXPECT_EQ(
      check({.heads = 2, .groups = 2, .mask_shape = {2, 2, 1, 5}, .mask = {0,      0, 1, 1, 1, /**/ 0, 0, 0, 0, 0,
                                                                           /**/ 1, 1, 1, 1, 1, /**/ 1, 0, 0, 0, 1}}),
      one);
  EXPECT_EQ(check({.queries = 1, .mask_shape = {2, 4, 1, 5}, .mask = numbers(40, 9)}), one);
  // Scores beyond the lowest number of float16.
  for (const DType dtype : {DType::f16, DType::bf16}) {
    EXPECT_EQ(check({.dtype = dtype, .scale = 1e5, .mask_shape = {3, 5}, .mask = seen}), one);
    EXPECT_EQ(check({.dtype = dtype,
                     .scale = 1e5,
                     .mask_shape = {5},
                     .mask = {0.5, kHidden, 0, kHidden, std::ldexp(-3.0f, -24)},
                     .mask_dtype = dtype}),
              one);
  }
  for (const DType dtype : {DType::f16, DType::bf16}) {
    for (const DType mask : {dtype, DType::f32}) {
      const float lowest = mask == DType::f16    ? -65504.0f
                           : mask == DType::bf16 ? -3.3895313892515355e38f
                                                 : std::numeric_limits<float>::lowest();
      // Hidden keys beside the lowest finite values, which stay visible.
      const std::vector<float> added = {kHidden, lowest,  0.5f,         -1,      kHidden, /**/ lowest, kHidden, lowest,
                                        kHidden, kHidden, /**/ kHidden, kHidden, kHidden, kHidden,     kHidden};
      EXPECT_EQ(check({.dtype = dtype, .groups = 1, .mask_shape = {3, 5}, .mask = added, .mask_dtype = mask}), one);
      EXPECT_EQ(check({.dtype = dtype, .is_causal = true, .mask_shape = {3, 5}, .mask = added, .mask_dtype = mask}),
                one);
    }
  }
  EXPECT_EQ(check({.dtype = DType::bf16, .mask_shape = {3, 5}, .mask = numbers(15, 4), .mask_dtype = DType::f16}), 0u);
}

TEST_F(AttentionTest, ReproducibleRunsTakeNone) {
  PrepareOptions options;
  options.reproducible = true;
  EXPECT_EQ(check({}, options), 0u);
}

TEST_F(AttentionTest, AGraphKeepsIt) {
  const Case c{
      .groups = 2, .is_causal = true, .mask_shape = {3, 5}, .mask = {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0}};
  PrepareOptions options;
  options.device = device();
  Session session(model(c).prepare(options), Stream(device()));
  std::vector<Tensor> x = inputs(c);
  Graph graph;
  graph.capture_begin(session.stream());
  const std::vector<Tensor>& outputs = session.run(x);
  graph.capture_end();
  const std::uint64_t before = launches();
  for (int i = 0; i < 3; ++i) {
    Case now = c;
    now.mask[static_cast<std::size_t>(i)] = 1;
    std::ranges::copy(now.mask, x[3].span<float>().begin());
    graph.replay();
    session.stream().synchronize();
    const std::vector<float> result = values_of(outputs[0]);
    const std::vector<double> right = expected(now);
    for (std::size_t k = 0; k < right.size(); ++k) EXPECT_NEAR(static_cast<double>(result[k]), right[k], 0.005) << k;
  }
  EXPECT_EQ(launches() - before, is_cuda() ? 3u : 0u);
}

TEST_F(AttentionTest, ASessionMayEndWithTheProcess) {
  PrepareOptions options;
  options.device = device();
  plugin_session = std::make_unique<Session>(model({}).prepare(options));
  EXPECT_FALSE(values_of(plugin_session->run(inputs({}))[0]).empty());
}

TEST_F(AttentionTest, PlansThatWereCompiledAreKept) {
  if (!is_cuda()) GTEST_SKIP() << "by cuDNN alone";
  const char* const given = std::getenv("TERN_CACHE");
  const std::string cache = given == nullptr ? "" : given;
  char folder[] = "/tmp/tern_plans_XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  setenv("TERN_CACHE", folder, 1);
  EXPECT_EQ(check({.queries = 4, .keys = 7}), 1u);
  setenv("TERN_STAND_IN_FAILS", "of a heuristic", 1);
  EXPECT_EQ(check({.queries = 4, .keys = 7}), 1u);
  EXPECT_EQ(check({.queries = 4, .keys = 6}), 0u) << "another one";
  std::filesystem::remove_all(folder);
  EXPECT_EQ(check({.queries = 4, .keys = 7}), 0u) << "the disk was emptied";
  unsetenv("TERN_STAND_IN_FAILS");
  EXPECT_EQ(check({.queries = 4, .keys = 7}), 1u);
  std::filesystem::remove_all(folder);
  given == nullptr ? unsetenv("TERN_CACHE") : setenv("TERN_CACHE", cache.c_str(), 1);
}

TEST_F(AttentionTest, EveryFunctionMayFail) {
  if (!is_cuda()) GTEST_SKIP() << "by cuDNN alone";
  const Case c{.is_causal = true, .mask_shape = {3, 5}, .mask = {0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 0}};
  EXPECT_EQ(check(c), 1u);
  for (const char* function :
       {"BackendCreateDescriptor", "BackendSetAttribute", "BackendFinalize", "BackendGetAttribute"}) {
    setenv("TERN_STAND_IN_FAILS", function, 1);
    EXPECT_EQ(check(c), 0u) << function;
  }
  unsetenv("TERN_STAND_IN_FAILS");
  setenv("TERN_DEVICE_GRAPHS", "0", 1);  // each run calls the library
  PrepareOptions options;
  options.device = device();
  Session session(model(c).prepare(options));
  const std::vector<float> result = values_of(session.run(inputs(c))[0]);
  unsetenv("TERN_DEVICE_GRAPHS");
  for (const char* function : {"SetStream", "BackendCreateDescriptor", "BackendSetAttribute", "BackendExecute"}) {
    setenv("TERN_STAND_IN_FAILS", function, 1);
    try {
      session.run(inputs(c));
      ADD_FAILURE() << function << " failed";
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("cuDNN"), std::string::npos) << e.what();
    }
    unsetenv("TERN_STAND_IN_FAILS");
    EXPECT_EQ(values_of(session.run(inputs(c))[0]), result) << function;
  }
}

}  // namespace
}  // namespace tern
