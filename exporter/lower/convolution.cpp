// Lowerings of convolutions.
#include "exporter/lower/contraction.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;
using Sizes = std::vector<std::int64_t>;

/// Returns `v` with one value per spatial axis: PyTorch repeats a single value.
Sizes sizes_per_axis(const Call& c, Sizes v, std::size_t n, std::int64_t otherwise) {
  if (v.empty()) v.push_back(otherwise);
  if (v.size() == 1) v.resize(n, v[0]);
  if (v.size() != n) c.unsupported("a list's length differs from the number of spatial axes");
  return v;
}

struct Geometry {
  Sizes strides, dilations, padding_before, padding_after, output_pads;
  std::int64_t groups = 1;
  bool transposed = false;
};

ValueId convolve(Builder& b, ValueId x, ValueId weight, ValueId bias, const Geometry& g) {
  std::vector<Attr> attrs{attr(AttrKey::strides, g.strides), attr(AttrKey::dilations, g.dilations),
                          attr(AttrKey::before, g.padding_before), attr(AttrKey::after, g.padding_after),
                          attr(AttrKey::groups, Dim(g.groups))};
  if (g.transposed) {
    attrs.push_back(attr(AttrKey::transposed, Dim(1)));
    attrs.push_back(attr(AttrKey::output_pads, g.output_pads));
  }
  return b.add(Op::convolution, {x, weight, bias}, std::move(attrs));
}

/// Three real convolutions, as in PyTorch: a = w_re x_re, b = w_im x_im, c = (w_re + w_im)(x_re + x_im) give a - b + i
/// (c - a - b).
ValueId convolve_complex(Builder& b, ValueId x, ValueId weight, ValueId bias, const Geometry& g) {
  const DType complex = b.dtype(x), real = complex == DType::c128 ? DType::f64 : DType::f32;
  const auto component = [&](ValueId v, std::string_view text) {
    return v == kNoValue ? v : b.expr(text, {{"v", v}}, complex, real);
  };
  const ValueId re = convolve(b, component(x, "real(v)"), component(weight, "real(v)"), component(bias, "real(v)"), g);
  const ValueId im = convolve(b, component(x, "imag(v)"), component(weight, "imag(v)"), kNoValue, g);
  const ValueId sum_product = convolve(b, component(x, "real(v) + imag(v)"), component(weight, "real(v) + imag(v)"),
                                       component(bias, "real(v) + imag(v)"), g);
  return b.expr("complex(re - im, both - re - im)", {{"re", re}, {"im", im}, {"both", sum_product}}, complex, complex);
}

Values convolve(Builder& b, const Call& c, const Geometry& g) {
  ValueId x = c.tensor("input");
  const ValueId weight = c.tensor("weight"), bias = c.tensor_or_none("bias");
  const bool batched = b.rank(x) == b.rank(weight);
  if (!batched) x = b.unsqueeze(x, 0);
  const bool complex = b.dtype(x) == DType::c64 || b.dtype(x) == DType::c128;
  const ValueId y = complex ? convolve_complex(b, x, weight, bias, g) : convolve(b, x, weight, bias, g);
  return {batched ? y : b.squeeze(y, 0)};
}

std::size_t spatial(Builder& b, const Call& c) {
  const int r = b.rank(c.tensor("weight"));
  if (r < 3 || r > 5) c.unsupported("the weight must have 3 to 5 axes");
  return static_cast<std::size_t>(r - 2);
}

Geometry read_geometry(Builder& b, const Call& c, ArgumentName padding) {
  const std::size_t n = spatial(b, c);
  Geometry g;
  g.strides = sizes_per_axis(c, c.integers("stride"), n, 1);
  g.dilations = sizes_per_axis(c, c.integers("dilation"), n, 1);
  if (!padding.empty()) g.padding_before = g.padding_after = sizes_per_axis(c, c.integers(padding), n, 0);
  g.output_pads = Sizes(n, 0);
  g.groups = c.integer("groups");
  return g;
}

Values convolution(Builder& b, const Call& c) {
  Geometry g = read_geometry(b, c, "padding");
  g.transposed = c.flag("transposed");
  if (g.transposed) g.output_pads = sizes_per_axis(c, c.integers("output_padding"), spatial(b, c), 0);
  return convolve(b, c, g);
}

Values conv(Builder& b, const Call& c) {
  return convolve(b, c, read_geometry(b, c, "padding"));
}

/// Padding by word: "same" preserves the sizes (stride 1), with an odd element at the far end; "valid" adds none.
Values conv_padding(Builder& b, const Call& c) {
  Geometry g = read_geometry(b, c, {});
  const std::string word = c.text_or("padding", "valid");
  const std::size_t n = g.strides.size();
  g.padding_before = g.padding_after = Sizes(n, 0);
  if (word == "same") {
    for (std::size_t i = 0; i < n; ++i) {
      const Dim k = b.size(c.tensor("weight"), static_cast<std::int64_t>(i) + 2);
      if (!k.is_const()) c.unsupported("padding 'same' needs a constant kernel size");
      const std::int64_t total = g.dilations[i] * (k.value() - 1);
      g.padding_before[i] = total / 2;
      g.padding_after[i] = total - total / 2;
    }
  } else if (word != "valid") {
    c.unsupported("unsupported padding '" + word + "'");
  }
  return convolve(b, c, g);
}

Values conv_transpose(Builder& b, const Call& c) {
  Geometry g = read_geometry(b, c, "padding");
  g.transposed = true;
  g.output_pads = sizes_per_axis(c, c.integers("output_padding"), spatial(b, c), 0);
  return convolve(b, c, g);
}

/// Images are [time, batch, channels], weights [time, inputs, outputs].
Values conv_tbc(Builder& b, const Call& c) {
  Geometry g;
  g.strides = g.dilations = Sizes(1, 1);
  g.padding_before = g.padding_after = Sizes(1, c.integer("pad"));
  g.output_pads = Sizes(1, 0);
  const ValueId x = b.permute(c.tensor("self"), {1, 2, 0}), weight = b.permute(c.tensor("weight"), {2, 1, 0});
  return {b.permute(convolve(b, x, weight, c.tensor("bias"), g), {2, 0, 1})};
}

constexpr Lowering kConvolutionLowerings[] = {
    {"aten.conv_tbc.default", conv_tbc},
    {"aten.convolution.default", convolution},
    {"aten._convolution.default", convolution},
    {"aten._convolution.deprecated", convolution},
    {"aten.conv1d.default", conv},
    {"aten.conv2d.default", conv},
    {"aten.conv3d.default", conv},
    {"aten.conv1d.padding", conv_padding},
    {"aten.conv2d.padding", conv_padding},
    {"aten.conv3d.padding", conv_padding},
    {"aten.conv_transpose1d.default", conv_transpose},
    {"aten.conv_transpose2d.input", conv_transpose},
    {"aten.conv_transpose3d.input", conv_transpose},
};

}  // namespace

std::span<const Lowering> convolution_lowerings() {
  return kConvolutionLowerings;
}

}  // namespace tern
