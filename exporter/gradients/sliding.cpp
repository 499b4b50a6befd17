#include "exporter/gradients/sliding.h"

#include <algorithm>

namespace tern {
namespace {

using Sizes = std::vector<std::int64_t>;

/// Channels per group from which a product per kernel element costs less than one product over unfolded windows.
constexpr std::int64_t kManyChannels = 32;

/// Largest number of products for one weight.
constexpr std::int64_t kMostProducts = 256;
/// Largest ratio of padded image positions to windows: beyond it, products over all positions take longer than copying
/// the windows.
constexpr double kMaxOverread = 1.2;

ValueId transposed_convolution(Builder& b, ValueId g, ValueId weight, const Windows& w, const Sizes& padding_after,
                               const Sizes& output_padding) {
  return b.add(
      Op::convolution, {g, weight, kNoValue},
      {attr(AttrKey::strides, w.strides), attr(AttrKey::dilations, w.dilations),
       attr(AttrKey::before, w.padding_before), attr(AttrKey::after, padding_after), attr(AttrKey::groups, w.groups),
       attr(AttrKey::transposed, Dim(1)), attr(AttrKey::output_pads, output_padding)});
}

/// Strides of 1: the gradient is a convolution by the reversed kernel; its padding is the kernel's reach less the
/// original padding. Plain convolutions have faster kernels than transposed ones.
bool flip_kernel(Builder& b, ValueId weight, const Windows& w, Sizes* before, Sizes* after) {
  for (std::size_t i = 0; i < w.strides.size(); ++i) {
    const Dim kernel = b.size(weight, static_cast<std::int64_t>(i) + 2);
    if (w.strides[i] != 1 || !kernel.is_const()) return false;
    const Dim reach = b.pool().mul(w.dilations[i], b.pool().sub(kernel, 1));
    before->push_back(b.pool().sub(reach, w.padding_before[i]).value());
    after->push_back(b.pool().sub(reach, w.padding_after[i]).value());
    if (before->back() < 0 || after->back() < 0) return false;
  }
  return true;
}

/// [o, c / groups, kernel...] as [c, o / groups, kernel...], the kernel turned around.
ValueId flipped_weight(Builder& b, ValueId weight, std::int64_t groups) {
  Dims sizes = b.shape(weight);
  const Dim outputs = b.pool().floordiv(sizes[0], groups), inputs = sizes[1];
  Sizes spatial, order = {0, 2, 1};
  for (std::int64_t i = 2; i < b.rank(weight); ++i) {
    spatial.push_back(i);
    order.push_back(i + 1);
  }
  Dims split = {groups, outputs}, merged = {b.pool().mul(groups, inputs), outputs};
  split.insert(split.end(), sizes.begin() + 1, sizes.end());
  merged.insert(merged.end(), sizes.begin() + 2, sizes.end());
  return b.reshape(b.permute(b.reshape(b.flip(weight, spatial), split), order), merged);
}

/// Elements of `x` [n, groups * each, spatial...] read by position `kernel_offset` of each window, with a kernel axis
/// for each of `kernel`: a view [groups, each, kernel..., n, windows...].
ValueId read_windows(Builder& b, ValueId x, const Windows& w, const Dims& kernel, const Dims& kernel_offset,
                     const Dims& count) {
  ExprPool& p = b.pool();
  const Dims steps = row_major(b, b.shape(x));
  const Dim channels_per_group = p.floordiv(b.size(x, 1), w.groups);
  Dims sizes = {w.groups, channels_per_group}, strides = {p.mul(channels_per_group, steps[1]), steps[1]};
  Dim offset = 0;
  for (std::size_t i = 0; i < kernel_offset.size(); ++i) {
    const Dim step = p.mul(w.dilations[i], steps[i + 2]);
    offset = p.add(offset, p.mul(kernel_offset[i], step));
    if (kernel.empty()) continue;
    sizes.push_back(kernel[i]);
    strides.push_back(step);
  }
  sizes.push_back(b.size(x, 0));
  strides.push_back(steps[0]);
  for (std::size_t i = 0; i < kernel_offset.size(); ++i) {
    sizes.push_back(count[i]);
    strides.push_back(p.mul(w.strides[i], steps[i + 2]));
  }
  return b.as_strided(x, sizes, strides, offset);
}

/// True for a kernel in steps of 1 over a much larger image. Writing the windows of `window_values` at their positions
/// in the padded image then costs little, and a kernel element reads the whole image, shifted.
bool slides_densely(const Windows& w, const Dims& padded, const Dims& windows) {
  double positions = 1, window_count = 1;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (w.strides[i] != 1 || !padded[i].is_const() || !windows[i].is_const()) return false;
    positions *= static_cast<double>(padded[i].value());
    window_count *= static_cast<double>(windows[i].value());
  }
  return positions <= kMaxOverread * window_count;
}

/// Counts up in row-major order; false behind the last position.
bool advance_index(Dims& index, const Dims& sizes) {
  for (std::size_t i = sizes.size(); i-- > 0;) {
    if (index[i].value() + 1 < sizes[i].value()) {
      index[i] = index[i].value() + 1;
      return true;
    }
    index[i] = 0;
  }
  return false;
}

}  // namespace

