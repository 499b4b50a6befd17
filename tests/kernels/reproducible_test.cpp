// Reductions, softmax and normalizations in reproducible mode: sums in the order of docs/reproducible.md, written out
// independently, and equal bits of CPU and portable kernels, over shapes, strides and types.
#include "kernels/reproducible.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

#include "schema/kinds.h"
#include "tests/kernels/node_run.h"

namespace tern {
namespace {

using test::HostLauncher;
using test::NodeRun;

/// Numbers of very different magnitudes: every order of summation gives other bits.
std::vector<double> uneven_reproducible(std::int64_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> v(static_cast<std::size_t>(n));
  for (double& x : v) x = normal(random) * std::exp(3 * normal(random));
  return v;
}

double sum_by_definition(const std::vector<double>& v) {
  double total = 0;
  for (std::size_t begin = 0; begin < v.size(); begin += 512) {
    const std::size_t end = std::min(begin + 512, v.size());
    double lanes[16] = {}, rest = 0;
    std::size_t k = begin;
    for (; k + 16 <= end; k += 16) {
      for (std::size_t j = 0; j < 16; ++j) lanes[j] += v[k + j];
    }
    for (; k < end; ++k) rest += v[k];
    for (std::size_t width = 8; width > 0; width /= 2) {
      for (std::size_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
    }
    total += lanes[0] + rest;
  }
  return total;
}

NodeRun reduce(ReduceKind kind, DType t, const std::vector<std::int64_t>& sizes, const std::vector<double>& v,
               std::vector<std::int64_t> axes, std::vector<std::int64_t> strides = {}) {
  NodeRun run(Op::reduce);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  run.set(AttrKey::axes, std::move(axes));
  run.set(AttrKey::keepdims, 0);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(t));
  run.set_number(AttrKey::correction, {1});
  run.input(t, sizes, v, std::move(strides));
  return run;
}

/// Runs both and compares every output's bytes.
void expect_same_bits(NodeRun cpu, NodeRun portable, std::size_t outputs = 1) {
  cpu.reproducible();
  cpu.run();
  portable.select_device(&HostLauncher::instance());
  portable.run();
  for (std::size_t i = 0; i < outputs; ++i) EXPECT_EQ(cpu.bytes(i), portable.bytes(i)) << "output " << i;
}

TEST(Reproducible, SumsInTheOrderOfTheDefinition) {
  for (const std::int64_t n : {1, 15, 16, 17, 511, 512, 513, 1040, 5000, 100003}) {
    const std::vector<double> v = uneven_reproducible(n, static_cast<std::uint32_t>(n));
    NodeRun run = reduce(ReduceKind::sum, DType::f64, {n}, v, {0});
    run.reproducible();
    run.run();
    double sum = 0;
    std::memcpy(&sum, run.bytes().data(), sizeof sum);
    EXPECT_EQ(sum, sum_by_definition(v)) << n;
  }
}

struct ProductCase {
  std::vector<std::int64_t> sizes, axes, strides;
};

TEST(Reproducible, ReducesAsThePortableKernels) {
  const std::vector<ProductCase> cases = {
      {{3, 700}, {1}, {}},        {{700, 5}, {0}, {}},      {{4, 33, 40}, {0, 2}, {}},
      {{600, 150}, {0}, {}},      {{40, 50}, {1}, {1, 40}}, {{9, 20, 30}, {1}, {600, 1, 20}},
      {{2000}, {0}, {3}},         {{1, 1}, {0}, {}},        {{130, 3, 3}, {0}, {}},
      {{2, 3, 5, 7}, {1, 3}, {}}, {{4, 0}, {0}, {}},        {{4, 0}, {1}, {}}};
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::c64}) {
    for (const ReduceKind kind : {ReduceKind::sum, ReduceKind::mean, ReduceKind::prod, ReduceKind::var}) {
      for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(std::string(name_of(t)) + ", kind " + std::to_string(static_cast<int>(kind)) + ", case " +
                     std::to_string(i));
        const ProductCase& c = cases[i];
        if (kind == ReduceKind::var && is_complex(t)) continue;  // its result has another type
        if (t != DType::f32 && i >= 3) break;                    // each is a kernel to compile
        std::vector<double> v = uneven_reproducible(test::product(c.sizes), 7);
        expect_same_bits(reduce(kind, t, c.sizes, v, c.axes, c.strides),
                         reduce(kind, t, c.sizes, v, c.axes, c.strides));
      }
    }
  }
}

