// cat and stack, padding, and ops to repeat, turn or interleave elements.
#include <fmt/format.h>

#include <algorithm>

#include "exporter/lower/movement.h"

namespace tern {
namespace {

using Values = std::vector<ValueId>;

/// Casts the operands to one dtype; drops PyTorch's legacy empty tensors of one dimension.
Values alike(Builder& b, const Call& c, const Values& xs) {
  int rank = 0;
  for (ValueId x : xs) rank = std::max(rank, b.rank(x));
  Values result;
  for (ValueId x : xs) {
    const bool legacy = b.rank(x) == 1 && b.size(x, 0).is(0) && rank > 1;
    if (!legacy) result.push_back(b.cast(x, c.result_dtype()));
  }
  return result;
}

Values cat(Builder& b, const Call& c) {
  const Values xs = alike(b, c, c.tensors("tensors"));
  return {b.concat(xs, c.integer("dim"))};
}

ValueId stack_along(Builder& b, const Values& xs, std::int64_t axis) {
  Values rows;
  for (ValueId x : xs) rows.push_back(b.unsqueeze(x, axis));
  return b.concat(rows, axis);
}
Values stack(Builder& b, const Call& c) {
  return {stack_along(b, alike(b, c, c.tensors("tensors")), c.integer("dim"))};
}

/// Stacks tensors, padded to the largest first size.
Values pad_sequence(Builder& b, const Call& c) {
  Dim max_length = 0;
  for (ValueId x : c.tensors("sequences")) max_length = b.pool().max(max_length, b.size(x, 0));
  Values rows;
  for (ValueId x : c.tensors("sequences")) {
    Dims padding_before(static_cast<std::size_t>(b.rank(x)), 0), padding_after = padding_before;
    (c.text("padding_side") == "left" ? padding_before : padding_after)[0] = b.pool().sub(max_length, b.size(x, 0));
    rows.push_back(b.pad(b.cast(x, c.result_dtype()), padding_before, padding_after, c.number("padding_value")));
  }
  return {stack_along(b, rows, c.flag("batch_first") ? 0 : 1)};
}

Values hstack(Builder& b, const Call& c) {
  Values xs;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) xs.push_back(expand_rank(b, x, 1));
  return {b.concat(xs, b.rank(xs[0]) == 1 ? 0 : 1)};
}
Values vstack(Builder& b, const Call& c) {
  Values xs;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) xs.push_back(expand_rank(b, x, 2));
  return {b.concat(xs, 0)};
}
Values dstack(Builder& b, const Call& c) {
  Values xs;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) {
    x = expand_rank(b, x, 2);
    xs.push_back(b.rank(x) == 2 ? b.unsqueeze(x, 2) : x);
  }
  return {b.concat(xs, 2)};
}
Values column_stack(Builder& b, const Call& c) {
  Values xs;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) xs.push_back(b.rank(x) <= 1 ? b.reshape(x, {b.numel(x), 1}) : x);
  return {b.concat(xs, 1)};
}

/// Pads each tensor to a multiple of `num_chunks` along `dim`, cuts it into `num_chunks` rows, and joins the rows.
Values chunk_cat(Builder& b, const Call& c) {
  const std::int64_t chunks = c.integer("num_chunks");
  Values rows;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) {
    const std::int64_t axis = b.normal_axis(x, c.integer("dim"));
    const Dim size = b.size(x, axis), padded = b.pool().mul(b.pool().ceildiv(size, chunks), chunks);
    Dims padding_before(b.shape(x).size(), 0), padding_after = padding_before;
    padding_after[static_cast<std::size_t>(axis)] = b.pool().sub(padded, size);
    x = b.pad(x, padding_before, padding_after);
    Dims sizes(b.shape(x).begin(), b.shape(x).begin() + axis);
    sizes.push_back(chunks);
    Dim remaining = b.pool().floordiv(padded, chunks);
    for (std::int64_t a = axis + 1; a < b.rank(x); ++a) remaining = b.pool().mul(remaining, b.size(x, a));
    sizes.push_back(remaining);
    rows.push_back(b.reshape(x, std::move(sizes)));
  }
  return {b.concat(rows, -1)};
}

