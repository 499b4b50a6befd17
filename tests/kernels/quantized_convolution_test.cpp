// Convolutions with quantized weights against sums in double of dequantize_row's values: native, definition and
// reproducible kernels.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/kernels/node_run.h"
#include "tests/kernels/quantized_value.h"

namespace tern::test {
namespace {

struct QuantizedConvolutionCase {
  std::int64_t batch, groups, in, out;  ///< channels per group: in, out
  std::vector<std::int64_t> image, kernel, strides, dilations, padding_before;
  DType type = DType::f32;
};
const QuantizedConvolutionCase kQuantizedConvolutionCases[] = {
    {2, 1, 64, 24, {7, 5}, {1, 1}, {1, 1}, {1, 1}, {0, 0}},                 // a product of every position
    {1, 1, 64, 40, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}},                 // padding
    {2, 2, 32, 9, {8, 7}, {2, 3}, {2, 1}, {1, 2}, {0, 2}, DType::bf16},     // groups, strides, dilations
    {1, 1, 64, 16, {21}, {5}, {3}, {1}, {2}},                               // a single axis
    {1, 1, 32, 8, {4, 3, 5}, {2, 1, 3}, {1, 1, 2}, {1, 1, 1}, {1, 0, 1}}};  // three

/// The result's numbers, plane by plane, as sums in double, and the sizes of their terms.
struct Sums {
  std::vector<double> values, sizes;
};

Sums sums_of(const QuantizedConvolutionCase& c, const std::vector<double>& x, const std::vector<float>& w,
             const std::vector<double>& bias, const std::vector<std::int64_t>& out) {
  const auto at = [](const std::vector<std::int64_t>& v, std::size_t axis, std::int64_t missing) {
    const std::size_t skip = 3 - v.size();  // three axes, missing axes first
    return axis < skip ? missing : v[axis - skip];
  };
  std::int64_t kernel = 1, image = 1, plane = 1;
  for (std::size_t a = 0; a < c.kernel.size(); ++a) {
    kernel *= c.kernel[a];
    image *= c.image[a];
    plane *= out[a + 2];
  }
  const std::vector<std::int64_t> results(out.begin() + 2, out.end());
  Sums s;
  for (std::int64_t i = 0; i < c.batch * c.groups * c.out * plane; ++i) {
    const std::int64_t position = i % plane, o = i / plane % (c.groups * c.out), n = i / plane / (c.groups * c.out);
    double sum = bias[static_cast<std::size_t>(o)], size = std::fabs(sum);
    for (std::int64_t k = 0; k < c.in * kernel; ++k) {
      std::int64_t element = k % kernel, place = position, from = 0, step = 1;
      bool inside = true;
      for (std::size_t a = 3; a-- > 0;) {
        const std::int64_t p = place % at(results, a, 1) * at(c.strides, a, 1) +
                               element % at(c.kernel, a, 1) * at(c.dilations, a, 1) - at(c.padding_before, a, 0);
        inside = inside && p >= 0 && p < at(c.image, a, 1);
        from += p * step;
        step *= at(c.image, a, 1);
        place /= at(results, a, 1);
        element /= at(c.kernel, a, 1);
      }
      if (!inside) continue;
      const std::int64_t channel = (n * c.groups + o / c.out) * c.in + k / kernel;
      const double product = x[static_cast<std::size_t>(channel * image + from)] *
                             static_cast<double>(w[static_cast<std::size_t>(o * c.in * kernel + k)]);
      sum += product;
      size += std::fabs(product);
    }
    s.values.push_back(sum);
    s.sizes.push_back(size);
  }
  return s;
}

/// Checks a format and case with the native, the definition's and the reproducible kernel.
void expect_sums(const Format& f, const QuantizedConvolutionCase& c, std::uint32_t seed) {
  std::int64_t columns = c.in, pixels = 1;
  for (const std::int64_t k : c.kernel) columns *= k;
  for (const std::int64_t i : c.image) pixels *= i;
  if (f.blocks.columns != kRow && columns % f.blocks.columns != 0) return;
  const QuantizedMatrix m = matrix_of(f, c.groups * c.out, columns);
  const std::vector<std::byte> bytes = random_value(m, ++seed);
  const std::vector<double> x = random_numbers(c.batch * c.groups * c.in * pixels, ++seed, 2, 16),
                            bias = random_numbers(c.groups * c.out, ++seed, 2, 16);
  std::vector<std::int64_t> sizes = {c.batch, c.groups * c.in};
  sizes.insert(sizes.end(), c.image.begin(), c.image.end());
  Sums expected;
  for (const int way : {0, 1, 2}) {
    NodeRun r(Op::convolution);
    r.input(c.type, sizes, x);
    r.quantized_input(f.element, m.blocks, {m.rows, columns}, bytes);
    r.input(c.type, {m.rows}, bias);
    r.set(AttrKey::kernel, c.kernel);
    r.set(AttrKey::strides, c.strides);
    r.set(AttrKey::dilations, c.dilations);
    r.set(AttrKey::before, c.padding_before);
    r.set(AttrKey::after, c.padding_before);
    r.set(AttrKey::groups, c.groups);
    if (way == 1) r.select_device(&HostLauncher::instance());
    if (way == 2) r.reproducible();
    const std::vector<Number> y = r.run().output();
    if (way == 0) expected = sums_of(c, x, numbers_of(m, bytes), bias, r.shape());
    ASSERT_EQ(y.size(), expected.values.size());
    const double last_bit = c.type == DType::bf16 ? 0x1p-8 : 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_NEAR(y[i].real(), expected.values[i],
                  expected.sizes[i] * 1e-4 + std::fabs(expected.values[i]) * last_bit + 1e-6)
          << name_of(f.element) << ' ' << columns << " columns, way " << way << ", at " << i;
  }
}

TEST(QuantizedConvolution, SumsOfTheNumbersInEveryWay) {
  std::uint32_t seed = 1;
  for (const Format& f : kFormats) {
    if (f.blocks.sparse()) continue;  // sparse weights serve products only
    for (const QuantizedConvolutionCase& c : kQuantizedConvolutionCases) expect_sums(f, c, seed += 3);
  }
}

TEST(QuantizedConvolution, LargeWeightsAreMultipliedInParts) {
  // 4608 elements of a row and 120 channels: 113 at a time, then 7, of each group and image.
  const QuantizedConvolutionCase large{2, 2, 512, 120, {3, 3}, {3, 3}, {1, 1}, {1, 1}, {1, 1}};
  expect_sums(kFormats[0], large, 5);
  QuantizedConvolutionCase narrow = large;
  narrow.type = DType::bf16;
  expect_sums(kFormats[6], narrow, 7);
}

}  // namespace
}  // namespace tern::test