TEST(Reproducible, EqualElementsKeepTheirOrder) {
  std::mt19937 random(3);
  std::vector<double> v(3000);
  for (double& x : v) x = static_cast<double>(random() % 40);
  v[17] = v[900] = std::nan("");  // larger than all
  const auto above = [&](std::int64_t a, std::int64_t b) {
    const double x = v[static_cast<std::size_t>(a)], y = v[static_cast<std::size_t>(b)];
    return std::isnan(y) ? false : std::isnan(x) || x > y;
  };
  for (const bool descending : {false, true}) {
    std::vector<std::int64_t> places(v.size());
    std::iota(places.begin(), places.end(), 0);
    std::stable_sort(places.begin(), places.end(),
                     [&](std::int64_t a, std::int64_t b) { return descending ? above(a, b) : above(b, a); });
    for (const std::int64_t k : {1, 40, 700, 3000}) {
      const bool all = k == 3000;
      const auto node = [&] {
        NodeRun run(all ? Op::sort : Op::topk);
        run.set(AttrKey::axis, 0);
        if (all) {
          run.set(AttrKey::descending, descending ? 1 : 0);
          run.set(AttrKey::stable, 0);
        } else {
          run.set(AttrKey::k, k);
          run.set(AttrKey::largest, descending ? 1 : 0);
        }
        run.input(DType::f32, {3000}, v);
        return run;
      };
      NodeRun run = node();
      run.reproducible();
      run.run();
      std::vector<std::int64_t> made(static_cast<std::size_t>(k));
      ASSERT_EQ(run.bytes(1).size(), made.size() * sizeof(std::int64_t));
      std::memcpy(made.data(), run.bytes(1).data(), run.bytes(1).size());
      EXPECT_TRUE(std::equal(made.begin(), made.end(), places.begin())) << k << (descending ? ", descending" : "");
      expect_same_bits(node(), node(), 2);
    }
  }
}

TEST(Reproducible, ALargestZeroHasNoSign) {
  for (const ReduceKind kind : {ReduceKind::max, ReduceKind::min}) {
    NodeRun run = reduce(kind, DType::f32, {2}, {-0.0, -0.0}, {0});
    run.reproducible();
    run.run();
    EXPECT_EQ(run.bytes(), std::vector<std::byte>(4));
    expect_same_bits(reduce(kind, DType::f32, {3}, {0.0, -0.0, 0.0}, {0}),
                     reduce(kind, DType::f32, {3}, {0.0, -0.0, 0.0}, {0}));
  }
}

NodeRun softmax(DType t, const std::vector<std::int64_t>& sizes, std::int64_t axis, bool log,
                const std::vector<double>& v) {
  NodeRun run(Op::softmax);
  run.set(AttrKey::axis, axis);
  run.set(AttrKey::log, log ? 1 : 0);
  run.set(AttrKey::dtype, static_cast<std::int64_t>(t));
  run.input(t, sizes, v);
  return run;
}

TEST(Reproducible, SoftmaxAsThePortableKernel) {
  for (const DType t : {DType::f32, DType::f64, DType::f16}) {
    for (const bool log : {false, true}) {
      for (const auto& [sizes, axis] : std::vector<std::pair<std::vector<std::int64_t>, std::int64_t>>{
               {{3, 1200}, 1}, {{40, 6}, 0}, {{2, 17, 5}, 1}, {{1}, 0}}) {
        const std::vector<double> v = uneven_reproducible(test::product(sizes), 3);
        expect_same_bits(softmax(t, sizes, axis, log, v), softmax(t, sizes, axis, log, v));
      }
    }
  }
}

NodeRun normalization(Op op, DType t, bool affine) {
  NodeRun run(op);
  run.set_number(AttrKey::epsilon, {1e-5});
  const std::vector<std::int64_t> sizes = op == Op::group_norm || op == Op::batch_norm
                                              ? std::vector<std::int64_t>{3, 4, 150}
                                              : std::vector<std::int64_t>{6, 700};
  const std::int64_t parameters = op == Op::group_norm || op == Op::batch_norm ? 4 : 700;
  run.input(t, sizes, uneven_reproducible(test::product(sizes), 5));
  if (op == Op::batch_norm) {
    run.input(DType::f32, {4}, uneven_reproducible(4, 6));
    run.input(DType::f32, {4}, std::vector<double>{0.5, 1.25, 3, 0.01});
  }
  if (op == Op::group_norm) run.set(AttrKey::groups, 2);
  if (op == Op::layer_norm || op == Op::rms_norm) run.set(AttrKey::k, 1);
  const int count = op == Op::rms_norm ? 1 : 2;
  for (int i = 0; i < count; ++i) {
    if (affine) {
      run.input(t, {parameters}, uneven_reproducible(parameters, 8 + static_cast<std::uint32_t>(i)));
    } else {
      run.no_input();
    }
  }
  return run;
}

TEST(Reproducible, NormalizesAsThePortableKernels) {
  for (const Op op : {Op::layer_norm, Op::rms_norm, Op::group_norm, Op::batch_norm}) {
    for (const DType t : {DType::f32, DType::f64, DType::bf16}) {
      for (const bool affine : {false, true}) {
        SCOPED_TRACE(std::string(op_name(op)) + " of " + std::string(name_of(t)));
        expect_same_bits(normalization(op, t, affine), normalization(op, t, affine));
      }
    }
  }
}

}  // namespace
}  // namespace tern
