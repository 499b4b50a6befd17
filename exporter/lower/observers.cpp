// Observers fused with fake quantization: running ranges, and the scales and zero points of these.
#include <string>

#include "exporter/lower/pointwise.h"
#include "exporter/lower/quantization.h"

namespace tern {
namespace {

struct Parameters {
  ValueId scale, zero_point;
};

/// Scale and zero point of ranges low to high, in the arithmetic of PyTorch's kernels: float64, range ends in float32.
/// Scales below 6.1e-5 are raised to 6.1e-5, and their ranges with them.
Parameters parameters(Builder& b, ValueId low, ValueId high, double lower, double upper, bool symmetric, DType scale,
                      DType zero_point) {
  std::string text;
  if (symmetric) {
    text =
        "both = low < 0 && high > 0; m = max(abs(float32(low / -(half + 1))), abs(float32(high / half))); "
        "x = both ? float32(m * -(half + 1)) : low; y = both ? float32(m * half) : high; ";
  } else {
    text = "x = low; y = high; ";
  }
  text +=
      "a = min(x, 0); b = max(y, 0); r = (b - a) / span; f = float32(r); "
      "s = f == 0 || isinf(float32(1 / f)) ? 0.1 : r; small = s < tiny; ";
  const std::vector<ExprArg> args = {{"low", low},
                                     {"high", high},
                                     {"least", lower},
                                     {"most", upper},
                                     {"span", upper - lower},
                                     {"half", static_cast<double>(static_cast<std::int64_t>(upper - lower) / 2)},
                                     {"tiny", static_cast<double>(6.1e-5F)}};
  Parameters p;
  p.scale = b.expr(text + "small ? tiny : s", args, DType::f64, scale);
  text +=
      "q = small ? tiny : s; g = float32(tiny / float32(s)); "
      "c = !small || a == 0 ? a : b == 0 ? float32(-tiny * span) : float32(a * g); "
      "d = !small ? b : a == 0 ? float32(tiny * span) : b == 0 ? b : float32(b * g); "
      "z = abs(least) - abs(c / q) < abs(most) - abs(d / q) ? least - c / q : most - d / q; ";
  text += symmetric ? "w = c < 0 && d > 0 ? (least + most) / 2 : z; " : "w = z; ";
  p.zero_point = b.expr(text + "round(min(max(w, least), most))", args, DType::f64, zero_point);
  return p;
}

/// Returns output, mask, and the new running_min, running_max, scale and zero_point. Two tensors switch the observation
/// of the range and the quantization of the input on or off.
Values observe_and_quantize(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self"), observe = b.reshape(c.tensor("observer_on"), {}),
                quantize = b.reshape(c.tensor("fake_quant_on"), {});
  const bool rows = c.flag_or("per_row_fake_quant", false);
  const double lower = c.number("quant_min"), upper = c.number("quant_max");
  std::vector<std::int64_t> axes;
  if (rows) {
    if (c.integer("ch_axis") != 0 || b.rank(x) < 2) c.unsupported("ch_axis must be the first axis");
    for (int i = 1; i < b.rank(x); ++i) axes.push_back(i);
  }
  const auto running = [&](ArgumentName name, std::string_view kind) {
    const ValueId running_value = c.tensor(name),
                  observed = b.reshape(b.reduce(x, kind, axes, false, b.dtype(x)), b.shape(running_value));
    return b.expr("on ? (isinf(old) ? now : old + rate * (now - old)) : old",
                  {{"on", observe},
                   {"old", running_value},
                   {"now", observed},
                   {"rate", rounded_to(c.number("averaging_const"), DType::f32)}},
                  b.dtype(running_value));
  };
  const ValueId low = running("running_min", "min"), high = running("running_max", "max");
  const ValueId old_scale = c.tensor("scale"), old_zero_point = c.tensor("zero_point");
  const Parameters p = parameters(b, low, high, lower, upper, c.flag_or("symmetric_quant", false), b.dtype(old_scale),
                                  b.dtype(old_zero_point));
  const auto shaped = [&](ValueId v) { return rows ? per_channel(b, v, x, 0) : b.reshape(v, {}); };
  const FakeQuantized f =
      fake_quantized(b, x, {"scale", shaped(p.scale)}, {"zero_point", shaped(p.zero_point)}, lower, upper);
  const auto chosen = [&](ValueId chosen_value, ValueId old) {
    return b.expr("on ? now : old", {{"on", quantize}, {"now", chosen_value}, {"old", old}}, b.dtype(old));
  };
  return {chosen(f.value, x),
          b.expr("!on || mask", {{"on", quantize}, {"mask", f.mask}}, DType::boolean),
          low,
          high,
          chosen(b.reshape(p.scale, b.shape(old_scale)), old_scale),
          chosen(b.reshape(p.zero_point, b.shape(old_zero_point)), old_zero_point)};
}
/// Omits the mask.
Values observe_and_quantize_only(Builder& b, const Call& c) {
  Values results = observe_and_quantize(b, c);
  results.erase(results.begin() + 1);
  return results;
}

constexpr Lowering kObserversLowerings[] = {
    {"aten._fused_moving_avg_obs_fq_helper.default", observe_and_quantize},
    {"aten._fused_moving_avg_obs_fq_helper_functional.default", observe_and_quantize},
    {"aten.fused_moving_avg_obs_fake_quant.default", observe_and_quantize_only},
};

}  // namespace

std::span<const Lowering> observer_lowerings() {
  return kObserversLowerings;
}

}  // namespace tern
