// convolution, pool, adaptive_pool, fractional_pool, fold.
#include <fmt/format.h>

#include <algorithm>

#include "dtypes/byte_integers.h"
#include "schema/infer/checks.h"
#include "schema/ops/attributes.h"
#include "schema/ops/costs.h"
#include "schema/ops/families.h"
#include "schema/ops/names.h"
#include "schema/window_kinds.h"

namespace tern::ops {
namespace {

/// Number of spatial axes (1 to 3), from the length of `kernel` or a similar attribute.
std::size_t spatial_axes(const Inference& c, AttrKey key) {
  const std::size_t n = c.node.dims(key).size();
  if (n < 1 || n > 3) c.fail(fmt::format("attribute '{}' has {} values, not 1 to 3", attr_name(key), n));
  return n;
}

PoolKind pool_kind(const Inference& c) {
  return static_cast<PoolKind>(c.integer(AttrKey::kind));
}

/// Unless `x` is known to be [n, c, spatial...], the batch axis may be missing.
void require_channels(const Inference& c, const TensorType& x, std::size_t spatial) {
  c.require(x.shape.size() >= spatial, "the input has fewer axes than the window");
}

/// Sizes [o, c / groups, kernel...] of a weight stored as a matrix.
Dims kernel_matrix(const Inference& c, std::size_t spatial) {
  const TensorType& w = c.in(1);
  const auto kernel = c.integers(AttrKey::kernel, spatial);
  std::int64_t elements = 1;
  for (const std::int64_t k : kernel) {
    if (__builtin_mul_overflow(elements, k, &elements)) c.fail("the kernel is too large");
  }
  Dims sizes{w.shape[0], c.pool.floordiv(w.shape[1], elements)};
  c.require_equal(c.pool.mul(sizes[1], elements), w.shape[1], "the columns of the weight and whole kernels");
  sizes.insert(sizes.end(), kernel.begin(), kernel.end());
  return sizes;
}

// x [n, c, spatial...], weight, bias [o]? -> [n, o, spatial...] over 1 to 3 spatial axes. weight is [o, c / groups,
// kernel...], or with `transposed` [c, o / groups, kernel...]. Attributes: strides, dilations (1 if absent), before and
// after (elements added at each end; 0 if absent), fill (their value, 0), groups (1), transposed (0), output_pads
// (transposed only: extra size at the far end), dtype (the result's; x's if absent). Cross-correlation, like PyTorch;
// f16 and bf16 are summed in float32. 8-bit integers of any signs multiply each other: sums are exact in 64 bits, and
// become int32 (the low bits) or float32 before the bias is added. Only such images may have a non-zero fill (zero
// point) as padding. A quantized weight, not 2:4 sparse, is a matrix [o, c / groups * kernel...], never transposed,
// beside a float x of at most 32 bits; attribute kernel then has the sizes of the kernel. Its numbers equal dequantize
// to float32.
void convolution(Inference& c) {
  require_plain(c, 0);
  const TensorType& x = c.in(0);
  const bool quantized = c.in(1).quantized();
  c.require(c.node.has(AttrKey::kernel) == quantized, "only a quantized weight needs the sizes of its kernel");
  if (quantized) {
    c.require(x.dtype == DType::f32 || x.dtype == DType::f16 || x.dtype == DType::bf16,
              "a quantized weight is multiplied by float32, float16 or bfloat16");
    c.require(!c.flag(AttrKey::transposed), "a transposed convolution cannot have a quantized weight");
    c.require(!c.in(1).blocks.sparse(), "a convolution cannot have a 2:4 sparse weight");
  } else {
    require_plain(c, 1);
  }
  const bool bytes = is_byte_integer(x.dtype) && is_byte_integer(c.in(1).dtype);
  if (!bytes && !quantized) require_same_dtype(c, 0, 1);
  const DType dtype = c.dtype_or(x.dtype);
  c.require(dtype == x.dtype || (bytes && (dtype == DType::i32 || dtype == DType::f32)),
            "only 8-bit integers allow a result of another type, int32 or float32");
  const std::int64_t fill = c.integer(AttrKey::fill);
  const std::int64_t least = x.dtype == DType::i8 ? -128 : 0, most = x.dtype == DType::i8 ? 127 : 255;
  c.require(fill == 0 || (bytes && fill >= least && fill <= most && !c.flag(AttrKey::transposed)),
            "only images of 8-bit integers allow a padding value other than 0, in their range and not transposed");
  c.require(x.rank() >= 3 && x.rank() <= 5 && (quantized ? c.in(1).rank() == 2 : c.in(1).rank() == x.rank()),
            "input and weight need the same number of axes, 3 to 5; a quantized weight needs two");
  const std::size_t n = x.shape.size() - 2;
  const Dims w = quantized ? kernel_matrix(c, n) : c.in(1).shape;
  const auto strides = c.integers(AttrKey::strides, n);
  const auto dilations = c.integers(AttrKey::dilations, n);
  const auto before = c.integers(AttrKey::before, n);
  const auto after = c.integers(AttrKey::after, n);
  const auto output_pads = c.integers(AttrKey::output_pads, n);
  const std::int64_t groups = c.integer(AttrKey::groups);
  const bool transposed = c.flag(AttrKey::transposed);
  ExprPool& pool = c.pool;
  Dim out_channels;
  if (transposed) {
    c.require_equal(x.shape[1], w[0], "the channels of input and weight");
    out_channels = pool.mul(w[1], groups);
  } else {
    c.require_equal(x.shape[1], pool.mul(w[1], groups), "the channels of input and weight");
    out_channels = w[0];
  }
  for (const Dim d : {x.shape[1], w[0]}) {
    if (d.is_const()) c.require(d.value() % groups == 0, "the channels are not a multiple of the groups");
  }
  if (c.has(2)) {
    require_plain(c, 2);
    c.require(c.in(2).dtype == dtype, "the bias must have the dtype of the result");
    c.require(c.in(2).rank() == 1, "the bias must have one axis");
    c.require_equal(c.in(2).shape[0], out_channels, "the length of the bias");
  }
  Dims shape{x.shape[0], out_channels};
  for (std::size_t i = 0; i < n; ++i) {
    const Dim in = x.shape[i + 2], kernel = w[i + 2];
    require_at_least(c, kernel, 1, "a kernel size");
    c.require(pool.bounds(kernel).min <= kMaxWindow, "a kernel size is too large");
    const Dim reach = pool.mul(dilations[i], pool.sub(kernel, 1));
    if (transposed) {
      const Dim grown = pool.add(pool.mul(pool.sub(in, 1), strides[i]), reach);
      const Dim size = pool.add(grown, output_pads[i] + 1 - before[i] - after[i]);
      c.require(output_pads[i] < std::max(strides[i], dilations[i]),
                "output padding must be smaller than the stride or the dilation");
      require_at_least(c, size, 0, "a size of the result");
      shape.push_back(size);
    } else {
      c.require(output_pads[i] == 0, "only a transposed convolution has output padding");
      const Dim room = pool.sub(pool.add(in, before[i] + after[i]), pool.add(reach, 1));
      require_at_least(c, room, 0, "the padded input beyond the kernel");
      shape.push_back(pool.add(pool.floordiv(room, strides[i]), 1));
    }
  }
  c.out(dtype, std::move(shape));
}

// x [..., spatial...] -> y [..., spatial...], and for kind max also i64 positions within the spatial plane. Attributes:
// kind (PoolKind), kernel; strides (the kernel if absent), before (padding at both ends, 0), dilations (1, max only),
// ceil_mode (sizes round up, but no window starts in the far padding), count_pads (avg: padding counts as elements, 0),
// divisor (avg: replaces the number of elements). max: NaN wins; ties select the first element. avg: f16 and bf16 are
// summed in float32.
void pool(Inference& c) {
  require_plain(c, 0);
  const PoolKind kind = pool_kind(c);
  const std::size_t n = spatial_axes(c, AttrKey::kernel);
  const TensorType& x = c.in(0);
  require_channels(c, x, n);
  c.require(!is_complex(x.dtype), "complex elements have no order");
  const auto kernel = c.integers(AttrKey::kernel, n);
  const auto dilations = c.integers(AttrKey::dilations, n);
  const auto pads = c.integers(AttrKey::before, n);
  const auto strides = c.node.has(AttrKey::strides) ? c.integers(AttrKey::strides, n) : kernel;
  const bool ceil_mode = c.flag(AttrKey::ceil_mode);
  if (c.node.has(AttrKey::divisor)) {
    c.require(c.integer(AttrKey::divisor) != 0, "attribute 'divisor' must not be zero");
  }
  ExprPool& pool = c.pool;
  Dims shape = x.shape;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t stride = strides[i];
    c.require(kind == PoolKind::max || dilations[i] == 1, "only max pooling has dilation");
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(dilations[i], kernel[i] - 1, &reach)) c.fail("the window is too large");
    c.require(pads[i] <= (reach + 1) / 2, "padding must be at most half of the window");
    Dim& size = shape[x.shape.size() - n + i];
    const Dim padded = pool.add(size, 2 * pads[i]);
    const Dim room = pool.sub(padded, reach + 1);
    require_at_least(c, ceil_mode ? pool.add(room, stride - 1) : room, 0, "the padded input beyond the window");
    if (!ceil_mode) {
      size = pool.add(pool.floordiv(room, stride), 1);
    } else {
      const Dim up = pool.add(pool.floordiv(pool.add(room, stride - 1), stride), 1);
      const Dim starts_inside = pool.lt(pool.mul(pool.sub(up, 1), stride), pool.add(size, pads[i]));
      size = pool.select(starts_inside, up, pool.sub(up, 1));
    }
  }
  const Dims indices = shape;
  c.out(x.dtype, std::move(shape));
  if (kind == PoolKind::max) c.out(DType::i64, indices);
}