Values block_diag(Builder& b, const Call& c) {
  Values xs;
  Dim rows = 0, columns = 0;
  for (ValueId x : alike(b, c, c.tensors("tensors"))) {
    xs.push_back(expand_rank(b, x, 2));
    rows = b.pool().add(rows, b.size(xs.back(), 0));
    columns = b.pool().add(columns, b.size(xs.back(), 1));
  }
  Values strips;
  Dim offset = 0;
  for (ValueId x : xs) {
    const Dim after = b.pool().sub(b.pool().sub(columns, offset), b.size(x, 1));
    strips.push_back(b.pad(x, {0, offset}, {0, after}));
    offset = b.pool().add(offset, b.size(x, 1));
  }
  return {b.concat(strips, 0)};
}

/// `xy` swaps the axes of the first two tensors: the sizes come from the second, the first, the third ...
Values meshgrid(Builder& b, const Call& c) {
  const bool xy = c.target.ends_with("indexing") && c.text("indexing") == "xy" && c.tensors("tensors").size() >= 2;
  Values xs = c.tensors("tensors");
  if (xy) std::swap(xs[0], xs[1]);
  Dims sizes;
  for (ValueId x : xs) sizes.push_back(b.numel(x));
  Values results;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    Dims axis_shape(sizes.size(), 1);
    axis_shape[i] = sizes[i];
    results.push_back(b.expand(b.reshape(xs[i], axis_shape), sizes));
  }
  if (xy) std::swap(results[0], results[1]);
  return results;
}

constexpr std::int64_t kConstantPad = 0, kCircularPad = 3;  // AttrKey::mode; reflection and replication lie in between

/// Negative padding as slices.
ValueId crop(Builder& b, ValueId x, const Dims& padding_before, const Dims& padding_after) {
  ExprPool& p = b.pool();
  for (std::size_t a = 0; a < padding_before.size(); ++a) {
    const Dim left = p.max(p.neg(padding_before[a]), 0), right = p.max(p.neg(padding_after[a]), 0);
    if (left.is(0) && right.is(0)) continue;
    const auto axis = static_cast<std::int64_t>(a);
    x = b.slice(x, axis, left, p.sub(b.size(x, axis), p.add(left, right)));
  }
  return x;
}

/// PyTorch lists padding from the last axis on: left, right, top, bottom ...
Values pad_with(Builder& b, const Call& c, const Dims& padding, std::int64_t mode, double value) {
  const ValueId x = c.tensor("self");
  Dims padding_before(b.shape(x).size(), 0), padding_after = padding_before;
  if (padding.size() > 2 * padding_before.size())
    c.unsupported("the padding has more entries than the tensor has axes");
  for (std::size_t i = 0; i * 2 + 1 < padding.size(); ++i) {
    padding_before[padding_before.size() - 1 - i] = padding[2 * i];
    padding_after[padding_after.size() - 1 - i] = padding[2 * i + 1];
  }
  if (mode == kConstantPad) return {b.pad(x, padding_before, padding_after, value)};
  Dims wide_before, wide_after;
  for (Dim d : padding_before) wide_before.push_back(b.pool().max(d, 0));
  for (Dim d : padding_after) wide_after.push_back(b.pool().max(d, 0));
  // Circular padding repeats the cropped axis; the other modes see the whole axis.
  const bool circular = mode == kCircularPad;
  const ValueId y = b.add(Op::pad, {circular ? crop(b, x, padding_before, padding_after) : x},
                          {attr(AttrKey::before, wide_before), attr(AttrKey::after, wide_after),
                           attr_number(AttrKey::value, value), attr(AttrKey::mode, Dim(mode))});
  return {circular ? y : crop(b, y, padding_before, padding_after)};
}
Values pad(Builder& b, const Call& c) {
  const std::string mode = c.text("mode");
  const std::int64_t number = mode == "constant"    ? 0
                              : mode == "reflect"   ? 1
                              : mode == "replicate" ? 2
                              : mode == "circular"  ? 3
                                                    : -1;
  if (number < 0) c.unsupported(fmt::format("unsupported padding mode '{}'", mode));
  return pad_with(b, c, c.dims("pad"), number, c.number_or("value", 0));
}
Values constant_pad(Builder& b, const Call& c) {
  return pad_with(b, c, c.dims("pad"), 0, c.number("value"));
}
Values reflection_pad(Builder& b, const Call& c) {
  return pad_with(b, c, c.dims("padding"), 1, 0);
}
Values replication_pad(Builder& b, const Call& c) {
  return pad_with(b, c, c.dims("padding"), 2, 0);
}

