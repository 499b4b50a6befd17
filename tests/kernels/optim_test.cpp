// Optimizers on devices and reproducible ones on the CPU, bit for bit: PyTorch's eager kernels on GPUs in plain C++,
// operator after operator (torch/optim/{sgd,adam,adamw,adagrad}.py; add with alpha, addcmul and addcdiv round once with
// their sum).
#include <gtest/gtest.h>

#include <cmath>

#include "schema/kinds.h"
#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

struct Settings {
  OptimKind kind;
  double lr = 0.01, a = 0, b = 0, decay = 0, eps = 1e-8;
  bool nesterov = false, first = false, maximize = false, momentum = false, amsgrad = false;
  double step = 1, scale = 0;
};

// The operators. Scalars are doubles of Python that kernels take as T.
template <class T>
T add(T x, T y, double alpha) {
  return std::fma(static_cast<T>(alpha), y, x);
}
template <class T>
T mul(T x, double y) {
  return x * static_cast<T>(y);
}
template <class T>
T addcmul(T x, T t1, T t2, double value) {
  return std::fma(static_cast<T>(value), t1 * t2, x);
}
template <class T>
T addcdiv(T x, T t1, T t2, double value) {
  return std::fma(static_cast<T>(value), t1 / t2, x);
}
template <class T>
T lerp(T x, T y, double weight) {
  const T w = static_cast<T>(weight);
  return std::fabs(w) < T(0.5) ? std::fma(w, y - x, x) : std::fma(w - T(1), y - x, y);
}

template <class T>
struct State {
  T p, g, m, v, vmax;
};

template <class T>
void step(const Settings& s, State<T>& x) {
  if (s.scale != 0) x.g = x.g / static_cast<T>(s.scale);
  T g = s.maximize ? -x.g : x.g;
  if (s.decay != 0 && s.kind != OptimKind::adamw) g = add(g, x.p, s.decay);
  switch (s.kind) {
    case OptimKind::sgd:
      if (s.momentum) {
        x.m = s.first ? g : add(mul(x.m, s.a), g, 1 - s.b);
        g = s.nesterov ? add(g, x.m, s.a) : x.m;
      }
      x.p = add(x.p, g, -s.lr);
      return;
    case OptimKind::adagrad:
      x.v = addcmul(x.v, g, g, 1.0);
      x.p = addcdiv(x.p, g, std::sqrt(x.v) + static_cast<T>(s.eps), -(s.lr / (1 + (s.step - 1) * s.a)));
      return;
    default: break;
  }
  if (s.decay != 0 && s.kind == OptimKind::adamw) x.p = mul(x.p, 1 - s.lr * s.decay);
  x.m = lerp(x.m, g, 1 - s.a);
  x.v = addcmul(mul(x.v, s.b), g, g, 1 - s.b);
  T largest = x.v;
  if (s.amsgrad) largest = x.vmax = x.v > x.vmax ? x.v : x.vmax;
  // Powers of the decay rates by multiplication: exact enough that the square root and quotient agree.
  double beta1 = 1, beta2 = 1;
  for (int i = 0; i < s.step; ++i) {
    beta1 *= s.a;
    beta2 *= s.b;
  }
  const T denominator = std::sqrt(largest) / static_cast<T>(std::sqrt(1 - beta2)) + static_cast<T>(s.eps);
  x.p = addcdiv(x.p, x.m, denominator, -(s.lr / (1 - beta1)));
}

const Settings kSettings[] = {
    {.kind = OptimKind::sgd},
    {.kind = OptimKind::sgd, .a = 0.9, .b = 0.25, .decay = 0.1, .momentum = true},
    {.kind = OptimKind::sgd, .a = 0.9, .decay = 0.1, .nesterov = true, .maximize = true, .momentum = true, .scale = 3},
    {.kind = OptimKind::sgd, .a = 0.9, .first = true, .momentum = true},
    {.kind = OptimKind::adam, .a = 0.9, .b = 0.999},
    {.kind = OptimKind::adam, .a = 0.9, .b = 0.999, .decay = 0.1, .maximize = true, .amsgrad = true, .step = 3},
    {.kind = OptimKind::adam, .a = 0.25, .b = 0.5, .step = 2, .scale = 7},
    {.kind = OptimKind::adamw, .a = 0.9, .b = 0.999, .decay = 0.1, .step = 2},
    {.kind = OptimKind::adagrad, .a = 0.01, .decay = 0.1, .eps = 1e-10, .step = 5},
};

template <class T>
void compare(const Settings& s, bool text) {
  constexpr DType t = std::is_same_v<T, float> ? DType::f32 : DType::f64;
  constexpr std::int64_t n = 257;
  std::vector<std::vector<double>> values;
  for (std::uint32_t seed = 0; seed < 5; ++seed) values.push_back(random_numbers(n, seed, 2, 1000));
  for (std::size_t k : {3, 4}) {
    for (double& v : values[k]) v = std::fabs(v);
  }
  const bool adam = s.kind == OptimKind::adam || s.kind == OptimKind::adamw;
  const bool has[] = {true, true, adam || s.momentum, adam || s.kind == OptimKind::adagrad, s.amsgrad};
  NodeRun run(Op::optim);
  text ? run.on(&HostLauncher::instance()) : run.reproducible();
  run.set(AttrKey::kind, static_cast<std::int64_t>(s.kind));
  run.set_number(AttrKey::hyper, {s.lr, s.a, s.b, s.decay, s.eps});
  run.set(AttrKey::mode, (s.nesterov ? 1 : 0) + (s.first ? 2 : 0));
  run.set(AttrKey::maximize, s.maximize ? 1 : 0);
  for (std::size_t k = 0; k < 5; ++k) has[k] ? run.input(t, {n}, values[k]) : run.no_input();
  s.kind != OptimKind::sgd ? run.input(DType::f32, {}, std::vector{s.step}) : run.no_input();
  run.no_input();
  s.scale != 0 ? run.input(DType::f32, {}, std::vector{s.scale}) : run.no_input();
  run.run();
  std::size_t output = 0;
  std::vector<std::vector<Number>> got;
  for (std::size_t k = 0; k < 5; ++k)
    got.push_back(has[k] && (k != 1 || s.scale != 0) ? run.output(output++) : std::vector<Number>());
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = [&](std::size_t k) { return static_cast<T>(values[k][i]); };
    State<T> x{at(0), at(1), at(2), at(3), at(4)};
    step(s, x);
    const T expected[] = {x.p, x.g, x.m, x.v, x.vmax};
    for (std::size_t k = 0; k < 5; ++k) {
      if (got[k].empty()) continue;
      ASSERT_EQ(got[k][i].real(), static_cast<double>(expected[k])) << "operand " << k << ", element " << i;
    }
  }
}

class Optimizers : public testing::TestWithParam<Settings> {};

TEST_P(Optimizers, GiveTheBitsOfTheirDefinition) {
  for (bool text : {false, true}) {
    compare<float>(GetParam(), text);
    compare<double>(GetParam(), text);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, testing::ValuesIn(kSettings));

}  // namespace
}  // namespace tern::test