// x [..., spatial...] -> y [..., sizes...], and for kind max also i64 positions within the spatial plane. Window i of n
// over a size s is floor(i*s/n) .. ceil((i+1)*s/n). Attributes: kind (PoolKind), sizes.
void adaptive_pool(Inference& c) {
  require_plain(c, 0);
  const PoolKind kind = pool_kind(c);
  const std::size_t n = spatial_axes(c, AttrKey::sizes);
  const TensorType& x = c.in(0);
  require_channels(c, x, n);
  c.require(!is_complex(x.dtype), "complex elements have no order");
  Dims shape = x.shape;
  for (std::size_t i = 0; i < n; ++i) {
    Dim& size = shape[x.shape.size() - n + i];
    const Dim wanted = c.node.dims(AttrKey::sizes)[i];
    require_at_least(c, size, 1, "a spatial size");
    size = wanted;
  }
  const Dims indices = shape;
  c.out(x.dtype, std::move(shape));
  if (kind == PoolKind::max) c.out(DType::i64, indices);
}

// x [n, c, spatial...], samples [n, c, 2 or 3] in 0..1 -> the largest element of pseudo-random windows of fixed size,
// and i64 positions within the spatial plane. Attributes: kernel, sizes. Window i of m starts at floor((i + u) * alpha)
// - floor(u * alpha) with alpha = (in - kernel) / (m - 1), the last window at in - kernel. samples holds u, for two
// axes the innermost first, for three the outermost.
void fractional_pool(Inference& c) {
  require_floating(c, 0);
  require_same_dtype(c, 0, 1);
  const std::size_t n = spatial_axes(c, AttrKey::kernel);
  const TensorType& x = c.in(0);
  const TensorType& samples = c.in(1);
  c.require(x.shape.size() == n + 2 && samples.rank() == 3,
            "the input must be [n, c, spatial...] and the samples [n, c, axes]");
  c.require_equal(x.shape[0], samples.shape[0], "the batch sizes");
  c.require_equal(x.shape[1], samples.shape[1], "the channels");
  c.require_equal(samples.shape[2], static_cast<std::int64_t>(n), "the number of spatial axes");
  const auto kernel = c.integers(AttrKey::kernel, n);
  const Dims& sizes = c.list(AttrKey::sizes, n);
  Dims shape = x.shape;
  for (std::size_t i = 0; i < n; ++i) {
    require_at_least(c, c.pool.sub(c.pool.add(x.shape[i + 2], 1), c.pool.add(sizes[i], kernel[i])), 0,
                     "the input beyond the windows");
    shape[i + 2] = sizes[i];
  }
  const Dims indices = shape;
  c.out(x.dtype, std::move(shape));
  c.out(DType::i64, indices);
}

