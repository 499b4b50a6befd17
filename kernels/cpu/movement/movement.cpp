// Kernels of the ops that move elements: concat, pad, and writes into a slice of a tensor. Views need no kernel: the
// runtime only changes strides.
#include <algorithm>

#include "dtypes/convert.h"
#include "kernels/channels_last.h"
#include "kernels/cpu/strided.h"
#include "kernels/kernel.h"

namespace tern {
namespace {

/// Returns the slice [start, start + length*step) of axis `axis` of `v`.
TensorView slice(const TensorView& v, int axis, std::int64_t start, std::int64_t length, std::int64_t step) {
  TensorView p = v;
  const auto a = static_cast<std::size_t>(axis);
  p.sizes[a] = length;
  if (p.numel() == 0) return p;  // an empty view may have no memory
  p.data += start * v.stride(axis) * element_size(v.dtype);
  if (length > 1) p.strides[a] = v.stride(axis) * step;  // else any step is correct
  return p;
}

int axis_of(const KernelCall& c, const TensorView& v) {
  const std::int64_t a = c.node->integer(AttrKey::axis);
  return static_cast<int>(a < 0 ? a + v.rank : a);
}

void concat(KernelCall& c) {
  const TensorView& out = c.out[0];
  const int axis = axis_of(c, out);
  std::int64_t at = 0;
  for (const TensorView& x : c.in) {
    copy_strided(x, slice(out, axis, at, x.size(axis), 1));
    at += x.size(axis);
  }
}

/// True if most joined elements are channels last already.
bool makes_channels_last(const KernelCall& c) {
  std::int64_t lie_so = 0;
  for (const TensorView& x : c.in) lie_so += is_channels_last(x) ? 2 * x.numel() : 0;
  return c.out[0].rank >= 3 && c.out[0].rank <= 5 && elements_per_byte(c.out[0].dtype) == 1 &&
         lie_so > c.out[0].numel();
}

void slice_scatter(KernelCall& c) {
  start_from_input(c);
  const TensorView& out = c.out[0];
  const int axis = axis_of(c, out);
  if (c.in[1].size(axis) == 0) return;
  copy_strided(c.in[1],
               slice(out, axis, c.node->integer(AttrKey::start), c.in[1].size(axis), c.node->integer(AttrKey::step)));
}

void as_strided_scatter(KernelCall& c) {
  start_from_input(c);
  TensorView to = c.in[1];
  if (to.numel() == 0) return;
  to.data = c.out[0].data + c.node->integer(AttrKey::offset) * element_size(to.dtype);
  const Dims& strides = c.node->dims(AttrKey::strides);
  for (std::size_t i = 0; i < strides.size(); ++i) {
    if (to.sizes[i] > 1) to.strides[i] = strides[i].value();
  }
  copy_strided(c.in[1], to);
}

/// Returns the source of an element before, inside or after the axis.
std::int64_t source_index(std::int64_t i, std::int64_t size, std::int64_t mode) {
  if (i >= 0 && i < size) return i;
  switch (mode) {
    case 1: return i < 0 ? -i : 2 * (size - 1) - i;
    case 2: return i < 0 ? 0 : size - 1;
    default: return i < 0 ? i + size : i - size;
  }
}

/// Fills a part of the output with the number in attribute `value`.
void fill(const KernelCall& c, const TensorView& out) {
  if (out.numel() == 0) return;
  const double value[2] = {c.node->number_at(AttrKey::value, 0), c.node->number_at(AttrKey::value, 1)};
  alignas(16) std::byte element[16] = {};
  convert(value, DType::c128, element, out.dtype, 1);
  TensorView from = out;
  from.data = element;
  from.strides = {};
  copy_strided(from, out);
}

/// Fills what lies around the inside of the output, from the innermost axis outwards.
void fill_borders(const KernelCall& c, const Dims& before, const Dims& after, TensorView filled) {
  for (int i = filled.rank; i-- > 0;) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t b = std::max<std::int64_t>(0, before[k].value()),
                       a = std::max<std::int64_t>(0, after[k].value()), size = filled.size(i);
    fill(c, slice(filled, i, -b, b, 1));
    fill(c, slice(filled, i, size, a, 1));
    filled = slice(filled, i, -b, b + size + a, 1);
  }
}

void pad(KernelCall& c) {
  const TensorView &x = c.in[0], &out = c.out[0];
  if (out.numel() == 0) return;
  const std::int64_t mode = c.node->integer(AttrKey::mode);
  const Dims &before = c.node->dims(AttrKey::before), &after = c.node->dims(AttrKey::after);
  // Writes the inside first; then, axis by axis, copies borders from the written elements.
  TensorView inner = out, from = x;
  bool empty = false;
  for (int i = 0; i < x.rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t b = before[k].value(), a = after[k].value();
    const std::int64_t skip = std::max<std::int64_t>(0, -b), keep = x.size(i) - skip - std::max<std::int64_t>(0, -a);
    empty = empty || keep <= 0;
    from = slice(from, i, skip, std::max<std::int64_t>(keep, 0), 1);
    inner = slice(inner, i, std::max<std::int64_t>(0, b), std::max<std::int64_t>(keep, 0), 1);
  }
  if (empty && mode == 0) return fill(c, out);
  if (!empty) copy_strided(from, inner);
  if (mode == 0) return fill_borders(c, before, after, inner);
  TensorView done = inner;  // grows to the whole output
  for (int i = 0; i < x.rank; ++i) {
    const auto k = static_cast<std::size_t>(i);
    const std::int64_t b = before[k].value(), a = after[k].value(), size = x.size(i);
    for (std::int64_t j = -b; j < size + a; ++j) {
      if (j >= 0 && j < size) continue;
      copy_strided(slice(done, i, source_index(j, size, mode), 1, 1), slice(done, i, j, 1, 1));
    }
    done = slice(done, i, -b, size + b + a, 1);
  }
}

}  // namespace

void register_cpu_movement(KernelTable& t) {
  t.set(Op::concat, {.run = concat, .strided = kAllStrided, .channels_last = makes_channels_last});
  t.set(Op::pad, {.run = pad, .strided = kAllStrided, .channels_last = makes_channels_last});
  t.set(Op::slice_scatter, {.run = slice_scatter, .strided = kAllStrided, .in_place = 0});
  t.set(Op::as_strided_scatter, {.run = as_strided_scatter, .strided = kAllStrided, .in_place = 0});
}

}  // namespace tern
