// tern::optim: published rules by hand, lists of any sizes, other types, errors. tests/tools/optimizers_test.cpp
// follows PyTorch with the same loops.
#include <gtest/gtest.h>
#include <tern/error.h>
#include <tern/optim.h>

#include <cmath>

namespace tern::optim {
namespace {

Tensor floats(std::int64_t n, float value) {
  Tensor t(DType::f32, {n});
  for (float& x : t.span<float>()) x = value;
  return t;
}

TEST(Optim, AdamWOverAList) {
  // First steps from zero moments: the corrections cancel the betas (Loshchilov and Hutter, algorithm 2).
  const Options o = defaults(Kind::adamw);
  std::vector<Tensor> params, grads;
  for (std::int64_t n : {0, 1, 7, 40000, 3, 0, 100001}) {
    params.push_back(floats(n, 0.5F));
    grads.push_back(floats(n, 0.25F));
  }
  States states = make_states(o, params);
  ASSERT_EQ(states.first.size(), params.size());
  EXPECT_TRUE(states.third.empty());
  step(o, params, grads, states, {.threads = 2});
  EXPECT_EQ(states.steps, 1);
  const double expected = 0.5 * (1 - 1e-3 * 1e-2) - 1e-3 * 0.25 / (0.25 + 1e-8);
  for (const Tensor& p : params) {
    for (float x : p.span<const float>()) ASSERT_NEAR(x, expected, 1e-7);
  }
}

TEST(Optim, TheNumberOfThreadsChangesNoBit) {
  const Options o = defaults(Kind::nadam);
  std::vector<Tensor> params[2];
  for (int run = 0; run < 2; ++run) {
    std::vector<Tensor> grads;
    for (std::int64_t n : {30011, 5, 70000}) {
      params[run].push_back(floats(n, 1));
      grads.push_back(floats(n, 0));
      for (std::int64_t i = 0; i < n; ++i)
        grads.back().span<float>()[static_cast<std::size_t>(i)] = std::sin(0.1F * static_cast<float>(i));
    }
    States states = make_states(o, params[run]);
    for (int i = 0; i < 3; ++i) step(o, params[run], grads, states, {.threads = run == 0 ? 1 : 2});
    EXPECT_LT(states.mu_product, 0.2);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto a = params[0][i].span<const float>(), b = params[1][i].span<const float>();
    EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin()));
  }
}

TEST(Optim, MasterWeightsKeepWhatBfloat16Loses) {
  // Steps of 1e-4 are far below half a unit of the last place of 1 in bfloat16, 2^-9.
  Options o = defaults(Kind::sgd);
  o.lr = 1e-4;
  for (const Precision16 precision : {Precision16::parameters, Precision16::masters}) {
    const std::vector<Tensor> params = {Tensor(DType::bf16, {3})}, grads = {floats(3, 1)};
    for (std::uint16_t& code : const_cast<Tensor&>(params[0]).span<std::uint16_t>()) code = 0x3f80;  // 1
    States states = make_states(o, params, precision);
    for (int i = 0; i < 100; ++i) step(o, params, grads, states);
    const std::uint16_t code = params[0].span<const std::uint16_t>()[2];
    EXPECT_EQ(code, precision == Precision16::parameters ? 0x3f80 : 0x3f7d);  // 0.98828125, next to 0.99
    if (precision == Precision16::parameters) continue;
    EXPECT_NEAR(states.masters[0].span<float>()[2], 0.99, 1e-5);
  }
}

TEST(Optim, ScaledGradientsAndStepsThatAreLeftOut) {
  Options o = defaults(Kind::sgd);
  o.lr = 0.5;
  const std::vector<Tensor> params = {floats(5, 2)}, grads = {floats(5, 8)};
  States states = make_states(o, params);
  step(o, params, grads, states, {.found_inf = true});
  EXPECT_EQ(states.steps, 0);
  EXPECT_EQ(params[0].span<const float>()[4], 2);
  step(o, params, grads, states, {.lr = 0.25, .grad_scale = 4});
  EXPECT_EQ(params[0].span<const float>()[4], 1.5F);
  EXPECT_EQ(grads[0].span<const float>()[4], 8);
}