Dims row_major(Builder& b, const Dims& sizes) {
  Dims strides(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i-- > 1;) strides[i - 1] = b.pool().mul(strides[i], sizes[i]);
  return strides;
}

ValueId image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes) {
  const std::size_t n = sizes.size();
  Sizes output_padding, before, after;
  if (flip_kernel(b, weight, w, &before, &after)) {
    return b.add(Op::convolution, {g, flipped_weight(b, weight, w.groups), kNoValue},
                 {attr(AttrKey::dilations, w.dilations), attr(AttrKey::before, before), attr(AttrKey::after, after),
                  attr(AttrKey::groups, w.groups)});
  }
  for (std::size_t i = 0; i < n; ++i) {
    const auto axis = static_cast<std::int64_t>(i) + 2;
    const Dim windows = b.size(g, axis), kernel = b.size(weight, axis);
    if (!windows.is_const() || !kernel.is_const() || !sizes[i].is_const()) break;
    ExprPool& p = b.pool();  // all constants; sums may overflow
    const Dim steps = p.mul(p.sub(windows, 1), w.strides[i]), kernel_reach = p.mul(w.dilations[i], p.sub(kernel, 1));
    const Dim reach = p.sub(p.sub(p.add(p.add(steps, kernel_reach), 1), w.padding_before[i]), w.padding_after[i]);
    const std::int64_t remainder = p.sub(sizes[i], reach).value();
    if (remainder < 0 || remainder >= std::max(w.strides[i], w.dilations[i])) break;
    output_padding.push_back(remainder);
  }
  if (output_padding.size() == n) return transposed_convolution(b, g, weight, w, w.padding_after, output_padding);
  // Sizes known at run time, or windows beyond the padding: computes the whole reach of the windows, then crops or pads
  // to the image.
  const ValueId covered_gradient = transposed_convolution(b, g, weight, w, Sizes(n, 0), Sizes(n, 0));
  Dims trailing_padding = {0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    trailing_padding.push_back(b.pool().sub(sizes[i], b.size(covered_gradient, static_cast<std::int64_t>(i) + 2)));
  }
  return b.pad(covered_gradient, Dims(n + 2, 0), trailing_padding);
}

ValueId transposed_image_gradient(Builder& b, ValueId g, ValueId weight, const Windows& w, const Dims& sizes) {
  ValueId y = b.add(Op::convolution, {g, weight, kNoValue},
                    {attr(AttrKey::strides, w.strides), attr(AttrKey::dilations, w.dilations),
                     attr(AttrKey::before, w.padding_before), attr(AttrKey::after, w.padding_after),
                     attr(AttrKey::groups, w.groups)});
  // Output padding of a stride or more creates windows without an image element.
  for (std::size_t i = 0; i < sizes.size(); ++i) y = b.slice(y, static_cast<std::int64_t>(i) + 2, 0, sizes[i]);
  return y;
}

