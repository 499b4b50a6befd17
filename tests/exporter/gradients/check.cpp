#include "tests/exporter/gradients/check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "exporter/gradients/differentiate.h"
#include "tests/runtime/support.h"

namespace tern::testing {
namespace {

bool differentiable(DType t) {
  return is_floating(t) || is_complex(t);
}

/// Real and imaginary parts in turn.
std::span<double> components(Tensor& t) {
  const std::size_t n = t.byte_size() / sizeof(double);
  return {static_cast<double*>(t.data()), n};
}
std::span<const double> components(const Tensor& t) {
  return {static_cast<const double*>(t.data()), t.byte_size() / sizeof(double)};
}

double weight(DType dtype, std::size_t part) {
  if (!is_complex(dtype)) return std::cos(static_cast<double>(part));
  return part % 2 == 0 ? std::cos(static_cast<double>(part / 2)) : std::cos(static_cast<double>(part));
}

TestProgram program_of(const std::vector<Tensor>& inputs, const BuildNodes& build, bool with_gradients) {
  TestProgram p;
  std::vector<ValueId> values;
  for (const Tensor& t : inputs) values.push_back(p.input(t.dtype(), Dims(t.sizes().begin(), t.sizes().end())));
  const std::vector<ValueId> outputs = build(p.b(), values);
  if (!with_gradients) {
    for (ValueId v : outputs) {
      if (differentiable(p.b().dtype(v))) p.output(v);
    }
    return p;
  }
  std::vector<GradientSeed> seeds;
  for (ValueId v : outputs) {
    const DType t = p.b().dtype(v);
    if (!differentiable(t)) continue;
    std::vector<std::int64_t> sizes;
    std::size_t n = 1;
    for (Dim d : p.b().shape(v)) {
      sizes.push_back(d.value());
      n *= static_cast<std::size_t>(d.value());
    }
    std::vector<double> weights(n * (is_complex(t) ? 2 : 1));
    for (std::size_t k = 0; k < weights.size(); ++k) weights[k] = weight(t, k);
    seeds.push_back({v, p.b().constant(t, sizes, weights.data())});
  }
  std::vector<ValueId> wrt;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (differentiable(inputs[i].dtype())) wrt.push_back(values[i]);
  }
  const std::vector<ValueId> gradients = differentiate(p.b(), seeds, wrt);
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    const bool none = gradients[i] == kNoValue;
    p.output(none ? zeros_like(p.b(), wrt[i]) : gradients[i]);
    if (none) continue;
    EXPECT_EQ(p.b().type(gradients[i]), p.b().type(wrt[i])) << "gradient " << i;
  }
  return p;
}

}  // namespace

BuildNodes one_node(Op op, std::vector<Attr> attrs) {
  return [op, attrs](Builder& b, const std::vector<ValueId>& in) { return b.add_all(op, in, attrs); };
}

std::vector<std::vector<double>> gradients_of(const std::vector<Tensor>& inputs, const BuildNodes& build) {
  const TestProgram p = program_of(inputs, build, true);
  Session session(p.model().prepare());
  std::vector<std::vector<double>> result(inputs.size());
  const std::vector<Tensor>& outputs = session.run(inputs);
  std::size_t index = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!differentiable(inputs[i].dtype())) continue;
    const auto g = components(outputs[index++]);
    result[i].assign(g.begin(), g.end());
  }
  return result;
}

void expect_gradients(const std::vector<Tensor>& inputs, const BuildNodes& build, double tolerance) {
  const std::vector<std::vector<double>> gradients = gradients_of(inputs, build);
  const TestProgram p = program_of(inputs, build, false);
  Session session(p.model().prepare());
  std::vector<Tensor> moved;
  for (const Tensor& t : inputs) {
    Tensor copy(t.dtype(), t.sizes());
    std::copy_n(static_cast<const std::byte*>(t.data()), t.byte_size(), static_cast<std::byte*>(copy.data()));
    moved.push_back(std::move(copy));
  }
  // Sums the differences of single terms instead of subtracting sums: more digits survive.
  const auto terms = [&] {
    std::vector<double> all;
    for (const Tensor& t : session.run(moved)) {
      const auto values = components(t);
      for (std::size_t k = 0; k < values.size(); ++k) all.push_back(values[k] * weight(t.dtype(), k));
    }
    return all;
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!differentiable(inputs[i].dtype())) continue;
    for (std::size_t k = 0; k < components(moved[i]).size(); ++k) {
      double& x = components(moved[i])[k];
      const double before = x, h = 1e-5 * std::max(1.0, std::abs(before));
      // Richardson: the error of the central difference in h^2 cancels.
      double difference[2];
      for (int half = 0; half < 2; ++half) {
        const double step = half == 0 ? h : h / 2;
        x = before + step;
        const double above = x;
        const std::vector<double> up = terms();
        x = before - step;
        const double below = x;
        const std::vector<double> down = terms();
        double sum = 0;
        for (std::size_t t = 0; t < up.size(); ++t) sum += up[t] - down[t];
        difference[half] = sum / (above - below);
      }
      x = before;
      const double expected = (4 * difference[1] - difference[0]) / 3;
      EXPECT_NEAR(gradients[i][k], expected, tolerance * std::max(1.0, std::abs(expected)))
          << "input " << i << ", part " << k;
    }
  }
}

Tensor doubles(std::vector<std::int64_t> sizes, const std::vector<double>& values) {
  Tensor t(DType::f64, std::move(sizes));
  std::copy(values.begin(), values.end(), t.span<double>().begin());
  return t;
}

Tensor noise(std::vector<std::int64_t> sizes, int seed, double low, double high, DType dtype) {
  std::mt19937_64 bits(static_cast<std::uint64_t>(seed));
  Tensor t(dtype, std::move(sizes));
  for (double& x : components(t)) {
    x = low + (high - low) * ((static_cast<double>(bits() >> 11) + 0.5) * 0x1p-53);
  }
  return t;
}

Tensor integers(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values) {
  Tensor t(DType::i64, std::move(sizes));
  std::copy(values.begin(), values.end(), t.span<std::int64_t>().begin());
  return t;
}

}  // namespace tern::testing
