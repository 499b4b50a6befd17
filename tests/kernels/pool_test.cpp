// Pools against a plain loop in double: kinds, windows, strides, padding, rounded-up sizes, element types.
#include <gtest/gtest.h>

#include <cmath>

#include "schema/window_kinds.h"
#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

struct PoolCase {
  PoolKind kind = PoolKind::max;
  std::int64_t size = 7, kernel = 3, stride = 1, padding_before = 0, dilation = 1, ceil = 0, count_pads = 0,
               divisor = 0;
};

/// The largest or mean of window (i, j) of a plane [size, size + 1].
double pooled(const PoolCase& c, const std::vector<double>& x, std::int64_t plane, std::int64_t i, std::int64_t j) {
  const std::int64_t height = c.size, width = c.size + 1;
  double top = -INFINITY, sum = 0;
  std::int64_t inside = 0, padded = 0;
  for (std::int64_t a = 0; a < c.kernel; ++a) {
    for (std::int64_t b = 0; b < c.kernel; ++b) {
      const std::int64_t row = i * c.stride + a * c.dilation - c.padding_before,
                         column = j * c.stride + b * c.dilation - c.padding_before;
      if (row < height + c.padding_before && column < width + c.padding_before) ++padded;
      if (row < 0 || row >= height || column < 0 || column >= width) continue;
      const double v = x[static_cast<std::size_t>((plane * height + row) * width + column)];
      top = std::max(top, v);
      sum += v;
      ++inside;
    }
  }
  if (c.kind == PoolKind::max) return top;
  const std::int64_t number = c.divisor != 0 ? c.divisor : c.count_pads != 0 ? padded : inside;
  return inside == 0 ? 0.0 : sum / static_cast<double>(number);
}

enum class Outputs { values, indices, both };

void check(DType t, const PoolCase& c, Outputs outputs) {
  const std::vector<std::int64_t> sizes{2, 3, c.size, c.size + 1};
  const std::vector<double> x = random_numbers(product(sizes), 1, 9);
  NodeRun run(Op::pool);
  run.input(t, sizes, x);
  run.set(AttrKey::kind, static_cast<std::int64_t>(c.kind));
  run.set(AttrKey::kernel, {c.kernel, c.kernel});
  run.set(AttrKey::strides, {c.stride, c.stride});
  run.set(AttrKey::before, {c.padding_before, c.padding_before});
  if (c.kind == PoolKind::max) run.set(AttrKey::dilations, {c.dilation, c.dilation});
  run.set(AttrKey::ceil_mode, c.ceil);
  if (c.kind == PoolKind::avg) run.set(AttrKey::count_pads, c.count_pads);
  if (c.divisor != 0) run.set(AttrKey::divisor, c.divisor);
  if (outputs != Outputs::both) run.unwanted(outputs == Outputs::values ? 1 : 0);
  run.run();
  const std::vector<std::int64_t> shape = run.shape(outputs == Outputs::indices ? 1 : 0);
  const std::int64_t height = shape[2], width = shape[3];
  std::vector<Number> got;
  if (outputs == Outputs::indices) {
    for (const Number& at : run.output(1)) {
      const auto plane = static_cast<std::int64_t>(got.size()) / (height * width);
      got.emplace_back(
          x[static_cast<std::size_t>(plane * c.size * (c.size + 1) + static_cast<std::int64_t>(at.real()))]);
    }
  } else {
    got = run.output();
  }
  for (std::size_t k = 0; k < got.size(); ++k) {
    const auto i = static_cast<std::int64_t>(k);
    const double expected = pooled(c, x, i / (height * width), i / width % height, i % width);
    const double epsilon = t == DType::bf16 ? 4e-3 : t == DType::f16 ? 5e-4 : 1e-7;
    ASSERT_NEAR(got[k].real(), expected, epsilon * std::abs(expected))
        << name_of(t) << " size " << c.size << " kernel " << c.kernel << " stride " << c.stride << " before "
        << c.padding_before << " dilation " << c.dilation << " ceil " << c.ceil << " pads " << c.count_pads
        << " element " << k;
  }
}

TEST(Pool, IsThatOfEachWindow) {
  for (const PoolKind kind : {PoolKind::max, PoolKind::avg}) {
    for (const std::int64_t kernel : {1, 2, 3, 5}) {
      for (const std::int64_t stride : {1, 2, 3, 5}) {
        for (const std::int64_t size : {5, 7, 16, 37}) {
          for (const std::int64_t before : {0, 1, 2}) {
            if (before > kernel / 2) continue;
            for (const std::int64_t option : {0, 1, 2, 3}) {
              PoolCase c{kind, size, kernel, stride, before};
              c.ceil = option % 2;
              if (kind == PoolKind::max) {
                c.dilation = size > 9 ? 1 + option / 2 : 1;
              } else {
                c.count_pads = option / 2;
                c.divisor = option == 3 && size == 7 ? 7 : 0;
              }
              for (const DType t : {DType::f32, DType::bf16, DType::f16}) check(t, c, Outputs::values);
              if (kind != PoolKind::max) continue;
              check(DType::f32, c, Outputs::both);
              check(DType::f32, c, Outputs::indices);
            }
          }
        }
      }
    }
  }
}

TEST(AdaptivePool, MeansOfWholePlanes) {
  for (const DType t : {DType::f32, DType::f16, DType::f64}) {
    for (const std::int64_t size : {1, 4, 7, 14, 33}) {
      for (const std::int64_t planes : {1, 16, 35}) {
        const std::vector<std::int64_t> sizes{planes, 2, size, size + 3};
        const std::vector<double> x = random_numbers(product(sizes), 2, 9);
        NodeRun run(Op::adaptive_pool);
        run.input(t, sizes, x);
        run.set(AttrKey::kind, static_cast<std::int64_t>(PoolKind::avg));
        run.set(AttrKey::sizes, {1, 1});
        const auto got = run.run().output();
        ASSERT_EQ(got.size(), static_cast<std::size_t>(planes * 2));
        const auto n = static_cast<std::size_t>(size * (size + 3));
        for (std::size_t p = 0; p < got.size(); ++p) {
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i) sum += x[p * n + i];
          const double expected = sum / static_cast<double>(n);
          ASSERT_NEAR(got[p].real(), expected, (t == DType::f16 ? 5e-4 : 1e-7) * (0.01 + std::abs(expected)));
        }
      }
    }
  }
}

}  // namespace
}  // namespace tern::test