ValueId weight_gradient(Builder& b, ValueId image, ValueId window_values, const Dims& kernel, const Windows& w) {
  ExprPool& p = b.pool();
  const std::size_t n = kernel.size();
  Dims before = {0, 0}, after = {0, 0};
  before.insert(before.end(), w.padding_before.begin(), w.padding_before.end());
  after.insert(after.end(), w.padding_after.begin(), w.padding_after.end());
  const Dims windows(b.shape(window_values).begin() + 2, b.shape(window_values).end());
  const Dim samples = b.size(window_values, 0);
  const Dim inputs = p.floordiv(b.size(image, 1), w.groups), outputs = p.floordiv(b.size(window_values, 1), w.groups);
  Dims result = {p.mul(w.groups, outputs), inputs}, padded;
  result.insert(result.end(), kernel.begin(), kernel.end());
  for (std::size_t i = 0; i < n; ++i) {
    padded.push_back(
        p.add(p.add(b.size(image, static_cast<std::int64_t>(i) + 2), w.padding_before[i]), w.padding_after[i]));
  }
  const Dim elements = p.product(kernel);
  const bool apart =
      elements.is_const() && elements.value() <= kMostProducts && inputs.is_const() && inputs.value() >= kManyChannels;
  std::vector<ValueId> element_gradients;  // [groups, outputs, inputs], for each element of the kernel
  Dims index(n, 0);
  if (apart && slides_densely(w, padded, windows)) {
    // Channels first: [channels, samples, positions]; a step along an axis is a fixed number of positions.
    const ValueId x = b.pad(b.transpose(image, 0, 1), before, after);
    Dims trailing_padding = {0, 0};
    for (std::size_t i = 0; i < n; ++i) trailing_padding.push_back(p.sub(padded[i], windows[i]));
    const ValueId g = b.pad(b.transpose(window_values, 0, 1), Dims(n + 2, 0), trailing_padding);
    const Dim positions = p.mul(samples, p.product(padded));
    const Dims steps = row_major(b, padded);
    Dim reach = 0;
    for (std::size_t i = 0; i < n; ++i)
      reach = p.add(reach, p.mul(p.mul(p.sub(kernel[i], 1), w.dilations[i]), steps[i]));
    const Dim length = p.max(p.sub(positions, reach), 0);  // a batch may have no samples
    const auto rows = [&](ValueId v, Dim channels, Dim offset) {
      return b.as_strided(v, {w.groups, channels, length}, {p.mul(channels, positions), positions, 1}, offset);
    };
    const ValueId left = rows(g, outputs, 0);
    // Batch of products, one per kernel element, shared by the threads. 16-bit products copy strided operands: a batch
    // would copy the image once per kernel element.
    if (w.groups == 1 && element_size(b.dtype(image)) > 2) {
      Dims sizes = kernel, strides, batched_sizes = kernel;
      Sizes order = {static_cast<std::int64_t>(n), static_cast<std::int64_t>(n) + 1};
      for (std::size_t i = 0; i < n; ++i) {
        strides.push_back(p.mul(w.dilations[i], steps[i]));
        order.push_back(static_cast<std::int64_t>(i));
      }
      sizes.insert(sizes.end(), {inputs, length});
      strides.insert(strides.end(), {positions, 1});
      batched_sizes.insert(batched_sizes.end(), {outputs, length});
      const ValueId windows_view = b.as_strided(x, sizes, strides, 0);
      const auto last = static_cast<std::int64_t>(n);
      const ValueId products = b.matmul(b.expand(b.reshape(left, {outputs, length}), batched_sizes),
                                        b.transpose(windows_view, last, last + 1));
      return b.reshape(b.permute(products, order), result);
    }
    do {
      Dim offset = 0;
      for (std::size_t i = 0; i < n; ++i) offset = p.add(offset, p.mul(p.mul(index[i], w.dilations[i]), steps[i]));
      element_gradients.push_back(b.unsqueeze(b.matmul(left, b.transpose(rows(x, inputs, offset), 1, 2)), -1));
    } while (advance_index(index, kernel));
    return b.reshape(b.concat(std::move(element_gradients), -1), result);
  }

  const ValueId x =
      padded == Dims(b.shape(image).begin() + 2, b.shape(image).end()) ? image : b.pad(image, before, after);
  const Dim positions = p.mul(samples, p.product(windows));
  const ValueId split = b.reshape(window_values, {samples, w.groups, outputs, p.product(windows)});
  const ValueId left = b.reshape(b.permute(split, {1, 2, 0, 3}), {w.groups, outputs, positions});
  if (!apart) {
    const Dim columns = p.mul(inputs, p.product(kernel));
    const ValueId window_columns =
        b.reshape(read_windows(b, x, w, kernel, Dims(n, 0), windows), {w.groups, columns, positions});
    return b.reshape(b.matmul(left, b.transpose(window_columns, 1, 2)), result);
  }
  do {
    const ValueId window_columns = b.reshape(read_windows(b, x, w, {}, index, windows), {w.groups, inputs, positions});
    element_gradients.push_back(b.unsqueeze(b.matmul(left, b.transpose(window_columns, 1, 2)), -1));
  } while (advance_index(index, kernel));
  return b.reshape(b.concat(std::move(element_gradients), -1), result);
}

}  // namespace tern
