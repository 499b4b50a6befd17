// Every _backward operator against finite differences of its forward operator.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/runtime/lowered_call.h"

namespace tern::testing {
namespace {

using Sizes = LoweredCall::Sizes;
using Numbers = LoweredCall::Numbers;
using AddArguments = std::function<void(LoweredCall&)>;

Numbers numbers(std::int64_t n, double scale = 1, double phase = 0.3) {
  Numbers v(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < v.size(); ++i) v[i] = scale * std::sin(1.7 * static_cast<double>(i) + phase) * 1.9;
  return v;
}
std::int64_t product(const Sizes& sizes) {
  std::int64_t n = 1;
  for (std::int64_t s : sizes) n *= s;
  return n;
}

/// d/dx of sum(g * f(x)) by central differences.
Numbers differences(const std::function<Numbers(const Numbers&)>& f, Numbers x, const Numbers& g) {
  constexpr double h = 1e-5;
  const auto value = [&] {
    const Numbers y = f(x);
    EXPECT_EQ(y.size(), g.size());
    double s = 0;
    for (std::size_t i = 0; i < y.size(); ++i) s += g[i] * y[i];
    return s;
  };
  Numbers d(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double at = x[i];
    x[i] = at + h;
    const double above = value();
    x[i] = at - h;
    d[i] = (above - value()) / (2 * h);
    x[i] = at;
  }
  return d;
}

void expect_near(const Numbers& actual, const Numbers& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 2e-8 * (1 + std::fabs(expected[i]))) << what << " at " << i;
}

struct Activation {
  const char* forward;
  const char* backward;
  AddArguments forward_arguments, backward_arguments;
  double scale = 1;
  double phase = 0.3;
};

TEST(Gradients, Activations) {
  const AddArguments none = [](LoweredCall&) {};
  const auto number = [](std::string_view name, double v) { return [=](LoweredCall& c) { c.number(name, v); }; };
  const auto text = [](std::string_view name, std::string v) { return [=](LoweredCall& c) { c.text(name, v); }; };
  const AddArguments bounds = [](LoweredCall& c) { c.number("min_val", -0.7).number("max_val", 1.1); };
  const AddArguments elu = [](LoweredCall& c) {
    c.number("alpha", 0.8).number("scale", 1.2).number("input_scale", 0.9);
  };
  const AddArguments softplus = [](LoweredCall& c) { c.number("beta", 2).number("threshold", 1.5); };
  const std::vector<Activation> cases = {
      {"aten.silu.default", "aten.silu_backward.default", none, none},
      {"aten.gelu.default", "aten.gelu_backward.default", text("approximate", "none"), text("approximate", "none")},
      {"aten.gelu.default", "aten.gelu_backward.default", text("approximate", "tanh"), text("approximate", "tanh")},
      {"aten.hardsigmoid.default", "aten.hardsigmoid_backward.default", none, none, 2.5},
      {"aten.hardswish.default", "aten.hardswish_backward.default", none, none, 2.5},
      {"aten.mish.default", "aten.mish_backward.default", none, none},
      {"aten.log_sigmoid.default", "aten.log_sigmoid_backward.default", none, none},
      {"aten.hardtanh.default", "aten.hardtanh_backward.default", bounds, bounds},
      {"aten.leaky_relu.default", "aten.leaky_relu_backward.default", number("negative_slope", 0.2),
       number("negative_slope", 0.2)},
      {"aten.elu.default", "aten.elu_backward.default", elu,
       [&](LoweredCall& c) {
         elu(c);
         c.flag("is_result", false);
       }},
      {"aten.softplus.default", "aten.softplus_backward.default", softplus, softplus},
      {"aten.softshrink.default", "aten.softshrink_backward.default", number("lambd", 0.4), number("lambd", 0.4)},
      {"aten.logit.default", "aten.logit_backward.default", none, none, 0.2, 0.3},
  };
  for (const Activation& a : cases) {
    Numbers x = numbers(12, a.scale, a.phase);
    if (std::string_view(a.forward).find("logit") != std::string_view::npos) {
      for (double& v : x) v = 0.5 + v;
    }
    const Numbers g = numbers(12, 0.8, 1.1);
    const auto forward = [&](const Numbers& v) {
      LoweredCall c(a.forward);
      a.forward_arguments(c.tensor("self", {12}, v));
      if (std::string_view(a.forward).find("logit") != std::string_view::npos) c.none("eps");
      return c.run()[0];
    };
    LoweredCall c(a.backward);
    const bool is_elu = std::string_view(a.backward).find("elu_backward") == 5;
    c.tensor("grad_output", {12}, g).tensor(is_elu ? "self_or_result" : "self", {12}, x);
    if (std::string_view(a.backward).find("logit") != std::string_view::npos) c.none("eps");
    a.backward_arguments(c);
    expect_near(c.run()[0], differences(forward, x, g), a.backward);
  }
}

TEST(Gradients, ActivationsByTheirResult) {
  for (const char* name : {"tanh", "sigmoid"}) {
    const Numbers x = numbers(9), g = numbers(9, 0.8, 1.1);
    const auto forward = [&](const Numbers& v) {
      return LoweredCall(std::string("aten.") + name + ".default").tensor("self", {9}, v).run()[0];
    };
    LoweredCall c(std::string("aten.") + name + "_backward.default");
    expect_near(c.tensor("grad_output", {9}, g).tensor("output", {9}, forward(x)).run()[0], differences(forward, x, g),
                name);
  }
}

TEST(Gradients, Softmax) {
  for (const char* name : {"_softmax", "_log_softmax"}) {
    const Numbers x = numbers(12), g = numbers(12, 0.8, 1.1);
    const auto forward = [&](const Numbers& v) {
      return LoweredCall(std::string("aten.") + name + ".default")
          .tensor("self", {3, 4}, v)
          .integer("dim", 1)
          .flag("half_to_float", false)
          .run()[0];
    };
    LoweredCall c(std::string("aten.") + name + "_backward_data.default");
    c.tensor("grad_output", {3, 4}, g).tensor("output", {3, 4}, forward(x)).integer("dim", 1);
    expect_near(c.run()[0], differences(forward, x, g), name);
  }
}

TEST(Gradients, LayerNormAndGroupNorm) {
  const Numbers x = numbers(24), w = numbers(6, 1, 2), s = numbers(6, 1, 4), g = numbers(24, 0.8, 1.1);
  const auto layer = [&](const Numbers& xs, const Numbers& ws, const Numbers& ss) {
    return LoweredCall("aten.native_layer_norm.default")
        .tensor("input", {4, 6}, xs)
        .integers("normalized_shape", {6})
        .tensor("weight", {6}, ws)
        .tensor("bias", {6}, ss)
        .number("eps", 1e-3)
        .run();
  };
  const auto y = layer(x, w, s);
  LoweredCall c("aten.native_layer_norm_backward.default");
  c.tensor("grad_out", {4, 6}, g)
      .tensor("input", {4, 6}, x)
      .integers("normalized_shape", {6})
      .tensor("mean", {4, 1}, y[1])
      .tensor("rstd", {4, 1}, y[2])
      .tensor("weight", {6}, w)
      .tensor("bias", {6}, s)
      .integers("output_mask", {1, 1, 1});
  const auto r = c.run();
  expect_near(r[0], differences([&](const Numbers& v) { return layer(v, w, s)[0]; }, x, g), "layer_norm, input");
  expect_near(r[1], differences([&](const Numbers& v) { return layer(x, v, s)[0]; }, w, g), "layer_norm, weight");
  expect_near(r[2], differences([&](const Numbers& v) { return layer(x, w, v)[0]; }, s, g), "layer_norm, bias");

  const Numbers cw = numbers(4, 1, 2), cs = numbers(4, 1, 4);
  const auto group = [&](const Numbers& xs, const Numbers& ws) {
    return LoweredCall("aten.native_group_norm.default")
        .tensor("input", {2, 4, 3}, xs)
        .tensor("weight", {4}, ws)
        .tensor("bias", {4}, cs)
        .integer("N", 2)
        .integer("C", 4)
        .integer("HxW", 3)
        .integer("group", 2)
        .number("eps", 1e-3)
        .run();
  };
  const auto gy = group(x, cw);
  LoweredCall d("aten.native_group_norm_backward.default");
  d.tensor("grad_out", {2, 4, 3}, g)
      .tensor("input", {2, 4, 3}, x)
      .tensor("mean", {2, 2}, gy[1])
      .tensor("rstd", {2, 2}, gy[2])
      .tensor("weight", {4}, cw)
      .integer("group", 2)
      .integers("output_mask", {1, 1, 1});
  const auto gr = d.run();
  expect_near(gr[0], differences([&](const Numbers& v) { return group(v, cw)[0]; }, x, g), "group_norm, input");
  expect_near(gr[1], differences([&](const Numbers& v) { return group(x, v)[0]; }, cw, g), "group_norm, weight");
}

TEST(Gradients, BatchNormInTraining) {
  const Numbers x = numbers(24), w = numbers(3, 1, 2), s = numbers(3, 1, 4), g = numbers(24, 0.8, 1.1), ones(3, 1);
  const auto norm = [&](const Numbers& xs) {
    return LoweredCall("aten.native_batch_norm.default")
        .tensor("input", {4, 3, 2}, xs)
        .tensor("weight", {3}, w)
        .tensor("bias", {3}, s)
        .tensor("running_mean", {3}, ones)
        .tensor("running_var", {3}, ones)
        .flag("training", true)
        .number("momentum", 0.1)
        .number("eps", 1e-3)
        .run();
  };
  const auto y = norm(x);
  LoweredCall c("aten.native_batch_norm_backward.default");
  c.tensor("grad_out", {4, 3, 2}, g)
      .tensor("input", {4, 3, 2}, x)
      .tensor("weight", {3}, w)
      .none("running_mean")
      .none("running_var")
      .tensor("save_mean", {3}, y[1])
      .tensor("save_invstd", {3}, y[2])
      .flag("train", true)
      .number("eps", 1e-3)
      .integers("output_mask", {1, 0, 0});
  expect_near(c.run()[0], differences([&](const Numbers& v) { return norm(v)[0]; }, x, g), "batch_norm");
}

struct Convolution {
  Sizes x, w, stride, padding, dilation;
  std::int64_t groups = 1;
  bool transposed = false;
  Sizes output_padding = {0, 0};
};

TEST(Gradients, Convolutions) {
  const std::vector<Convolution> cases = {
      {{2, 2, 5, 6}, {3, 2, 3, 2}, {1, 1}, {0, 0}, {1, 1}},
      {{1, 2, 6, 7}, {2, 2, 3, 3}, {2, 2}, {1, 1}, {1, 1}},  // windows leave a remainder
      {{2, 4, 5, 5}, {4, 2, 3, 3}, {1, 2}, {1, 2}, {2, 1}, 2},
      {{1, 3, 4, 4}, {3, 1, 2, 2}, {1, 1}, {0, 0}, {1, 1}, 3},
      {{2, 4, 3, 3}, {4, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, 2, true, {1, 0}},
  };
  for (const Convolution& k : cases) {
    const Numbers x = numbers(product(k.x)), w = numbers(product(k.w), 1, 2);
    const auto arguments = [&](LoweredCall& c) {
      c.integers("stride", k.stride)
          .integers("padding", k.padding)
          .integers("dilation", k.dilation)
          .flag("transposed", k.transposed)
          .integers("output_padding", k.output_padding)
          .integer("groups", k.groups);
    };
    const auto forward = [&](const Numbers& xs, const Numbers& ws) {
      LoweredCall c("aten.convolution.default");
      arguments(c.tensor("input", k.x, xs).tensor("weight", k.w, ws).none("bias"));
      return c.run()[0];
    };
    const auto size = [&](std::size_t i) {
      const std::int64_t in = k.x[i + 2], reach = k.dilation[i] * (k.w[i + 2] - 1) + 1;
      return k.transposed ? (in - 1) * k.stride[i] - 2 * k.padding[i] + reach + k.output_padding[i]
                          : (in + 2 * k.padding[i] - reach) / k.stride[i] + 1;
    };
    const Sizes y = {k.x[0], k.transposed ? k.w[1] * k.groups : k.w[0], size(0), size(1)};
    const Numbers g = numbers(product(y), 0.8, 1.1);
    LoweredCall c("aten.convolution_backward.default");
    c.tensor("grad_output", y, g).tensor("input", k.x, x).tensor("weight", k.w, w).none("bias_sizes");
    arguments(c);
    const auto r = c.integers("output_mask", {1, 1, 1}).run();
    expect_near(r[0], differences([&](const Numbers& v) { return forward(v, w); }, x, g), "convolution, input");
    expect_near(r[1], differences([&](const Numbers& v) { return forward(x, v); }, w, g), "convolution, weight");
    EXPECT_EQ(r[2].size(), static_cast<std::size_t>(y[1]));
  }
}

TEST(Gradients, AveragePools) {
  const Sizes x_size = {1, 2, 7, 6};
  const Numbers x = numbers(product(x_size));
  for (int variant = 0; variant < 4; ++variant) {
    const bool ceil_mode = variant & 1, count_pads = variant & 2;
    const auto arguments = [&](LoweredCall& c) {
      c.integers("kernel_size", {3, 2})
          .integers("stride", {2, 2})
          .integers("padding", {1, 1})
          .flag("ceil_mode", ceil_mode)
          .flag("count_include_pad", count_pads)
          .none("divisor_override");
    };
    const auto forward = [&](const Numbers& v) {
      LoweredCall c("aten.avg_pool2d.default");
      arguments(c.tensor("self", x_size, v));
      return c.run()[0];
    };
    const std::int64_t count = static_cast<std::int64_t>(forward(x).size());
    const Sizes y = {1, 2, 4, count / 8};
    const Numbers g = numbers(count, 0.8, 1.1);
    LoweredCall c("aten.avg_pool2d_backward.default");
    arguments(c.tensor("grad_output", y, g).tensor("self", x_size, x));
    expect_near(c.run()[0], differences(forward, x, g), "avg_pool2d");
  }
  const auto adaptive = [&](const Numbers& v) {
    return LoweredCall("aten._adaptive_avg_pool2d.default")
        .tensor("self", x_size, v)
        .integers("output_size", {3, 4})
        .run()[0];
  };
  const Numbers g = numbers(24, 0.8, 1.1);
  LoweredCall c("aten._adaptive_avg_pool2d_backward.default");
  expect_near(c.tensor("grad_output", {1, 2, 3, 4}, g).tensor("self", x_size, x).run()[0], differences(adaptive, x, g),
              "adaptive");
}

TEST(Gradients, LossesOfMeansAndSums) {
  const Numbers x = numbers(6), t = numbers(6, 0.7, 1.9);
  for (const std::string name : {"mse_loss", "smooth_l1_loss", "huber_loss"}) {
    for (std::int64_t reduction : {0, 1, 2}) {
      const Numbers g = numbers(reduction == 0 ? 6 : 1, 0.8, 1.1);
      const auto more = [&](LoweredCall& c) {
        if (name == "smooth_l1_loss") c.number("beta", 0.6);
        if (name == "huber_loss") c.number("delta", 0.6);
      };
      const auto forward = [&](const Numbers& v) {
        LoweredCall c("aten." + name + ".default");
        more(c.tensor("self", {6}, v).tensor("target", {6}, t).integer("reduction", reduction));
        return c.run()[0];
      };
      LoweredCall c("aten." + name + "_backward.default");
      more(c.tensor("grad_output", reduction == 0 ? Sizes{6} : Sizes{}, g)
               .tensor("self", {6}, x)
               .tensor("target", {6}, t)
               .integer("reduction", reduction));
      expect_near(c.run()[0], differences(forward, x, g), name);
    }
  }
}

TEST(Gradients, OfWhatPicksElements) {
  const Numbers x = numbers(12), index = {2, 0, 2};
  const auto check = [&](const std::string& forward_target, const std::string& backward_target, const std::string& self,
                         const std::string& grad, const Sizes& y, const std::string& sizes_name,
                         const AddArguments& arguments) {
    const Numbers g = numbers(product(y), 0.8, 1.1);
    const auto forward = [&](const Numbers& v) {
      LoweredCall c(forward_target);
      arguments(c.tensor(self, {3, 4}, v));
      return c.run()[0];
    };
    LoweredCall c(backward_target);
    c.tensor(grad, y, g);
    if (sizes_name.empty()) {
      c.tensor("self", {3, 4}, x);
    } else {
      c.integers(sizes_name, {3, 4});
    }
    arguments(c);
    expect_near(c.run()[0], differences(forward, x, g), backward_target);
  };
  check("aten.select.int", "aten.select_backward.default", "self", "grad_output", {3}, "input_sizes",
        [](LoweredCall& c) { c.integer("dim", 1).integer("index", -2); });
  check("aten.slice.Tensor", "aten.slice_backward.default", "self", "grad_output", {3, 2}, "input_sizes",
        [](LoweredCall& c) { c.integer("dim", 1).integer("start", 1).integer("end", 4).integer("step", 2); });
  check("aten.index_select.default", "aten.index_select_backward.default", "self", "grad", {3, 4}, "self_sizes",
        [&](LoweredCall& c) { c.integer("dim", 0).tensor("index", {3}, index, DType::i64); });
  check("aten.gather.default", "aten.gather_backward.default", "self", "grad", {1, 3}, "", [&](LoweredCall& c) {
    c.integer("dim", 1).tensor("index", {1, 3}, index, DType::i64).flag("sparse_grad", false);
  });
  check("aten.unfold.default", "aten.unfold_backward.default", "self", "grad_in", {3, 2, 3}, "input_sizes",
        [](LoweredCall& c) { c.integer("dim", 1).integer("dimension", 1).integer("size", 3).integer("step", 1); });
}

TEST(Gradients, Embedding) {
  const Numbers weight = numbers(12), index = {2, 0, 2, 1}, g = numbers(12, 0.8, 1.1);
  const auto forward = [&](const Numbers& v) {
    return LoweredCall("aten.embedding.default")
        .tensor("weight", {4, 3}, v)
        .tensor("indices", {4}, index, DType::i64)
        .run()[0];
  };
  LoweredCall c("aten.embedding_dense_backward.default");
  c.tensor("grad_output", {4, 3}, g)
      .tensor("indices", {4}, index, DType::i64)
      .integer("num_weights", 4)
      .integer("padding_idx", -1)
      .flag("scale_grad_by_freq", false);
  expect_near(c.run()[0], differences(forward, weight, g), "embedding");
}

}  // namespace
}  // namespace tern::testing
