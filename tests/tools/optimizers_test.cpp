// exporter/optimizers/step.h against PyTorch's optimizers in float64, over six steps (tests/data/optimizers/make.py).
// The step is inserted into a program with its own parameters and states.
#include <gtest/gtest.h>
#include <tern/tern.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "exporter/optimizers/step.h"
#include "tests/runtime/support.h"
#include "tools/files/safetensors.h"

namespace tern::optimizers {
namespace {

constexpr std::int64_t kOptimizersSteps = 6;

struct OptimizersCase {
  const char* name;
  OptimizerOptions options;
  double tolerance = 1e-12;
};

template <class F>
OptimizerOptions make_options(Optimizer o, F&& change) {
  OptimizerOptions options = options_for(o);
  change(options);
  return options;
}

/// Equal to OPTIONS of make.py.
std::vector<OptimizersCase> cases() {
  using O = Optimizer;
  return {
      {"sgd_plain", make_options(O::sgd, [](auto& o) { o.lr = 0.1; })},
      {"sgd_nesterov",
       make_options(O::sgd, [](auto& o) { o.lr = 0.1, o.momentum = 0.9, o.nesterov = o.maximize = true; })},
      {"adam_plain", make_options(O::adam, [](auto& o) { o.lr = 0.01; })},
      {"adam_amsgrad",
       make_options(O::adam, [](auto& o) { o.lr = 0.01, o.amsgrad = o.maximize = true, o.weight_decay = 0.1; })},
      {"adamw_plain", make_options(O::adamw, [](auto& o) { o.lr = 0.01; })},
      {"adamw_amsgrad", make_options(O::adamw,
                                     [](auto& o) {
                                       o.lr = 0.01, o.amsgrad = true, o.betas = {0.8, 0.99};
                                     })},
      {"adagrad_plain", make_options(O::adagrad, [](auto& o) { o.lr = 0.1; })},
      {"adagrad_decay", make_options(O::adagrad,
                                     [](auto& o) {
                                       o.lr = o.lr_decay = o.weight_decay = 0.1;
                                       o.initial_accumulator = 0.5;
                                     })},
      {"rmsprop_plain", options_for(O::rmsprop)},
      {"rmsprop_momentum", make_options(O::rmsprop, [](auto& o) { o.momentum = 0.9, o.weight_decay = 0.1; })},
      {"rmsprop_centered", make_options(O::rmsprop, [](auto& o) { o.momentum = 0.5, o.centered = true; })},
      {"adadelta_plain", options_for(O::adadelta)},
      {"adadelta_decay", make_options(O::adadelta, [](auto& o) { o.weight_decay = 0.1, o.rho = 0.8; })},
      {"adamax_plain", options_for(O::adamax)},
      {"adamax_decay", make_options(O::adamax, [](auto& o) { o.weight_decay = 0.1; })},
      {"nadam_plain", options_for(O::nadam), 1e-6},  // the product of momenta is a float32 here
      {"nadam_decoupled", make_options(O::nadam, [](auto& o) { o.weight_decay = 0.1, o.decoupled = true; }), 1e-6},
      {"radam_plain", make_options(O::radam, [](auto& o) { o.lr = 0.1; }), 1e-11},
      {"radam_decoupled", make_options(O::radam, [](auto& o) { o.lr = o.weight_decay = 0.1, o.decoupled = true; }),
       1e-11},
      {"radam_rectified", make_options(O::radam,
                                       [](auto& o) {
                                         o.lr = o.weight_decay = 0.1, o.betas = {0.8, 0.7};
                                       })},
      {"asgd_plain", options_for(O::asgd)},
      {"asgd_averaging", make_options(O::asgd, [](auto& o) { o.t0 = 1, o.lambd = o.weight_decay = 0.1; })},
      {"rprop_plain", make_options(O::rprop, [](auto& o) { o.lr = 0.1; })},
      {"adafactor_plain", options_for(O::adafactor), 1e-11},
      {"adafactor_decay", make_options(O::adafactor, [](auto& o) { o.weight_decay = o.lr = 0.1; }), 1e-11},
      {"muon_plain", options_for(O::muon), 2e-4},  // error of a bfloat16 step, lr 1e-3
      {"muon_plain_momentum",
       make_options(O::muon, [](auto& o) { o.nesterov = false, o.match_rms_adamw = true, o.lr = 0.1; }), 5e-2},
  };
}

class Optimizers : public ::testing::TestWithParam<OptimizersCase> {};

/// A state of the program with the bytes of a tensor.
ValueId state(testing::TestProgram& p, const TensorType& type, const std::function<double(std::size_t)>& value) {
  const std::vector<std::int64_t> sizes = [&] {
    std::vector<std::int64_t> s;
    for (Dim d : type.shape) s.push_back(d.value());
    return s;
  }();
  Tensor t(type.dtype, sizes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(t.numel()); ++i) {
    if (type.dtype == DType::f64) t.span<double>()[i] = value(i);
    if (type.dtype == DType::f32) t.span<float>()[i] = static_cast<float>(value(i));
  }
  const auto bytes = t.span<const std::byte>();
  const auto number = static_cast<std::uint32_t>(p.program().states.size());
  State s{.name = "s" + std::to_string(number), .type = type, .is_mutable = true};
  s.storage = add_storage(p.program(), std::vector<std::byte>(bytes.begin(), bytes.end()));
  s.strides.assign(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) s.strides[i - 1] = s.strides[i] * sizes[i];
  p.program().states.push_back(s);
  const ValueId v = p.b().add_value(type);
  p.program().functions[0].inputs.push_back({FunctionInput::Kind::state, v, number, "", {}});
  return v;
}

TEST_P(Optimizers, FollowsPyTorch) {
  const auto& [name, options, tolerance] = GetParam();
  const auto data = read_safetensors(TERN_SOURCE_DIR "/tests/data/optimizers/steps.safetensors");
  const auto tensor = [&](const std::string& key) {
    const HostTensor& t = *data.find(key);
    Tensor copy(t.dtype, t.sizes);
    std::ranges::copy(t.data, copy.span<std::byte>().begin());
    return copy;
  };
  const std::string group = options.optimizer == Optimizer::muon ? "matrices" : "all";
  const std::size_t count = options.optimizer == Optimizer::muon ? 2 : 3;
  testing::TestProgram p;
  std::vector<ValueId> params, grads, states;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor t = tensor(group + ".p" + std::to_string(i));
    types.push_back({DType::f64, Dims(t.sizes().begin(), t.sizes().end())});
    params.push_back(state(p, types[i], [&](std::size_t k) { return t.span<const double>()[k]; }));
    grads.push_back(p.input(DType::f64, types[i].shape));
  }
  for (const StateTensor& s : optimizer_states(options, types))
    states.push_back(state(p, s.type, [&](std::size_t) { return s.initial; }));
  const StepResults results = optimizer_step(p.b(), options, params, grads, states);
  for (std::size_t i = 0; i < count; ++i) {
    p.write_back(static_cast<std::uint32_t>(i), results.params[i]);
    p.output(results.params[i]);
  }
  for (std::size_t i = 0; i < states.size(); ++i)
    p.write_back(static_cast<std::uint32_t>(count + i), results.states[i]);
  for (const bool reproducible : {false, true}) {
    PrepareOptions prepare;
    prepare.reproducible = reproducible;
    Session session(p.model().prepare(prepare));
    for (std::int64_t step = 0; step < kOptimizersSteps; ++step) {
      std::vector<Tensor> inputs;
      for (std::size_t i = 0; i < count; ++i)
        inputs.push_back(tensor(group + ".g" + std::to_string(i) + "." + std::to_string(step)));
      const std::vector<Tensor>& outputs = session.run(inputs);
      for (std::size_t i = 0; i < count; ++i) {
        const Tensor expected = tensor(std::string(name) + ".p" + std::to_string(i) + "." + std::to_string(step));
        for (std::int64_t k = 0; k < expected.numel(); ++k) {
          const auto at = static_cast<std::size_t>(k);
          const double want = expected.span<const double>()[at];
          ASSERT_NEAR(outputs[i].span<const double>()[at], want, tolerance * std::max(1.0, std::fabs(want)))
              << "parameter " << i << " after step " << step << (reproducible ? ", reproducible" : "");
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Optimizers, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST(OptimizerOptions, SaysWhichNumberIsOutOfRange) {
  OptimizerOptions o = options_for(Optimizer::adam);
  o.betas[1] = 1;
  EXPECT_THROW(check_options(o), Error);
  EXPECT_EQ(optimizer_from_name("muon"), static_cast<int>(Optimizer::muon));
  EXPECT_EQ(optimizer_from_name("adamx"), -1);
}

}  // namespace
}  // namespace tern::optimizers