// x [n, c * prod(kernel), l] -> [n, c, sizes...]: adds column j of x, a window of the result, at the window's position;
// l = product over the axes of (size + 2 * before - dilation * (kernel - 1) - 1) / stride + 1. Attributes: sizes,
// kernel, dilations, before, strides.
void fold(Inference& c) {
  require_plain(c, 0);
  const TensorType& x = c.in(0);
  c.require(x.rank() == 3, "the input must have three axes");
  const std::size_t n = spatial_axes(c, AttrKey::kernel);
  const auto kernel = c.integers(AttrKey::kernel, n);
  const auto strides = c.integers(AttrKey::strides, n);
  const auto dilations = c.integers(AttrKey::dilations, n);
  const auto before = c.integers(AttrKey::before, n);
  const Dims& sizes = c.list(AttrKey::sizes, n);
  std::int64_t window = 1;
  Dim columns = 1;
  for (std::size_t i = 0; i < n; ++i) {
    if (__builtin_mul_overflow(window, kernel[i], &window)) c.fail("the window is too large");
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(dilations[i], kernel[i] - 1, &reach)) c.fail("the window is too large");
    const Dim room = c.pool.sub(c.pool.add(sizes[i], 2 * before[i]), reach + 1);
    require_at_least(c, room, 0, "the padded result beyond the window");
    columns = c.pool.mul(columns, c.pool.add(c.pool.floordiv(room, strides[i]), 1));
  }
  c.require_equal(x.shape[2], columns, "the number of columns and of windows");
  if (x.shape[1].is_const()) c.require(x.shape[1].value() % window == 0, "the rows are not a multiple of the window");
  Dims shape{x.shape[0], c.pool.floordiv(x.shape[1], window)};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  c.out(x.dtype, std::move(shape));
}

