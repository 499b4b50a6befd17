// Every algorithm of a node gives its definition's results, computed in double; a tuning applies only to the measured
// machine.
#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "dtypes/convert.h"
#include "exporter/rewrite.h"
#include "kernels/cpu/processor.h"
#include "kernels/cpu/products/tiles/rows.h"
#include "kernels/cpu/products/tiles/split_microkernel.h"
#include "runtime/pack.h"
#include "tests/bfloat16.h"
#include "tests/random_floats.h"
#include "tests/runtime/support.h"

namespace tern {
namespace {

using test::random_floats;
using testing::floats;
using testing::TestProgram;
using testing::values_of;
using Sizes = std::vector<std::int64_t>;

/// Algorithms taken, by node.
class AlgorithmsObserver : public PlanObserver {
 public:
  std::map<std::uint32_t, AlgorithmChoice> choices;

 private:
  void prepared(std::uint32_t, std::uint32_t number, const Kernel&, const KernelCall&,
                AlgorithmChoice choice) override {
    choices[number] = choice;
  }
};

struct AlgorithmsResult {
  std::vector<float> values;
  std::map<std::uint32_t, AlgorithmChoice> choices;
};

AlgorithmsResult run_of(const TestProgram& p, const Tensor& x, const PrepareOptions& options = {}) {
  AlgorithmsObserver observer;
  const auto prepared = prepare_program(p.model().program(), options, {.listeners = {.observer = &observer}});
  Session session((PreparedModel(prepared)));
  AlgorithmsResult r{values_of(session.run({x})[0]), {}};
  r.choices = observer.choices;
  return r;
}

/// Requests the algorithm for all nodes with several.
void ask_for(Program& program, AlgorithmChoice choice) {
  Tuning t{cpu::processor(), static_cast<std::uint32_t>(omp_get_max_threads()), {}};
  const auto& nodes = program.functions[0].nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].op == Op::convolution || nodes[i].op == Op::matmul)
      t.choices.push_back({0, i, std::string(name_of(choice))});
  }
  program.tunings = {t};
}

/// Packs weights for the algorithms, aligned to 64 bytes as in an archive.
void pack(TestProgram& p) {
  class Source : public ExtendableSource {
   public:
    using ExtendableSource::ExtendableSource;
    std::span<const std::byte> bytes(std::uint32_t storage) override {
      const auto from = ExtendableSource::bytes(storage);
      auto& copy = copies_[storage];
      if (copy.empty()) {
        copy.resize(from.size() + 64);
        std::ranges::copy(from, aligned(copy));
      }
      return {aligned(copy), from.size()};
    }

   private:
    static std::byte* aligned(std::vector<std::byte>& v) {
      return v.data() + (64 - reinterpret_cast<std::uintptr_t>(v.data()) % 64) % 64;
    }
    std::map<std::uint32_t, std::vector<std::byte>> copies_;
  };
  PackRecorder recorder = pack_weights(p.model().program(), {});
  Program& program = p.program();
  auto source = std::make_shared<Source>(program.source, static_cast<std::uint32_t>(program.storages.size()));
  program.packings.clear();
  for (auto& [name, bytes] : recorder.packed) {
    const std::uint64_t size = bytes.size();
    program.packings.push_back({name.first, name.second, source->add(std::move(bytes))});
    program.storages.push_back({size});
  }
  program.source = source;
}

float element(const std::vector<float>& v, std::int64_t i) {
  return v[static_cast<std::size_t>(i)];
}

