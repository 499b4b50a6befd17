// Lowerings of resizing and sampling at given positions.
#include "exporter/lower/contraction.h"
#include "schema/window_kinds.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

constexpr ArgumentName kScaleNames[] = {"scales_d", "scales_h", "scales_w"};

/// Scale factors given by the caller, 0 if absent: positions derive from the factors instead of the sizes.
std::vector<double> factors(const Call& c, std::size_t n, bool vec) {
  std::vector<double> f(n, 0.0);
  if (vec) {
    if (!c.has_argument("scale_factors")) return f;
    const std::vector<double> factors = c.numbers("scale_factors");
    for (std::size_t i = 0; i < n && i < factors.size(); ++i) f[i] = factors[i];
  } else if (n == 1) {
    f[0] = c.number_or("scales", 0.0);
  } else {
    for (std::size_t i = 0; i < n; ++i) f[i] = c.number_or(kScaleNames[3 - n + i], 0.0);
  }
  return f;
}

/// Binds the importer's symbol for a size to PyTorch's product in double: integers cannot express the product of a size
/// and most factors.
void bind_size(Builder& b, ValueId x, std::int64_t axis, Dim size, const Call& c, std::size_t i) {
  const Dim input_size = b.size(x, axis);
  if (input_size.is_const() || b.pool().symbol_of(size) < 0 || size == input_size || !c.has_argument("scale_factors"))
    return;
  const std::vector<double> factors = c.numbers("scale_factors");
  if (i >= factors.size()) return;
  const ValueId scaled =
      b.expr("trunc(n * f)", {{"n", b.from_dim(input_size)}, {"f", factors[i]}}, DType::f64, DType::i64);
  b.add_all(Op::item, {scaled}, {attr(AttrKey::symbols, Dims{size})});
}

template <std::size_t n, ResizeMode mode, bool vec, bool antialias = false>
Values upsample(Builder& b, const Call& c) {
  constexpr ArgumentName image = vec ? ArgumentName("input") : ArgumentName("self");
  const ValueId x = c.tensor(image);
  Dims sizes;
  if (c.has_argument("output_size")) {
    sizes = c.dims("output_size");
    if (sizes.size() == 1) sizes.resize(n, sizes[0]);
  } else {  // PyTorch's recorded size, derived from the factors
    const Dims& shape = c.declared.at(0).shape;
    if (shape.size() != n + 2) c.unsupported("the input's rank does not match the mode");
    sizes.assign(shape.begin() + 2, shape.end());
    for (std::size_t i = 0; i < n; ++i) bind_size(b, x, static_cast<std::int64_t>(i) + 2, sizes[i], c, i);
  }
  std::vector<Attr> attrs{attr(AttrKey::mode, Dim(static_cast<std::int64_t>(mode))), attr(AttrKey::sizes, sizes),
                          attr_numbers(AttrKey::scales, factors(c, n, vec))};
  if constexpr (mode != ResizeMode::nearest && mode != ResizeMode::nearest_exact) {
    attrs.push_back(attr(AttrKey::align_corners, Dim(c.flag("align_corners") ? 1 : 0)));
  }
  if (antialias) attrs.push_back(attr(AttrKey::antialias, Dim(1)));
  if constexpr (n > 1 && !antialias && mode != ResizeMode::cubic) {
    const Dim channels = b.size(x, 1);
    const bool has_few_channels = channels.is_const() && channels.value() <= 3;
    if (c.arg(image).channels_last && !has_few_channels) attrs.push_back(attr(AttrKey::layout, Dim(1)));
  }
  return {b.add(Op::resize, {x}, std::move(attrs))};
}

template <std::size_t n, ResizeMode mode, bool antialias = false>
Values upsample_gradient(Builder& b, const Call& c) {
  const Dims shape = c.dims("input_size");
  if (shape.size() != n + 2) c.unsupported("the input's rank does not match the mode");
  std::vector<Attr> attrs{attr(AttrKey::mode, Dim(static_cast<std::int64_t>(mode))),
                          attr(AttrKey::sizes, Dims(shape.begin() + 2, shape.end())),
                          attr_numbers(AttrKey::scales, factors(c, n, false))};
  if constexpr (mode != ResizeMode::nearest && mode != ResizeMode::nearest_exact) {
    attrs.push_back(attr(AttrKey::align_corners, Dim(c.flag("align_corners") ? 1 : 0)));
  }
  if (antialias) attrs.push_back(attr(AttrKey::antialias, Dim(1)));
  return {b.add(Op::resize_gradient, {c.tensor("grad_output")}, std::move(attrs))};
}

Values grid_sampler(Builder& b, const Call& c) {
  return {b.add(
      Op::grid_sample, {c.tensor("input"), c.tensor("grid")},
      {attr(AttrKey::mode, Dim(c.integer("interpolation_mode"))), attr(AttrKey::kind, Dim(c.integer("padding_mode"))),
       attr(AttrKey::align_corners, Dim(c.flag("align_corners") ? 1 : 0))})};
}

/// Positions -1..1 of `size` points: the outermost points, or the centres of pixel areas.
ValueId line(Builder& b, Dim size, bool align_corners, DType dtype) {
  const ValueId i = b.iota(size, DType::i64), n = b.from_dim(size);
  const char* text = align_corners ? "n > 1 ? 2 * i / (n - 1) - 1 : 0" : "(2 * i + 1) / n - 1";
  return b.expr(text, {{"i", i}, {"n", n}}, dtype, dtype);
}

