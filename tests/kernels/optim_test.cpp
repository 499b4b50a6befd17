// Optimizers on devices and reproducible optimizers on the CPU, bit for bit: PyTorch's eager GPU kernels in plain C++,
// operator by operator (torch/optim/{sgd,adam,adamw,adagrad}.py; add with alpha, addcmul and addcdiv round once, after
// their sum).
#include "schema/optim.h"

#include <gtest/gtest.h>
#include <tern/error.h>

#include <algorithm>
#include <cmath>

#include "tests/kernels/node_run.h"

namespace tern::test {
namespace {

struct Settings {
  OptimKind kind;
  double lr = 0.01, a = 0, b = 0, decay = 0, eps = 1e-8;
  bool nesterov = false, first = false, maximize = false, momentum = false, amsgrad = false;
  double step = 1, scale = 0;
};

// The operators. Kernels convert Python's double scalars to T.
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
  // Powers of the decay rates by multiplication: exact enough for an equal square root and quotient.
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
  text ? run.select_device(&HostLauncher::instance()) : run.reproducible();
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

/// A list of parameters of `kind` with all optional states, in sizes that fill no vector.
void add_list(NodeRun& run, OptimKind kind, bool shared_step, DType param, DType state) {
  constexpr std::int64_t kSizes[] = {3, 1, 40, 17, 0, 257, 8, 5, 64, 33, 2};
  const OptimRecord& record = optim_record(kind);
  std::vector<std::int64_t> counts;
  std::uint32_t seed = 1;
  const auto large = [&](bool there, DType t, bool square) {
    for (std::int64_t n : kSizes) {
      std::vector<double> values = random_numbers(n, seed++, 2, 1000);
      for (double& v : values) v = square ? std::fabs(v) + 5 : v;
      if (there) run.input(t, {n}, values);
    }
    counts.push_back(there ? std::ssize(kSizes) : 0);
  };
  const auto numbers = [&](bool there, bool one, double value) {
    const std::int64_t n = !there ? 0 : one ? 1 : std::ssize(kSizes);
    for (std::int64_t i = 0; i < n; ++i) run.input(DType::f32, {}, std::vector{value});
    counts.push_back(n);
  };
  large(true, param, false);
  large(true, param, false);
  large(record.m >= 0, state, kind == OptimKind::adadelta);
  large(record.v >= 0, state, true);
  large(record.third >= 0, state, kind != OptimKind::rmsprop);
  numbers(record.step >= 0, shared_step, 3);
  numbers(true, true, 0.125);
  numbers(true, true, 4);
  numbers(true, true, 0);
  large(param != state, state, false);
  numbers(record.product >= 0, shared_step, 0.5);
  run.set(AttrKey::counts, counts);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  std::vector<double> hyper = {0.01, 0.9, 0.75, 0.1, 1e-6, 50};
  if (kind == OptimKind::rprop) hyper = {0, 0.5, 1.2, 0, 1e-6, 50};
  hyper.resize(record.hyper_count());
  run.set_number(AttrKey::hyper, hyper);
  run.set(AttrKey::mode, kOptimAdvance | record.modes);
}

// A device's launch serves several parameters; the CPU's definition runs once per parameter, and its kernel runs a
// single loop over all.
TEST(OptimizerLists, HaveOneParametersBits) {
  for (int kind = 0; kind < kOptimKinds; ++kind) {
    for (const bool shared : {true, false}) {
      for (const auto& [param, state] : {std::pair{DType::f32, DType::f32}, std::pair{DType::bf16, DType::f32}}) {
        NodeRun runs[3] = {NodeRun(Op::optim), NodeRun(Op::optim), NodeRun(Op::optim)};
        runs[0].reproducible();
        runs[1].select_device(&HostLauncher::instance());
        // Two kernel sources cover both: each compiles for a second.
        const bool narrow = param == DType::bf16;
        const bool text =
            static_cast<OptimKind>(kind) == (shared ? OptimKind::adamw : OptimKind::nadam) && narrow == shared;
        for (NodeRun& run : runs) {
          add_list(run, static_cast<OptimKind>(kind), shared, param, state);
          if (text || &run != &runs[1]) run.run();
        }
        for (std::size_t k = 0; k < runs[0].infer_types().size(); ++k) {
          if (text) {
            EXPECT_EQ(runs[0].bytes(k), runs[1].bytes(k)) << "kind " << kind << ", result " << k;
          }
          const std::vector<Number> defined = runs[0].output(k), native = runs[2].output(k);
          for (std::size_t i = 0; i < defined.size(); ++i) {
            const double size = std::max(1.0, std::fabs(defined[i].real()));
            ASSERT_NEAR(native[i].real(), defined[i].real(), size * (narrow ? 4e-3 : 1e-6))
                << "kind " << kind << ", result " << k << ", element " << i;
          }
        }
      }
    }
  }
}

/// All codes, and for squares the larger half.
double code_at(char code, std::int64_t i) {
  return static_cast<double>(code == 'u' ? 128 + i * 37 % 128 : i * 37 % 256);
}

/// Parameters of `param` with states of 8 bits: codes of all values, and a scale of zero, as before the first step.
void add_coded_list(NodeRun& run, OptimKind kind, DType param, double found_inf) {
  constexpr std::int64_t kSizes[] = {256, 768, 512};
  const OptimRecord& record = optim_record(kind);
  std::vector<std::int64_t> counts(kOptimLists, 0);
  std::uint32_t seed = 1;
  const auto add = [&](OptimList list, DType t, std::int64_t each, auto&& value) {
    for (std::int64_t n : kSizes) {
      std::vector<double> values;
      for (std::int64_t i = 0; i < n / each; ++i) values.push_back(value(i, random_numbers(1, seed++, 2, 1000)[0]));
      run.input(t, {n / each}, values);
    }
    counts[static_cast<std::size_t>(list)] = std::ssize(kSizes);
  };
  const auto one = [&](OptimList list, double value) {
    run.input(DType::f32, {}, std::vector{value});
    counts[static_cast<std::size_t>(list)] = 1;
  };
  const auto plain = [](std::int64_t, double x) { return x; };
  add(OptimList::param, param, 1, plain);
  add(OptimList::grad, param, 1, plain);
  for (OptimList list : kOptimCoded) {
    const char code = record.code(list);
    if (code != '-') add(list, DType::u8, 1, [code](std::int64_t i, double) { return code_at(code, i); });
  }
  if (record.step >= 0) one(OptimList::step, 3);
  one(OptimList::lr, 0.125);
  one(OptimList::grad_scale, 4);
  one(OptimList::found_inf, found_inf);
  if (param != DType::f32) add(OptimList::master, DType::f32, 1, plain);
  if (record.product >= 0) one(OptimList::product, 0.5);
  for (OptimList list : kOptimCoded) {
    if (record.code(list) == '-') continue;
    // Squares are larger than the square of a mean gradient.
    const double least = record.code(list) == 'u' ? 8 : 0.25;
    add(scales_of(list), DType::f32, 256,
        [&](std::int64_t i, double x) { return i == 1 ? 0 : least + std::fabs(x) / 8; });
  }
  run.set(AttrKey::counts, counts);
  run.set(AttrKey::kind, static_cast<std::int64_t>(kind));
  std::vector<double> hyper = {0.01, 0.9, 0.75, 0.1, 1e-6, 50};
  hyper.resize(record.hyper_count());
  run.set_number(AttrKey::hyper, hyper);
  run.set(AttrKey::mode, record.modes | (record.step >= 0 ? std::int64_t{kOptimAdvance} : std::int64_t{0}));
}

// tests/tools/eight_bits_test.cpp has torchao's numbers.
TEST(OptimizerLists, OfEightBitsHaveTheBitsOfTheirDefinition) {
  for (int kind = 0; kind < kOptimKinds; ++kind) {
    const auto k = static_cast<OptimKind>(kind);
    if (optim_record(k).codes == "---") continue;
    for (const DType param : {DType::f32, DType::bf16}) {
      NodeRun runs[3] = {NodeRun(Op::optim), NodeRun(Op::optim), NodeRun(Op::optim)};
      runs[0].reproducible();
      runs[1].select_device(&HostLauncher::instance());
      const bool text = k == OptimKind::rmsprop && param == DType::bf16;  // a second of the compiler's
      for (NodeRun& run : runs) {
        add_coded_list(run, k, param, 0);
        if (text || &run != &runs[1]) run.run();
      }
      std::size_t others = 0, all = 0;
      for (std::size_t r = 0; r < runs[0].infer_types().size(); ++r) {
        if (text) {
          EXPECT_EQ(runs[0].bytes(r), runs[1].bytes(r)) << "kind " << kind << ", result " << r;
        }
        const bool codes = runs[0].infer_types()[r].dtype == DType::u8;
        const std::vector<Number> defined = runs[0].output(r), native = runs[2].output(r);
        for (std::size_t i = 0; i < defined.size(); ++i) {
          const double size = std::max(1.0, std::fabs(defined[i].real()));
          ASSERT_NEAR(native[i].real(), defined[i].real(), codes ? 1 : size * (param == DType::bf16 ? 4e-3 : 1e-6))
              << "kind " << kind << ", result " << r << ", element " << i;
          all += codes;
          others += codes && native[i] != defined[i];
        }
      }
      EXPECT_LE(others, all / 200) << "kind " << kind;
    }
  }
}

TEST(OptimizerLists, OfEightBitsStayWhereAStepIsLeftOut) {
  for (const bool reproducible : {false, true}) {
    NodeRun run(Op::optim);
    if (reproducible) run.reproducible();
    add_coded_list(run, OptimKind::adamw, DType::f32, 1);
    run.run();
    const OptimLayout layout(run.node());
    const auto expect_codes = [&](OptimList list, char code) {
      for (std::size_t i = 0; i < 3; ++i) {
        const std::vector<Number> after = run.output(layout.result(list, i));
        for (std::size_t e = 0; e < after.size(); ++e)
          ASSERT_EQ(after[e].real(), code_at(code, static_cast<std::int64_t>(e)));
      }
    };
    expect_codes(OptimList::m, 's');
    expect_codes(OptimList::v, 'u');
    EXPECT_EQ(run.output(layout.result(OptimList::m_scale, 1))[1].real(), 0);
    EXPECT_GE(run.output(layout.result(OptimList::v_scale, 1))[2].real(), 8);
  }
}

TEST(OptimizerLists, OfEightBitsRefuseWhatDoesNotFit) {
  const auto refuses = [](OptimKind kind, DType param, auto&& change) {
    NodeRun run(Op::optim);
    add_coded_list(run, kind, param, 0);
    change(run);
    EXPECT_THROW(run.infer_types(), Error);
  };
  const auto nothing = [](NodeRun&) {};
  const auto counts = [](std::vector<std::int64_t> c) { return [c](NodeRun& r) { r.set(AttrKey::counts, c); }; };
  NodeRun good(Op::optim);
  add_coded_list(good, OptimKind::adam, DType::f32, 0);
  EXPECT_EQ(good.infer_types().size(), 25u);  // 5 lists and 3 of scales, of 3, and the step
  refuses(OptimKind::adam, DType::f64, nothing);
  refuses(OptimKind::adam, DType::f32, counts({3, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0}));           // codes without scales
  refuses(OptimKind::adam, DType::f32, counts({3, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0, 3, 6, 0}));  // too many
  refuses(OptimKind::adam, DType::f32, counts({3, 3, 3, 3, 3, 1, 1, 1, 1, 0, 0, 9}));        // twelve lists
  refuses(OptimKind::adam, DType::f32, [](NodeRun& r) {  // an optimizer without such states
    r.set(AttrKey::kind, static_cast<std::int64_t>(OptimKind::adadelta));
  });
}

TEST(OptimizerLists, RefuseCountsThatDoNotFit) {
  const auto refuses = [](auto&& change) {
    NodeRun run(Op::optim);
    add_list(run, OptimKind::adam, true, DType::f32, DType::f32);
    change(run);
    EXPECT_THROW(run.infer_types(), Error);
  };
  const auto counts = [](std::vector<std::int64_t> c) { return [c](NodeRun& r) { r.set(AttrKey::counts, c); }; };
  NodeRun good(Op::optim);
  add_list(good, OptimKind::adam, true, DType::f32, DType::f32);
  EXPECT_EQ(good.infer_types().size(), 56u);                 // 5 lists of 11, and the step
  refuses(counts({11, 11, 11, 11, 11, 1, 1, 1, 1, 0}));      // ten lists
  refuses(counts({11, 11, 11, 11, 11, 1, 1, 1, 0, 0, 0}));   // fewer than the operands
  refuses(counts({11, 11, 11, 11, 10, 2, 1, 1, 1, 0, 0}));   // too short a list
  refuses(counts({11, 11, 11, 22, 0, 1, 1, 1, 1, 0, 0}));    // too long
  refuses(counts({0, 22, 11, 11, 11, 1, 1, 1, 1, 0, 0}));    // no parameter
  refuses(counts({11, 11, 11, 11, 11, 1, 1, 1, 0, 0, 1}));   // a product, foreign to Adam
  refuses(counts({11, 11, 11, 11, 12, 1, 1, 1, -1, 0, 0}));  // a negative number
  refuses(counts({11, 11, 0, 11, 11, 1, 1, 1, 11, 1, 0}));   // no first moment
  refuses([](NodeRun& r) { r.set_number(AttrKey::hyper, {0.1, 0.9, 0.99, 0}); });
  refuses([](NodeRun& r) { r.set(AttrKey::mode, kOptimDecoupled); });
  refuses([](NodeRun& r) { r.set(AttrKey::mode, 16); });
  refuses([](NodeRun& r) { r.set(AttrKey::kind, 12); });
  refuses([](NodeRun& r) { r.node().inputs[3] = kNoValue; });
}

}  // namespace
}  // namespace tern::test