struct AlgorithmsImage {
  const char* name;
  std::int64_t batch, groups, in, out, height, width, kernel, stride, padding, dilation;
  std::int64_t result(std::int64_t size) const {
    return (size + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
};

const AlgorithmsImage kAlgorithmsImages[] = {
    {"three by three", 2, 1, 19, 35, 9, 11, 3, 1, 1, 1},    {"one by one", 1, 1, 40, 24, 8, 7, 1, 1, 0, 1},
    {"strided, dilated", 1, 1, 16, 20, 15, 13, 3, 2, 2, 2}, {"groups", 1, 2, 20, 18, 10, 6, 3, 1, 1, 1},
    {"groups of four", 2, 5, 4, 4, 9, 10, 3, 1, 1, 1},      {"depthwise", 2, 37, 1, 1, 12, 10, 5, 1, 2, 1},
    {"first layer", 1, 1, 3, 16, 21, 17, 3, 2, 1, 1},       {"one position", 1, 1, 24, 8, 1, 1, 1, 1, 0, 1},
    {"sums of many", 1, 1, 70, 17, 5, 6, 3, 1, 1, 1},       {"many channels", 1, 1, 1100, 20, 4, 6, 1, 1, 0, 1},
};

/// max(convolution + bias + x', 0) in double; x' is an additional operand.
std::vector<double> expected(const AlgorithmsImage& k, const std::vector<float>& x, const std::vector<float>& w,
                             const std::vector<float>& bias) {
  const std::int64_t oh = k.result(k.height), ow = k.result(k.width), channels = k.groups * k.out;
  std::vector<double> y;
  for (std::int64_t i = 0; i < k.batch * channels * oh * ow; ++i) {
    const std::int64_t column = i % ow, line = i / ow % oh, o = i / ow / oh % channels, n = i / ow / oh / channels;
    double sum = static_cast<double>(element(bias, o));
    for (std::int64_t c = 0; c < k.in; ++c) {
      for (std::int64_t t = 0; t < k.kernel * k.kernel; ++t) {
        const std::int64_t r = line * k.stride + t / k.kernel * k.dilation - k.padding,
                           s = column * k.stride + t % k.kernel * k.dilation - k.padding;
        if (r < 0 || r >= k.height || s < 0 || s >= k.width) continue;
        const std::int64_t channel = n * k.groups * k.in + o / k.out * k.in + c;
        sum += static_cast<double>(element(x, (channel * k.height + r) * k.width + s)) *
               static_cast<double>(element(w, (o * k.in + c) * k.kernel * k.kernel + t));
      }
    }
    y.push_back(std::tanh(sum));
  }
  return y;
}

void expect_near(const AlgorithmsResult& got, const std::vector<double>& want, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.values.size(), want.size()) << what;
  for (std::size_t i = 0; i < want.size(); ++i)
    ASSERT_NEAR(static_cast<double>(got.values[i]), want[i], tolerance) << what << ", element " << i;
}

TEST(Algorithms, OfConvolutions) {
  std::set<AlgorithmChoice> choices;
  for (const AlgorithmsImage& k : kAlgorithmsImages) {
    const std::int64_t in = k.groups * k.in, out = k.groups * k.out;
    const auto x = random_floats(k.batch * in * k.height * k.width, 1),
               w = random_floats(out * k.in * k.kernel * k.kernel, 2), bias = random_floats(out, 3);
    const auto want = expected(k, x, w, bias);
    for (const AlgorithmName& n : kAlgorithmNames) {
      for (const bool packed : {false, true}) {
        TestProgram p;
        auto& b = p.b();
        const ValueId image = p.input(DType::f32, {k.batch, in, k.height, k.width});
        const ValueId y = b.add(
            Op::convolution, {image, p.state({out, k.in, k.kernel, k.kernel}, w, false), p.state({out}, bias, false)},
            {attr(AttrKey::strides, Sizes{k.stride, k.stride}), attr(AttrKey::dilations, Sizes{k.dilation, k.dilation}),
             attr(AttrKey::before, Sizes{k.padding, k.padding}), attr(AttrKey::after, Sizes{k.padding, k.padding}),
             attr(AttrKey::groups, Dim(k.groups))});
        p.output(b.expr("tanh(y)", {{"y", y}}, DType::f32));
        ask_for(p.program(), n.choice);
        if (packed) pack(p);
        const AlgorithmsResult got = run_of(p, floats({k.batch, in, k.height, k.width}, x));
        expect_near(got, want, 2e-5, std::string(k.name) + " by " + std::string(n.name));
        choices.insert(got.choices.begin()->second);
      }
    }
  }
  for (const AlgorithmChoice choice :
       {algorithm_of("channels_last"), algorithm_of("channels_last_lines"), algorithm_of("channels_last_columns"),
        algorithm_of("channels_last_shallow"), algorithm_of("channels_last_deep"), algorithm_of("winograd"),
        algorithm_of("planes"), algorithm_of("blocks"), algorithm_of("onednn")})
    EXPECT_TRUE(choices.contains(choice)) << name_of(choice);
  EXPECT_EQ(choices.contains(algorithm_of("channels_last_tiles")), tiles::available());
}

TEST(Algorithms, OfConvolutionsOfBfloat16) {
  for (const AlgorithmsImage& k : kAlgorithmsImages) {
    const std::int64_t in = k.groups * k.in, out = k.groups * k.out;
    std::vector<float> x = random_floats(k.batch * in * k.height * k.width, 1),
                       w = random_floats(out * k.in * k.kernel * k.kernel, 2), bias = random_floats(out, 3);
    for (std::vector<float>* v : {&x, &w, &bias}) std::ranges::transform(*v, v->begin(), test::to_bfloat16);
    const auto want = expected(k, x, w, bias);
    for (const AlgorithmName& n : kAlgorithmNames) {
      TestProgram p;
      auto& b = p.b();
      const auto narrow = [&](ValueId v) { return b.expr("v", {{"v", v}}, DType::bf16); };
      const ValueId image = narrow(p.input(DType::f32, {k.batch, in, k.height, k.width}));
      const ValueId weight = narrow(p.state({out, k.in, k.kernel, k.kernel}, w, false));
      const ValueId y = b.add(
          Op::convolution, {image, weight, narrow(p.state({out}, bias, false))},
          {attr(AttrKey::strides, Sizes{k.stride, k.stride}), attr(AttrKey::dilations, Sizes{k.dilation, k.dilation}),
           attr(AttrKey::before, Sizes{k.padding, k.padding}), attr(AttrKey::after, Sizes{k.padding, k.padding}),
           attr(AttrKey::groups, Dim(k.groups))});
      p.output(b.expr("tanh(y)", {{"y", y}}, DType::f32));
      ask_for(p.program(), n.choice);
      const AlgorithmsResult got = run_of(p, floats({k.batch, in, k.height, k.width}, x));
      expect_near(got, want, 8e-3, std::string(k.name) + " by " + std::string(n.name));  // 2^-8 of y, and its slope
    }
  }
}

TEST(Algorithms, OfProducts) {
  constexpr std::int64_t kColumns = 51;
  std::set<AlgorithmChoice> choices;
  for (const auto& [rows, depth] : {std::pair<std::int64_t, std::int64_t>{1, 70}, {7, 70}, {40, 70}, {40, 1100}}) {
    const auto w = random_floats(kColumns * depth, 2), bias = random_floats(kColumns, 3);
    const auto x = random_floats(rows * depth, 1);
    std::vector<double> want;
    for (std::int64_t i = 0; i < rows * kColumns; ++i) {
      double sum = static_cast<double>(element(bias, i % kColumns));
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<double>(element(x, i / kColumns * depth + k)) *
               static_cast<double>(element(w, i % kColumns * depth + k));
      want.push_back(std::tanh(sum));
    }
    for (const AlgorithmName& n : kAlgorithmNames) {
      for (const bool packed : {false, true}) {
        TestProgram p;
        auto& b = p.b();
        const ValueId in = p.input(DType::f32, {rows, depth}),
                      transposed = b.transpose(p.state({kColumns, depth}, w, false), 0, 1);
        const ValueId y = b.add(Op::matmul, {in, transposed, p.state({kColumns}, bias, false)}, {});
        p.output(b.expr("tanh(y)", {{"y", y}}, DType::f32));
        ask_for(p.program(), n.choice);
        if (packed) pack(p);
        const AlgorithmsResult got = run_of(p, floats({rows, depth}, x));
        expect_near(got, want, 2e-5, "rows by " + std::string(n.name));
        choices.insert(got.choices.begin()->second);
      }
    }
  }
  for (const AlgorithmChoice choice :
       {algorithm_of("panels"), algorithm_of("panels_lines"), algorithm_of("panels_columns"),
        algorithm_of("panels_shallow"), algorithm_of("panels_deep"), algorithm_of("in_place"), algorithm_of("onednn"),
        algorithm_of("blocks")})
    EXPECT_TRUE(choices.contains(choice)) << name_of(choice);
}

/// A product rounded to bfloat16, with a bfloat16 weight: planes of rows, a bias, an added operand, and perhaps a
/// non-finite element of x, visible only in its row.
TEST(Algorithms, OfProductsByBfloat16) {
  constexpr std::int64_t kPlanes = 3, kRows = 17, kDepth = 75, kColumns = 70, kStrangeRow = 20;
  const std::int64_t rows = kPlanes * kRows;
  std::vector<float> w = random_floats(kColumns * kDepth, 2), bias = random_floats(kColumns, 3),
                     other = random_floats(rows * kColumns, 4);
  std::ranges::transform(w, w.begin(), test::to_bfloat16);
  std::vector<std::byte> narrow(w.size() * 2);
  convert(w.data(), DType::f32, narrow.data(), DType::bf16, kColumns * kDepth);
  std::set<AlgorithmChoice> choices;
  for (const bool strange : {false, true}) {
    std::vector<float> x = random_floats(rows * kDepth, 1), rounded = x;
    if (strange) x[kStrangeRow * kDepth + 5] = std::numeric_limits<float>::infinity();
    std::ranges::transform(x, rounded.begin(), test::to_bfloat16);
    for (const AlgorithmName& n : kAlgorithmNames) {
      TestProgram p;
      Builder& b = p.b();
      const ValueId in = p.input(DType::f32, {kPlanes, kRows, kDepth}),
                    weight = b.transpose(b.constant(DType::bf16, {kColumns, kDepth}, narrow.data()), 0, 1),
                    y = b.add(Op::matmul, {in, weight, p.state({kColumns}, bias, false)}, {}),
                    added = p.state({kPlanes, kRows, kColumns}, other, false);
      p.output(b.expr("max(y + r, -1)", {{"y", y}, {"r", added}}, DType::f32));
      ask_for(p.program(), n.choice);
      PrepareOptions options;
      options.precision = Precision::bfloat16;
      options.weight_cache = "off";
      const AlgorithmsResult got = run_of(p, floats({kPlanes, kRows, kDepth}, x), options);
      choices.insert(got.choices.begin()->second);
      for (std::int64_t i = 0; i < rows * kColumns; ++i) {
        const std::int64_t row = i / kColumns, column = i % kColumns;
        double sum = element(bias, column);
        for (std::int64_t k = 0; k < kDepth; ++k)
          sum += static_cast<double>(element(rounded, row * kDepth + k)) * element(w, column * kDepth + k);
        const double want = std::max(sum + element(other, i), -1.0);
        if (strange && row == kStrangeRow) {
          ASSERT_EQ(element(got.values, i), static_cast<float>(want)) << n.name << ", element " << i;
        } else {  // algorithms without rounding differ by 2^-9 per product
          ASSERT_NEAR(element(got.values, i), want, 0.05) << n.name << ", element " << i;
        }
      }
    }
  }
  EXPECT_EQ(choices.contains(algorithm_of("tiles")), tiles::available());
  EXPECT_EQ(choices.contains(algorithm_of("tile_rows")), tiles::rows_possible());
}

/// A product with too few rows for oneDNN under any rule.
TestProgram product() {
  TestProgram p;
  const ValueId x = p.input(DType::f32, {2, 16});
  p.output(p.b().matmul(x, p.b().transpose(p.state({8, 16}, random_floats(128, 1), false), 0, 1)));
  ask_for(p.program(), algorithm_of("onednn"));
  return p;
}

AlgorithmChoice taken_with(const TestProgram& p, const PrepareOptions& options = {}) {
  const auto choices = run_of(p, floats({2, 16}, random_floats(32, 2)), options).choices;
  return choices.empty() ? AlgorithmChoice{} : choices.begin()->second;
}

TEST(Algorithms, AreThoseOfTheProcessorAndThreads) {
  TestProgram p = product();
  Tuning& t = p.program().tunings[0];
  EXPECT_EQ(taken_with(p), algorithm_of("onednn"));
  t.processor += " of another kind";
  EXPECT_NE(taken_with(p), algorithm_of("onednn"));
  t.processor = cpu::processor();
  t.threads += 1;
  EXPECT_NE(taken_with(p), algorithm_of("onednn"));
  PrepareOptions options;
  options.threads = static_cast<int>(t.threads);
  EXPECT_EQ(taken_with(p, options), algorithm_of("onednn"));
}

TEST(Algorithms, OfOtherVersionsAndOfOtherNodesAreIgnored) {
  TestProgram p = product();
  Tuning& t = p.program().tunings[0];
  for (const char* choice : {"", "an algorithm of later versions", "winograd"}) {
    t.choices.back().algorithm = choice;
    EXPECT_NE(taken_with(p), algorithm_of("onednn"));
  }
  t.choices = {{0, 0, "onednn"}, {0, 1000, "onednn"}, {7, 0, "onednn"}};
  EXPECT_NE(taken_with(p), algorithm_of("onednn"));
}

/// Rows times a bfloat16 weight, in a function of many rows, and perhaps also in a function of a single row.
TestProgram prefill(const std::vector<float>& weight, bool with_decode) {
  TestProgram p;
  std::vector<std::byte> narrow(weight.size() * 2);
  convert(weight.data(), DType::f32, narrow.data(), DType::bf16, static_cast<std::int64_t>(weight.size()));
  const ValueId w = p.b().constant(DType::bf16, {64, 96}, narrow.data());
  p.output(p.b().matmul(p.input(DType::bf16, {48, 96}), p.b().transpose(w, 0, 1)));
  if (!with_decode) return p;
  const std::uint32_t decode = p.add_body();
  Function& f = p.program().functions[decode];
  f.name = "decode";
  f.entry = true;
  const ValueId x = p.input(DType::bf16, {1, 96}, decode), same = value_of_state(p.program(), f, 0);
  Builder b(p.program(), decode);
  p.output(b.matmul(x, b.transpose(same, 0, 1)), decode);
  return p;
}

TEST(Algorithms, AWeightOfSeveralFunctionsIsReadInPlace) {
  if (!tiles::available()) GTEST_SKIP() << "no matrix tiles here";
  const std::vector<float> weight = random_floats(64 * 96, 1), x = random_floats(48 * 96, 2);
  Tensor rows(DType::bf16, {48, 96});
  convert(x.data(), DType::f32, rows.data(), DType::bf16, 48 * 96);
  PrepareOptions options;
  options.weight_cache = "off";
  for (const bool with_decode : {false, true}) {
    const TestProgram p = prefill(weight, with_decode);
    AlgorithmsObserver observer;
    const auto prepared = prepare_program(p.model().program(), options, {.listeners = {.observer = &observer}});
    Session session((PreparedModel(prepared)));
    const Tensor& y = session.run("forward", std::span<const Tensor>(&rows, 1))[0];
    std::vector<float> values(48 * 64);
    convert(y.data(), DType::bf16, values.data(), DType::f32, 48 * 64);
    ASSERT_EQ(observer.choices.size(), 1u);
    EXPECT_EQ(observer.choices.begin()->second, algorithm_of(with_decode ? "tiles" : "tile_rows"));
    for (std::size_t i = 0; i < 48; ++i) {
      for (std::size_t j = 0; j < 64; ++j) {
        double sum = 0;
        for (std::size_t k = 0; k < 96; ++k)
          sum += static_cast<double>(test::to_bfloat16(x[i * 96 + k])) * test::to_bfloat16(weight[j * 96 + k]);
        ASSERT_NEAR(values[i * 64 + j], sum, std::abs(sum) * 0x1p-8 + 1e-4) << i << ", " << j;
      }
    }
  }
}

TEST(Algorithms, DoNotChangeReproducibleRuns) {
  TestProgram p = product();
  PrepareOptions options;
  options.reproducible = true;
  const auto tuned = run_of(p, floats({2, 16}, random_floats(32, 2)), options);
  EXPECT_TRUE(tuned.choices.empty());
  p.program().tunings.clear();
  EXPECT_EQ(run_of(p, floats({2, 16}, random_floats(32, 2)), options).values, tuned.values);
}

}  // namespace
}  // namespace tern