TEST(Optim, SgdBeginsItsBufferWithTheGradient) {
  // torch.optim.SGD([p], lr=0.5, momentum=0.5, dampening=0.75) from p = 4 with gradients 2, 4: buffers 2, then 0.5 * 2
  // + 0.25 * 4 = 2. A skipped step does not count as the first.
  Options o = defaults(Kind::sgd);
  o.lr = o.momentum = 0.5;
  o.dampening = 0.75;
  const std::vector<Tensor> params = {floats(3, 4)};
  States states = make_states(o, params);
  const std::vector<Tensor> infinite = {floats(3, INFINITY)}, first = {floats(3, 2)}, second = {floats(3, 4)};
  step(o, params, infinite, states, {.found_inf = true});
  step(o, params, first, states);
  EXPECT_EQ(states.first[0].span<const float>()[2], 2);
  EXPECT_EQ(params[0].span<const float>()[2], 3);
  step(o, params, second, states);
  EXPECT_EQ(states.first[0].span<const float>()[2], 2);
  EXPECT_EQ(params[0].span<const float>()[2], 2);
}

TEST(Optim, RefusesWhatTorchRefuses) {
  const std::vector<Tensor> params = {floats(2, 1)};
  const auto refused = [&](Kind kind, auto&& change) {
    Options o = defaults(kind);
    change(o);
    try {
      make_states(o, params);
      return false;
    } catch (const Error& e) {
      return e.code() == ErrorCode::invalid_argument;
    }
  };
  EXPECT_TRUE(refused(Kind::sgd, [](Options& o) { o.nesterov = true; }));
  EXPECT_TRUE(refused(Kind::sgd, [](Options& o) { o.nesterov = true, o.momentum = 0.9, o.dampening = 0.1; }));
  EXPECT_FALSE(refused(Kind::sgd, [](Options& o) { o.nesterov = true, o.momentum = 0.9; }));
  EXPECT_TRUE(refused(Kind::sgd, [](Options& o) { o.lr = -1; }));
  EXPECT_TRUE(refused(Kind::rmsprop, [](Options& o) { o.alpha = -0.1; }));
  EXPECT_FALSE(refused(Kind::asgd, [](Options& o) { o.alpha = -0.1; }));
  EXPECT_TRUE(refused(Kind::adagrad, [](Options& o) { o.lr_decay = -0.1; }));
  EXPECT_TRUE(refused(Kind::adagrad, [](Options& o) { o.initial_sum = -0.1; }));
  EXPECT_TRUE(refused(Kind::nadam, [](Options& o) { o.momentum_decay = -0.1; }));
}

TEST(Optim, RefusesWhatDoesNotFit) {
  Options o = defaults(Kind::adam);
  const std::vector<Tensor> params = {floats(4, 1), floats(2, 1)};
  States states = make_states(o, params);
  const std::vector<Tensor> few = {floats(4, 1)}, other = {floats(4, 1), floats(3, 1)},
                            integers = {Tensor(DType::i32, {4}), Tensor(DType::i32, {2})};
  for (const auto& grads : {few, other, integers}) EXPECT_THROW(step(o, params, grads, states), Error);
  EXPECT_THROW(make_states(o, integers), Error);
  States none;
  EXPECT_THROW(step(o, params, params, none), Error);
  const float memory[4] = {};
  const std::vector<Tensor> constant = {Tensor::borrow(static_cast<const void*>(memory), DType::f32, {4}), params[1]};
  EXPECT_THROW(step(o, constant, params, states), Error);
  o.betas[0] = 1;
  EXPECT_THROW(make_states(o, params), Error);
  EXPECT_EQ(params[0].span<const float>()[0], 1);
}

TEST(Optim, RefusesStatesOfEightBitsThatDoNotFit) {
  Options o = defaults(Kind::adam);
  o.eight_bits = true;
  const Tensor coded(DType::f32, {16, 256}), small(DType::f32, {3, 5});
  const std::vector<Tensor> params = {coded, small, small};
  const auto refuses = [&](auto&& change) {
    States states = make_states(o, params);
    change(states);
    EXPECT_THROW(step(o, params, params, states), Error);
  };
  States good = make_states(o, params);
  step(o, params, params, good);
  refuses([](States& s) { s.second_scales[0] = Tensor(DType::f32, {15}); });
  refuses([](States& s) { s.second_scales.pop_back(); });
  refuses([](States& s) { s.second_scales.clear(); });
  refuses([](States& s) { s.third_scales.emplace_back(DType::f32, std::vector<std::int64_t>{16}); });  // no such state
  refuses([](States& s) { s.second[0] = Tensor(DType::f32, {16, 256}); });  // a single state of two
  refuses([](States& s) { s.first[1] = Tensor(DType::u8, {3, 5}); });
  const std::vector<Tensor> halves(2, Tensor(DType::bf16, {3, 5}));
  States mixed = make_states(o, halves);
  mixed.first[0] = Tensor(DType::f32, {3, 5});  // all floats of a list share a type
  EXPECT_THROW(step(o, halves, halves, mixed), Error);
}

}  // namespace
}  // namespace tern::optim