Values circular_pad(Builder& b, const Call& c) {
  return pad_with(b, c, c.dims("pad"), kCircularPad, 0);
}
/// at::padding_mode numbers the modes in another order.
Values pad_enum(Builder& b, const Call& c) {
  constexpr std::int64_t kModes[] = {1, 2, kCircularPad, kConstantPad};
  const std::int64_t mode = c.integer("mode");
  if (mode < 0 || mode > 3) c.unsupported(fmt::format("unsupported padding mode {}", mode));
  return pad_with(b, c, c.dims("pad"), kModes[mode], c.number_or("value", 0));
}

Values flip(Builder& b, const Call& c) {
  return {b.flip(c.tensor("self"), c.integers("dims"))};
}
Values fliplr(Builder& b, const Call& c) {
  return {b.flip(c.tensor("self"), {1})};
}
Values flipud(Builder& b, const Call& c) {
  return {b.flip(c.tensor("self"), {0})};
}

ValueId roll_axis(Builder& b, ValueId x, std::int64_t axis, Dim shift) {
  const Dim size = b.size(x, axis);
  if (size.is(0)) return x;
  const Dim s = b.pool().mod(shift, b.pool().max(size, 1));  // a dynamic size may be 0
  if (s.is(0)) return x;
  const Dim remaining = b.pool().sub(size, s);
  return b.concat({b.slice(x, axis, remaining, s), b.slice(x, axis, 0, remaining)}, axis);
}
Values roll(Builder& b, const Call& c) {
  ValueId x = c.tensor("self");
  const Dims shifts = c.dims("shifts");
  const std::vector<std::int64_t> axes = c.integers("dims");
  if (axes.empty()) return {b.reshape(roll_axis(b, b.flatten(x), 0, shifts.at(0)), Dims(b.shape(x)))};
  if (b.rank(x) == 0) return {x};
  for (std::size_t i = 0; i < axes.size(); ++i) x = roll_axis(b, x, axes[i], shifts.at(i));
  return {x};
}
Values rot90(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::vector<std::int64_t> axes = c.integers("dims");
  const std::int64_t k = ((c.integer("k") % 4) + 4) % 4;
  if (k == 1) return {b.transpose(b.flip(x, {axes.at(1)}), axes.at(0), axes.at(1))};
  if (k == 2) return {b.flip(x, axes)};
  if (k == 3) return {b.transpose(b.flip(x, {axes.at(0)}), axes.at(0), axes.at(1))};
  return {x};
}

Values repeat_by(Builder& b, ValueId x, Dims counts) {
  while (counts.size() < b.shape(x).size()) counts.insert(counts.begin(), 1);
  x = expand_rank(b, x, static_cast<int>(counts.size()));
  Dims spread, expanded_sizes, sizes;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const Dim size = b.shape(x)[i];
    sizes.push_back(b.pool().mul(counts[i], size));
    if (counts[i].is(1)) {
      spread.push_back(size);
      expanded_sizes.push_back(size);
    } else {
      spread.insert(spread.end(), {1, size});
      expanded_sizes.insert(expanded_sizes.end(), {counts[i], size});
    }
  }
  return {b.reshape(b.expand(b.reshape(x, spread), expanded_sizes), sizes)};
}
Values repeat(Builder& b, const Call& c) {
  return repeat_by(b, c.tensor("self"), c.dims("repeats"));
}
Values tile(Builder& b, const Call& c) {
  return repeat_by(b, c.tensor("self"), c.dims("dims"));
}