constexpr Attribute kStrides =
    defaulted(AttrKey::strides, AttrType::integers, 1, "from one window to the next").bounds(1, kMaxWindow);
constexpr Attribute kDilations =
    defaulted(AttrKey::dilations, AttrType::integers, 1, "from one element of a window to the next")
        .bounds(1, kMaxWindow);
constexpr Attribute kKernel = required(AttrKey::kernel, AttrType::integers, "sizes of a window").bounds(1, kMaxWindow);
constexpr Attribute kPadding =
    defaulted(AttrKey::before, AttrType::integers, 0, "padding at both ends of each axis").bounds(0, kMaxWindow);
constexpr AttrRecord kConvolution[] = {
    kStrides,
    kDilations,
    defaulted(AttrKey::before, AttrType::integers, 0, "elements added in front of each spatial axis")
        .bounds(0, kMaxWindow),
    defaulted(AttrKey::after, AttrType::integers, 0, "elements added behind each spatial axis").bounds(0, kMaxWindow),
    defaulted(AttrKey::groups, AttrType::integer, 1, "parts of the channels").bounds(1, kMaxWindow),
    flag(AttrKey::transposed, "the gradient of a convolution"),
    defaulted(AttrKey::output_pads, AttrType::integers, 0, "transposed: extra size at the far end")
        .bounds(0, kMaxWindow),
    defaulted(AttrKey::fill, AttrType::integer, 0, "the padding value: other than 0 only for 8-bit integers")
        .bounds(-128, 255),
    optional_attribute(AttrKey::dtype, AttrType::dtype, "the dtype of x",
                       "of the result: of 8-bit integers also int32 or float32"),
    optional_attribute(AttrKey::kernel, AttrType::integers, "that of the weight's axes",
                       "sizes of the kernel of a quantized weight")
        .bounds(1, kMaxWindow),
};
constexpr AttrRecord kPool[] = {
    required(AttrKey::kind, kPoolNames, "the largest element of a window, or the mean"),
    kKernel,
    optional_attribute(AttrKey::strides, AttrType::integers, "the kernel", "from one window to the next")
        .bounds(1, kMaxWindow),
    kDilations,
    kPadding,
    flag(AttrKey::ceil_mode, "sizes round up, but no window starts in the far padding"),
    flag(AttrKey::count_pads, "avg: padding counts as elements"),
    optional_attribute(AttrKey::divisor, AttrType::integer, "the number of elements", "avg: the divisor of sums; not 0")
        .bounds(-kMaxWindow, kMaxWindow),
};
constexpr AttrRecord kAdaptivePool[] = {
    required(AttrKey::kind, kPoolNames, "the largest element of a window, or the mean"),
    required(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").minimum(0),
};
constexpr AttrRecord kFractionalPool[] = {
    kKernel,
    required(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").minimum(1),
};
constexpr AttrRecord kFold[] = {
    required(AttrKey::sizes, AttrType::dims, "of the spatial axes of the result").minimum(0),
    kKernel,
    kStrides,
    kDilations,
    kPadding,
};

constexpr OpRecord kWindowsOps[] = {
    TERN_OP(61, convolution, "x, weight, bias? -> y", "cross-correlation over 1 to 3 spatial axes")
        .attrs(kConvolution)
        .costs(convolution_operations)
        .rule(convolution),
    TERN_OP(62, pool, "x -> y, indices?", "the mean or the largest element of each window; max has indices")
        .attrs(kPool)
        .rule(pool),
    TERN_OP(63, adaptive_pool, "x -> y, indices?", "pool, with windows that divide x into given sizes")
        .attrs(kAdaptivePool)
        .rule(adaptive_pool),
    TERN_OP(73, fractional_pool, "x, samples -> y, indices", "the largest elements of pseudo-random windows")
        .attrs(kFractionalPool)
        .rule(fractional_pool),
    TERN_OP(68, fold, "x -> y", "adds column j, a window of the result, to its place").attrs(kFold).rule(fold),
};

}  // namespace

std::span<const OpRecord> windows_ops() {
  return kWindowsOps;
}

}  // namespace tern::ops