Values affine_grid(Builder& b, const Call& c) {
  const ValueId theta = c.tensor("theta");
  const Dims size = c.dims("size");
  const bool align_corners = c.flag("align_corners");
  if (size.size() != 4 && size.size() != 5) c.unsupported("the size must have 4 or 5 numbers");
  const DType dtype = b.dtype(theta), compute_dtype = compute_type(dtype);
  const std::size_t n = size.size() - 2;
  Dims grid(size.begin() + 2, size.end());
  grid.push_back(1);
  Values coordinates;  // the innermost axis first, then 1
  for (std::size_t i = n; i-- > 0;) {
    Dims axis_shape(n + 1, 1);
    axis_shape[i] = size[i + 2];
    coordinates.push_back(b.expand(b.reshape(line(b, size[i + 2], align_corners, compute_dtype), axis_shape), grid));
  }
  coordinates.push_back(b.full(grid, 1.0, compute_dtype));
  const ValueId base = b.concat(coordinates, -1);
  Dim points = 1;
  for (std::size_t i = 0; i < n; ++i) points = b.pool().mul(points, grid[i]);
  const ValueId flat = b.reshape(base, {points, static_cast<std::int64_t>(n) + 1});
  const ValueId r = b.cast(product(b, flat, b.transpose(b.cast(theta, compute_dtype), 1, 2)), dtype);
  Dims shape{size[0]};
  shape.insert(shape.end(), grid.begin(), grid.end() - 1);
  shape.push_back(static_cast<std::int64_t>(n));
  return {b.reshape(r, shape)};
}

constexpr ResizeMode kNearest = ResizeMode::nearest, kNearestExact = ResizeMode::nearest_exact,
                     kLinear = ResizeMode::linear, kCubic = ResizeMode::cubic, kLanczos = ResizeMode::lanczos;
constexpr Lowering kResizeLowerings[] = {
    {"aten.upsample_nearest1d.default", upsample<1, kNearest, false>},
    {"aten.upsample_nearest2d.default", upsample<2, kNearest, false>},
    {"aten.upsample_nearest3d.default", upsample<3, kNearest, false>},
    {"aten.upsample_nearest1d.vec", upsample<1, kNearest, true>},
    {"aten.upsample_nearest2d.vec", upsample<2, kNearest, true>},
    {"aten.upsample_nearest3d.vec", upsample<3, kNearest, true>},
    {"aten._upsample_nearest_exact1d.default", upsample<1, kNearestExact, false>},
    {"aten._upsample_nearest_exact2d.default", upsample<2, kNearestExact, false>},
    {"aten._upsample_nearest_exact3d.default", upsample<3, kNearestExact, false>},
    {"aten._upsample_nearest_exact1d.vec", upsample<1, kNearestExact, true>},
    {"aten._upsample_nearest_exact2d.vec", upsample<2, kNearestExact, true>},
    {"aten._upsample_nearest_exact3d.vec", upsample<3, kNearestExact, true>},
    {"aten.upsample_linear1d.default", upsample<1, kLinear, false>},
    {"aten.upsample_bilinear2d.default", upsample<2, kLinear, false>},
    {"aten.upsample_trilinear3d.default", upsample<3, kLinear, false>},
    {"aten.upsample_linear1d.vec", upsample<1, kLinear, true>},
    {"aten.upsample_bilinear2d.vec", upsample<2, kLinear, true>},
    {"aten.upsample_trilinear3d.vec", upsample<3, kLinear, true>},
    {"aten.upsample_bicubic2d.default", upsample<2, kCubic, false>},
    {"aten.upsample_bicubic2d.vec", upsample<2, kCubic, true>},
    {"aten._upsample_bilinear2d_aa.default", upsample<2, kLinear, false, true>},
    {"aten._upsample_bilinear2d_aa.vec", upsample<2, kLinear, true, true>},
    {"aten._upsample_bicubic2d_aa.default", upsample<2, kCubic, false, true>},
    {"aten._upsample_bicubic2d_aa.vec", upsample<2, kCubic, true, true>},
    {"aten._upsample_lanczos2d_aa.default", upsample<2, kLanczos, false, true>},
    {"aten._upsample_lanczos2d_aa.vec", upsample<2, kLanczos, true, true>},
    {"aten.upsample_nearest1d_backward.default", upsample_gradient<1, kNearest>},
    {"aten.upsample_nearest2d_backward.default", upsample_gradient<2, kNearest>},
    {"aten.upsample_nearest3d_backward.default", upsample_gradient<3, kNearest>},
    {"aten._upsample_nearest_exact1d_backward.default", upsample_gradient<1, kNearestExact>},
    {"aten._upsample_nearest_exact2d_backward.default", upsample_gradient<2, kNearestExact>},
    {"aten._upsample_nearest_exact3d_backward.default", upsample_gradient<3, kNearestExact>},
    {"aten.upsample_linear1d_backward.default", upsample_gradient<1, kLinear>},
    {"aten.upsample_bilinear2d_backward.default", upsample_gradient<2, kLinear>},
    {"aten.upsample_trilinear3d_backward.default", upsample_gradient<3, kLinear>},
    {"aten.upsample_bicubic2d_backward.default", upsample_gradient<2, kCubic>},
    {"aten._upsample_bilinear2d_aa_backward.default", upsample_gradient<2, kLinear, true>},
    {"aten._upsample_bicubic2d_aa_backward.default", upsample_gradient<2, kCubic, true>},
    {"aten._upsample_lanczos2d_aa_backward.default", upsample_gradient<2, kLanczos, true>},
    {"aten.grid_sampler.default", grid_sampler},
    {"aten.grid_sampler_2d.default", grid_sampler},
    {"aten.grid_sampler_3d.default", grid_sampler},
    {"aten.affine_grid_generator.default", affine_grid},
};

}  // namespace

std::span<const Lowering> resize_lowerings() {
  return kResizeLowerings;
}

}  // namespace tern