/// (.., C*r*r, H, W) -> (.., C, H*r, W*r)
Values pixel_shuffle(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t r = c.integer("upscale_factor");
  const auto lead = static_cast<std::size_t>(b.rank(x) - 3);
  const Dim channels = b.pool().floordiv(b.size(x, -3), b.pool().mul(r, r)), h = b.size(x, -2), w = b.size(x, -1);
  Dims split(b.shape(x).begin(), b.shape(x).begin() + static_cast<std::ptrdiff_t>(lead)), sizes = split;
  split.insert(split.end(), {channels, r, r, h, w});
  sizes.insert(sizes.end(), {channels, b.pool().mul(h, r), b.pool().mul(w, r)});
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < lead; ++i) axes.push_back(static_cast<std::int64_t>(i));
  const auto k = static_cast<std::int64_t>(lead);
  axes.insert(axes.end(), {k, k + 3, k + 1, k + 4, k + 2});
  return {b.reshape(b.permute(b.reshape(x, split), axes), sizes)};
}
/// (.., C, H*r, W*r) -> (.., C*r*r, H, W)
Values pixel_unshuffle(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const std::int64_t r = c.integer("downscale_factor");
  const auto lead = static_cast<std::size_t>(b.rank(x) - 3);
  const Dim channels = b.size(x, -3), h = b.pool().floordiv(b.size(x, -2), r), w = b.pool().floordiv(b.size(x, -1), r);
  Dims split(b.shape(x).begin(), b.shape(x).begin() + static_cast<std::ptrdiff_t>(lead)), sizes = split;
  split.insert(split.end(), {channels, h, r, w, r});
  sizes.insert(sizes.end(), {b.pool().mul(channels, b.pool().mul(r, r)), h, w});
  std::vector<std::int64_t> axes;
  for (std::size_t i = 0; i < lead; ++i) axes.push_back(static_cast<std::int64_t>(i));
  const auto k = static_cast<std::int64_t>(lead);
  axes.insert(axes.end(), {k, k + 2, k + 4, k + 1, k + 3});
  return {b.reshape(b.permute(b.reshape(x, split), axes), sizes)};
}
Values channel_shuffle(Builder& b, const Call& c) {
  const ValueId x = c.tensor("self");
  const Dim groups = c.dim("groups");
  Dims split = b.shape(x);
  split[1] = b.pool().floordiv(split[1], groups);
  split.insert(split.begin() + 1, groups);
  return {b.reshape(b.transpose(b.reshape(x, split), 1, 2), Dims(b.shape(x)))};
}

constexpr Lowering kJoining[] = {
    {"aten.cat.default", cat},
    {"aten.concat.default", cat},
    {"aten.concatenate.default", cat},
    {"aten.stack.default", stack},
    {"aten.pad_sequence.default", pad_sequence},
    {"aten.hstack.default", hstack},
    {"aten.vstack.default", vstack},
    {"aten.row_stack.default", vstack},
    {"aten.dstack.default", dstack},
    {"aten.column_stack.default", column_stack},
    {"aten._chunk_cat.default", chunk_cat},
    {"aten.block_diag.default", block_diag},
    {"aten.meshgrid.default", meshgrid},
    {"aten.meshgrid.indexing", meshgrid},
    {"aten.pad.default", pad},
    {"aten.constant_pad_nd.default", constant_pad},
    {"aten._pad_circular.default", circular_pad},
    {"aten._pad_enum.default", pad_enum},
    {"aten.reflection_pad1d.default", reflection_pad},
    {"aten.reflection_pad2d.default", reflection_pad},
    {"aten.reflection_pad3d.default", reflection_pad},
    {"aten.replication_pad1d.default", replication_pad},
    {"aten.replication_pad2d.default", replication_pad},
    {"aten.replication_pad3d.default", replication_pad},
    {"aten.flip.default", flip},
    {"aten.fliplr.default", fliplr},
    {"aten.flipud.default", flipud},
    {"aten.roll.default", roll},
    {"aten.rot90.default", rot90},
    {"aten.repeat.default", repeat},
    {"aten.tile.default", tile},
    {"aten.pixel_shuffle.default", pixel_shuffle},
    {"aten.pixel_unshuffle.default", pixel_unshuffle},
    {"aten.channel_shuffle.default", channel_shuffle},
    {"aten.native_channel_shuffle.default", channel_shuffle},
};

}  // namespace

std::span<const Lowering> joining_lowerings() {
  return kJoining;
}

}  // namespace tern
